//! Runs the processes under test on free ports, each with its own folder. Kills, slows and breaks
//! them on demand. All of these processes end when the rig is dropped. An interrupt of
//! `loadtest swarm` or `loadtest faults` also drops the rig.

mod build;
mod disk;
mod hosting;
mod judge;
mod kill;
mod memory;
mod part;
mod process;
mod processors;
mod railway;
mod spec;

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fairgate_servers::{
    CommitCutProxy, FakeChallengeServer, FakeStripeServer, MovableClock, PostgresServer,
    RedisServers,
};
use futures_util::future::try_join_all;

pub use build::RigFeatures;
pub use disk::SmallDisk;
pub use hosting::{RigOptions, run};
pub use judge::{booking_binary, gateway_binary, programs_in};
pub use kill::{KillTarget, KillTime, PlannedKill};
pub use part::RigComponent;
pub use railway::{CLASS, DEPARTURES, LONG_TRAIN, SHORT_TRAIN, STOPS, departure};
pub use spec::{RedisForm, RigLedgerKind, RigPaymentProvider, RigSpecification};

use crate::verdict::RunVerdict;
use judge::LedgerLocation;
use process::RigProcess;
use processors::ProcessorShares;

/// The length of a cycle of a slowed process. The process is paused for a part of each cycle, and
/// runs for the rest.
const CYCLE: Duration = Duration::from_millis(100);
/// How long the sentinels may take to promote a replica.
const PROMOTED_WITHIN: Duration = Duration::from_secs(20);

/// The resident memory at one time.
#[derive(Debug, Clone, Copy)]
pub struct MemorySample {
    /// The seconds since the start of the run.
    pub at_s: f64,
    /// The megabytes (10^6 bytes).
    pub mb: f64,
}

/// A running system under test.
pub struct Rig {
    spec: RigSpecification,
    gateways: Vec<RigProcess>,
    bookings: Vec<RigProcess>,
    redis: Option<RedisServers>,
    postgres: Option<PostgresServer>,
    stripe: Option<FakeStripeServer>,
    /// The server that imitates Turnstile.
    checks: Option<FakeChallengeServer>,
    /// The proxy to PostgreSQL that can cut connections at their COMMIT.
    cut: Option<CommitCutProxy>,
    /// The disk of the ledger file, if it can be filled.
    disk: Option<SmallDisk>,
    key: String,
    /// The key that scans tickets.
    door_key: String,
    /// The rig's own processors, if it does not share them with this program.
    shares: Option<ProcessorShares>,
    folder: PathBuf,
    /// Whether the folder stays when the rig is dropped.
    kept: AtomicBool,
    /// How many kills of gateways there were, and how many of booking processes. The processes of
    /// each kind are killed in turn.
    turns: [AtomicUsize; 2],
    samples: Arc<Mutex<Vec<(f64, f64)>>>,
    sampler: tokio::task::JoinHandle<()>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.sampler.abort();
        let disk = self.disk.take();
        if self.kept.load(Ordering::SeqCst) {
            // The disk stays mounted, because an unmount would lose its files.
            std::mem::forget(disk);
        } else {
            drop(disk);
            // A folder that cannot be removed stays among the temporary files.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

impl Rig {
    /// Returns the addresses of the gateways.
    pub fn urls(&self) -> Vec<String> {
        let urls = self.gateways.iter().map(|gateway| gateway.url().to_owned());
        urls.collect()
    }

    /// Returns the promoter's key, with which the on-sale is made.
    pub fn promoter_key(&self) -> &str {
        &self.key
    }

    /// Returns the key that scans tickets.
    pub fn door_key(&self) -> &str {
        &self.door_key
    }

    /// Returns the rig's specification.
    pub fn spec(&self) -> RigSpecification {
        self.spec
    }

    /// Returns whether open baskets can be lost if a process of this kind is killed. A gateway or a
    /// booking process loses them only if they are in its own memory.
    pub fn forgets(&self, what: KillTarget) -> bool {
        match what {
            KillTarget::Gateway | KillTarget::Booking => self.redis.is_none(),
            KillTarget::Redis => true,
            KillTarget::Ledger => false,
        }
    }

    /// Kills a process without warning and starts it again on the same port. If the process is a
    /// primary with a replica, the replica is promoted before the restart. Returns which process
    /// was killed.
    ///
    /// # Errors
    /// Where no replica is promoted in time, or the process does not become ready again.
    pub async fn kill_and_restart(&self, what: KillTarget) -> anyhow::Result<RigComponent> {
        let turn = |kind: usize, of: usize| self.turns[kind].fetch_add(1, Ordering::SeqCst) % of;
        let part = match what {
            KillTarget::Gateway => RigComponent::Gateway(turn(0, self.gateways.len())),
            KillTarget::Booking => RigComponent::Booking(turn(1, self.bookings.len())),
            KillTarget::Redis => RigComponent::Redis(self.primary().await?),
            KillTarget::Ledger => RigComponent::Ledger,
        };
        self.kill(part).await?;
        if let RigComponent::Redis(index) = part {
            self.ensure_promoted(index).await?;
        }
        self.revive(part).await?;
        Ok(part)
    }

    /// Returns the index of a Redis that takes writes.
    ///
    /// # Errors
    /// Where no Redis takes writes.
    pub async fn primary(&self) -> anyhow::Result<usize> {
        let redis = self.redis()?;
        let primaries = redis.primaries().await;
        primaries.first().copied().context("no Redis takes writes")
    }

    /// Promotes the replica of a killed primary, or waits until the sentinels have promoted it.
    /// Does nothing if there is no replica.
    async fn ensure_promoted(&self, killed: usize) -> anyhow::Result<()> {
        let redis = self.redis()?;
        match self.spec.redis {
            RedisForm::Replica => redis.promote_replica().await,
            RedisForm::Sentinel => {
                let killed_at = Instant::now();
                while !redis.primaries().await.iter().any(|index| *index != killed) {
                    if killed_at.elapsed() > PROMOTED_WITHIN {
                        bail!(
                            "the sentinels promoted nobody within {} s",
                            PROMOTED_WITHIN.as_secs()
                        );
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Ok(())
            }
            RedisForm::None | RedisForm::Single | RedisForm::Cluster => Ok(()),
        }
    }

    /// Slows the processes that host booking. For `for_s` seconds, they run only `1 / factor` of
    /// the time. If booking is inside the gateways, this also slows the line.
    pub async fn slow_down(&self, factor: f64, for_s: f64) {
        let runs = CYCLE.div_f64(factor);
        let until = tokio::time::Instant::now() + Duration::from_secs_f64(for_s);
        let slowed = if self.bookings.is_empty() {
            &self.gateways
        } else {
            &self.bookings
        };
        let signal_all = |signal| slowed.iter().for_each(|process| process.signal(signal));
        while tokio::time::Instant::now() < until {
            signal_all(process::STOP);
            tokio::time::sleep(CYCLE - runs).await;
            signal_all(process::CONTINUE);
            tokio::time::sleep(runs).await;
        }
    }

    /// Lets every paused process run again.
    pub fn wake(&self) {
        for part in self.parts() {
            self.resume(part);
        }
    }

    /// Returns the samples of the resident memory since the Unix time `start_ms`. Each sample is of
    /// the gateway that used most memory at that time.
    pub fn memory(&self, start_ms: f64) -> Vec<MemorySample> {
        let samples = self.samples.lock();
        let after = samples.iter().filter(|(at_ms, _)| *at_ms >= start_ms);
        after
            .map(|(at_ms, mb)| MemorySample {
                at_s: (at_ms - start_ms) / 1e3,
                mb: *mb,
            })
            .collect()
    }

    /// Asks every gateway and then every booking process to end, and waits until they have ended.
    /// Redis and PostgreSQL end when the rig is dropped.
    ///
    /// # Errors
    /// Where a process does not end in time, or ends with an error.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.sampler.abort();
        try_join_all(self.gateways.iter().map(RigProcess::stop)).await?;
        try_join_all(self.bookings.iter().map(RigProcess::stop)).await?;
        Ok(())
    }

    /// Compares a history with the ledger after the processes were stopped. Writes the ledger's
    /// dump to `dump`, or into the rig's folder if `dump` is `None`.
    ///
    /// # Errors
    /// Where the ledger cannot be dumped, or the judge cannot read the files.
    pub async fn judge(&self, history: &Path, dump: Option<&Path>) -> anyhow::Result<RunVerdict> {
        let ledger = match &self.postgres {
            Some(postgres) => LedgerLocation::Database(postgres.url()),
            None => LedgerLocation::Folder(self.gateways[0].data()),
        };
        let books = self.stripe.as_ref().map(FakeStripeServer::books);
        let default_dump = self.folder.join("ledger.jsonl");
        let dump = dump.unwrap_or(&default_dump);
        judge::judge(&ledger, history, dump, books.as_deref(), &self.folder).await
    }

    /// Prints the last lines of the log of every gateway and booking process.
    pub fn tell_log(&self) {
        let processes = self.gateways.iter().chain(&self.bookings);
        processes.for_each(RigProcess::tell_log);
    }

    /// Waits until every gateway and booking process is ready.
    ///
    /// # Errors
    /// Where a process does not become ready in time. The end of its log is printed.
    pub async fn until_ready(&self) -> anyhow::Result<()> {
        let processes = self.gateways.iter().chain(&self.bookings);
        try_join_all(processes.map(RigProcess::until_ready)).await?;
        Ok(())
    }

    /// Returns the rig's Redis.
    ///
    /// # Errors
    /// Where the rig has no Redis.
    pub fn redis(&self) -> anyhow::Result<&RedisServers> {
        self.redis.as_ref().context("the rig has no Redis")
    }

    /// Returns the rig's PostgreSQL, if it has one.
    pub fn postgres(&self) -> Option<&PostgresServer> {
        self.postgres.as_ref()
    }

    /// Returns the clock of a gateway.
    ///
    /// # Errors
    /// Where the gateway was not started with a clock that can be moved.
    pub fn clock(&self, part: RigComponent) -> anyhow::Result<&MovableClock> {
        self.process(part)?.clock()
    }

    /// Returns the proxy that cuts connections at their COMMIT.
    ///
    /// # Errors
    /// Where the rig was not started with this proxy.
    pub fn cut(&self) -> anyhow::Result<&CommitCutProxy> {
        self.cut
            .as_ref()
            .context("no COMMIT of this rig can be cut")
    }

    /// Returns the disk that can be filled.
    ///
    /// # Errors
    /// Where the rig was not started with such a disk.
    pub fn disk(&self) -> anyhow::Result<&SmallDisk> {
        self.disk
            .as_ref()
            .context("this rig has no disk that can be filled")
    }

    /// Returns the server that imitates Turnstile, if people are checked.
    pub fn checks(&self) -> Option<&FakeChallengeServer> {
        self.checks.as_ref()
    }

    /// Returns the seconds that all gateways have spent on processors.
    pub fn gateway_cpu_s(&self) -> f64 {
        let gateways = (0..self.gateways.len()).map(RigComponent::Gateway);
        gateways.filter_map(|part| self.cpu_ms(part)).sum::<f64>() / 1e3
    }

    /// Returns the server that imitates Stripe, if it is the payment provider.
    pub fn stripe(&self) -> Option<&FakeStripeServer> {
        self.stripe.as_ref()
    }

    /// Returns the folder that contains the data, the logs and the dump.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the folder when the rig is dropped, and returns its path.
    pub fn keep_folder(&self) -> String {
        self.kept.store(true, Ordering::SeqCst);
        self.folder.display().to_string()
    }
}
