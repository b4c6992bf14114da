//! Calls come from 100,000 foreign networks. A gateway gives at most that many networks a quota of
//! their own. Meanwhile fresh visitors join, each from a network that the gateway has not seen.
//! Every fresh visitor must get a place.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::{BenchOutcome, challenges, people, report};
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigFeatures, RigSpecification};

/// The room that everybody joins.
const ROOM: &str = "sale";
/// At least this many fresh visitors come, unless fewer networks come. They are spread evenly among
/// the foreign networks.
const FRESH: usize = 200;
/// How long a fresh visitor may wait for the place.
const WITHIN: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub struct ForeignBenchOptions {
    /// How many foreign networks come.
    #[arg(long, default_value_t = 100_000)]
    networks: u32,
    /// The processes.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct ForeignBenchFigures {
    bench: &'static str,
    rig: String,
    networks: u32,
    /// Foreign networks a second.
    networks_per_s: f64,
    fresh: usize,
    /// Fresh visitors who got a place at their first call.
    placed: usize,
    longest_ms: f64,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &ForeignBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for ForeignBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        vec![
            format!(
                "{} foreign networks, {:.0} a second, on {}",
                self.networks, self.networks_per_s, self.rig
            ),
            format!(
                "  fresh visitors placed    {} of {} at once; longest {:.0} ms",
                self.placed, self.fresh, self.longest_ms
            ),
        ]
    }
}

async fn measure(options: &ForeignBenchOptions) -> anyhow::Result<ForeignBenchFigures> {
    let features = RigFeatures {
        proxied: true,
        checks: true,
        ..RigFeatures::default()
    };
    let rig = Rig::start_with(options.rig, features).await?;
    let http = LoadHttpClient::new(&rig.urls());
    people::open_doors(&http, rig.promoter_key(), ROOM, json!({})).await?;
    let begun = Instant::now();
    let every = (options.networks as usize / FRESH).max(1);
    let call_in = move |http: LoadHttpClient, person: usize| call_in(http, person, every);
    let results = people::for_everybody(&http, options.networks as usize, call_in).await?;
    let took = begun.elapsed();
    rig.stop().await?;
    let fresh_joins: Vec<Option<Duration>> = results.into_iter().flatten().collect();
    let placed = fresh_joins.iter().flatten().count();
    let longest = fresh_joins
        .iter()
        .flatten()
        .max()
        .copied()
        .unwrap_or_default();
    Ok(ForeignBenchFigures {
        bench: "foreign",
        rig: options.rig.to_string(),
        networks: options.networks,
        networks_per_s: f64::from(options.networks) / took.as_secs_f64(),
        fresh: fresh_joins.len(),
        placed,
        longest_ms: longest.as_secs_f64() * 1e3,
        held: placed == fresh_joins.len() && placed > 0 && longest <= WITHIN,
    })
}

/// Calls from a foreign network. If `person` is a multiple of `every`, a fresh visitor also joins.
/// Returns `None` if no fresh visitor came, `Some(None)` if the visitor got no place at the first
/// call, and otherwise how long the join took.
async fn call_in(
    http: LoadHttpClient,
    person: usize,
    every: usize,
) -> anyhow::Result<Option<Option<Duration>>> {
    let [_, a, b, c] = (person as u32).to_be_bytes();
    // The call counts against the foreign network's quota of challenges.
    let foreign = format!("{}.{a}.{b}.{c}", 11);
    let task = LoadHttpCall::get(format!("/v1/rooms/{ROOM}/challenge")).forwarded(&foreign);
    http.send(&task, person).await.map_err(anyhow::Error::msg)?;
    if !person.is_multiple_of(every) {
        return Ok(None);
    }
    let fresh = format!("10.{a}.{b}.{c}");
    let begun = Instant::now();
    let secret: [u8; 32] = rand::random();
    challenges::ask(&http, ROOM, &secret, &fresh, person).await?;
    let answer = challenges::join(&http, ROOM, &secret, None, &fresh, person).await?;
    Ok(Some((answer.status == 201).then(|| begun.elapsed())))
}
