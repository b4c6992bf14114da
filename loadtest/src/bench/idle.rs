//! Opens thousands of live sockets that only wait. Measures the gateway's memory for them, and its
//! processor time for them before the draw and while selling. Subtracts what the same gateway uses
//! without sockets.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use serde_json::json;
use tokio::time::sleep;

use super::fans::sockets::FanSockets;
use super::{BenchOutcome, fans, people, report};
use crate::http::LoadHttpClient;
use crate::rig::Rig;

/// The part of a core that the sockets may cost before the draw, in percent.
const BEFORE_MAX: f64 = 3.0;
/// The part of a core that the sockets may cost while selling, in percent.
const SELLING_MAX: f64 = 5.0;
/// The memory that one socket may take, in bytes.
const SOCKET_BYTES_MAX: f64 = 3_000.0;
/// The longest mean time between two `line` frames of a socket, in seconds. The gateway sends one
/// every five seconds. One more second allows for the start and the end of a short run.
const LINE_EVERY_MAX: f64 = 6.0;
/// How long the gateway may come to rest before each measurement, in seconds.
const SETTLE_S: u64 = 8;

#[derive(clap::Args)]
pub struct IdleBenchOptions {
    /// How many sockets wait.
    #[arg(long, default_value_t = 15_000, value_parser = clap::value_parser!(u32).range(1..=18_000))]
    sockets: u32,
    /// How long each part is measured, in seconds.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Print the figures without judging them. Use this for programs that are built without
    /// optimisation.
    #[arg(long)]
    unjudged: bool,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The figures of the bench.
#[derive(Debug, Serialize)]
struct IdleBenchFigures {
    bench: &'static str,
    sockets: u32,
    /// The joins a second, when 64 people join at the same time.
    joins_per_s: f64,
    /// The memory that one place took, in bytes.
    place_bytes: f64,
    /// The percentage of a core that the gateway uses without sockets.
    baseline_percent: f64,
    before: IdleCost,
    selling: IdleCost,
    socket_bytes: f64,
    held: bool,
}

/// What the sockets cost in one part of the run.
#[derive(Debug, Clone, Copy, Serialize)]
struct IdleCost {
    /// The percentage of a core that the gateway used beyond what it uses without sockets.
    core_percent: f64,
    /// The mean seconds between two `line` frames of a socket.
    line_every_s: f64,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &IdleBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for IdleBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let cost = |what: &str, cost: IdleCost, most: f64| {
            format!(
                "  {what}   {:.2} % of a core more (at most {most}); a line frame every {:.1} s for each",
                cost.core_percent, cost.line_every_s
            )
        };
        vec![
            format!(
                "{} joins at {:.0} a second; {:.0} bytes for each place",
                self.sockets, self.joins_per_s, self.place_bytes
            ),
            format!(
                "{} sockets that wait; the gateway uses {:.2} % of a core without them",
                self.sockets, self.baseline_percent
            ),
            cost("before the draw", self.before, BEFORE_MAX),
            cost("while selling", self.selling, SELLING_MAX),
            format!(
                "  memory for each   {:.0} bytes (at most {SOCKET_BYTES_MAX})",
                self.socket_bytes
            ),
        ]
    }
}

impl IdleCost {
    fn is_within(self, core_percent_max: f64) -> bool {
        self.core_percent <= core_percent_max && self.line_every_s <= LINE_EVERY_MAX
    }
}

async fn measure(options: &IdleBenchOptions) -> anyhow::Result<IdleBenchFigures> {
    let rig = fans::start_rig().await?;
    let http = LoadHttpClient::new(&rig.urls());
    let address = rig.urls().into_iter().next().context("no gateway")?;
    let address: SocketAddr = address.trim_start_matches("http://").parse()?;
    // After the draw, everybody is called within a few seconds.
    let room = json!({"per_s": 20_000, "max_inside": 50_000});
    fans::prepare(&http, rig.promoter_key(), room).await?;
    let (joining, without_places) = (Instant::now(), fans::gateway_bytes(&rig)?);
    let places = fans::join_all(&http, options.sockets as usize).await?;
    let joins_per_s = f64::from(options.sockets) / joining.elapsed().as_secs_f64();
    let settle = Duration::from_secs(options.seconds.min(SETTLE_S));
    sleep(settle).await;
    let baseline_percent = fans::core_percent(&rig, Duration::from_secs(options.seconds)).await?;
    let before_bytes = fans::gateway_bytes(&rig)?;
    let opening = tokio::task::spawn_blocking(move || FanSockets::open(address, &places, false));
    let sockets = opening.await??;
    sleep(settle).await;
    let before = cost(&rig, &sockets, options, baseline_percent).await?;
    let bytes = fans::gateway_bytes(&rig)? - before_bytes;
    people::draw(&http, rig.promoter_key(), fans::ROOM).await?;
    sleep(settle).await;
    let selling = cost(&rig, &sockets, options, baseline_percent).await?;
    sockets.ensure_open()?;
    tokio::task::spawn_blocking(move || drop(sockets)).await?;
    rig.stop().await?;
    let socket_bytes = bytes / f64::from(options.sockets);
    let held = before.is_within(BEFORE_MAX)
        && selling.is_within(SELLING_MAX)
        && socket_bytes <= SOCKET_BYTES_MAX;
    Ok(IdleBenchFigures {
        bench: "idle",
        sockets: options.sockets,
        joins_per_s,
        place_bytes: (before_bytes - without_places) / f64::from(options.sockets),
        baseline_percent,
        before,
        selling,
        socket_bytes,
        held: held || options.unjudged,
    })
}

async fn cost(
    rig: &Rig,
    sockets: &FanSockets,
    options: &IdleBenchOptions,
    baseline_percent: f64,
) -> anyhow::Result<IdleCost> {
    let lines = || sockets.counts().lines.load(Ordering::Relaxed);
    let (begun, lines_before) = (Instant::now(), lines());
    let time = Duration::from_secs(options.seconds);
    let core_percent = fans::core_percent(rig, time).await? - baseline_percent;
    let lines_per_socket = (lines() - lines_before) as f64 / f64::from(options.sockets);
    Ok(IdleCost {
        core_percent,
        line_every_s: begun.elapsed().as_secs_f64() / lines_per_socket.max(f64::MIN_POSITIVE),
    })
}
