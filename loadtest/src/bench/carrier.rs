//! Many people join from the one address of their carrier. The room does not exempt this address
//! from its limits. If the room asks for the check of a provider, everybody must get a place soon.
//! If it asks for proof of work, there is no threshold. The figures then show what the work costs
//! the people and the gateway.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fairgate_servers::FakeChallengeServer;
use hdrhistogram::Histogram;
use rand::RngExt;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{BenchOutcome, challenges, people, report};
use crate::http::LoadHttpClient;
use crate::rig::{Rig, RigFeatures, RigSpecification};

/// The room that everybody joins.
const ROOM: &str = "sale";
/// The carrier's only address.
const ADDRESS: &str = "198.51.100.7";
/// How long each person may take with the check of a provider.
const WITHIN: Duration = Duration::from_secs(15);
/// How long a person tries at most.
const TRIES_FOR: Duration = Duration::from_secs(120);

/// What the room asks of everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CarrierChallenge {
    /// The check of Turnstile, by a server that imitates it.
    Turnstile,
    /// Proof of work.
    Pow,
}

#[derive(clap::Args)]
pub struct CarrierBenchOptions {
    /// How many people join from the one address.
    #[arg(long, default_value_t = 10_000)]
    people: u32,
    /// Over how many seconds they come.
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    /// What the room asks of everybody.
    #[arg(long, value_enum, default_value_t = CarrierChallenge::Turnstile)]
    challenge: CarrierChallenge,
    /// The processes.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct CarrierBenchFigures {
    bench: &'static str,
    rig: String,
    challenge: CarrierChallenge,
    people: u32,
    seconds: u32,
    /// People who got a place.
    placed: u64,
    /// Places a second, from the start until the last person was done.
    joins_per_s: f64,
    /// The times from a person's first call to the place, in seconds. The time for the proof of
    /// work, with the wait for the shared core, does not count.
    wait_p50_s: f64,
    wait_p99_s: f64,
    wait_max_s: f64,
    /// How long an average phone would work for one person, in seconds.
    phone_p50_s: f64,
    phone_max_s: f64,
    /// The gateways' processor time for one place, in milliseconds.
    gateway_ms: f64,
    held: bool,
}

/// The times of one person who got a place.
struct JoinedPerson {
    waited: Duration,
    phone_s: f64,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &CarrierBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for CarrierBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        vec![
            format!(
                "{} people on one address within {} s, {:?}, on {}",
                self.people, self.seconds, self.challenge, self.rig
            ),
            format!(
                "  people with a place      {} of {}; {:.0} joins/s",
                self.placed, self.people, self.joins_per_s
            ),
            format!(
                "  waits                    p50 {:.2} s, p99 {:.2} s, longest {:.2} s",
                self.wait_p50_s, self.wait_p99_s, self.wait_max_s
            ),
            format!(
                "  work of a phone          p50 {:.1} s, longest {:.1} s",
                self.phone_p50_s, self.phone_max_s
            ),
            format!(
                "  gateways' processor      {:.2} ms a place",
                self.gateway_ms
            ),
        ]
    }
}

async fn measure(options: &CarrierBenchOptions) -> anyhow::Result<CarrierBenchFigures> {
    let features = RigFeatures {
        proxied: true,
        checks: true,
        ..RigFeatures::default()
    };
    let rig = Rig::start_with(options.rig, features).await?;
    let http = LoadHttpClient::new(&rig.urls());
    let kind = match options.challenge {
        CarrierChallenge::Turnstile => "turnstile",
        CarrierChallenge::Pow => "pow",
    };
    people::open_doors(&http, rig.promoter_key(), ROOM, json!({"challenge": kind})).await?;
    let provider = rig.checks().context("the rig has a provider")?.clone();
    // All simulated phones share one core. The time of a real phone is computed from the work.
    let cores = Arc::new(Semaphore::new(1));
    let cpu_before_s = rig.gateway_cpu_s();
    let begun = Instant::now();
    let mut joining = JoinSet::new();
    let apart = f64::from(options.seconds) / f64::from(options.people.max(1));
    for person in 0..options.people {
        let arrival = begun + Duration::from_secs_f64(apart * f64::from(person));
        let (http, provider, cores) = (http.clone(), provider.clone(), Arc::clone(&cores));
        joining.spawn(async move {
            tokio::time::sleep_until(arrival.into()).await;
            join_person(&http, &provider, &cores, person as usize).await
        });
    }
    let mut joined = Vec::new();
    while let Some(person) = joining.join_next().await {
        joined.extend(person??);
    }
    let took = begun.elapsed();
    let spent_s = rig.gateway_cpu_s() - cpu_before_s;
    rig.stop().await?;
    figures(options, &joined, took, spent_s)
}

fn figures(
    options: &CarrierBenchOptions,
    joined: &[JoinedPerson],
    took: Duration,
    spent_s: f64,
) -> anyhow::Result<CarrierBenchFigures> {
    let mut waits = Histogram::<u64>::new(3)?;
    let mut phones = Histogram::<u64>::new(3)?;
    for person in joined {
        waits.record(u64::try_from(person.waited.as_millis())?)?;
        phones.record((person.phone_s * 1e3) as u64)?;
    }
    let s = |ms: u64| ms as f64 / 1e3;
    let placed = joined.len() as u64;
    let all_in_time =
        placed == u64::from(options.people) && joined.iter().all(|person| person.waited <= WITHIN);
    Ok(CarrierBenchFigures {
        bench: "carrier",
        rig: options.rig.to_string(),
        challenge: options.challenge,
        people: options.people,
        seconds: options.seconds,
        placed,
        joins_per_s: placed as f64 / took.as_secs_f64(),
        wait_p50_s: s(waits.value_at_quantile(0.5)),
        wait_p99_s: s(waits.value_at_quantile(0.99)),
        wait_max_s: s(waits.max()),
        phone_p50_s: s(phones.value_at_quantile(0.5)),
        phone_max_s: s(phones.max()),
        gateway_ms: spent_s * 1e3 / (placed.max(1) as f64),
        // Proof of work is measured, and has no threshold.
        held: all_in_time || options.challenge == CarrierChallenge::Pow,
    })
}

/// Joins as one person, who solves every challenge. Returns `None` if the person got no place.
async fn join_person(
    http: &LoadHttpClient,
    provider: &FakeChallengeServer,
    cores: &Semaphore,
    person: usize,
) -> anyhow::Result<Option<JoinedPerson>> {
    let secret: [u8; 32] = rand::rng().random();
    let begun = Instant::now();
    let (mut phone_s, mut worked) = (0.0, Duration::ZERO);
    while begun.elapsed() < TRIES_FOR {
        let task = challenges::ask(http, ROOM, &secret, ADDRESS, person).await?;
        let solution = match task.status {
            204 => None,
            200 if task.json()["kind"] == "pow" => {
                let began = Instant::now();
                let _core = cores.acquire().await?;
                let altcha = task.json()["altcha"].clone();
                let solving =
                    tokio::task::spawn_blocking(move || challenges::solve(altcha, TRIES_FOR));
                let Some(solved) = solving.await?? else {
                    return Ok(None);
                };
                worked += began.elapsed();
                phone_s += solved.phone_s;
                Some(solved.payload)
            }
            200 => Some(provider.pass(task.json()["cdata"].as_str())),
            429 => {
                let again_s = task.json()["retry_after_s"].as_u64().unwrap_or(1);
                tokio::time::sleep(Duration::from_secs(again_s)).await;
                continue;
            }
            403 => return Ok(None),
            other => bail!("the challenge was refused: {other}"),
        };
        let answer =
            challenges::join(http, ROOM, &secret, solution.as_deref(), ADDRESS, person).await?;
        match answer.status {
            201 => {
                let waited = begun.elapsed().saturating_sub(worked);
                return Ok(Some(JoinedPerson { waited, phone_s }));
            }
            429 | 503 => {
                let again_s = answer.json()["retry_after_s"].as_u64().unwrap_or(1);
                tokio::time::sleep(Duration::from_secs(again_s)).await;
            }
            403 if answer.code().as_deref() == Some("challenge_failed") => {}
            _ => return Ok(None),
        }
    }
    Ok(None)
}
