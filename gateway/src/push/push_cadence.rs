//! Decides how often frames go to those who watch seats and to visitors near the front. This
//! depends on the load of this process. Buyers matter most, so frames become rarer long before
//! calls become slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::load::{LoadLevel, ProcessLoad};

/// The time between two readings of seat changes. Watchers get frames after each reading, or after
/// every second, third, fourth or sixth reading.
pub const BEAT: Duration = Duration::from_millis(250);
/// The possible numbers of readings from one frame of a watcher to the next. With the largest, a
/// picture is at most 1.75 s old.
const BEATS: [u32; 5] = [1, 2, 3, 4, 6];
/// The number of groups of watchers. Each of [`BEATS`] divides this number, so that equally many
/// groups get frames after each reading.
pub const GROUPS: u32 = 12;
/// Deltas may use at least this part of a core, unless the process sheds them.
const CORES_MIN: f64 = 0.05;
/// The part of a core that deltas may use while the process sheds them.
const CORES_SHED: f64 = 0.02;
/// The part of the idle cores that deltas may use.
const IDLE_SHARE: f64 = 0.1;
/// The assumed time (ns) to send one frame to a watcher, until one was measured.
const COST_NS: u64 = 6_000;
/// The weight of the newest measurement in the mean is one divided by this number.
const COST_PARTS: u64 = 16;
/// The least time between two `line` frames of one visitor while the process sheds deltas.
const LINE_SHED: Duration = Duration::from_secs(5);

/// How often sockets get frames; a cheap handle.
#[derive(Clone, Default)]
pub struct PushCadence {
    inner: Arc<PushCadenceState>,
}

struct PushCadenceState {
    load: ProcessLoad,
    watchers: AtomicUsize,
    /// The mean time that one frame for a watcher took lately, in nanoseconds.
    cost_ns: AtomicU64,
}

/// One watcher. It is counted until this value is dropped.
pub struct CountedWatcher {
    cadence: PushCadence,
}

impl Default for PushCadenceState {
    fn default() -> Self {
        Self {
            load: ProcessLoad::default(),
            watchers: AtomicUsize::new(0),
            cost_ns: AtomicU64::new(COST_NS),
        }
    }
}

impl PushCadence {
    /// Makes the cadence of a process with this load.
    #[must_use]
    pub fn new(load: ProcessLoad) -> Self {
        Self {
            inner: Arc::new(PushCadenceState {
                load,
                ..PushCadenceState::default()
            }),
        }
    }

    /// Counts a watcher.
    #[must_use]
    pub fn count_watcher(&self) -> CountedWatcher {
        self.inner.watchers.fetch_add(1, Ordering::Relaxed);
        CountedWatcher {
            cadence: self.clone(),
        }
    }

    /// Notes how long it took to send one frame to each of this many watchers.
    pub fn note_cost(&self, watchers: usize, took: Duration) {
        let Some(each_ns) = took.as_nanos().checked_div(watchers as u128) else {
            return;
        };
        let each_ns = u64::try_from(each_ns).unwrap_or(u64::MAX);
        let old_mean_ns = self.inner.cost_ns.load(Ordering::Relaxed);
        let mean_ns = old_mean_ns - old_mean_ns / COST_PARTS + each_ns / COST_PARTS;
        self.inner.cost_ns.store(mean_ns, Ordering::Relaxed);
    }

    /// Returns how many readings there are from one frame of a watcher to the next.
    #[must_use]
    pub fn seat_beats(&self) -> u32 {
        let inner = &self.inner;
        let watchers = inner.watchers.load(Ordering::Relaxed);
        let cost = Duration::from_nanos(inner.cost_ns.load(Ordering::Relaxed));
        beats(
            cost.as_secs_f64() * watchers as f64,
            cores(inner.load.level(), inner.load.idle_cores()),
        )
    }

    /// Returns the time between two frames of one watcher, in milliseconds.
    #[must_use]
    pub fn seats_every_ms(&self) -> u64 {
        u64::try_from((BEAT * self.seat_beats()).as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the least time between two `line` frames of one visitor.
    #[must_use]
    pub fn line_at_least(&self) -> Duration {
        if self.inner.load.level() < LoadLevel::Deltas {
            Duration::ZERO
        } else {
            LINE_SHED
        }
    }
}

impl Drop for CountedWatcher {
    fn drop(&mut self) {
        let watchers = &self.cadence.inner.watchers;
        watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns how many cores deltas may use.
fn cores(level: LoadLevel, idle: f64) -> f64 {
    if level < LoadLevel::Deltas {
        (idle * IDLE_SHARE).max(CORES_MIN)
    } else {
        CORES_SHED
    }
}

/// Returns the smallest of [`BEATS`] with which the work fits into `cores`, or the largest if the
/// work never fits. One round of frames to all watchers takes `all_s` seconds of one core.
fn beats(all_s: f64, cores: f64) -> u32 {
    let fits = |beats: &u32| all_s <= cores * (BEAT * *beats).as_secs_f64();
    let slowest = BEATS[BEATS.len() - 1];
    BEATS.into_iter().find(fits).unwrap_or(slowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_watchers_are_told_four_times_a_second_and_many_by_what_can_be_spared() {
        for (watchers, level, idle, expected) in [
            (0, LoadLevel::Calm, 0.0, 1),
            (1_000, LoadLevel::Calm, 0.0, 1),
            (1_000, LoadLevel::Holds, 0.0, 2),
            (500, LoadLevel::Holds, 0.0, 1),
            (15_000, LoadLevel::Calm, 4.0, 1),
            (15_000, LoadLevel::Calm, 1.0, 4),
            (15_000, LoadLevel::Calm, 0.0, 6),
            (15_000, LoadLevel::Deltas, 2.0, 6),
            (1_000_000, LoadLevel::Calm, 2.0, 6),
        ] {
            let all_s = f64::from(watchers) * 6e-6;
            assert_eq!(
                beats(all_s, cores(level, idle)),
                expected,
                "{watchers} {level:?} {idle}"
            );
        }
        assert!(BEATS.iter().all(|beats| GROUPS.is_multiple_of(*beats)));
    }

    #[test]
    fn the_cadence_follows_what_a_watcher_costs_and_forgets_those_who_left() {
        let cadence = PushCadence::default();
        let watchers: Vec<_> = (0..1_000).map(|_| cadence.count_watcher()).collect();
        assert_eq!(cadence.seats_every_ms(), 250);
        for _ in 0..100 {
            cadence.note_cost(100, Duration::from_millis(10));
        }
        assert_eq!(cadence.seats_every_ms(), 1_500);
        cadence.note_cost(0, Duration::from_secs(1));
        drop(watchers);
        assert_eq!(cadence.seats_every_ms(), 250);
    }
}
