//! How well booking answers, as its door measures it: the last seconds' latencies in buckets, and its failures.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::admission::valve::Reading;
use crate::load::{Level, Load};

/// Seconds that are kept.
const SECONDS: usize = 10;
/// A reading looks back so many seconds,
const LOOK_BACK: usize = 3;
/// and further only until it has so many calls: one slow call in a quiet hour is no illness.
const CALLS_MIN: u64 = 50;
/// A call that is given up after so long was given up because it took so long.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(5);
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
            shedding: false,
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

/// A call on its way. One that is given up before its answer counts as failed: nobody waits so long for booking that
/// is well.
pub struct Call {
    health: Health,
    asked: Instant,
    outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Abandoned,
    Answered { failed: bool },
    Refused,
}

impl Call {
    /// It was answered, and failed where the fault was the server's.
    pub fn answered(mut self, failed: bool) {
        self.outcome = Outcome::Answered { failed };
    }

    /// It was turned away for what was sent, which says nothing of booking.
    pub fn refused(mut self) {
        self.outcome = Outcome::Refused;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let failed = match self.outcome {
            Outcome::Refused => return,
            Outcome::Answered { failed } => failed,
            // A visitor who hangs up at once says nothing of booking either.
            Outcome::Abandoned if self.asked.elapsed() < GIVEN_UP_AFTER => return,
            Outcome::Abandoned => true,
        };
        let at = self.health.second();
        self.health
            .window()
            .record(at, self.asked.elapsed(), failed);
    }
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

    /// A call to booking begins.
    #[must_use]
    pub fn call(&self) -> Call {
        Call {
            health: self.clone(),
            asked: Instant::now(),
            outcome: Outcome::Abandoned,
        }
    }

    /// The last seconds. A call waits before anybody looks at it, too: where that is longer than the answers take, it is
    /// what people feel.
    #[must_use]
    pub fn read(&self) -> Reading {
        let now = self.second();
        let mut reading = self.window().read(now);
        let lag_ms = self.inner.load.lag_p99_ms();
        reading.p99_ms = match reading.p99_ms {
            Some(p99_ms) => Some(p99_ms.max(lag_ms)),
            // Without calls a late process is late all the same.
            None => (lag_ms > 0).then_some(lag_ms),
        };
        reading.shedding = self.inner.load.level() >= Level::Holds;
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
