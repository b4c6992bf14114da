//! Measures at the door how well booking answers. Counts the latencies in buckets, and the
//! failures, for each of the last seconds.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_rules::vitals::{BUCKETS, NodeMeasurements, PastSecondCalls, SECONDS, bucket};

use crate::load::{LoadLevel, ProcessLoad};

/// A call that is dropped without an answer is counted as failed if it has run for at least this
/// time.
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

/// The calls of the last seconds. `at` counts the seconds since some start, and never decreases.
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
        let past_second = |back: usize| {
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
        (0..SECONDS).filter_map(past_second).collect()
    }
}

/// A running call. If it is dropped without an answer after `GIVEN_UP_AFTER` or later, it is
/// counted as failed, because a healthy booking process would have answered by then. If it is
/// dropped earlier, it is not counted.
pub struct MeasuredCall {
    health: BookingHealth,
    asked_at: Instant,
    outcome: MeasuredCallOutcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MeasuredCallOutcome {
    Abandoned,
    Answered { failed: bool },
    Refused,
}

impl MeasuredCall {
    /// Counts the call as answered. `failed` is true if the fault was the server's.
    pub fn mark_answered(mut self, failed: bool) {
        self.outcome = MeasuredCallOutcome::Answered { failed };
    }

    /// Does not count the call. It was refused for its contents, which says nothing about booking's
    /// health.
    pub fn mark_refused(mut self) {
        self.outcome = MeasuredCallOutcome::Refused;
    }
}

impl Drop for MeasuredCall {
    fn drop(&mut self) {
        let failed = match self.outcome {
            MeasuredCallOutcome::Refused => return,
            MeasuredCallOutcome::Answered { failed } => failed,
            // A visitor who gives up early says nothing about booking's health either.
            MeasuredCallOutcome::Abandoned if self.asked_at.elapsed() < GIVEN_UP_AFTER => return,
            MeasuredCallOutcome::Abandoned => true,
        };
        let at = self.health.second();
        self.health
            .inner
            .window
            .lock()
            .record(at, self.asked_at.elapsed(), failed);
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
    /// Makes a handle without measurements. `load` measures how late this process itself runs.
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
            asked_at: Instant::now(),
            outcome: MeasuredCallOutcome::Abandoned,
        }
    }

    /// Returns the measurements of the last seconds.
    #[must_use]
    pub fn vitals(&self) -> NodeMeasurements {
        let now = self.second();
        NodeMeasurements {
            seconds: self.inner.window.lock().seconds(now),
            lag_ms: self.inner.load.lag_ms(),
            shedding: self.inner.load.level() >= LoadLevel::Holds,
            told_none: [0; 4],
        }
    }

    fn second(&self) -> u64 {
        self.inner.begun.elapsed().as_secs()
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
    fn the_p99_is_the_time_in_which_ninety_nine_of_a_hundred_calls_were_answered() {
        check(&[(5, 99, 20), (5, 1, 900)], 5, Some(20));
        check(&[(5, 98, 20), (5, 2, 900)], 5, Some(900));
        check(&[(5, 1, 0)], 5, Some(1));
        check(&[], 5, None);
    }

    #[test]
    fn old_seconds_count_only_while_newer_ones_have_few_calls() {
        check(&[(1, 100, 800), (9, 100, 20)], 9, Some(20));
        check(&[(4, 30, 800), (9, 30, 20)], 9, Some(800));
        check(&[(1, 100, 800)], 11, None);
    }
}
