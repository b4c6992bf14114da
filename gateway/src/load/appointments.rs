//! Spreads the times at which refused clients come back, so that a client who obeys `Retry-After`
//! is admitted when it comes back.

use std::time::Duration;

/// The longest wait that a schedule returns, unless the caller's `earliest` is longer. If the next
/// wait would be longer, the schedule starts again with half of this longest wait.
const AWAY_MAX: Duration = Duration::from_secs(120);

/// The next free time to come back, counted from a start that the owner chooses. After this time,
/// no refused client is expected back any more.
#[derive(Debug, Default)]
pub struct ReturnSchedule {
    next: Duration,
}

impl ReturnSchedule {
    /// Returns how long a client refused at `now` should wait: at least `earliest`. Clients come
    /// back in the order in which they were refused, `per_s` of them a second, unless a wait would
    /// be longer than `AWAY_MAX`.
    pub fn reserve_return(&mut self, now: Duration, earliest: Duration, per_s: u64) -> Duration {
        let soonest = now + earliest;
        let mut at = self.next.max(soonest);
        if at > now + AWAY_MAX.max(earliest) {
            at = now + (AWAY_MAX / 2).max(earliest);
        }
        self.next = at + Duration::from_secs(1).div_f64(per_s.max(1) as f64);
        at - now
    }

    /// Returns whether every refused client is due by `now`.
    #[must_use]
    pub fn all_due_by(&self, now: Duration) -> bool {
        self.next <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_at_the_given_rate_and_start_again_once_all_are_due() {
        let (mut schedule, now, second) = (
            ReturnSchedule::default(),
            Duration::from_secs(5),
            Duration::from_secs(1),
        );
        assert!(schedule.all_due_by(now));
        let waits: Vec<_> = (0..5)
            .map(|_| schedule.reserve_return(now, second, 2).as_millis())
            .collect();
        assert_eq!(waits, [1000, 1500, 2000, 2500, 3000]);
        assert!(!schedule.all_due_by(now));
        let later = now + Duration::from_secs(60);
        assert!(schedule.all_due_by(later));
        assert_eq!(schedule.reserve_return(later, second, 2), second);
    }

    #[test]
    fn a_wait_is_at_most_two_minutes() {
        let (mut schedule, now) = (ReturnSchedule::default(), Duration::ZERO);
        let longest = (0..1000).map(|_| schedule.reserve_return(now, Duration::from_secs(1), 1));
        assert_eq!(longest.max(), Some(AWAY_MAX));
    }
}
