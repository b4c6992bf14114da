//! Two trials of selling a train's seats leg by leg. Each prints its figures. The exit code is 1 if
//! the figures are worse than expected.
//!
//! - `legs fit` compares the rule for choosing seats with other ways to seat the same travellers.
//! - `legs rush [TIMES]` lets 200 buyers ask for stretches of one train. Together they ask 20,000
//!   times, or TIMES times. It checks that no two buyers ever had the same seat on the same leg at
//!   the same time. It runs with the in-process store, with one node and with three nodes on one
//!   Redis, and with three nodes on a Redis cluster.

mod fit;
mod rush;
mod train;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use booking::store::InventoryStore;
use booking::store::memory::MemoryStore;
use serde_json::json;

/// The least ratio of [`fit::Sold::tightest`] to [`fit::Sold::reseating`].
const OF_RESEATING: f64 = 0.98;
/// The least ratio of [`fit::Sold::tightest`] to [`fit::Sold::random`].
const ABOVE_RANDOM: f64 = 1.02;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let held = match &arguments[..] {
        ["fit"] => show_fit(),
        ["rush"] => show_rush(rush::RUSH).await,
        ["rush", times] if times.parse::<u32>().is_ok() => {
            let requests = times.parse().expect("it is a number");
            show_rush(rush::Rush {
                requests,
                ..rush::RUSH
            })
            .await
        }
        _ => {
            eprintln!("legs fit | rush [TIMES]");
            return ExitCode::from(2);
        }
    };
    ExitCode::from(u8::from(!held))
}

fn show_fit() -> bool {
    let sold = fit::simulate(fit::SIZE);
    let (of_reseating, above_random) =
        (sold.tightest / sold.reseating, sold.tightest / sold.random);
    let held =
        of_reseating >= OF_RESEATING && sold.tightest > sold.first && above_random >= ABOVE_RANDOM;
    let figures = json!({
        "trial": "fit", "held": held, "passenger_legs": {
            "tightest": sold.tightest, "reseating": sold.reseating, "first": sold.first, "random": sold.random,
        },
        "of_reseating": of_reseating, "above_first": sold.tightest / sold.first, "above_random": above_random,
    });
    tell(&figures);
    held
}

async fn show_rush(rush: rush::Rush) -> bool {
    let memory: Arc<dyn InventoryStore> = Arc::new(MemoryStore::default());
    let mut held = tried("memory", vec![memory], rush).await;
    if fairgate_servers::must_skip("a rush in Redis") {
        return held;
    }
    for nodes in [1, 3] {
        let single = fairgate_servers::RedisServers::single()
            .await
            .expect("it starts");
        held &= tried("redis", rush::nodes(&single, nodes).await, rush).await;
    }
    let cluster = fairgate_servers::RedisServers::cluster()
        .await
        .expect("it starts");
    held &= tried("redis cluster", rush::nodes(&cluster, 3).await, rush).await;
    held
}

/// Prints figures on one line. A closed output is ignored.
fn tell(figures: &serde_json::Value) {
    let _ = writeln!(std::io::stdout(), "{figures}");
}

async fn tried(name: &str, stores: Vec<Arc<dyn InventoryStore>>, rush: rush::Rush) -> bool {
    let nodes = stores.len();
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = rush::ledger(folder.path()).await;
    let outcome = rush::run(stores, ledger, rush).await;
    let held = outcome.findings.is_empty() && outcome.taken > 0;
    let figures = json!({
        "trial": "rush", "store": name, "nodes": nodes, "held": held, "requests": rush.requests, "taken": outcome.taken,
        "refused": outcome.refused, "given_back": outcome.given_back, "filled_pct": outcome.filled_pct,
        "took_s": outcome.took.as_secs_f64(), "findings": outcome.findings.len(),
    });
    tell(&figures);
    for finding in outcome.findings.iter().take(10) {
        eprintln!("{finding}");
    }
    held
}
