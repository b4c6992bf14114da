//! Measures how loaded this process is, and decides what it sheds. First it sends deltas less
//! often, then it refuses new joins, then new holds. Deltas come first, because people who buy
//! matter more than people who watch. Payments, webhooks, claims and reads of a visitor's own
//! orders are never shed.

mod appointments;
mod http;
mod judge;
mod measure;
mod probe;

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;
use tokio::sync::watch;

pub use appointments::ReturnSchedule;
pub use judge::{LoadLevel, LoadLevelTracker, LoadMeasurement};
pub use measure::LoadSampleWindow;

use crate::ledger::RoomLedger;

/// The smallest number of joins a second that this process is assumed to manage.
const DRAIN_PER_S_MIN: u64 = 50;
/// Each second, the assumed number of joins a second falls to this many thousandths of itself.
const DRAIN_FADE: u64 = 980;
/// Added to the time after which a level falls, because the window must first forget the last
/// delays. The level has then fallen when clients return.
const BACK_MARGIN: Duration = measure::KEPT_FOR;

/// What is refused because of load, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoadRefusal {
    /// New joins must wait.
    #[error("new joins are shed; this visitor may come back in {wait_s} s")]
    JoinsShed {
        /// Whole seconds until the visitor should come back.
        wait_s: u64,
    },
    /// New holds must wait.
    #[error("new holds are shed; this visitor may come back in {wait_s} s")]
    HoldsShed {
        /// Whole seconds until the visitor should come back.
        wait_s: u64,
    },
}

/// The load of this process; a cheap handle.
#[derive(Clone)]
pub struct ProcessLoad {
    inner: Arc<ProcessLoadState>,
}

struct ProcessLoadState {
    begun: Instant,
    level: AtomicU8,
    lag_ms: AtomicU64,
    ledger_ms: AtomicU64,
    /// The thousandths of a core that this process could still use.
    idle_millicores: AtomicU64,
    /// The joins in the present second.
    joins: AtomicU64,
    /// The joins a second that this process is assumed to manage.
    drain_per_s: AtomicU64,
    /// When visitors whose joins were refused come back.
    joiners: Mutex<ReturnSchedule>,
    /// When visitors whose holds were refused come back.
    holders: Mutex<ReturnSchedule>,
}

impl Default for ProcessLoad {
    fn default() -> Self {
        Self {
            inner: Arc::new(ProcessLoadState {
                begun: Instant::now(),
                level: AtomicU8::new(LoadLevel::Calm as u8),
                lag_ms: AtomicU64::new(0),
                ledger_ms: AtomicU64::new(0),
                idle_millicores: AtomicU64::new(0),
                joins: AtomicU64::new(0),
                drain_per_s: AtomicU64::new(DRAIN_PER_S_MIN),
                joiners: Mutex::default(),
                holders: Mutex::default(),
            }),
        }
    }
}

impl ProcessLoad {
    /// Measures this process's timers and the ledger's writer, until the process drains.
    pub async fn run_probes(self, ledger: RoomLedger, mut stopping: watch::Receiver<bool>) {
        let probes = async {
            tokio::join!(
                probe::measure_timer_lag(self.clone()),
                probe::measure_ledger_wait(self.clone(), ledger)
            )
        };
        tokio::select! {
            _ = probes => {}
            () = fairgate_base::process::stopped(&mut stopping) => {}
        }
    }

    /// Returns what is shed now.
    #[must_use]
    pub fn level(&self) -> LoadLevel {
        LoadLevel::from_u8(self.inner.level.load(Ordering::Relaxed))
    }

    /// Returns how late this process runs its timers: the third largest delay of the last seconds,
    /// in milliseconds.
    #[must_use]
    pub fn lag_ms(&self) -> u64 {
        self.inner.lag_ms.load(Ordering::Relaxed)
    }

    /// Returns how long a write waits for the ledger, in milliseconds.
    #[must_use]
    pub fn ledger_ms(&self) -> u64 {
        self.inner.ledger_ms.load(Ordering::Relaxed)
    }

    /// Returns how many cores this process could still use, as far as it knows. It does not see
    /// what other processes use.
    #[must_use]
    pub fn idle_cores(&self) -> f64 {
        self.inner.idle_millicores.load(Ordering::Relaxed) as f64 / 1e3
    }

    /// Admits a new join, or returns when to come back.
    ///
    /// # Errors
    /// [`LoadRefusal::JoinsShed`] while new joins are shed.
    pub fn admit_join(&self) -> Result<(), LoadRefusal> {
        if self.level() < LoadLevel::Joins {
            return Ok(());
        }
        metrics::counter!("fairgate_shed_total", "what" => "joins").increment(1);
        let wait_s = self.reserve_return_s(&self.inner.joiners, LoadLevel::Joins);
        Err(LoadRefusal::JoinsShed { wait_s })
    }

    /// Counts a join that succeeded. The count shows how many joins this process manages.
    pub fn count_join(&self) {
        self.inner.joins.fetch_add(1, Ordering::Relaxed);
    }

    /// Admits a new hold, or returns when to come back.
    ///
    /// # Errors
    /// [`LoadRefusal::HoldsShed`] while new holds are shed.
    pub fn admit_hold(&self) -> Result<(), LoadRefusal> {
        if self.level() < LoadLevel::Holds {
            return Ok(());
        }
        metrics::counter!("fairgate_shed_total", "what" => "holds").increment(1);
        let wait_s = self.reserve_return_s(&self.inner.holders, LoadLevel::Holds);
        Err(LoadRefusal::HoldsShed { wait_s })
    }

    /// Reserves a time to come back for a visitor who is refused now. Returns the whole seconds
    /// until then. By that time the level can have fallen so far that nothing of this kind is shed.
    /// Refused visitors come back one after the other, at the rate that this process is assumed to
    /// manage. Up to half of the wait is added at random, to spread them further.
    fn reserve_return_s(&self, schedule: &Mutex<ReturnSchedule>, shed_from: LoadLevel) -> u64 {
        let steps = (self.level() as u8).saturating_sub(shed_from as u8) + 1;
        let earliest = judge::FALL_AFTER * u32::from(steps) + BACK_MARGIN;
        let per_s = self.inner.drain_per_s.load(Ordering::Relaxed);
        let spread = rand::rng().random_range(0.0..0.5);
        let wait = schedule
            .lock()
            .reserve_return(self.inner.begun.elapsed(), earliest, per_s);
        wait.mul_f64(1.0 + spread).as_secs_f64().ceil() as u64
    }

    /// Stores the latest lag and level, and publishes the metrics.
    fn apply_measurement(&self, measured: LoadMeasurement, level: LoadLevel) {
        let inner = &self.inner;
        inner.lag_ms.store(measured.lag_ms, Ordering::Relaxed);
        let before = LoadLevel::from_u8(inner.level.swap(level as u8, Ordering::Relaxed));
        if before != level {
            tracing::warn!(
                ?before,
                ?level,
                lag_ms = measured.lag_ms,
                ledger_ms = measured.ledger_ms,
                "the load's level changed"
            );
        }
        metrics::gauge!("fairgate_load_level").set(f64::from(level as u8));
        metrics::gauge!("fairgate_runtime_lag_ms").set(measured.lag_ms as f64);
        metrics::gauge!("fairgate_ledger_wait_ms").set(measured.ledger_ms as f64);
    }

    fn set_idle_cores(&self, cores: f64) {
        let millicores = (cores * 1e3) as u64;
        self.inner
            .idle_millicores
            .store(millicores, Ordering::Relaxed);
    }

    fn set_ledger_ms(&self, ms: u64) {
        self.inner.ledger_ms.store(ms, Ordering::Relaxed);
    }

    /// Ends a second of counting. The process is assumed to manage as many joins a second as in its
    /// fastest second. Older seconds count less.
    fn end_second(&self) {
        let joined = self.inner.joins.swap(0, Ordering::Relaxed);
        let faded = self.inner.drain_per_s.load(Ordering::Relaxed) * DRAIN_FADE / 1000;
        let drain = joined.max(faded).max(DRAIN_PER_S_MIN);
        self.inner.drain_per_s.store(drain, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(level: LoadLevel) -> ProcessLoad {
        let load = ProcessLoad::default();
        load.apply_measurement(LoadMeasurement::default(), level);
        load
    }

    fn retry_after_s(refusal: LoadRefusal) -> u64 {
        match refusal {
            LoadRefusal::JoinsShed { wait_s } | LoadRefusal::HoldsShed { wait_s } => wait_s,
        }
    }

    #[test]
    fn deltas_are_shed_first_then_joins_and_holds_last() {
        for (level, join, hold) in [
            (LoadLevel::Calm, true, true),
            (LoadLevel::Deltas, true, true),
            (LoadLevel::Joins, false, true),
            (LoadLevel::Holds, false, false),
        ] {
            let load = at(level);
            assert_eq!(
                (load.admit_join().is_ok(), load.admit_hold().is_ok()),
                (join, hold),
                "{level:?}"
            );
        }
        let hold = at(LoadLevel::Holds).admit_hold().expect_err("shed");
        assert!(matches!(hold, LoadRefusal::HoldsShed { .. }));
        let join = at(LoadLevel::Joins).admit_join().expect_err("shed");
        assert!(matches!(join, LoadRefusal::JoinsShed { .. }));
    }

    #[test]
    fn the_times_to_come_back_are_spread_at_the_rate_that_the_process_manages() {
        let load = at(LoadLevel::Joins);
        let waits: Vec<u64> = (0..500)
            .map(|_| retry_after_s(load.admit_join().expect_err("shed")))
            .collect();
        assert!(waits.iter().all(|wait| *wait >= 7), "{waits:?}");
        // 500 visitors at 50 a second take ten seconds, and no second gets too many of them.
        let most = (0..40)
            .map(|second| waits.iter().filter(|wait| **wait == second).count())
            .max();
        assert!(most < Some(100), "{most:?}");
        assert!(waits.iter().max() >= Some(&14), "{waits:?}");
    }

    #[test]
    fn the_time_to_come_back_grows_with_the_level() {
        let wait = |level| retry_after_s(at(level).admit_join().expect_err("shed"));
        assert!((7..=11).contains(&wait(LoadLevel::Joins)));
        assert!(wait(LoadLevel::Holds) >= 10);
    }
}
