//! Keeping by the ledger's clock. Every second its difference to this process's monotonic time is
//! measured anew; between two measurements time runs on monotonic time alone, so that a machine
//! whose own clock is wrong, or jumps, opens and closes rooms at the same moment as all others.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::{Clock, ClockSource};

const MEASURE_EVERY: Duration = Duration::from_secs(1);
/// Of so many round trips the shortest says the most.
const ROUND_TRIPS: u32 = 3;
/// A difference beyond this to the machine's own clock is told: other programs here go by that one.
const TOLD_BEYOND_MS: u64 = 2_000;

/// A clock that was set by another one.
pub(super) struct FollowedClock {
    begun: Instant,
    /// What the followed clock showed at `begun`.
    began_at_ms: AtomicI64,
}

/// One look at the followed clock.
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

/// What the followed clock showed at the beginning, from what was known and one look: a look can be
/// wrong by half of its round trip, and where it may be right as it was known nothing moves.
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

/// Keeps a clock of [`Clock::following`] by what `ask` shows, for ever; any other clock is left
/// alone. While the followed one does not answer, time goes on as it went.
pub async fn follow_clock<E, F>(clock: Clock, ask: impl Fn() -> F)
where
    F: Future<Output = Result<i64, E>>,
{
    let ClockSource::Followed(followed) = &clock.source else {
        return;
    };
    let mut told = false;
    loop {
        if measure_and_adjust(followed, &ask).await {
            let (own, ledgers) = (Clock::system().now_ms(), followed.now_ms());
            metrics::gauge!("fairgate_clock_off_ms").set((own - ledgers) as f64);
            let off_ms = own.abs_diff(ledgers);
            if off_ms > TOLD_BEYOND_MS && !told {
                tracing::warn!(
                    off_ms,
                    "this machine's clock is not the ledger's; rooms and deadlines follow the ledger's"
                );
            }
            told = off_ms > TOLD_BEYOND_MS;
        }
        tokio::time::sleep(MEASURE_EVERY).await;
    }
}

/// Looks at the followed clock some times in a row, and goes by the quickest answer; gives whether
/// there was one.
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
    fn a_look_moves_the_clock_only_by_what_it_cannot_be_wrong_about() {
        // As known: 100 ms after the beginning the other showed 1100.
        check(1_000, 1_100, 99, 101, 1_000);
        // A slow round trip says little: it might have been shown at any moment of it.
        check(1_000, 1_100, 0, 300, 1_000);
        // A quick one says that the other went 40 ms ahead, or was set back by an hour.
        check(1_000, 1_140, 99, 101, 1_040);
        check(4_600_000, 1_001_100, 99, 101, 1_001_000);
    }

    #[tokio::test]
    async fn it_shows_what_the_other_shows_whatever_the_system_says() {
        let followed = FollowedClock::new(5_000_000);
        let minute_from = |begin: i64| begin..begin + 60_000;
        assert!(minute_from(5_000_000).contains(&followed.now_ms()));
        assert!(measure_and_adjust(&followed, &|| async { Ok::<_, ()>(9_000_000) }).await);
        assert!(minute_from(9_000_000).contains(&followed.now_ms()));
        assert!(measure_and_adjust(&followed, &|| async { Ok::<_, ()>(2_000_000) }).await);
        assert!(minute_from(2_000_000).contains(&followed.now_ms()));
    }

    #[tokio::test]
    async fn while_the_other_does_not_answer_time_goes_on_as_it_went() {
        let followed = FollowedClock::new(5_000_000);
        assert!(!measure_and_adjust(&followed, &|| async { Err::<i64, ()>(()) }).await);
        assert!((5_000_000..5_060_000).contains(&followed.now_ms()));
    }
}
