//! Lets bots on a hundred networks ask for ten times as many places as there are people. The bots
//! have a whole core for the challenges. Runs four times: without limits for networks, with the
//! default limits, with proof of work for everybody, and with Turnstile for everybody. Every person
//! must get a place. The other figures have no threshold. They show how much each limit helps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use rand::RngExt;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{BenchOutcome, challenges, people, report};
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigFeatures, RigSpecification};

/// The room that everybody joins.
const ROOM: &str = "sale";
/// How many places the bots want for each person.
const BOTS_PER_PERSON: u64 = 10;
/// How many bots call at the same time.
const AT_ONCE: u64 = 8;

#[derive(clap::Args)]
pub struct BotnetBenchOptions {
    /// How many people join. Each has a network of their own.
    #[arg(long, default_value_t = 1_000)]
    people: u32,
    /// How many networks the bots are on. Each is an IPv4 /24.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    networks: u64,
    /// How long the bots join at most, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The processes.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of one run.
#[derive(Debug, Serialize)]
struct BotnetRun {
    limits: &'static str,
    people_placed: usize,
    bot_places: u64,
    bot_solved: u64,
    /// How long the bots' core worked on challenges, in seconds.
    solving_s: f64,
    /// The bots' share of the front of the line. The front has as many ranks as there are people.
    front_share: f64,
    /// The gateways' processor time for one place, in milliseconds.
    gateway_ms: f64,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct BotnetBenchFigures {
    bench: &'static str,
    rig: String,
    people: u32,
    networks: u64,
    seconds: u64,
    runs: Vec<BotnetRun>,
    held: bool,
}

/// Counts what all bots did.
#[derive(Default)]
struct BotnetLoot {
    asked: AtomicU64,
    solved: AtomicU64,
    solving_us: AtomicU64,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &BotnetBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for BotnetBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let head = format!(
            "bots on {} networks for at most {} s want {} places beside {} people, on {}",
            self.networks,
            self.seconds,
            BOTS_PER_PERSON * u64::from(self.people),
            self.people,
            self.rig
        );
        let of_run = |run: &BotnetRun| {
            format!(
                "  {:<24} bots have {} places and {:.1} % of the front; {} challenges, {:.0} s of their core; gateways {:.2} ms a place",
                run.limits,
                run.bot_places,
                run.front_share * 100.0,
                run.bot_solved,
                run.solving_s,
                run.gateway_ms
            )
        };
        let runs = self.runs.iter().map(of_run);
        std::iter::once(head).chain(runs).collect()
    }
}

async fn measure(options: &BotnetBenchOptions) -> anyhow::Result<BotnetBenchFigures> {
    let none = json!({"per_network": {"soft": 10_000_000, "hard": 10_000_000}});
    let check = json!({"challenge": "turnstile"});
    let mut runs = Vec::new();
    for (limits, room) in [
        ("without limits", none),
        ("default limits", json!({})),
        ("proof of work by all", json!({"challenge": "pow"})),
        ("Turnstile by all", check),
    ] {
        runs.push(measure_once(options, limits, room).await?);
    }
    Ok(BotnetBenchFigures {
        bench: "botnet",
        rig: options.rig.to_string(),
        people: options.people,
        networks: options.networks,
        seconds: options.seconds,
        held: runs
            .iter()
            .all(|run| run.people_placed == options.people as usize),
        runs,
    })
}

async fn measure_once(
    options: &BotnetBenchOptions,
    limits: &'static str,
    room: Value,
) -> anyhow::Result<BotnetRun> {
    let features = RigFeatures {
        proxied: true,
        checks: true,
        ..RigFeatures::default()
    };
    let rig = Rig::start_with(options.rig, features).await?;
    let http = LoadHttpClient::new(&rig.urls());
    people::open_doors(&http, rig.promoter_key(), ROOM, room).await?;
    let provider = rig.checks().context("the rig has a provider")?.clone();
    let cpu_before_s = rig.gateway_cpu_s();
    let loot = Arc::new(BotnetLoot::default());
    let bots = run_bots(options, &http, &loot);
    let join = move |http: LoadHttpClient, person: usize| {
        let provider = provider.clone();
        async move { join_person(http, &provider, person).await }
    };
    let everybody = people::for_everybody(&http, options.people as usize, join);
    let (bots, people) = tokio::join!(bots, everybody);
    let (bots, people) = (bots?, people?);
    let people: Vec<String> = people.into_iter().flatten().collect();
    let spent_s = rig.gateway_cpu_s() - cpu_before_s;
    let front = u64::from(options.people);
    let key = rig.promoter_key();
    let bots_in_front = count_in_front(&http, key, &bots, front).await?;
    let people_in_front = count_in_front(&http, key, &people, front).await?;
    rig.stop().await?;
    let places = bots.len() + people.len();
    Ok(BotnetRun {
        limits,
        people_placed: people.len(),
        bot_places: bots.len() as u64,
        bot_solved: loot.solved.load(Ordering::Relaxed),
        solving_s: loot.solving_us.load(Ordering::Relaxed) as f64 / 1e6,
        front_share: bots_in_front as f64 / (bots_in_front + people_in_front).max(1) as f64,
        gateway_ms: spent_s * 1e3 / places.max(1) as f64,
    })
}

/// Joins as one person, who solves every challenge. Returns the place, or `None` if the person got
/// none.
async fn join_person(
    http: LoadHttpClient,
    provider: &fairgate_servers::FakeChallengeServer,
    person: usize,
) -> anyhow::Result<Option<String>> {
    let address = format!("10.{}.{}.5", person >> 8 & 0xff, person & 0xff);
    let secret: [u8; 32] = rand::rng().random();
    let task = challenges::ask(&http, ROOM, &secret, &address, person).await?;
    let solution = match task.status {
        200 if task.json()["kind"] == "pow" => {
            let altcha = task.json()["altcha"].clone();
            let solving = move || challenges::solve(altcha, Duration::from_secs(60));
            let solved = tokio::task::spawn_blocking(solving).await??;
            solved.map(|solved| solved.payload)
        }
        200 => Some(provider.pass(task.json()["cdata"].as_str())),
        _ => None,
    };
    let solution = solution.as_deref();
    let answer = challenges::join(&http, ROOM, &secret, solution, &address, person).await?;
    Ok(answer.json()["place"].as_str().map(str::to_owned))
}

/// Runs all bots until they have the places that they want, or the time is over. Returns their
/// places.
async fn run_bots(
    options: &BotnetBenchOptions,
    http: &LoadHttpClient,
    loot: &Arc<BotnetLoot>,
) -> anyhow::Result<Vec<String>> {
    let wanted = BOTS_PER_PERSON * u64::from(options.people);
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let core = Arc::new(Semaphore::new(1));
    let mut bots = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (http, loot, core) = (http.clone(), Arc::clone(loot), Arc::clone(&core));
        let networks = options.networks;
        bots.spawn(async move {
            let mut places = Vec::new();
            loop {
                let number = loot.asked.fetch_add(1, Ordering::Relaxed);
                if number >= wanted || Instant::now() >= until {
                    return anyhow::Ok(places);
                }
                let network = number % networks;
                let address = format!("203.{}.{}.7", network >> 8 & 0xff, network & 0xff);
                let time_left = until.saturating_duration_since(Instant::now());
                places.extend(take_place(&http, &loot, &core, &address, time_left).await?);
            }
        });
    }
    let mut places = Vec::new();
    while let Some(bot) = bots.join_next().await {
        places.extend(bot??);
    }
    Ok(places)
}

/// Takes a place for a bot. Returns `None` if the bot gets none. Bots solve proof of work, but
/// cannot pass the check of a provider.
async fn take_place(
    http: &LoadHttpClient,
    loot: &BotnetLoot,
    core: &Semaphore,
    address: &str,
    time_left: Duration,
) -> anyhow::Result<Option<String>> {
    let secret: [u8; 32] = rand::rng().random();
    let task = challenges::ask(http, ROOM, &secret, address, 0).await?;
    let solution = match task.status {
        204 => None,
        200 if task.json()["kind"] == "pow" => {
            let altcha = task.json()["altcha"].clone();
            let _core = core.acquire().await?;
            let begun = Instant::now();
            let solving = tokio::task::spawn_blocking(move || challenges::solve(altcha, time_left));
            let Some(solved) = solving.await?? else {
                return Ok(None);
            };
            let us = u64::try_from(begun.elapsed().as_micros())?;
            loot.solving_us.fetch_add(us, Ordering::Relaxed);
            loot.solved.fetch_add(1, Ordering::Relaxed);
            Some(solved.payload)
        }
        _ => return Ok(None),
    };
    let answer = challenges::join(http, ROOM, &secret, solution.as_deref(), address, 0).await?;
    Ok(answer.json()["place"].as_str().map(str::to_owned))
}

/// Draws the room if it is not drawn yet, and counts the places whose rank is below `front`.
async fn count_in_front(
    http: &LoadHttpClient,
    key: &str,
    places: &[String],
    front: u64,
) -> anyhow::Result<u64> {
    people::draw(http, key, ROOM).await?;
    let places: Arc<[String]> = places.into();
    let count = places.len();
    let rank = move |http: LoadHttpClient, person: usize| {
        let place = places[person].clone();
        async move {
            let call = LoadHttpCall::get(format!("/v1/rooms/{ROOM}/place")).bearer(&place);
            let place = people::granted(&http, person, &call).await?;
            anyhow::Ok(place["rank"].as_u64().context("a place without a rank")?)
        }
    };
    let ranks = people::for_everybody(http, count, rank).await?;
    Ok(ranks.into_iter().filter(|rank| *rank < front).count() as u64)
}
