//! Remembers how many visitors had entered at each step of the time for which a pass is valid. With
//! this it is known how many of those who entered at a time are still inside.

use serde::{Deserialize, Serialize};

/// The number of steps in the time for which a pass is valid.
const STEPS: usize = 31;
/// The shortest step, in milliseconds.
const STEP_MIN_MS: i64 = 5_000;

/// The totals of about as long as a pass is valid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EntryTotals {
    /// The length of a step, in milliseconds.
    step_ms: i64,
    /// The time of the newest total, in milliseconds since the epoch.
    newest_at: i64,
    /// How many visitors had entered by `newest_at`, by one step earlier, and so on.
    totals: [u64; STEPS + 1],
}

impl EntryTotals {
    /// Begins to remember at `now` (ms). It is not known when the `total` visitors who entered
    /// before did so. `pass_s` says for how many seconds a pass is valid.
    #[must_use]
    pub fn new(now: i64, total: u64, pass_s: u32) -> Self {
        Self {
            step_ms: step_ms(pass_s),
            newest_at: now,
            totals: [total; STEPS + 1],
        }
    }

    /// Returns the totals with the `total` of visitors who have entered by `now` (ms). Begins anew
    /// if passes are now valid for another time.
    #[must_use]
    pub fn with_total(mut self, now: i64, total: u64, pass_s: u32) -> Self {
        if self.step_ms != step_ms(pass_s) {
            return Self::new(now, total, pass_s);
        }
        let steps = (now - self.newest_at).div_euclid(self.step_ms);
        if steps > 0 {
            let moved = usize::try_from(steps)
                .unwrap_or(usize::MAX)
                .min(self.totals.len());
            self.totals.rotate_right(moved);
            self.totals[..moved].fill(total);
            self.newest_at += steps * self.step_ms;
        }
        self
    }

    /// Returns how many visitors had entered `age_s` seconds before `now` (ms), interpolated
    /// between the totals before and after that time. `total` visitors have entered by `now`.
    #[must_use]
    pub fn total_before(&self, now: i64, age_s: f64, total: u64) -> f64 {
        let newest_age_ms = (now - self.newest_at) as f64;
        let back_ms = age_s * 1e3 - newest_age_ms;
        let (after, before, part) = if back_ms < 0.0 {
            (total, self.totals[0], age_s * 1e3 / newest_age_ms)
        } else {
            let steps_back = back_ms / self.step_ms as f64;
            let step = (steps_back as usize).min(STEPS);
            let earlier = self.totals[(step + 1).min(STEPS)];
            (self.totals[step], earlier, steps_back.fract())
        };
        after as f64 - part * after.saturating_sub(before) as f64
    }
}

fn step_ms(pass_s: u32) -> i64 {
    (i64::from(pass_s) * 1_000 / STEPS as i64).max(STEP_MIN_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_of_a_steady_line_are_those_of_their_times() {
        let mut totals = EntryTotals::new(0, 0, 600);
        for second in 1..=500 {
            totals = totals.with_total(second * 1_000, second as u64 * 10, 600);
        }
        for age_s in [0.0, 3.0, 30.0, 200.0, 480.0] {
            let before = totals.total_before(500_000, age_s, 5_000);
            let expected = (500.0 - age_s) * 10.0;
            assert!((before - expected).abs() < 20.0, "{age_s}: {before}");
        }
    }

    #[test]
    fn another_length_of_passes_begins_the_totals_anew() {
        let totals = EntryTotals::new(0, 0, 600).with_total(100_000, 50, 600);
        let anew = totals.with_total(101_000, 60, 1_200);
        assert_eq!(anew, EntryTotals::new(101_000, 60, 1_200));
    }
}
