//! Measures at the door how well booking answers: the latencies of the last seconds in buckets, and
//! the failures.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairgate_rules::vitals::{BUCKETS, NodeMeasurements, PastSecondCalls, SECONDS, bucket};

use crate::load::{LoadLevel, ProcessLoad};

/// After how long a call that is given up counts as failed because it took too long.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(5);

/// The calls of one second.
#[derive(Debug, Clone, Copy)]
struct BookingCallSecond {
    at: u64,
    calls: u64,
    errors: u64,
    buckets: [u32; BUCKETS],
}

const EMPTY: BookingCallSecond = BookingCallSecond {
    at: u64::MAX,
    calls: 0,
    errors: 0,
    buckets: [0; BUCKETS],
};

/// The calls of the last seconds. `at` is a second's number, counted from any beginning, and never
/// falls.
#[derive(Debug, Clone)]
struct BookingCallWindow {
    seconds: [BookingCallSecond; SECONDS],
}

impl BookingCallWindow {
    fn record(&mut self, at: u64, took: Duration, failed: bool) {
        let slot = usize::try_from(at).unwrap_or(0) % SECONDS;
        let second = &mut self.seconds[slot];
        if second.at != at {
            *second = BookingCallSecond { at, ..EMPTY };
        }
        second.calls += 1;
        second.errors += u64::from(failed);
        second.buckets[bucket(took.as_secs_f64() * 1000.0)] += 1;
    }

    fn seconds(&self, now: u64) -> Vec<PastSecondCalls> {
        let ago = |back: usize| {
            let at = now.checked_sub(back as u64)?;
            let slot = usize::try_from(at).unwrap_or(0) % SECONDS;
            let second = &self.seconds[slot];
            let filled = second.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
            (second.at == at).then(|| PastSecondCalls {
                back,
                calls: second.calls,
                errors: second.errors,
                buckets: filled.map(|(at, n)| (at, u64::from(*n))).collect(),
            })
        };
        (0..SECONDS).filter_map(ago).collect()
    }
}

/// A call that is running. If it is given up late and before its answer, it counts as failed,
/// because a healthy booking would have answered.
pub struct MeasuredCall {
    health: BookingHealth,
    asked: Instant,
    outcome: MeasuredCallOutcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MeasuredCallOutcome {
    Abandoned,
    Answered { failed: bool },
    Refused,
}

impl MeasuredCall {
    /// Counts the call as answered. `failed` says that the fault was the server's.
    pub fn mark_answered(mut self, failed: bool) {
        self.outcome = MeasuredCallOutcome::Answered { failed };
    }

    /// Leaves the call out, because it was refused for what it sent, which says nothing of booking.
    pub fn mark_refused(mut self) {
        self.outcome = MeasuredCallOutcome::Refused;
    }
}

impl Drop for MeasuredCall {
    fn drop(&mut self) {
        let failed = match self.outcome {
            MeasuredCallOutcome::Refused => return,
            MeasuredCallOutcome::Answered { failed } => failed,
            // A visitor who hangs up at once says nothing of booking either.
            MeasuredCallOutcome::Abandoned if self.asked.elapsed() < GIVEN_UP_AFTER => return,
            MeasuredCallOutcome::Abandoned => true,
        };
        let at = self.health.second();
        self.health
            .window()
            .record(at, self.asked.elapsed(), failed);
    }
}

/// This node's measurements of booking; a cheap handle.
#[derive(Clone)]
pub struct BookingHealth {
    inner: Arc<BookingHealthState>,
}

struct BookingHealthState {
    begun: Instant,
    window: Mutex<BookingCallWindow>,
    load: ProcessLoad,
}

impl BookingHealth {
    /// Makes it without measurements. `load` tells how late this process itself runs.
    #[must_use]
    pub fn new(load: ProcessLoad) -> Self {
        let window = BookingCallWindow {
            seconds: [EMPTY; SECONDS],
        };
        Self {
            inner: Arc::new(BookingHealthState {
                begun: Instant::now(),
                window: Mutex::new(window),
                load,
            }),
        }
    }

    /// Begins to measure a call to booking.
    #[must_use]
    pub fn begin_call(&self) -> MeasuredCall {
        MeasuredCall {
            health: self.clone(),
            asked: Instant::now(),
            outcome: MeasuredCallOutcome::Abandoned,
        }
    }

    /// Returns the measurements of the last seconds.
    #[must_use]
    pub fn vitals(&self) -> NodeMeasurements {
        let now = self.second();
        NodeMeasurements {
            seconds: self.window().seconds(now),
            lag_ms: self.inner.load.lag_p99_ms(),
            shedding: self.inner.load.level() >= LoadLevel::Holds,
        }
    }

    fn second(&self) -> u64 {
        self.inner.begun.elapsed().as_secs()
    }

    fn window(&self) -> MutexGuard<'_, BookingCallWindow> {
        // Counting does not panic half-way, so a poisoned lock only means that some caller did.
        self.inner
            .window
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairgate_rules::vitals;

    fn window(calls: &[(u64, u64, u64)]) -> BookingCallWindow {
        let mut window = BookingCallWindow {
            seconds: [EMPTY; SECONDS],
        };
        for (at, count, ms) in calls {
            for _ in 0..*count {
                window.record(*at, Duration::from_millis(*ms), false);
            }
        }
        window
    }

    fn check(calls: &[(u64, u64, u64)], now: u64, expected: Option<u64>) {
        let vitals = NodeMeasurements {
            seconds: window(calls).seconds(now),
            ..NodeMeasurements::default()
        };
        let read = vitals::combined_reading(&[vitals]).p99_ms;
        match (read, expected) {
            // A bucket's end is at most a tenth above the values in it.
            (Some(read), Some(expected)) => {
                assert!(
                    read >= expected && read <= expected + expected / 10 + 1,
                    "{read} for {expected}"
                );
            }
            (read, expected) => assert_eq!(read, expected),
        }
    }

    #[test]
    fn ninety_nine_of_a_hundred_calls_were_answered_within_it() {
        check(&[(5, 99, 20), (5, 1, 900)], 5, Some(20));
        check(&[(5, 98, 20), (5, 2, 900)], 5, Some(900));
        check(&[(5, 1, 0)], 5, Some(1));
        check(&[], 5, None);
    }

    #[test]
    fn seconds_long_past_are_forgotten_and_quiet_ones_looked_back_from() {
        check(&[(1, 100, 800), (9, 100, 20)], 9, Some(20));
        check(&[(4, 30, 800), (9, 30, 20)], 9, Some(800));
        check(&[(1, 100, 800)], 11, None);
    }
}
