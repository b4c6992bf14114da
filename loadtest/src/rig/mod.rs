//! Runs the processes under test on free ports with folders of their own, and kills, slows and
//! breaks them on demand. All of them end with the rig, also on an interrupt.

mod build;
mod disk;
mod judge;
mod memory;
mod part;
mod process;
mod railway;
mod spec;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fairgate_servers::{
    CommitCutProxy, FakeStripeServer, MovableClock, PostgresServer, RedisServers,
};
use futures_util::future::try_join_all;

pub use build::RigFeatures;
pub use disk::SmallDisk;
pub use judge::RigVerdict;
pub use part::RigComponent;
pub use railway::{CLASS, DEPARTURES, STOPS, departure};
pub use spec::{
    KillTarget, PlannedKill, RedisForm, RigLedgerKind, RigPaymentProvider, RigSpecification,
};

use judge::LedgerLocation;
use process::RigProcess;

/// One cycle of a slowed process: it runs for a part of it and is stopped for the rest.
const CYCLE: Duration = Duration::from_millis(100);
/// How long sentinels may take to promote a replica.
const PROMOTED_WITHIN: Duration = Duration::from_secs(20);

/// The resident memory at one time.
#[derive(Debug, Clone, Copy)]
pub struct MemorySample {
    /// The seconds after the start.
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
    /// The proxy to PostgreSQL that cuts connections at their COMMIT when it is told to.
    cut: Option<CommitCutProxy>,
    /// The disk of the ledger file, if it can be filled.
    disk: Option<SmallDisk>,
    key: String,
    folder: PathBuf,
    /// Whether the folder stays when the rig is dropped.
    kept: AtomicBool,
    /// The number of kills of each kind, by which processes of a kind take turns.
    turns: [AtomicUsize; 2],
    samples: Arc<Mutex<Vec<(f64, f64)>>>,
    sampler: tokio::task::JoinHandle<()>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.sampler.abort();
        let disk = self.disk.take();
        if self.kept.load(Ordering::SeqCst) {
            // Unmounting the disk would lose the files on it, which are to be kept.
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

    /// Returns the promoter's key, which applies the on-sale.
    pub fn promoter_key(&self) -> &str {
        &self.key
    }

    /// Returns the rig's specification, for the history.
    pub fn spec(&self) -> RigSpecification {
        self.spec
    }

    /// Returns whether a gateway or booking that is killed forgets the baskets it handed out. It
    /// does only if the baskets are in its own memory.
    pub fn forgets(&self, what: KillTarget) -> bool {
        match what {
            KillTarget::Gateway | KillTarget::Booking => self.redis.is_none(),
            KillTarget::Redis => true,
            KillTarget::Ledger => false,
        }
    }

    /// Kills a process without warning and starts it again on the same port and data. Returns which
    /// process it was.
    ///
    /// # Errors
    /// Where it does not become ready again.
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
            self.promoted(index).await?;
        }
        self.revive(part).await?;
        Ok(part)
    }

    /// Returns the index of a Redis that takes writes.
    ///
    /// # Errors
    /// Where there is none.
    pub async fn primary(&self) -> anyhow::Result<usize> {
        let redis = self.redis()?;
        let primaries = redis.primaries().await;
        primaries.first().copied().context("no Redis takes writes")
    }

    /// Waits, after a primary was killed, until its replica leads, if it has one.
    async fn promoted(&self, killed: usize) -> anyhow::Result<()> {
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

    /// Gives the processes that host booking one part in `factor` of their time, for so many
    /// seconds. In the embedded form everything in those processes is slowed, the line too.
    pub async fn slow_down(&self, factor: f64, for_s: f64) {
        let runs = CYCLE.div_f64(factor);
        let until = tokio::time::Instant::now() + Duration::from_secs_f64(for_s);
        let slowed = if self.bookings.is_empty() {
            &self.gateways
        } else {
            &self.bookings
        };
        let all = |signal| slowed.iter().for_each(|process| process.signal(signal));
        while tokio::time::Instant::now() < until {
            all(process::STOP);
            tokio::time::sleep(CYCLE - runs).await;
            all(process::CONTINUE);
            tokio::time::sleep(runs).await;
        }
    }

    /// Lets every stopped process go on.
    pub fn wake(&self) {
        for part in self.parts() {
            self.resume(part);
        }
    }

    /// Returns the resident memory of the gateway that uses most, over the run that began at
    /// `start_ms`.
    pub fn memory(&self, start_ms: f64) -> Vec<MemorySample> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let after = samples.iter().filter(|(at_ms, _)| *at_ms >= start_ms);
        after
            .map(|(at_ms, mb)| MemorySample {
                at_s: (at_ms - start_ms) / 1e3,
                mb: *mb,
            })
            .collect()
    }

    /// Asks every process that keeps no data to end, and waits until it has. Redis and PostgreSQL
    /// end with the rig.
    ///
    /// # Errors
    /// Where something did not end well.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.sampler.abort();
        try_join_all(self.gateways.iter().map(RigProcess::stop)).await?;
        try_join_all(self.bookings.iter().map(RigProcess::stop)).await?;
        Ok(())
    }

    /// Judges a history against the ledger that the stopped system left. The dump goes to `dump`,
    /// or else into the rig's own folder.
    ///
    /// # Errors
    /// Where the ledger cannot be dumped or the judge cannot be asked.
    pub async fn judge(&self, history: &Path, dump: Option<&Path>) -> anyhow::Result<RigVerdict> {
        let kept = match &self.postgres {
            Some(postgres) => LedgerLocation::Database(postgres.url()),
            None => LedgerLocation::Folder(self.gateways[0].data()),
        };
        let books = self.stripe.as_ref().map(FakeStripeServer::books);
        let own = self.folder.join("ledger.jsonl");
        let dump = dump.unwrap_or(&own);
        judge::judge(&kept, history, dump, books.as_deref(), &self.folder).await
    }

    /// Prints the ends of the logs after a failure.
    pub fn tell_log(&self) {
        let processes = self.gateways.iter().chain(&self.bookings);
        processes.for_each(RigProcess::tell_log);
    }

    /// Waits until every gateway and booking is ready.
    ///
    /// # Errors
    /// Which is not, and the end of its log.
    pub async fn until_ready(&self) -> anyhow::Result<()> {
        let processes = self.gateways.iter().chain(&self.bookings);
        try_join_all(processes.map(RigProcess::until_ready)).await?;
        Ok(())
    }

    /// Returns the rig's Redis.
    ///
    /// # Errors
    /// Where it has none.
    pub fn redis(&self) -> anyhow::Result<&RedisServers> {
        self.redis.as_ref().context("the rig has no Redis")
    }

    /// Returns the clock of a gateway.
    ///
    /// # Errors
    /// Where it was not started with one that can be moved.
    pub fn clock(&self, part: RigComponent) -> anyhow::Result<&MovableClock> {
        self.process(part)?.clock()
    }

    /// Returns the proxy that cuts connections at their COMMIT.
    ///
    /// # Errors
    /// Where the rig was not started with it.
    pub fn cut(&self) -> anyhow::Result<&CommitCutProxy> {
        self.cut
            .as_ref()
            .context("no COMMIT of this rig can be cut")
    }

    /// Returns the disk that can be filled.
    ///
    /// # Errors
    /// Where the rig was not started with it.
    pub fn disk(&self) -> anyhow::Result<&SmallDisk> {
        self.disk
            .as_ref()
            .context("this rig has no disk that can be filled")
    }

    /// Returns the provider, if it is the server in the shape of Stripe.
    pub fn stripe(&self) -> Option<&FakeStripeServer> {
        self.stripe.as_ref()
    }

    /// Returns the folder of the logs and the dump.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the folder after the run, and returns its path.
    pub fn keep_folder(&self) -> String {
        self.kept.store(true, Ordering::SeqCst);
        self.folder.display().to_string()
    }
}
