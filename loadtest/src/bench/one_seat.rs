//! Lets all visitors ask for the same seat at the same instant, at several gateways. In every round
//! exactly one visitor must get the seat, and all others must be told that the seat is taken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{BenchOutcome, people, report};
use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigSpecification};
use crate::swarm::SwarmSeatSnapshot;

/// The id of the show.
const SHOW: &str = "night";
/// How long a visitor repeats its call. It repeats the call, as a browser does, if a busy gateway
/// puts it off (429 or 503) or a connection ends without an answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);
/// The wait before the next try if a connection ended without an answer, in seconds.
const RETRY_AFTER_NO_ANSWER_S: f64 = 0.1;
/// After a round, each gateway must show all held seats within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub struct OneSeatBenchOptions {
    /// How many visitors ask at once.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(2..=5_000))]
    visitors: u32,
    /// The number of rounds. Each round uses another seat.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// The processes. The visitors spread over the gateways.
    #[arg(
        long,
        default_value = "gateways=3,bookings=2,redis=single,ledger=postgres"
    )]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Serialize)]
struct OneSeatBenchFigures {
    bench: &'static str,
    rig: String,
    visitors: u32,
    rounds: u32,
    /// The number of rounds in which exactly one visitor got the seat, and all others were told
    /// that the seat is taken.
    right: u32,
    /// How often a call was sent again because a busy gateway put it off or a connection ended
    /// without an answer.
    put_off: usize,
    /// The longest time until a visitor had its final answer.
    answered_max_ms: f64,
    held: bool,
}

/// The result of one round.
struct OneSeatRound {
    held: usize,
    taken: usize,
    /// The last answer that was neither a hold nor `seats_taken`, or the last error.
    other: Option<String>,
    put_off: usize,
    longest: Duration,
}

impl OneSeatRound {
    /// Returns whether exactly one visitor got the seat, and all others were told that the seat is
    /// taken.
    fn is_right(&self, visitors: usize) -> bool {
        self.held == 1 && self.held + self.taken == visitors
    }
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &OneSeatBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for OneSeatBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        vec![
            format!(
                "{} visitors at once for one seat, on {}",
                self.visitors, self.rig
            ),
            format!(
                "  exactly one hold         {} of {} times",
                self.right, self.rounds
            ),
            format!(
                "  longest wait             {:.0} ms; calls were sent again {} times",
                self.answered_max_ms, self.put_off
            ),
        ]
    }
}

async fn measure(options: &OneSeatBenchOptions) -> anyhow::Result<OneSeatBenchFigures> {
    let visitors = options.visitors as usize;
    let rig = Rig::start(options.rig).await?;
    let http = LoadHttpClient::new(&rig.urls());
    let key = rig.promoter_key();
    people::put(&http, key, "venues/hall", json!({"plan": "grid:10x20"})).await?;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00Z", "orphans": "allow",
        "prices": {"cat1": 9900, "cat2": 4900}, "seats_per_visitor": options.rounds, "hold_s": 3_600,
    });
    people::put(&http, key, &format!("shows/{SHOW}"), show).await?;
    people::open_room(&http, key, &[SHOW], visitors).await?;
    let passes: Arc<[String]> = people::passes(&http, visitors).await?.into();
    let map = people::granted(
        &http,
        0,
        &LoadHttpCall::get(format!("/v1/shows/{SHOW}/seatmap")),
    )
    .await?;
    let (mut right, mut held, mut put_off, mut longest) = (0, 0, 0, Duration::ZERO);
    for round in 0..options.rounds {
        let seat = people::text(&map["seats"][round as usize], "label")?;
        let outcome = one_round(&http, &passes, &seat).await?;
        eprintln!(
            "{seat}: {} got it, {} were told that it is taken{}; longest wait {:.0} ms",
            outcome.held,
            outcome.taken,
            outcome
                .other
                .as_ref()
                .map_or_else(String::new, |other| format!(", last other result: {other}")),
            outcome.longest.as_secs_f64() * 1e3,
        );
        right += u32::from(outcome.is_right(visitors));
        held += outcome.held;
        put_off += outcome.put_off;
        longest = longest.max(outcome.longest);
        wait_until_held(&rig.urls(), held).await?;
    }
    rig.stop().await?;
    Ok(OneSeatBenchFigures {
        bench: "one-seat",
        rig: options.rig.to_string(),
        visitors: options.visitors,
        rounds: options.rounds,
        right,
        put_off,
        answered_max_ms: longest.as_secs_f64() * 1e3,
        held: right == options.rounds,
    })
}

/// Lets all visitors ask for one seat, as close to the same instant as one machine can.
async fn one_round(
    http: &LoadHttpClient,
    passes: &Arc<[String]>,
    seat: &str,
) -> anyhow::Result<OneSeatRound> {
    let start_line = Arc::new(Barrier::new(passes.len()));
    let mut asking = JoinSet::new();
    for person in 0..passes.len() {
        let (http, passes, start_line) =
            (http.clone(), Arc::clone(passes), Arc::clone(&start_line));
        let call = LoadHttpCall::post(format!("/v1/shows/{SHOW}/holds"), json!({"seats": [seat]}));
        let key = format!("{seat}-{person}");
        asking.spawn(async move {
            let call = call.bearer(&passes[person]).key(&key);
            start_line.wait().await;
            final_answer(&http, person, &call).await
        });
    }
    let mut round = OneSeatRound {
        held: 0,
        taken: 0,
        other: None,
        put_off: 0,
        longest: Duration::ZERO,
    };
    while let Some(result) = asking.join_next().await {
        let (answer, put_off, took) = result?;
        round.put_off += put_off;
        round.longest = round.longest.max(took);
        match answer {
            Ok(answer) if answer.status == 201 => round.held += 1,
            Ok(answer) if answer.code().as_deref() == Some("seats_taken") => round.taken += 1,
            Ok(answer) => {
                let code = answer.code().unwrap_or_default();
                round.other = Some(format!("{} {code}", answer.status));
            }
            Err(error) => round.other = Some(error),
        }
    }
    Ok(round)
}

/// Sends the call with the same key until the answer is final or the time is over. Returns the last
/// answer, how often the call was repeated, and how long all tries took together.
async fn final_answer(
    http: &LoadHttpClient,
    person: usize,
    call: &LoadHttpCall,
) -> (Result<LoadHttpAnswer, String>, usize, Duration) {
    let begun = Instant::now();
    let mut put_off = 0;
    loop {
        let answer = http.send(call, person).await;
        let retry_s = match &answer {
            Ok(answer) if matches!(answer.status, 429 | 503) => answer.retry_after_s,
            Ok(_) => None,
            // The effect of the call is unknown, but the key makes it safe to send it again.
            Err(_) => Some(RETRY_AFTER_NO_ANSWER_S),
        };
        let Some(again_s) = retry_s.filter(|_| begun.elapsed() < ANSWERED_WITHIN) else {
            return (answer, put_off, begun.elapsed());
        };
        put_off += 1;
        tokio::time::sleep(Duration::from_secs_f64(again_s)).await;
    }
}

/// Waits until every gateway shows exactly `held` seats as held.
async fn wait_until_held(urls: &[String], held: usize) -> anyhow::Result<()> {
    let call = LoadHttpCall::get(format!("/v1/shows/{SHOW}/seats"));
    for url in urls {
        let http = LoadHttpClient::new(std::slice::from_ref(url));
        let begun = Instant::now();
        loop {
            let answer = http.send(&call, 0).await.map_err(anyhow::Error::msg)?;
            let seats =
                SwarmSeatSnapshot::read(&answer.body).context("the seats could not be read")?;
            let shown = seats.counts()[1];
            if shown == held {
                break;
            }
            ensure!(
                begun.elapsed() < SHOWN_WITHIN,
                "{url} shows {shown} held seats, but {held} seats are held"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_right_if_one_visitor_gets_the_seat_and_all_others_hear_that_it_is_taken() {
        for (held, taken, right) in [
            (1, 499, true),
            (2, 498, false),
            (0, 500, false),
            (1, 498, false),
        ] {
            let round = OneSeatRound {
                held,
                taken,
                other: None,
                put_off: 0,
                longest: Duration::ZERO,
            };
            assert_eq!(round.is_right(500), right, "{held} {taken}");
        }
    }
}
