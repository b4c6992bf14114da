//! Lets a thousand parties wait for a show whose seats are all in baskets, while these baskets
//! lapse. Kills the process that serves the waitlist. Checks that everybody is served in turn, that
//! no seat is offered to two parties at a time, that nobody is forgotten, and that all seats are
//! free at the end.

mod judge;
mod kill;
mod visit;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use anyhow::Context;
use hyper::Method;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

use super::{BenchOutcome, people, report};
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigSpecification};
use crate::swarm::SwarmSeatSnapshot;
use judge::{WaitlistBenchFate, WaitlistBenchParty, WaitlistBenchRun, judge};
use visit::{WaitlistPartyClient, WaitlistPartyPlan};

/// The id of the show.
const SHOW: &str = "night";
/// The number of seats in a row.
const ACROSS: u32 = 20;
/// The number of seats in a basket.
const BASKET: u32 = 4;
/// The seconds after which baskets lapse, unless they are released before.
const HOLD_S: u64 = 15;
/// The longest time from the start to the kill, and from the kill until all parties are served.
const SERVED_WITHIN: Duration = Duration::from_secs(175);
/// The longest time until all seats are free, after all parties are served.
const FREE_WITHIN: Duration = Duration::from_secs(120);
/// The most findings that are printed.
const PRINTED_MAX: usize = 10;

#[derive(clap::Args)]
pub struct WaitlistBenchOptions {
    /// How many parties wait. With 500 or more, some let offers and orders run out, which takes a
    /// minute more.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(20..=5_000))]
    parties: u32,
    /// The processes. The bench kills the booking process that serves the waitlist, or the gateway
    /// that serves it if booking is inside the gateways.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Default, Serialize)]
struct WaitlistBenchFigures {
    bench: &'static str,
    rig: String,
    parties: usize,
    seats: u32,
    served: usize,
    left: usize,
    offers: usize,
    /// The number of offers that parties declined or let run out.
    passed: usize,
    /// The number of offers that were lost with the killed process.
    lost: usize,
    /// The number of offers whose seats were also enough for a later party that waited.
    choices: usize,
    killed: String,
    killed_after: usize,
    /// The milliseconds from the kill to the next offer.
    stood_still_ms: Option<i64>,
    took_s: f64,
    findings: Vec<String>,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &WaitlistBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

async fn measure(options: &WaitlistBenchOptions) -> anyhow::Result<WaitlistBenchFigures> {
    let parties = options.parties as usize;
    let rig = Rig::start(options.rig).await?;
    let http = LoadHttpClient::new(&rig.urls());
    // The hall has three seats for every ten parties, rounded up to whole rows.
    let rows = (options.parties * 3 / 10).div_ceil(ACROSS);
    let seats = rows * ACROSS;
    open(&rig, &http, rows, parties + (seats / BASKET) as usize).await?;
    let crowd = (seats / BASKET) as usize;
    let passes = people::passes(&http, parties + crowd).await?;
    let (of_parties, of_crowd) = passes.split_at(parties);
    let baskets = fill(&http, of_crowd, parties).await?;
    let begun = Instant::now();
    let lapsing = tokio::spawn(give_some_back(http.clone(), baskets));
    let served = Arc::new(AtomicUsize::new(0));
    let visits = line_up(&http, of_parties, &served).await?;
    let killed = async {
        let killed = kill::kill_serving_process(&rig, &served, parties).await?;
        let waited = tokio::time::timeout(SERVED_WITHIN, collect_parties(visits)).await;
        anyhow::Ok((killed, waited.context("not everybody was served in time")??))
    };
    let (killed, parties) = killed.await.inspect_err(|_| rig.tell_log())?;
    let took = begun.elapsed();
    lapsing.await??;
    let run = WaitlistBenchRun {
        parties,
        kill: killed.gone,
        outlives: !rig.forgets(kill::target(rig.spec())),
    };
    let judged = judge(&run);
    let mut findings = judged.findings;
    findings.extend(still_held(&http, seats).await?);
    for finding in findings.iter().take(PRINTED_MAX) {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        eprintln!("the logs are kept in {}", rig.keep_folder());
    }
    rig.stop().await?;
    Ok(WaitlistBenchFigures {
        rig: options.rig.to_string(),
        seats,
        choices: judged.choices,
        killed: killed.part.to_string(),
        killed_after: killed.after,
        took_s: took.as_secs_f64(),
        held: findings.is_empty(),
        findings,
        ..WaitlistBenchFigures::count_parties(&run)
    })
}

impl WaitlistBenchFigures {
    /// Computes the figures that follow from what the parties saw.
    fn count_parties(run: &WaitlistBenchRun) -> Self {
        let offers: Vec<_> = run.parties.iter().flat_map(|party| &party.offers).collect();
        let with_fate =
            |fate: WaitlistBenchFate| offers.iter().filter(|offer| offer.fate == fate).count();
        let ended_as = |reason: &str| {
            let ends = run.parties.iter().filter_map(|party| party.end.as_deref());
            ends.filter(|end| *end == reason).count()
        };
        Self {
            bench: "waitlist",
            parties: run.parties.len(),
            served: ended_as("taken"),
            left: ended_as("left"),
            offers: offers.len(),
            passed: with_fate(WaitlistBenchFate::Passed),
            lost: with_fate(WaitlistBenchFate::Lost),
            stood_still_ms: run.stood_still_ms(),
            ..Self::default()
        }
    }
}

async fn open(rig: &Rig, http: &LoadHttpClient, rows: u32, visitors: usize) -> anyhow::Result<()> {
    let key = rig.promoter_key();
    let plan = json!({"plan": format!("grid:{rows}x{ACROSS}")});
    people::put(http, key, "venues/hall", plan).await?;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00Z", "orphans": "allow",
        "prices": {"cat1": 9900, "cat2": 4900}, "seats_per_visitor": BASKET, "hold_s": HOLD_S, "pay_s": 5, "claim_grace_s": 5,
    });
    people::put(http, key, &format!("shows/{SHOW}"), show).await?;
    people::open_room(http, key, &[SHOW], visitors).await
}

/// A basket that the crowd holds.
struct WaitlistBenchBasket {
    hold: String,
    pass: String,
    visitor: usize,
}

/// Holds all seats in baskets of the crowd. `first_visitor` is the number of the first visitor of
/// the crowd.
async fn fill(
    http: &LoadHttpClient,
    passes: &[String],
    first_visitor: usize,
) -> anyhow::Result<Vec<WaitlistBenchBasket>> {
    let mut baskets = Vec::new();
    for (visitor, pass) in (first_visitor..).zip(passes) {
        let best = json!({"best": {"quantity": BASKET}});
        let call = LoadHttpCall::post(format!("/v1/shows/{SHOW}/holds"), best);
        let call = call.bearer(pass).key(&format!("crowd-{visitor}"));
        let hold = people::text(&people::granted(http, visitor, &call).await?, "hold")?;
        let pass = pass.clone();
        baskets.push(WaitlistBenchBasket {
            hold,
            pass,
            visitor,
        });
    }
    Ok(baskets)
}

/// Releases half of the baskets at random times. The others lapse.
async fn give_some_back(
    http: LoadHttpClient,
    baskets: Vec<WaitlistBenchBasket>,
) -> anyhow::Result<()> {
    let mut dice = StdRng::seed_from_u64(baskets.len() as u64);
    for basket in baskets.into_iter().step_by(2) {
        let after_ms = dice.random_range(0..HOLD_S * 10);
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        let path = format!("/v1/holds/{}", basket.hold);
        let release = LoadHttpCall::new(Method::DELETE, path).bearer(&basket.pass);
        // The release fails if the basket has lapsed or was lost with the killed process.
        drop(http.send(&release, basket.visitor).await);
    }
    Ok(())
}

type WaitlistPartyTasks = JoinSet<(usize, anyhow::Result<WaitlistBenchParty>)>;

/// Lets the parties join one after the other. Each party then waits in a task of its own.
async fn line_up(
    http: &LoadHttpClient,
    passes: &[String],
    served: &Arc<AtomicUsize>,
) -> anyhow::Result<WaitlistPartyTasks> {
    let mut visits = WaitlistPartyTasks::new();
    for (number, pass) in passes.iter().enumerate() {
        let visit = WaitlistPartyClient {
            http: http.clone(),
            number,
            pass: pass.clone(),
            show: SHOW,
            way: WaitlistPartyPlan::for_party(number, passes.len()),
            served: Arc::clone(served),
        };
        let size = 1 + (number * 7 % BASKET as usize) as u32;
        let mut party = visit.join(size).await?;
        visits.spawn(async move {
            let waited = visit.wait(&mut party).await;
            (number, waited.map(|()| party))
        });
    }
    Ok(visits)
}

/// Waits for all parties, and returns what they saw, in the order of joining.
async fn collect_parties(
    mut visits: WaitlistPartyTasks,
) -> anyhow::Result<Vec<WaitlistBenchParty>> {
    let mut parties = Vec::new();
    while let Some(result) = visits.join_next().await {
        let (number, party) = result?;
        parties.push((number, party.with_context(|| format!("party {number}"))?));
    }
    parties.sort_by_key(|(number, _)| *number);
    Ok(parties.into_iter().map(|(_, party)| party).collect())
}

/// Waits until all seats are free. Returns a finding if some are not free in time.
async fn still_held(http: &LoadHttpClient, seats: u32) -> anyhow::Result<Option<String>> {
    let read = LoadHttpCall::get(format!("/v1/shows/{SHOW}/seats"));
    let begun = Instant::now();
    loop {
        let answer = http.send(&read, 0).await.map_err(anyhow::Error::msg)?;
        let snapshot =
            SwarmSeatSnapshot::read(&answer.body).context("the seats could not be read")?;
        let free = snapshot.counts()[0];
        if free == seats as usize {
            return Ok(None);
        }
        if begun.elapsed() > FREE_WITHIN {
            let finding =
                format!("only {free} of {seats} seats are free, although no party holds any");
            return Ok(Some(finding));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl report::BenchFigures for WaitlistBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        vec![
            format!(
                "{} parties wait for {} seats, on {}; {} killed after {} were served",
                self.parties, self.seats, self.rig, self.killed, self.killed_after
            ),
            format!(
                "  served or left           {} of {}, {:.0} s",
                self.served + self.left,
                self.parties,
                self.took_s
            ),
            format!(
                "  offers                   {}; {} let pass, {} lost with the process",
                self.offers, self.passed, self.lost
            ),
            format!(
                "  no offer after the kill  {}",
                self.stood_still_ms.map_or_else(
                    || "none was due".to_owned(),
                    |still| format!("for {still} ms")
                )
            ),
            format!(
                "  passed over, twice, forgotten, left locked  {} of {} choices",
                self.findings.len(),
                self.choices
            ),
        ]
    }
}
