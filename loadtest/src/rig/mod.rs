//! The rig: the processes under test, started by the swarm itself on a free port with a folder of their own, killed
//! and slowed on demand, and gone in the end, also on an interrupt.

mod judge;
mod memory;
mod process;
mod spec;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use judge::Judged;
pub use spec::{Kill, Spec};

use crate::swarm::Sample;
use process::Process;

/// One cycle of a slowed process.
const CYCLE: Duration = Duration::from_millis(100);
/// How often memory is read.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// A running system under test.
pub struct Rig {
    gateway: Process,
    folder: TempDir,
    samples: Arc<Mutex<Vec<(f64, f64)>>>,
    sampler: tokio::task::JoinHandle<()>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.sampler.abort();
    }
}

impl Rig {
    /// Starts the embedded default: one gateway with booking inside, on SQLite.
    ///
    /// # Errors
    /// Where there is no binary, or it does not become ready.
    pub async fn start() -> anyhow::Result<Self> {
        let binary = process::find_or_build("gateway", "FAIRGATE_GATEWAY_BIN")?;
        // Found before the run rather than after it: a run without its verdict is worth nothing.
        judge::booking_binary()?;
        let folder = tempfile::tempdir().context("no temporary folder could be made")?;
        let gateway = Process::new(binary, folder.path())?;
        gateway.start().await?;
        let samples = Arc::default();
        let sampler = tokio::spawn(sample(gateway.pid_cell(), Arc::clone(&samples)));
        Ok(Self {
            gateway,
            folder,
            samples,
            sampler,
        })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        self.gateway.url()
    }

    /// The key that applies the on-sale.
    pub fn promoter_key(&self) -> &str {
        self.gateway.promoter_key()
    }

    /// What it is, for the history.
    pub fn describe(&self) -> Value {
        json!({"gateways": 1, "bookings": 0, "redis": "none", "ledger": "sqlite"})
    }

    /// Its durable data.
    pub fn data(&self) -> PathBuf {
        self.gateway.data()
    }

    /// Kills the gateway without warning and starts it again on the same port and data.
    ///
    /// # Errors
    /// Where it does not become ready again.
    pub async fn kill_and_restart(&self) -> anyhow::Result<()> {
        self.gateway.kill().await?;
        self.gateway.start().await
    }

    /// Gives the process one part in `factor` of its time, for so many seconds. Everything in it is slowed, the line
    /// too: in the embedded form booking has no process of its own.
    pub async fn slow_down(&self, factor: f64, for_s: f64) {
        let runs = CYCLE.div_f64(factor);
        let until = tokio::time::Instant::now() + Duration::from_secs_f64(for_s);
        while tokio::time::Instant::now() < until {
            self.gateway.signal(process::STOP);
            tokio::time::sleep(CYCLE - runs).await;
            self.gateway.signal(process::CONTINUE);
            tokio::time::sleep(runs).await;
        }
    }

    /// Lets a process that was stopped go on.
    pub fn wake(&self) {
        self.gateway.signal(process::CONTINUE);
    }

    /// Resident memory over the run that began at `start_ms`.
    pub fn memory(&self, start_ms: f64) -> Vec<Sample> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let after = samples.iter().filter(|(at_ms, _)| *at_ms >= start_ms);
        after
            .map(|(at_ms, mb)| Sample {
                at_s: (at_ms - start_ms) / 1e3,
                mb: *mb,
            })
            .collect()
    }

    /// Asks everything to end, and waits until it has.
    ///
    /// # Errors
    /// Where it did not end well.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.sampler.abort();
        self.gateway.stop().await
    }

    /// Judges a history against the ledger that the stopped system left.
    ///
    /// # Errors
    /// Where the ledger cannot be dumped or the judge cannot be asked.
    pub async fn judge(&self, history: &std::path::Path) -> anyhow::Result<Judged> {
        judge::judge(&self.data(), history, self.folder.path()).await
    }

    /// Shows the end of the gateway's log, where something went wrong.
    pub fn tell_log(&self) {
        self.gateway.tell_log();
    }
}

async fn sample(pid: Arc<Mutex<Option<u32>>>, samples: Arc<Mutex<Vec<(f64, f64)>>>) {
    let mut tick = tokio::time::interval(SAMPLE_EVERY);
    loop {
        tick.tick().await;
        let pid = *pid.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mb) = pid.and_then(memory::resident_mb) else {
            continue;
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let at_ms = now.unwrap_or_default().as_secs_f64() * 1e3;
        samples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((at_ms, mb));
    }
}
