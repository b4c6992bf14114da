//! Starts the processes, lets visitors do one kind of work after the other, and measures what each
//! kind costs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use hyper::Method;
use serde_json::json;
use tokio::time::sleep;

use super::CalibrateOptions;
use super::figures::{Calibration, LedgerCosts, MemoryCosts, WorkCost, WorkCosts};
use super::meter::{IdleUse, RigUse};
use super::{ledger, tls};
use crate::bench::fans::buyers::Buyers;
use crate::bench::fans::sockets::FanSockets;
use crate::bench::fans::{self, ROOM, SHOW};
use crate::bench::people;
use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::machine::{kernel_cache_bytes, this_machine};
use crate::rig::{Rig, RigComponent, RigFeatures};

/// How many people buy at the same time. If there are fewer visitors, only that many people buy.
const BUYERS: usize = 400;
/// How many visitors claim a pass and hold seats.
const HOLDERS: usize = 1_000;
/// How often each of these visitors takes seats and puts them back.
const HOLDS_EACH: usize = 2;
/// How long the processes may come to rest between two kinds of work.
const SETTLE: Duration = Duration::from_secs(3);

/// A rig, and what it uses while nobody calls it.
struct CalibrationRig {
    rig: Rig,
    http: LoadHttpClient,
    idle: IdleUse,
}

/// Measures every kind of work.
///
/// # Errors
/// Where a process does not start, or a call is refused.
pub async fn measure(options: &CalibrateOptions) -> anyhow::Result<Calibration> {
    let features = RigFeatures {
        proxied: true,
        ..RigFeatures::default()
    };
    let rig = Rig::start_with(options.rig, features).await?;
    let http = LoadHttpClient::new(&rig.urls());
    let address = rig.urls().into_iter().next().context("no gateway")?;
    let address: SocketAddr = address.trim_start_matches("http://").parse()?;
    let room = json!({"per_s": 20_000, "max_inside": 50_000, "claim_s": 600});
    fans::prepare(&http, rig.promoter_key(), room).await?;
    print_step("what the processes use by themselves");
    sleep(SETTLE).await;
    let time = Duration::from_secs(options.seconds);
    let idle = IdleUse::measure(&rig, time).await;
    let shop = CalibrationRig { rig, http, idle };
    let calibration = shop.calibration(options, address).await?;
    shop.rig.stop().await?;
    Ok(calibration)
}

impl CalibrationRig {
    async fn calibration(
        &self,
        options: &CalibrateOptions,
        address: SocketAddr,
    ) -> anyhow::Result<Calibration> {
        let (rig, http) = (&self.rig, &self.http);
        let (visitors, time) = (options.visitors, Duration::from_secs(options.seconds));
        print_step("joins");
        let before_mb = self.gateways_mb();
        let (places, join) = self
            .work(visitors.into(), fans::join_all(http, visitors as usize))
            .await?;
        let joined_mb = self.gateways_mb();
        print_step("places that are asked for");
        let ((), poll) = self.work(visitors.into(), self.polls(&places)).await?;
        print_step("sockets");
        let kernel = kernel_cache_bytes();
        let polled_mb = self.gateways_mb();
        let (sockets, socket_open) = self
            .work(visitors.into(), open(address, places.clone(), false))
            .await?;
        sleep(SETTLE).await;
        let units = f64::from(visitors) * time.as_secs_f64();
        let ((), socket_wait) = self.work(units, rest(time)).await?;
        let open_mb = self.gateways_mb();
        let kernel = kernel_cache_bytes() - kernel;
        sockets.ensure_open()?;
        tokio::task::spawn_blocking(move || drop(sockets)).await?;
        people::draw(http, rig.promoter_key(), ROOM).await?;
        sleep(SETTLE).await;
        print_step("passes and holds");
        let holders = HOLDERS.min(places.len());
        let (passes, enter) = self
            .work(holders as f64, self.passes(&places[..holders]))
            .await?;
        let hold_count = (holders * HOLDS_EACH) as f64;
        let ((), hold) = self.work(hold_count, self.holds(passes)).await?;
        print_step("purchases");
        let (purchase, commits_per_purchase) = self.purchases(&places, time).await?;
        print_step("pictures of the seats");
        let picture = self
            .pictures(address, &places, time, &[purchase, socket_wait])
            .await?;
        let bytes_each = |mb: f64| (mb * 1e6 / f64::from(visitors)).max(0.0);
        Ok(Calibration {
            made_at: jiff::Timestamp::now().to_string(),
            rig: options.rig.to_string(),
            optimised: !cfg!(debug_assertions),
            machine: this_machine(options.rig.cpus),
            work: WorkCosts {
                join,
                poll,
                socket_open,
                socket_wait,
                enter,
                hold,
                purchase,
                picture,
            },
            memory: MemoryCosts {
                place_bytes: bytes_each(joined_mb - before_mb),
                socket_bytes: bytes_each(open_mb - polled_mb),
                // Both ends of each socket are on this machine.
                kernel_socket_bytes: bytes_each(kernel / 2e6),
            },
            ledger: LedgerCosts {
                syncs_per_s: ledger::syncs_per_s(rig.folder())?,
                commits_per_purchase,
            },
            tls: tokio::task::spawn_blocking(tls::tls_costs).await?,
        })
    }

    /// Runs `work`, which does `units` units of work. Returns its result, and the cost of one unit.
    async fn work<T>(
        &self,
        units: f64,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<(T, WorkCost)> {
        let before = RigUse::of(&self.rig);
        let result = work.await?;
        let cost = before.cost_until(&RigUse::of(&self.rig), units, self.idle);
        Ok((result, cost))
    }

    fn gateways_mb(&self) -> f64 {
        let parts = self.rig.parts().into_iter();
        let gateways = parts.filter(|part| matches!(part, RigComponent::Gateway(_)));
        gateways.filter_map(|part| self.rig.resident_mb(part)).sum()
    }

    async fn polls(&self, places: &[String]) -> anyhow::Result<()> {
        let places: Arc<[String]> = places.into();
        let people = places.len();
        people::for_everybody(&self.http, people, move |http, person| {
            let look = LoadHttpCall::get(format!("/v1/rooms/{ROOM}/place")).bearer(&places[person]);
            async move { people::granted(&http, person, &look).await.map(drop) }
        })
        .await?;
        Ok(())
    }

    async fn passes(&self, places: &[String]) -> anyhow::Result<Arc<[String]>> {
        let places: Arc<[String]> = places.into();
        let people = places.len();
        let passes = people::for_everybody(&self.http, people, move |http, person| {
            let claim = LoadHttpCall::new(Method::POST, format!("/v1/rooms/{ROOM}/pass"));
            let claim = claim.bearer(&places[person]);
            async move { people::text(&people::granted(&http, person, &claim).await?, "pass") }
        });
        Ok(passes.await?.into())
    }

    async fn holds(&self, passes: Arc<[String]>) -> anyhow::Result<()> {
        let people = passes.len();
        people::for_everybody(&self.http, people, move |http, person| {
            let passes = Arc::clone(&passes);
            async move {
                for turn in 0..HOLDS_EACH {
                    let best = json!({"best": {"quantity": 2}});
                    let hold = LoadHttpCall::post(format!("/v1/shows/{SHOW}/holds"), best);
                    let hold = hold.bearer(&passes[person]);
                    let hold = hold.key(&format!("calibration-{person}-{turn}"));
                    let answer = people::granted(&http, person, &hold).await?;
                    let path = format!("/v1/holds/{}", people::text(&answer, "hold")?);
                    let release = LoadHttpCall::new(Method::DELETE, path).bearer(&passes[person]);
                    people::granted(&http, person, &release).await?;
                }
                Ok(())
            }
        })
        .await?;
        Ok(())
    }

    /// Lets people buy. Returns the cost of a purchase, and the commits of a purchase if the ledger
    /// counts commits.
    async fn purchases(
        &self,
        places: &[String],
        time: Duration,
    ) -> anyhow::Result<(WorkCost, Option<f64>)> {
        let buyers = Buyers::start(&self.http, BUYERS.min(places.len()), places.len()).await?;
        sleep(SETTLE).await;
        let committed = ledger::commits(&self.rig).await?;
        let (before, bought) = (RigUse::of(&self.rig), buyers.bought());
        sleep(time).await;
        let bought = (buyers.bought() - bought) as f64;
        let cost = before.cost_until(&RigUse::of(&self.rig), bought, self.idle);
        let commits = ledger::commits(&self.rig).await?;
        buyers.finish().await?;
        let commits = committed.zip(commits);
        let commits_each = commits.map(|(then, now)| (now - then) / bought.max(1.0));
        Ok((cost, commits_each))
    }

    /// Lets people buy while others watch. `known_costs` has the cost of a purchase, and the cost
    /// of a socket that waits for a second. All other cost is the cost of the pictures.
    async fn pictures(
        &self,
        address: SocketAddr,
        places: &[String],
        time: Duration,
        known_costs: &[WorkCost; 2],
    ) -> anyhow::Result<WorkCost> {
        let sockets = open(address, places.to_vec(), true).await?;
        // Earlier buyers took the seats at the beginning of the list.
        let first_buyer = places.len();
        let buyers = BUYERS.min(first_buyer);
        let buyers = Buyers::start_at_the_back(&self.http, buyers, first_buyer).await?;
        sleep(SETTLE).await;
        let frames = || sockets.counts().seats.load(Ordering::Relaxed);
        let (before, bought, frames_seen) = (RigUse::of(&self.rig), buyers.bought(), frames());
        sleep(time).await;
        let (bought, frames_seen) = ((buyers.bought() - bought) as f64, frames() - frames_seen);
        let after = RigUse::of(&self.rig);
        buyers.finish().await?;
        sockets.ensure_open()?;
        tokio::task::spawn_blocking(move || drop(sockets)).await?;
        let all_costs = before.cost_until(&after, 1.0, self.idle);
        let waited = places.len() as f64 * time.as_secs_f64();
        let [purchase, wait] = known_costs;
        let other = purchase.divided(1.0 / bought.max(1e-9));
        let waiting = wait.divided(1.0 / waited);
        let pictures = frames_seen.max(1) as f64;
        Ok(WorkCost {
            per_s: frames_seen as f64 / time.as_secs_f64(),
            ..all_costs
                .without(&other)
                .without(&waiting)
                .divided(pictures)
        })
    }
}

async fn rest(time: Duration) -> anyhow::Result<()> {
    sleep(time).await;
    Ok(())
}

/// Opens a socket for each place.
async fn open(
    address: SocketAddr,
    places: Vec<String>,
    watches: bool,
) -> anyhow::Result<FanSockets> {
    tokio::task::spawn_blocking(move || FanSockets::open(address, &places, watches)).await?
}

/// Prints what is measured now.
fn print_step(what: &str) {
    eprintln!("  {what} …");
}
