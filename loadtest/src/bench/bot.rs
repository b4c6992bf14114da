//! One bot on one address joins as often as it can, and has a whole core for the challenges.
//! Meanwhile people join, each from an address of their own. The bot must get few of the places,
//! and every person must get one.

use std::time::{Duration, Instant};

use rand::RngExt;
use serde::Serialize;
use serde_json::{Value, json};

use super::{BenchOutcome, challenges, people, report};
use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigFeatures, RigSpecification};

/// The room that everybody joins.
const ROOM: &str = "sale";
/// The bot's only address.
const BOT_ADDRESS: &str = "203.0.113.7";
/// The largest share of the places that the bot may get.
const SHARE_MAX: f64 = 0.1;
/// How long the bot waits after a refusal before it tries again.
const AGAIN: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub struct BotBenchOptions {
    /// How many people join. Each has a network of their own.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    people: u32,
    /// How long the bot keeps joining, in seconds.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// The processes. The bot calls all gateways in turn.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct BotBenchFigures {
    bench: &'static str,
    rig: String,
    people: u32,
    /// People who got a place.
    people_placed: usize,
    /// The longest time that a person waited for a place, in milliseconds.
    people_max_ms: f64,
    seconds: u64,
    /// Places that the bot got.
    bot_places: u64,
    /// Challenges that the bot solved.
    bot_solved: u64,
    /// The mean time that the bot's core took for one challenge, in seconds.
    bot_solve_s: f64,
    bot_share: f64,
    share_max: f64,
    held: bool,
}

/// The places that the bot got, and its work on challenges.
#[derive(Debug, Default)]
struct BotLoot {
    places: u64,
    solved: u64,
    solving: Duration,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &BotBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for BotBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        vec![
            format!(
                "one bot on one address for {} s, and {} people on networks of their own, on {}",
                self.seconds, self.people, self.rig
            ),
            format!(
                "  people with a place      {} of {}; longest wait {:.0} ms",
                self.people_placed, self.people, self.people_max_ms
            ),
            format!(
                "  places of the bot        {} ({:.1} % of all); it solved {} challenges, {:.2} s each on average",
                self.bot_places,
                self.bot_share * 100.0,
                self.bot_solved,
                self.bot_solve_s
            ),
            format!(
                "  the bot may get at most {:.0} % of the places",
                self.share_max * 100.0
            ),
        ]
    }
}

async fn measure(options: &BotBenchOptions) -> anyhow::Result<BotBenchFigures> {
    let features = RigFeatures {
        proxied: true,
        ..RigFeatures::default()
    };
    let rig = Rig::start_with(options.rig, features).await?;
    let http = LoadHttpClient::new(&rig.urls());
    people::open_doors(&http, rig.promoter_key(), ROOM, json!({})).await?;
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let bot = tokio::spawn(run_bot(http.clone(), until));
    let people = people::for_everybody(&http, options.people as usize, join_person).await?;
    let loot = bot.await??;
    rig.stop().await?;
    let placed = people.iter().flatten().count();
    let longest = people.iter().flatten().max().copied().unwrap_or_default();
    let share = loot.places as f64 / (loot.places as f64 + placed as f64);
    let solves = u32::try_from(loot.solved.max(1)).unwrap_or(u32::MAX);
    Ok(BotBenchFigures {
        bench: "bot",
        rig: options.rig.to_string(),
        people: options.people,
        people_placed: placed,
        people_max_ms: longest.as_secs_f64() * 1e3,
        seconds: options.seconds,
        bot_places: loot.places,
        bot_solved: loot.solved,
        bot_solve_s: (loot.solving / solves).as_secs_f64(),
        bot_share: share,
        share_max: SHARE_MAX,
        held: share <= SHARE_MAX && placed == options.people as usize,
    })
}

/// Joins as one person from a /24 of their own. Returns how long the join took, or `None` if the
/// person got no place.
async fn join_person(http: LoadHttpClient, person: usize) -> anyhow::Result<Option<Duration>> {
    let address = format!("10.{}.{}.5", person >> 8 & 0xff, person & 0xff);
    let begun = Instant::now();
    let answer = send_join(&http, person, &address, json!({})).await?;
    Ok((answer.status == 201).then(|| begun.elapsed()))
}

async fn send_join(
    http: &LoadHttpClient,
    person: usize,
    address: &str,
    body: Value,
) -> anyhow::Result<LoadHttpAnswer> {
    let join = LoadHttpCall::post(format!("/v1/rooms/{ROOM}/places"), body).forwarded(address);
    http.send(&join, person).await.map_err(anyhow::Error::msg)
}

/// Joins again and again until the time is over. The bot solves a challenge only if it must.
async fn run_bot(http: LoadHttpClient, until: Instant) -> anyhow::Result<BotLoot> {
    let mut loot = BotLoot::default();
    for turn in 0.. {
        if Instant::now() >= until {
            break;
        }
        let secret: [u8; 32] = rand::rng().random();
        let body = json!({"secret": hex::encode(secret)});
        let answer = send_join(&http, turn, BOT_ADDRESS, body).await?;
        let answer = if answer.code().as_deref() == Some("challenge_failed") {
            match pay(&http, turn, secret, until, &mut loot).await? {
                Some(answer) => answer,
                None => break,
            }
        } else {
            answer
        };
        match answer.status {
            201 => loot.places += 1,
            _ => tokio::time::sleep(AGAIN).await,
        }
    }
    Ok(loot)
}

/// Solves the challenge of a new visitor, and joins with the solution. Returns the refusal if the
/// gateway gives no challenge, and `None` if the time was over before the challenge was solved.
async fn pay(
    http: &LoadHttpClient,
    turn: usize,
    secret: [u8; 32],
    until: Instant,
    loot: &mut BotLoot,
) -> anyhow::Result<Option<LoadHttpAnswer>> {
    let task = challenges::ask(http, ROOM, &secret, BOT_ADDRESS, turn).await?;
    if !task.is_ok() {
        return Ok(Some(task));
    }
    let altcha = task.json()["altcha"].clone();
    let begun = Instant::now();
    let time_left = until.saturating_duration_since(begun);
    let solving = tokio::task::spawn_blocking(move || challenges::solve(altcha, time_left));
    let Some(solved) = solving.await?? else {
        return Ok(None);
    };
    loot.solved += 1;
    loot.solving += begun.elapsed();
    let body = json!({"secret": hex::encode(secret), "challenge": solved.payload});
    send_join(http, turn, BOT_ADDRESS, body).await.map(Some)
}
