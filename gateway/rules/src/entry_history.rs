//! Remembers how many visitors had entered at each step of ten seconds in the last two minutes.
//! `visit_habits` compares these numbers with the visitors who are still inside.

use serde::{Deserialize, Serialize};

/// The visitors form four groups, by the seconds since their claim. These are the upper limits of
/// the first three groups.
pub const AGES_S: [u64; 3] = [30, 60, 120];
/// The time between two totals, in milliseconds.
const STEP_MS: i64 = 10_000;
/// The number of steps in the longest of [`AGES_S`].
const STEPS: usize = (AGES_S[AGES_S.len() - 1] as i64 * 1_000 / STEP_MS) as usize;

/// The totals of the last two minutes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EntryHistory {
    /// The time of the newest total, in milliseconds since the epoch.
    newest_at: i64,
    /// How many visitors had entered by `newest_at`, by one step earlier, and so on.
    totals: [u64; STEPS + 1],
    /// How many visitors had entered before the history began.
    unknown: u64,
}

impl EntryHistory {
    /// Begins a history at `now` (ms). The `total` visitors who entered before `now` are in no
    /// group, because it is not known when they entered.
    #[must_use]
    pub fn new(now: i64, total: u64) -> Self {
        Self {
            newest_at: now,
            totals: [total; STEPS + 1],
            unknown: total,
        }
    }

    /// Returns the history with the `total` of visitors who have entered by `now` (ms). Nothing
    /// changes until one step has passed since the newest total.
    #[must_use]
    pub fn with_total(mut self, now: i64, total: u64) -> Self {
        let steps = usize::try_from((now - self.newest_at).div_euclid(STEP_MS)).unwrap_or(0);
        if steps > 0 {
            let moved = steps.min(self.totals.len());
            self.totals.rotate_right(moved);
            self.totals[..moved].fill(total);
            self.newest_at += steps as i64 * STEP_MS;
        }
        self
    }

    /// Returns how many visitors entered in each group of [`AGES_S`]. `total` is the number of
    /// visitors who have entered by `now` (ms).
    #[must_use]
    pub fn entered_by_age(&self, now: i64, total: u64) -> [u64; 4] {
        let [young, middle, old] = AGES_S.map(|age_s| self.total_before(now, age_s, total));
        [
            total.saturating_sub(young),
            young.saturating_sub(middle),
            middle.saturating_sub(old),
            old.saturating_sub(self.unknown),
        ]
    }

    /// Returns how many visitors had entered `age_s` seconds ago, interpolated linearly between the
    /// totals before and after that time.
    pub(crate) fn total_before(&self, now: i64, age_s: u64, total: u64) -> u64 {
        let steps_back = (age_s as f64 * 1e3 - (now - self.newest_at) as f64) / STEP_MS as f64;
        if steps_back < 0.0 {
            return total;
        }
        let step = (steps_back as usize).min(STEPS);
        let (after, before) = (self.totals[step], self.totals[(step + 1).min(STEPS)]);
        let part = steps_back.fract();
        after - (part * after.saturating_sub(before) as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_visitors_a_second_are_in_the_groups_of_their_times() {
        let mut history = EntryHistory::new(1_000, 0);
        for second in 1..=200 {
            history = history.with_total(1_000 + second * 1_000, second as u64 * 10);
        }
        let groups = history.entered_by_age(201_000, 2_000);
        assert_eq!(groups, [300, 300, 600, 800]);
        let later = history.entered_by_age(204_000, 2_040);
        for (group, expected) in later.iter().zip([300, 300, 600, 840]) {
            assert!(group.abs_diff(expected) <= 11, "{later:?}");
        }
    }

    #[test]
    fn visitors_who_entered_before_the_history_are_in_no_group() {
        let history = EntryHistory::new(1_000, 500);
        assert_eq!(history.entered_by_age(1_000, 500), [0; 4]);
        let later = history.with_total(301_000, 700);
        assert_eq!(later.entered_by_age(301_000, 700).iter().sum::<u64>(), 200);
    }
}
