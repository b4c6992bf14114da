//! Lets people buy as fast as the gateway can. They buy alone, then beside thousands of watchers of
//! the same seats on the same processors, and then alone again. Buyers come first: the watchers
//! must reduce the purchases only a little. The watchers' pictures of the seats must still stay
//! fresh.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use serde_json::json;
use tokio::time::sleep;

use super::fans::buyers::Buyers;
use super::fans::sockets::{FanObserver, FanSockets};
use super::{BenchOutcome, fans, report};
use crate::http::LoadHttpClient;

/// The smallest allowed ratio of the purchases with watchers to the purchases without watchers.
const RATIO_MIN: f64 = 0.8;
/// The longest allowed time between two pictures that a watcher gets while seats are sold, in
/// milliseconds.
const GAP_MS_MAX: f64 = 2_000.0;
/// How many of the watchers note when their pictures come.
const OBSERVERS: usize = 12;
/// How long a called visitor may take to claim, in seconds. A room allows no shorter time.
const CLAIM_S: u64 = 5;
/// How long buyers run before purchases are counted, in seconds.
const SETTLE_S: u64 = 8;

#[derive(clap::Args)]
pub struct DeltaBenchOptions {
    /// How many people watch the seats.
    #[arg(long, default_value_t = 15_000, value_parser = clap::value_parser!(u32).range(20..=18_000))]
    watchers: u32,
    /// How many people buy at the same time.
    #[arg(long, default_value_t = 600)]
    buyers: usize,
    /// How long purchases are counted, without watchers and with them, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=20))]
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
struct DeltaBenchFigures {
    bench: &'static str,
    watchers: u32,
    /// Purchases a second without watchers, before they come and after they leave.
    alone_per_s: [f64; 2],
    watched_per_s: f64,
    /// The purchases a second with watchers, divided by the mean of the two rates without watchers.
    ratio: f64,
    /// The longest `seats_every_ms` in the observers' last `line` frames, in milliseconds.
    seats_every_ms: u64,
    /// The longest time between two pictures of an observer, in milliseconds.
    gap_ms: f64,
    /// The frames with seats that all watchers together got in a second, without the observers.
    seat_frames_per_s: f64,
    held: bool,
}

/// Runs the bench.
///
/// # Errors
/// Where the run is invalid. The error gives the reason.
pub fn run(options: &DeltaBenchOptions) -> anyhow::Result<BenchOutcome> {
    report::measured(options.json, measure(options))
}

impl report::BenchFigures for DeltaBenchFigures {
    fn held(&self) -> bool {
        self.held
    }

    fn lines(&self) -> Vec<String> {
        let [first, last] = self.alone_per_s;
        vec![
            format!(
                "purchases a second    {first:.0} and {last:.0} alone, {:.0} with {} watchers",
                self.watched_per_s, self.watchers
            ),
            format!(
                "  with / without      {:.2} (at least {RATIO_MIN})",
                self.ratio
            ),
            format!(
                "  pictures            one every {} ms for each watcher, {:.0} a second for all; {:.0} ms apart at most (at most {GAP_MS_MAX})",
                self.seats_every_ms, self.seat_frames_per_s, self.gap_ms
            ),
        ]
    }
}

async fn measure(options: &DeltaBenchOptions) -> anyhow::Result<DeltaBenchFigures> {
    let rig = fans::start_rig().await?;
    let http = LoadHttpClient::new(&rig.urls());
    let address = rig.urls().into_iter().next().context("no gateway")?;
    let address: SocketAddr = address.trim_start_matches("http://").parse()?;
    // Watchers are called and never claim. After `claim_s` they no longer count towards
    // `max_inside`, so that there is room for the buyers.
    let room = json!({
        "method": "open", "draw_at": "2026-01-01T00:00:00Z", "per_s": 20_000, "max_inside": 100_000,
        "claim_s": CLAIM_S,
    });
    fans::prepare(&http, rig.promoter_key(), room).await?;
    let places = fans::join_all(&http, options.watchers as usize).await?;
    let buyers = Buyers::start(&http, options.buyers, places.len()).await?;
    let settle = Duration::from_secs(options.seconds.min(SETTLE_S));
    sleep(settle).await;
    let first_alone = purchases_per_s(&buyers, options.seconds).await;

    let opening = tokio::task::spawn_blocking(move || open_all(address, &places));
    let (sockets, observers) = opening.await??;
    sleep(settle).await;
    observers.iter().for_each(|observer| drop(observer.take()));
    let frames = sockets.counts().seats.load(Ordering::Relaxed);
    let begun = Instant::now();
    let watched_per_s = purchases_per_s(&buyers, options.seconds).await;
    let frames = sockets.counts().seats.load(Ordering::Relaxed) - frames;
    let ended = Instant::now();
    let observed: Vec<_> = observers.iter().map(FanObserver::take).collect();
    sockets.ensure_open()?;
    tokio::task::spawn_blocking(move || drop((sockets, observers))).await?;

    sleep(settle).await;
    let last_alone = purchases_per_s(&buyers, options.seconds).await;
    buyers.finish().await?;
    rig.stop().await?;
    let gaps = observed
        .iter()
        .map(|observed| longest_gap(begun, &observed.seats, ended));
    let gap = gaps.max().context("there is no observer")?;
    let gap_ms = gap.as_secs_f64() * 1e3;
    let interval_ms = observed
        .iter()
        .filter_map(|observed| observed.seats_every_ms)
        .max();
    let ratio = watched_per_s / ((first_alone + last_alone) / 2.0);
    Ok(DeltaBenchFigures {
        bench: "delta",
        watchers: options.watchers,
        alone_per_s: [first_alone, last_alone],
        watched_per_s,
        ratio,
        seats_every_ms: interval_ms.context("no line frame gave the interval of the pictures")?,
        gap_ms,
        seat_frames_per_s: frames as f64 / options.seconds as f64,
        held: options.unjudged || (ratio >= RATIO_MIN && gap_ms <= GAP_MS_MAX),
    })
}

/// Returns the longest time without a picture between `begun` and `ended`. An observer that gets no
/// picture has one gap, which is the whole time.
fn longest_gap(begun: Instant, pictures: &[Instant], ended: Instant) -> Duration {
    let mut gap = Duration::ZERO;
    let mut previous = begun;
    for picture in pictures.iter().chain([&ended]) {
        gap = gap.max(picture.saturating_duration_since(previous));
        previous = *picture;
    }
    gap
}

fn open_all(
    address: SocketAddr,
    places: &[String],
) -> anyhow::Result<(FanSockets, Vec<FanObserver>)> {
    let (observing, watching) = places.split_at(OBSERVERS);
    let sockets = FanSockets::open(address, watching, true)?;
    let open =
        |(person, place): (usize, &String)| FanObserver::open(address, 39_000 + person, place);
    let observers = observing.iter().enumerate().map(open);
    Ok((sockets, observers.collect::<anyhow::Result<_>>()?))
}

/// Counts purchases for this many seconds, and returns the purchases a second.
async fn purchases_per_s(buyers: &Buyers, seconds: u64) -> f64 {
    let (begun, bought_before) = (Instant::now(), buyers.bought());
    sleep(Duration::from_secs(seconds)).await;
    let per_s = (buyers.bought() - bought_before) as f64 / begun.elapsed().as_secs_f64();
    eprintln!("  {per_s:.0} purchases a second");
    per_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observer_without_pictures_at_the_begin_or_the_end_has_a_gap_there() {
        let begun = Instant::now();
        let after = |seconds: u64| begun + Duration::from_secs(seconds);
        for (pictures, seconds) in [
            (vec![], 10),
            (vec![4, 5], 5),
            (vec![1, 2, 7, 9], 5),
            (vec![6, 8], 6),
            (vec![2, 4, 6, 8, 10, 12], 2),
        ] {
            let pictures: Vec<_> = pictures.into_iter().map(after).collect();
            let gap = longest_gap(begun, &pictures, after(10));
            assert_eq!(gap, Duration::from_secs(seconds));
        }
    }
}
