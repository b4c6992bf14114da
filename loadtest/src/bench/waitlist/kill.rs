//! Kills the process that serves the waitlist, and starts it again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::SERVED_WITHIN;
use super::judge::WaitlistBenchSpan;
use super::visit::now_ms;
use crate::rig::{KillTarget, Rig, RigComponent, RigSpecification};

/// The percentage of parties that have been served when the process is killed.
const KILLED_AT_PCT: usize = 40;
/// The pause between two calls of `look`.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The metric that counts the offers that a process made.
const OFFERS: &str = "fairgate_waitlist_offers_total";

/// The kill of a process.
pub struct WaitlistBenchKill {
    pub part: RigComponent,
    /// How many parties had been served before the kill.
    pub after: usize,
    /// The span from the kill until the process was back.
    pub gone: WaitlistBenchSpan,
}

/// Returns the kind of process that serves the waitlist.
pub const fn target(rig: RigSpecification) -> KillTarget {
    if rig.bookings == 0 {
        KillTarget::Gateway
    } else {
        KillTarget::Booking
    }
}

/// Kills the process that serves the waitlist when enough parties have been served, and starts it
/// again.
///
/// # Errors
/// Where the parties are not served in time, or the process does not become ready again.
pub async fn kill_serving_process(
    rig: &Rig,
    served: &AtomicUsize,
    parties: usize,
) -> anyhow::Result<WaitlistBenchKill> {
    let begun = Instant::now();
    let enough = || served.load(Ordering::SeqCst) * 100 >= parties * KILLED_AT_PCT;
    until(begun, async || Ok(enough().then_some(()))).await?;
    let part = serving_process(rig, begun).await?;
    let (after, from) = (served.load(Ordering::SeqCst), now_ms());
    rig.kill(part).await?;
    rig.revive(part).await?;
    let to = now_ms();
    eprintln!(
        "{part}, which served the waitlist, was killed after {after} parties were served, and was back {} ms later",
        to - from
    );
    let gone = WaitlistBenchSpan { from, to };
    Ok(WaitlistBenchKill { part, after, gone })
}

/// Returns the process that serves the waitlist. Only one process serves it at a time, and only its
/// count of offers grows.
async fn serving_process(rig: &Rig, begun: Instant) -> anyhow::Result<RigComponent> {
    let candidates: Vec<RigComponent> = match (target(rig.spec()), rig.spec()) {
        (KillTarget::Booking, spec) => (0..spec.bookings).map(RigComponent::Booking).collect(),
        (_, spec) => (0..spec.gateways).map(RigComponent::Gateway).collect(),
    };
    if let [only] = candidates[..] {
        return Ok(only);
    }
    let mut offers_before = offers(rig, &candidates).await?;
    until(begun, async || {
        let now = offers(rig, &candidates).await?;
        let mut pairs = candidates.iter().zip(offers_before.iter().zip(&now));
        let grown = pairs.find(|(_, (offers_before, now))| offers_before < now);
        let grown = grown.map(|(part, _)| *part);
        offers_before = now;
        Ok(grown)
    })
    .await
}

async fn offers(rig: &Rig, parts: &[RigComponent]) -> anyhow::Result<Vec<f64>> {
    let mut offers = Vec::new();
    for part in parts {
        offers.push(rig.counted(*part, OFFERS).await?);
    }
    Ok(offers)
}

/// Calls `look` until it returns a result. Fails [`SERVED_WITHIN`] after `begun`.
async fn until<T>(
    begun: Instant,
    mut look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        ensure!(begun.elapsed() < SERVED_WITHIN, "the line does not move");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
