//! Follows the ledger's clock. Every second, this module measures how far the ledger's clock is
//! from this process's monotonic time. Between two measurements, time runs on monotonic time alone.
//! A machine whose own clock is wrong or jumps therefore opens and closes rooms at the same moment
//! as all other machines.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::{Clock, ClockSource};

const MEASURE_EVERY: Duration = Duration::from_secs(1);
/// The number of readings at one measurement. The reading with the shortest round trip is used,
/// because it is the most exact.
const ROUND_TRIPS: u32 = 3;
/// A warning is logged if this machine's own clock differs from the ledger's clock by more than
/// this, in milliseconds. Other programs on this machine use the machine's own clock.
const WARN_BEYOND_MS: u64 = 2_000;

/// A clock that runs on monotonic time and is set by another clock.
pub(super) struct FollowedClock {
    begun: Instant,
    /// What the followed clock showed at `begun`.
    began_at_ms: AtomicI64,
}

/// One reading of the followed clock.
#[derive(Debug, Clone, Copy)]
struct ClockMeasurement {
    shown_ms: i64,
    asked: Duration,
    answered: Duration,
}

impl FollowedClock {
    pub(super) fn new(now_ms: i64) -> Self {
        Self {
            begun: Instant::now(),
            began_at_ms: AtomicI64::new(now_ms),
        }
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.began_at_ms.load(Ordering::Acquire) + duration_ms(self.begun.elapsed())
    }
}

impl ClockMeasurement {
    fn round_trip(&self) -> Duration {
        self.answered.saturating_sub(self.asked)
    }
}

/// Computes the time that the followed clock showed at `begun`, from the value known so far and one
/// reading. A reading can be wrong by half of its round trip. If the known value lies within this
/// error, it is kept.
fn began_at(known: i64, measured: &ClockMeasurement) -> i64 {
    let error_ms = duration_ms(measured.round_trip()) / 2 + 1;
    let middle = measured.asked + measured.round_trip() / 2;
    let began_at = measured.shown_ms - duration_ms(middle);
    if (began_at - known).abs() <= error_ms {
        known
    } else {
        began_at
    }
}

fn duration_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Sets a clock made by [`Clock::following`] to the time that `ask` returns, once a second and for
/// ever. While `ask` fails, the clock runs on as before. For any other kind of clock, returns at
/// once.
pub async fn follow_clock<E, F>(clock: Clock, ask: impl Fn() -> F)
where
    F: Future<Output = Result<i64, E>>,
{
    let ClockSource::Followed(followed) = &clock.source else {
        return;
    };
    let mut has_warned = false;
    loop {
        if measure_and_adjust(followed, &ask).await {
            let (own_ms, ledger_ms) = (Clock::system().now_ms(), followed.now_ms());
            metrics::gauge!("fairgate_clock_off_ms").set((own_ms - ledger_ms) as f64);
            let off_ms = own_ms.abs_diff(ledger_ms);
            if off_ms > WARN_BEYOND_MS && !has_warned {
                tracing::warn!(
                    off_ms,
                    "this machine's clock differs from the ledger's clock; rooms and deadlines follow the ledger's clock"
                );
            }
            has_warned = off_ms > WARN_BEYOND_MS;
        }
        tokio::time::sleep(MEASURE_EVERY).await;
    }
}

/// Reads the followed clock several times in a row, and corrects `followed` by the quickest answer.
/// Returns false if there was no answer.
async fn measure_and_adjust<E, F>(followed: &FollowedClock, ask: &impl Fn() -> F) -> bool
where
    F: Future<Output = Result<i64, E>>,
{
    let mut best: Option<ClockMeasurement> = None;
    for _ in 0..ROUND_TRIPS {
        let asked = followed.begun.elapsed();
        let Ok(shown_ms) = ask().await else {
            continue;
        };
        let measured = ClockMeasurement {
            shown_ms,
            asked,
            answered: followed.begun.elapsed(),
        };
        if best.is_none_or(|best| measured.round_trip() < best.round_trip()) {
            best = Some(measured);
        }
    }
    if let Some(measured) = best {
        let known = followed.began_at_ms.load(Ordering::Acquire);
        let began_at = began_at(known, &measured);
        followed.began_at_ms.store(began_at, Ordering::Release);
    }
    best.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: i64, shown_ms: i64, asked: u64, answered: u64, expected: i64) {
        let measured = ClockMeasurement {
            shown_ms,
            asked: Duration::from_millis(asked),
            answered: Duration::from_millis(answered),
        };
        assert_eq!(began_at(known, &measured), expected, "{measured:?}");
    }

    #[test]
    fn a_reading_moves_the_clock_only_if_it_differs_by_more_than_its_error() {
        // This fits the known value: 100 ms after the beginning, the other clock showed 1100.
        check(1_000, 1_100, 99, 101, 1_000);
        // This reading would give 950. But after a round trip of 300 ms it can be wrong by 150 ms,
        // so the known value is kept.
        check(1_000, 1_100, 0, 300, 1_000);
        // These round trips are quick, so the readings count. The other clock is 40 ms ahead of the
        // known value, then almost an hour behind it.
        check(1_000, 1_140, 99, 101, 1_040);
        check(4_600_000, 1_001_100, 99, 101, 1_001_000);
    }

    #[tokio::test]
    async fn a_following_clock_shows_the_time_of_the_followed_clock() {
        let followed = FollowedClock::new(5_000_000);
        let minute_from = |begin: i64| begin..begin + 60_000;
        assert!(minute_from(5_000_000).contains(&followed.now_ms()));
        assert!(measure_and_adjust(&followed, &|| async { Ok::<_, ()>(9_000_000) }).await);
        assert!(minute_from(9_000_000).contains(&followed.now_ms()));
        assert!(measure_and_adjust(&followed, &|| async { Ok::<_, ()>(2_000_000) }).await);
        assert!(minute_from(2_000_000).contains(&followed.now_ms()));
    }

    #[tokio::test]
    async fn time_runs_on_while_the_followed_clock_does_not_answer() {
        let followed = FollowedClock::new(5_000_000);
        assert!(!measure_and_adjust(&followed, &|| async { Err::<i64, ()>(()) }).await);
        assert!((5_000_000..5_060_000).contains(&followed.now_ms()));
    }
}
