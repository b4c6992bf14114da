//! How well booking answers, as its door measures it: the last seconds' latencies in buckets, and its failures.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::admission::valve::Reading;
use crate::load::Load;

/// Seconds that are kept.
const SECONDS: usize = 10;
/// A reading looks back so many seconds,
const LOOK_BACK: usize = 3;
/// and further only until it has so many calls: one slow call in a quiet hour is no illness.
const CALLS_MIN: u64 = 50;
/// Each bucket ends a tenth above the one before, from a millisecond to about a minute.
const BUCKETS: usize = 116;
const BUCKET_STEP: f64 = 1.1;

/// The calls of one second.
#[derive(Debug, Clone, Copy)]
struct Second {
    at: u64,
    calls: u64,
    errors: u64,
    buckets: [u32; BUCKETS],
}

const EMPTY: Second = Second {
    at: u64::MAX,
    calls: 0,
    errors: 0,
    buckets: [0; BUCKETS],
};

/// The last seconds. `at` is a second's number, from any beginning, and never falls.
#[derive(Debug, Clone)]
struct Window {
    seconds: [Second; SECONDS],
}

impl Window {
    fn record(&mut self, at: u64, took: Duration, failed: bool) {
        let slot = usize::try_from(at).unwrap_or(0) % SECONDS;
        let second = &mut self.seconds[slot];
        if second.at != at {
            *second = Second { at, ..EMPTY };
        }
        second.calls += 1;
        second.errors += u64::from(failed);
        second.buckets[bucket(took)] += 1;
    }

    fn read(&self, now: u64) -> Reading {
        let mut buckets = [0_u64; BUCKETS];
        let (mut calls, mut errors) = (0, 0);
        for back in 0..SECONDS {
            if back > LOOK_BACK && calls >= CALLS_MIN {
                break;
            }
            let Some(at) = now.checked_sub(back as u64) else {
                break;
            };
            let slot = usize::try_from(at).unwrap_or(0) % SECONDS;
            let second = &self.seconds[slot];
            if second.at == at {
                calls += second.calls;
                errors += second.errors;
                for (sum, count) in buckets.iter_mut().zip(second.buckets) {
                    *sum += u64::from(count);
                }
            }
        }
        Reading {
            p99_ms: p99_ms(&buckets, calls),
            calls,
            errors,
        }
    }
}

fn bucket(took: Duration) -> usize {
    let ms = took.as_secs_f64() * 1000.0;
    // Below a millisecond the logarithm is negative, and becomes 0.
    let at = (ms.ln() / BUCKET_STEP.ln()).ceil().max(0.0) as usize;
    at.min(BUCKETS - 1)
}

fn p99_ms(buckets: &[u64; BUCKETS], calls: u64) -> Option<u64> {
    let slowest = calls / 100;
    let mut above = 0;
    let found = buckets.iter().enumerate().rev().find(|(_, count)| {
        above += **count;
        above > slowest
    });
    found.map(|(at, _)| {
        let at = i32::try_from(at).unwrap_or(i32::MAX);
        BUCKET_STEP.powi(at).round() as u64
    })
}

/// A cheap handle on this node's measurements of booking.
#[derive(Clone)]
pub struct Health {
    inner: Arc<Inner>,
}

struct Inner {
    begun: Instant,
    window: Mutex<Window>,
    load: Load,
}

impl Health {
    /// Nothing measured yet; `load` tells how late this process looks at what has come.
    #[must_use]
    pub fn new(load: Load) -> Self {
        let window = Window {
            seconds: [EMPTY; SECONDS],
        };
        Self {
            inner: Arc::new(Inner {
                begun: Instant::now(),
                window: Mutex::new(window),
                load,
            }),
        }
    }

    /// A call was answered after that time, and failed where the fault was the server's.
    pub fn record(&self, took: Duration, failed: bool) {
        let at = self.second();
        self.window().record(at, took, failed);
    }

    /// The last seconds. A call waits before anybody looks at it, too: where that is longer than the answers take, it is
    /// what people feel.
    #[must_use]
    pub fn read(&self) -> Reading {
        let now = self.second();
        let mut reading = self.window().read(now);
        let lag_ms = self.inner.load.lag_p99_ms();
        reading.p99_ms = reading.p99_ms.map(|p99_ms| p99_ms.max(lag_ms));
        reading
    }

    fn second(&self) -> u64 {
        self.inner.begun.elapsed().as_secs()
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        // Counting does not panic half-way; a poisoned lock only says that some caller did.
        self.inner
            .window
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(calls: &[(u64, u64, u64)]) -> Window {
        let mut window = Window {
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
        let read = window(calls).read(now).p99_ms;
        match (read, expected) {
            // A bucket's end is at most a tenth above what is in it.
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
