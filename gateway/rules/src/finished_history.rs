//! Remembers how many visitors had tickets at each step of half a minute in the last three minutes.

use serde::{Deserialize, Serialize};

/// The time between two totals, in milliseconds.
const STEP_MS: i64 = 30_000;
/// The number of steps in three minutes.
const STEPS: usize = 6;

/// The totals of the last three minutes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FinishedHistory {
    /// The time of the newest total, in milliseconds since the epoch.
    newest_at: i64,
    /// How many visitors had tickets by `newest_at`, by one step earlier, and so on.
    totals: [u64; STEPS],
}

impl FinishedHistory {
    /// Begins a history at `now` (ms). Visitors who got their tickets before do not count, because
    /// it is not known when they got them.
    pub fn new(now: i64, total: u64) -> Self {
        Self {
            newest_at: now,
            totals: [total; STEPS],
        }
    }

    /// Returns the history with the `total` of visitors who have tickets by `now` (ms). Nothing
    /// changes until one step has passed since the newest total.
    pub fn with_total(mut self, now: i64, total: u64) -> Self {
        let steps = usize::try_from((now - self.newest_at).div_euclid(STEP_MS)).unwrap_or(0);
        if steps > 0 {
            let moved = steps.min(STEPS);
            self.totals.rotate_right(moved);
            self.totals[..moved].fill(total);
            self.newest_at = now;
        }
        self
    }

    /// Returns how many of the `total` visitors who have tickets by `now` (ms) got them in the last
    /// three minutes, to half a minute.
    pub fn lately(&self, now: i64, total: u64) -> u64 {
        let steps = usize::try_from((now - self.newest_at).div_euclid(STEP_MS)).unwrap_or(0);
        let oldest = STEPS.checked_sub(1 + steps).map(|at| self.totals[at]);
        total.saturating_sub(oldest.unwrap_or(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays `seconds` seconds, in each of which `each` visitors get tickets.
    fn after(
        mut history: FinishedHistory,
        from: i64,
        seconds: i64,
        each: u64,
    ) -> (FinishedHistory, u64) {
        let mut total = history.totals[0];
        for second in 1..=seconds {
            total += each;
            history = history.with_total(from + second * 1_000, total);
        }
        (history, total)
    }

    #[test]
    fn only_the_visitors_of_the_last_minutes_count() {
        let (history, total) = after(FinishedHistory::new(0, 500), 0, 100, 2);
        assert_eq!(history.lately(100_000, total), 200);
        let (history, total) = after(history, 100_000, 1_000, 2);
        let lately = history.lately(1_100_000, total);
        assert!((300..=360).contains(&lately), "{lately}");
        let (history, total) = after(history, 1_100_000, 240, 0);
        assert_eq!(history.lately(1_340_000, total), 0);
    }

    #[test]
    fn after_a_long_silence_it_is_not_known_who_was_served_lately() {
        let (history, total) = after(FinishedHistory::new(0, 0), 0, 100, 2);
        assert_eq!(history.lately(4_000_000, total + 50), 0);
    }
}
