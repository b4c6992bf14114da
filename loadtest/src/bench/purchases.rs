//! Lets people buy, each a whole way from the join to the ticket: how many purchases a second there
//! are, and what one costs in processor time and in round trips. With the programs of an earlier
//! build, both builds take turns in one run.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;
use serde_json::json;
use tokio::time::sleep;

use super::fans::buyers::Buyers;
use super::{BenchOutcome, fans, report};
use crate::http::LoadHttpClient;
use crate::rig::{Rig, RigFeatures, RigSpecification, booking_binary, gateway_binary, programs_in};

/// The smallest allowed ratio of the purchases a second to those of the earlier build.
const RATIO_MIN: f64 = 0.97;
/// The largest allowed ratio of the round trips of a purchase to those of the earlier build. What
/// runs every second is counted, too, so the ratio is not exact.
const TRIPS_MAX: f64 = 1.05;
/// How long buyers run before purchases are counted.
const SETTLE: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub struct PurchaseBenchOptions {
    /// How many people buy at the same time.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    buyers: u32,
    /// How long purchases are counted, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// The folder with the programs of an earlier build, which takes turns with this one.
    #[arg(long)]
    before: Option<PathBuf>,
    /// How often each build is measured.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    turns: u32,
    /// The processes.
    #[arg(long, default_value = "gateways=1,bookings=0,redis=none,ledger=sqlite")]
    rig: RigSpecification,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// What was measured in one turn.
#[derive(Debug, Clone, Copy, Serialize)]
struct PurchaseRate {
    /// The purchases a second.
    per_s: f64,
    /// The processor time of the gateway and of booking for one purchase, in milliseconds.
    cpu_ms: f64,
    /// The round trips to Redis for one purchase. Those of work that runs every second count, too.
    redis_trips: f64,
    /// The round trips to PostgreSQL for one purchase. Those of work that runs every second count,
    /// too.
    ledger_trips: f64,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct PurchaseBenchFigures {
    bench: &'static str,
    rig: String,
    buyers: u32,
    /// This build's turns.
    now: Vec<PurchaseRate>,
    /// The earlier build's turns. Empty without such a build.
    before: Vec<PurchaseRate>,
    /// The median of the ratios of the turns, this build to the earlier one.
    ratios: Option<PurchaseRate>,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &PurchaseBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for PurchaseBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} people buy at the same time, on {}",
            self.buyers, self.rig
        )];
        for (name, turns) in [
            ("this build", &self.now),
            ("the earlier build", &self.before),
        ] {
            if !turns.is_empty() {
                let PurchaseRate {
                    per_s,
                    cpu_ms,
                    redis_trips,
                    ledger_trips,
                } = median(turns);
                lines.push(format!(
                    "  {name:<22} {per_s:.1} purchases a second; for each {cpu_ms:.2} ms of a processor, {redis_trips:.2} round trips to Redis, {ledger_trips:.2} to PostgreSQL"
                ));
            }
        }
        if let Some(ratios) = self.ratios {
            lines.push(format!(
                "  this / earlier         {:.3} purchases a second (at least {RATIO_MIN}), {:.3} processor time, {:.3} and {:.3} round trips (at most {TRIPS_MAX})",
                ratios.per_s, ratios.cpu_ms, ratios.redis_trips, ratios.ledger_trips
            ));
        }
        lines
    }
}

async fn measure(options: &PurchaseBenchOptions) -> anyhow::Result<PurchaseBenchFigures> {
    let own = (gateway_binary()?, booking_binary()?);
    let earlier = options.before.as_deref().map(programs_in).transpose()?;
    let (mut now, mut before) = (Vec::new(), Vec::new());
    for turn in 0..options.turns {
        // Each build is the first of a turn as often as the other one, because a machine may become
        // slower or faster meanwhile.
        let own_first = turn % 2 == 0;
        if own_first {
            now.push(one_turn(options, own.clone()).await?);
        }
        if let Some(earlier) = &earlier {
            before.push(one_turn(options, earlier.clone()).await?);
        }
        if !own_first {
            now.push(one_turn(options, own.clone()).await?);
        }
    }
    let ratios: Vec<PurchaseRate> = now.iter().zip(&before).map(ratio_of).collect();
    let ratios = (!ratios.is_empty()).then(|| median(&ratios));
    Ok(PurchaseBenchFigures {
        bench: "purchases",
        rig: options.rig.to_string(),
        buyers: options.buyers,
        held: ratios.is_none_or(|ratios| {
            ratios.per_s >= RATIO_MIN
                && ratios.redis_trips <= TRIPS_MAX
                && ratios.ledger_trips <= TRIPS_MAX
        }),
        now,
        before,
        ratios,
    })
}

async fn one_turn(
    options: &PurchaseBenchOptions,
    programs: (PathBuf, PathBuf),
) -> anyhow::Result<PurchaseRate> {
    let features = RigFeatures {
        proxied: true,
        counted: true,
        ..RigFeatures::default()
    };
    let name = programs.0.display().to_string();
    let rig = Rig::start_programs(options.rig, features, programs).await?;
    let http = LoadHttpClient::new(&rig.urls());
    let room = json!({
        "method": "open", "draw_at": "2026-01-01T00:00:00Z", "per_s": 20_000, "max_inside": 100_000,
    });
    fans::prepare(&http, rig.promoter_key(), room).await?;
    let buyers = Buyers::start(&http, options.buyers as usize, 0).await?;
    sleep(SETTLE).await;
    let (begun, bought) = (Instant::now(), buyers.bought());
    let (cpu_ms, trips) = (programs_ms(&rig)?, rig.round_trips().await?);
    sleep(Duration::from_secs(options.seconds)).await;
    let bought = (buyers.bought() - bought) as f64;
    let per_s = bought / begun.elapsed().as_secs_f64();
    let (cpu_ms, now) = (programs_ms(&rig)? - cpu_ms, rig.round_trips().await?);
    buyers.finish().await?;
    rig.stop().await?;
    ensure!(bought > 0.0, "nobody bought anything");
    eprintln!("  {per_s:.1} purchases a second by {name}");
    Ok(PurchaseRate {
        per_s,
        cpu_ms: cpu_ms / bought,
        redis_trips: (now.0 - trips.0) as f64 / bought,
        ledger_trips: (now.1 - trips.1) as f64 / bought,
    })
}

/// Returns the processor time that the gateways and booking have used so far, in milliseconds.
fn programs_ms(rig: &Rig) -> anyhow::Result<f64> {
    let parts = rig.parts().into_iter().filter(|part| part.is_ours());
    let spent: Option<f64> = parts.map(|part| rig.cpu_ms(part)).sum();
    spent.context("the processor time cannot be read")
}

/// Returns a ratio of figures. A figure that is 0 in both has the ratio 1.
fn ratio_of((now, before): (&PurchaseRate, &PurchaseRate)) -> PurchaseRate {
    let of = |figure: fn(&PurchaseRate) -> f64| match (figure(now), figure(before)) {
        (now, before) if now == before => 1.0,
        (now, before) => now / before,
    };
    PurchaseRate {
        per_s: of(|rate| rate.per_s),
        cpu_ms: of(|rate| rate.cpu_ms),
        redis_trips: of(|rate| rate.redis_trips),
        ledger_trips: of(|rate| rate.ledger_trips),
    }
}

/// Returns the median of each figure.
fn median(turns: &[PurchaseRate]) -> PurchaseRate {
    let of = |figure: fn(&PurchaseRate) -> f64| {
        let mut figures: Vec<f64> = turns.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    PurchaseRate {
        per_s: of(|rate| rate.per_s),
        cpu_ms: of(|rate| rate.cpu_ms),
        redis_trips: of(|rate| rate.redis_trips),
        ledger_trips: of(|rate| rate.ledger_trips),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_s: f64, redis_trips: f64) -> PurchaseRate {
        PurchaseRate {
            per_s,
            cpu_ms: 2.0,
            redis_trips,
            ledger_trips: 0.0,
        }
    }

    #[test]
    fn ratios_are_of_turns_and_the_middle_one_counts() {
        let now = [rate(90.0, 6.0), rate(200.0, 6.0), rate(50.0, 6.0)];
        let before = [rate(100.0, 5.0), rate(100.0, 5.0), rate(50.0, 5.0)];
        let ratios: Vec<PurchaseRate> = now.iter().zip(&before).map(ratio_of).collect();
        let middle = median(&ratios);
        assert!((middle.per_s - 1.0).abs() < 1e-9 && (middle.redis_trips - 1.2).abs() < 1e-9);
        assert!((middle.ledger_trips - 1.0).abs() < 1e-9, "none in both");
    }
}
