//! Runs one part: starts the processes, lets bots and people join and be drawn, and watches until
//! the people are through.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::record::ClaimersLog;
use super::visitor::{BotBaskets, ClaimerClient, ClaimersBoard};
use crate::bench::fans::{ROOM, SHOW};
use crate::bench::people;
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigFeatures, RigSpecification};
use crate::swarm::SwarmSeatSnapshot;

/// How often the progress is printed.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// How often the log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a person who is inside takes at most, from the pass to the ticket.
const VISIT_MAX: Duration = Duration::from_secs(90);
/// How long a basket outlives what its visitor sees, in seconds.
const GRACE_S: u64 = 1;
/// How many visitors the room may call in a second. So many that the pace keeps nobody out.
const PER_S: u32 = 100;
/// The number of seats in a row.
const ACROSS: u32 = 20;

/// What happens in one part.
#[derive(Debug, Clone)]
pub struct ClaimersPart {
    pub rig: RigSpecification,
    /// A gateway and booking.
    pub programs: (PathBuf, PathBuf),
    pub bots: usize,
    pub people: usize,
    pub max_inside: u32,
    /// The room's `pass_idle_s`. `None` for programs that do not know it.
    pub pass_idle_s: Option<u64>,
    pub hold_s: u64,
    pub seats: u32,
    /// How many seats a bot's basket has, if bots take baskets.
    pub basket: Option<u32>,
    /// How long people may take to come in.
    pub at_most: Duration,
    /// How long after the last person is in the bots' share of the seats is known.
    pub settle: Duration,
    /// The time at the end of which the share of the seats is measured.
    pub window: Duration,
}

/// What was seen in one part.
pub struct ClaimersPartRun {
    pub log: ClaimersLog,
    /// The mean share of the seats that were held at the end.
    pub held_share: f64,
}

/// Runs a part.
///
/// # Errors
/// Where a process does not start, a document is refused, or a bot stops.
pub async fn run(part: &ClaimersPart) -> anyhow::Result<ClaimersPartRun> {
    let features = RigFeatures::default();
    let rig = Rig::start_programs(part.rig, features, part.programs.clone()).await?;
    let http = LoadHttpClient::new(&rig.urls());
    let board = begin(part, &rig, &http).await;
    let board = board.inspect_err(|_| rig.tell_log())?;
    let watched = board.watch(part, &http).await;
    let held_share = watched.inspect_err(|_| rig.tell_log())?;
    let log = board.board.read(ClaimersLog::clone);
    drop(board);
    rig.stop().await?;
    Ok(ClaimersPartRun { log, held_share })
}

/// The visitors of a part. They end when this is dropped.
struct RunningClaimers {
    board: ClaimersBoard,
    _visitors: JoinSet<()>,
}

/// Lets everybody join, draws the line, and starts the visitors.
async fn begin(
    part: &ClaimersPart,
    rig: &Rig,
    http: &LoadHttpClient,
) -> anyhow::Result<RunningClaimers> {
    open(part, rig.promoter_key(), http).await?;
    let count = part.bots + part.people;
    let join = |http: LoadHttpClient, visitor: usize| async move {
        let join = LoadHttpCall::post(format!("/v1/rooms/{ROOM}/places"), json!({}));
        people::text(&people::granted(&http, visitor, &join).await?, "place")
    };
    let places = people::for_everybody(http, count, join).await?;
    people::draw(http, rig.promoter_key(), ROOM).await?;
    let board = ClaimersBoard::begin(part.bots, count);
    let mut visitors = JoinSet::new();
    for (number, place) in places.into_iter().enumerate() {
        let client = ClaimerClient {
            http: http.clone(),
            number,
            place,
            near: u64::from(part.max_inside),
            board: board.clone(),
        };
        let baskets = part.basket.map(|seats| BotBaskets {
            seats,
            hold_s: part.hold_s,
        });
        if number < part.bots {
            visitors.spawn(client.live_as_bot(baskets));
        } else {
            visitors.spawn(client.live_as_person());
        }
    }
    Ok(RunningClaimers {
        board,
        _visitors: visitors,
    })
}

/// Makes the show, and opens the lobby of its room. The draw mixes bots and people.
async fn open(part: &ClaimersPart, key: &str, http: &LoadHttpClient) -> anyhow::Result<()> {
    let rows = part.seats.div_ceil(ACROSS);
    let hall = json!({"plan": format!("grid:{rows}x{ACROSS}")});
    people::put(http, key, "venues/hall", hall).await?;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00Z", "currency": "EUR",
        "prices": {"cat1": 1000, "cat2": 1000}, "orphans": "allow", "hold_s": part.hold_s,
        "grace_s": GRACE_S, "seats_per_visitor": part.basket.unwrap_or(1),
    });
    people::put(http, key, &format!("shows/{SHOW}"), show).await?;
    let mut room = json!({
        "method": "draw", "mode": "fixed", "per_s": PER_S, "max_inside": part.max_inside,
    });
    if let Some(pass_idle_s) = part.pass_idle_s {
        room["pass_idle_s"] = json!(pass_idle_s);
    }
    people::open_doors(http, key, ROOM, room).await
}

impl RunningClaimers {
    /// Watches until all people are through and the bots' share of the seats is known. Returns this
    /// share.
    async fn watch(&self, part: &ClaimersPart, http: &LoadHttpClient) -> anyhow::Result<f64> {
        let all_in = |log: &ClaimersLog| log.entered(false) == part.people;
        if self.wait_until(part, part.at_most, all_in).await? {
            let last_in = Instant::now();
            let is_through = |log: &ClaimersLog| log.trying() == 0;
            self.wait_until(part, VISIT_MAX, is_through).await?;
            // A judge of second entries needs some.
            let again = |log: &ClaimersLog| log.returns().entries > 0;
            let idle_s = part.pass_idle_s.unwrap_or(0);
            let again_within = Duration::from_secs(2 * idle_s + 20);
            self.wait_until(part, again_within, again).await?;
            let settled = |_: &ClaimersLog| last_in.elapsed() + part.window >= part.settle;
            self.wait_until(part, part.settle, settled).await?;
        }
        self.held_share(part, http).await
    }

    /// Waits until `is_so`, at most for `at_most`, and prints the progress. Returns whether it is
    /// so.
    async fn wait_until(
        &self,
        part: &ClaimersPart,
        at_most: Duration,
        is_so: impl Fn(&ClaimersLog) -> bool,
    ) -> anyhow::Result<bool> {
        let begun = Instant::now();
        let mut told = begun;
        loop {
            self.board.require_bots()?;
            if self.board.read(&is_so) {
                return Ok(true);
            }
            if begun.elapsed() > at_most {
                return Ok(false);
            }
            if told.elapsed() >= PROGRESS_EVERY {
                told = Instant::now();
                self.tell_progress(part);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    fn tell_progress(&self, part: &ClaimersPart) {
        let seconds = self.board.now_ms() / 1_000;
        let (bots, people, bought, inside, again) = self.board.read(|log| {
            let again = log.returns().entries;
            let entered = |is_bot| log.entered(is_bot);
            let (bots, people) = (entered(true), entered(false));
            (bots, people, log.bought(), log.inside(), again)
        });
        eprintln!(
            "  {seconds:>4} s: {bots} of {} bots and {people} of {} people were in, {bought} have bought, {inside} are inside, {again} second entries",
            part.bots, part.people
        );
    }

    /// Returns the mean share of the seats that are held while the window lasts.
    async fn held_share(&self, part: &ClaimersPart, http: &LoadHttpClient) -> anyhow::Result<f64> {
        let seats = LoadHttpCall::get(format!("/v1/shows/{SHOW}/seats"));
        let (begun, mut shares) = (Instant::now(), Vec::new());
        while shares.is_empty() || begun.elapsed() < part.window {
            self.board.require_bots()?;
            let answer = http.send(&seats, 0).await.map_err(anyhow::Error::msg)?;
            let snapshot = SwarmSeatSnapshot::read(&answer.body);
            let [free, held, sold, _] = snapshot.context("the seats could not be read")?.counts();
            shares.push(held as f64 / (free + held + sold).max(1) as f64);
            sleep(LOOK_EVERY).await;
        }
        Ok(shares.iter().sum::<f64>() / shares.len() as f64)
    }
}
