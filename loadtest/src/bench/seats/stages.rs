//! Reads the state after each step of the bench: the memory of the processes, and the seats of the
//! shows with the incarnation of the store that serves them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use fairgate_servers::RespReply;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::http::{LoadHttpCall, LoadHttpClient};
use crate::rig::{Rig, RigComponent};
use crate::swarm::SwarmSeatSnapshot;

/// The time between two reads of the seats.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A version is this number times the incarnation, plus a counter.
const INCARNATION: u64 = 1 << 40;
/// The script that deletes every key that matches a pattern.
const DELETE: &str = "local keys = redis.call('KEYS', ARGV[1]) \
    for _, key in ipairs(keys) do redis.call('DEL', key) end return #keys";

/// How much memory the processes use after a step, and how long the step took.
#[derive(Serialize)]
pub struct SeatBenchStage {
    pub name: &'static str,
    pub took_s: f64,
    /// The `used_memory` of Redis, in 10^6 bytes.
    pub redis_mb: f64,
    /// The resident memory of booking, in 10^6 bytes.
    pub booking_mb: f64,
    /// The resident memory of the gateway, in 10^6 bytes.
    pub gateway_mb: f64,
}

impl SeatBenchStage {
    /// Reads the memory of the processes, and prints the step.
    ///
    /// # Errors
    /// Where Redis does not answer, or a process is gone.
    pub async fn read(rig: &Rig, name: &'static str, took: Duration) -> anyhow::Result<Self> {
        let resident = |part| rig.resident_mb(part).context("a process is gone");
        let stage = Self {
            name,
            took_s: took.as_secs_f64(),
            redis_mb: used_mb(rig).await?,
            booking_mb: resident(RigComponent::Booking(0))?,
            gateway_mb: resident(RigComponent::Gateway(0))?,
        };
        eprintln!(
            "{name}: {:.1} s; Redis {:.1} MB, booking {:.1} MB, gateway {:.1} MB",
            stage.took_s, stage.redis_mb, stage.booking_mb, stage.gateway_mb
        );
        Ok(stage)
    }
}

async fn used_mb(rig: &Rig) -> anyhow::Result<f64> {
    let info = rig.redis()?.command(0, &["INFO", "memory"]).await?;
    let RespReply::Text(info) = info else {
        anyhow::bail!("INFO was answered with {info:?}");
    };
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let bytes: f64 = used.context("no used_memory in INFO")?.trim().parse()?;
    Ok(bytes / 1e6)
}

/// The seats of each show, as they were served.
#[derive(Default)]
pub struct ServedSeats(HashMap<String, SwarmSeatSnapshot>);

impl ServedSeats {
    /// Returns the numbers of free, held and sold seats, and of seats not for sale.
    pub fn counts(&self, show: &str) -> [usize; 4] {
        self.0
            .get(show)
            .map(SwarmSeatSnapshot::counts)
            .unwrap_or_default()
    }

    fn incarnation(&self, show: &str) -> Option<u64> {
        self.0.get(show).map(|seats| seats.version / INCARNATION)
    }
}

/// Reads the seats of all shows at the same time, until each show is served from a later
/// incarnation of the store than in `before`. A show that is not in `before` may have any
/// incarnation.
///
/// # Errors
/// Where a show takes longer than `within`.
pub async fn all_served(
    http: &LoadHttpClient,
    shows: &[String],
    before: &ServedSeats,
    within: Duration,
) -> anyhow::Result<ServedSeats> {
    let mut asking = JoinSet::new();
    for show in shows {
        let (http, show) = (http.clone(), show.clone());
        let incarnation_before = before.incarnation(&show);
        asking.spawn(async move {
            let seats = served(&http, &show, incarnation_before, within).await?;
            anyhow::Ok((show, seats))
        });
    }
    let mut all_seats = ServedSeats::default();
    while let Some(result) = asking.join_next().await {
        let (show, seats) = result??;
        all_seats.0.insert(show, seats);
    }
    Ok(all_seats)
}

async fn served(
    http: &LoadHttpClient,
    show: &str,
    incarnation_before: Option<u64>,
    within: Duration,
) -> anyhow::Result<SwarmSeatSnapshot> {
    let begun = Instant::now();
    let call = LoadHttpCall::get(format!("/v1/shows/{show}/seats"));
    loop {
        // A call that is refused or gets no answer is sent again.
        let answer = http.send(&call, 0).await.ok();
        let answer = answer.filter(|answer| answer.is_ok());
        let seats = answer.and_then(|answer| SwarmSeatSnapshot::read(&answer.body));
        let later =
            |seats: &SwarmSeatSnapshot| Some(seats.version / INCARNATION) > incarnation_before;
        if let Some(seats) = seats.filter(later) {
            return Ok(seats);
        }
        ensure!(
            begun.elapsed() < within,
            "the seats of {show} are not served after {} s",
            within.as_secs()
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Deletes all keys of one show from Redis.
///
/// # Errors
/// Where Redis does not answer, or has no key of the show.
pub async fn delete_show_keys(rig: &Rig, show: &str) -> anyhow::Result<()> {
    let pattern = format!("*{{show:{show}}}*");
    let delete = ["EVAL", DELETE, "0", &pattern];
    let deleted = rig.redis()?.command(0, &delete).await?;
    ensure!(
        matches!(deleted, RespReply::Int(1..)),
        "no key of {show} was there to be lost: {deleted:?}"
    );
    Ok(())
}
