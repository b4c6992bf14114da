//! Keeps the entries of a room at its pace. In any ten seconds at most ten seconds of the pace and
//! one more tick enter, also after a silence in which everybody was called and nobody could claim.
//!
//! The gate is a token bucket that fills at the pace and holds one second of it, which is what one
//! tick calls, or one visitor if the pace is lower. It also holds the fraction of a visitor that
//! does not let anybody else in within ten seconds. Without it, a visitor who asks a little late
//! would cost the room a part of its pace each time.

use super::pace::VISITOR_U;

/// The time in which no more than the pace and one tick enter, in seconds.
pub const WINDOW_S: u64 = 10;

/// The bucket of one room with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryGate {
    /// The pace in force, in millionths of a visitor a second.
    rate_u: u64,
    /// What the bucket held at `counted_at`, in millionths of a visitor.
    credit_u: u64,
    /// Milliseconds since the epoch.
    counted_at: i64,
}

impl EntryGate {
    /// Returns the gate after a tick at `now` (ms) with the pace `rate_u`, in millionths of a
    /// visitor a second. The gate of a room that has none yet begins with a full bucket.
    #[must_use]
    pub fn at_rate(last: Option<Self>, rate_u: u64, now: i64) -> Self {
        let credit_u = last.map_or(u64::MAX, |last| last.credit_u(now));
        Self {
            rate_u,
            credit_u: credit_u.min(depth_u(rate_u)),
            // The clock of another node may be behind. It must not fill the bucket twice.
            counted_at: last.map_or(now, |last| last.counted_at.max(now)),
        }
    }

    /// Returns what the bucket holds at `now` (ms), in millionths of a visitor.
    #[must_use]
    pub fn credit_u(&self, now: i64) -> u64 {
        let elapsed_ms = u64::try_from(now - self.counted_at).unwrap_or(0);
        let filled_u = u128::from(self.rate_u) * u128::from(elapsed_ms) / 1_000;
        let filled_u = u64::try_from(filled_u).unwrap_or(u64::MAX);
        let depth_u = depth_u(self.rate_u);
        self.credit_u.saturating_add(filled_u).min(depth_u)
    }

    /// Takes the credit of one visitor who enters at `now` (ms).
    pub fn take(&mut self, now: i64) {
        self.credit_u = self.credit_u(now).saturating_sub(VISITOR_U);
        self.counted_at = self.counted_at.max(now);
    }

    /// Returns in how many milliseconds after `now` (ms) the bucket has the credit for a visitor
    /// with `before` others in front; 0 if it has the credit already.
    #[must_use]
    pub fn opens_in_ms(&self, before: u64, now: i64) -> u64 {
        let wanted_u = before.saturating_add(1).saturating_mul(VISITOR_U);
        let missing_u = u128::from(wanted_u.saturating_sub(self.credit_u(now)));
        let ms = (missing_u * 1_000).div_ceil(u128::from(self.rate_u.max(1)));
        u64::try_from(ms).unwrap_or(u64::MAX)
    }
}

/// Returns how much the bucket holds at most, in millionths of a visitor.
#[must_use]
pub fn depth_u(rate_u: u64) -> u64 {
    let one_tick_u = rate_u.max(VISITOR_U);
    let most_u = rate_u.saturating_mul(WINDOW_S).saturating_add(one_tick_u);
    one_tick_u.saturating_add(VISITOR_U - 1 - most_u % VISITOR_U)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lets as many in as the gate allows at each of these times (ms), and returns these times once
    /// for each visitor.
    fn entries(gate: &mut EntryGate, times: impl IntoIterator<Item = i64>) -> Vec<i64> {
        let mut entered = Vec::new();
        for now in times {
            while gate.credit_u(now) >= VISITOR_U {
                gate.take(now);
                entered.push(now);
            }
        }
        entered
    }

    /// Returns the most that entered in ten seconds.
    fn most_in_ten_s(entered: &[i64]) -> u64 {
        let within = |at: &i64| {
            let until = entered.partition_point(|other| *other < at + 10_000);
            let from = entered.partition_point(|other| other < at);
            (until - from) as u64
        };
        entered.iter().map(within).max().unwrap_or(0)
    }

    #[test]
    fn after_a_silence_five_hundred_people_enter_at_the_pace() {
        let mut gate = EntryGate::at_rate(None, 12 * VISITOR_U, 0);
        let entered = entries(&mut gate, (60_000..120_000).step_by(20));
        assert!(most_in_ten_s(&entered) <= 132);
        let last = entered[499] - 60_000;
        assert!(last <= 500 * 1_000 / 12, "the last one after {last} ms");
        assert!(last >= 487 * 1_000 / 12, "the last one after {last} ms");
    }

    #[test]
    fn the_wait_for_the_gate_is_told_to_each_visitor_at_the_door() {
        let mut gate = EntryGate::at_rate(None, 4 * VISITOR_U, 1_000);
        assert_eq!(gate.opens_in_ms(3, 1_000), 0);
        entries(&mut gate, [1_000]);
        let waits = [0, 1, 39].map(|before| gate.opens_in_ms(before, 1_000));
        assert_eq!(waits, [1, 251, 9_751], "0.999999 of a visitor is left");
        let stopped = EntryGate::at_rate(Some(gate), 0, 1_000);
        assert!(stopped.opens_in_ms(1, 1_000) >= 10_000);
    }

    #[test]
    fn a_clock_that_is_behind_or_jumps_gains_at_most_one_bucket() {
        let mut gate = EntryGate::at_rate(None, 12 * VISITOR_U, 0);
        let jumping = (0..1_000).map(|at| at % 2 * 3_600_000);
        let entered = entries(&mut gate, jumping).len();
        assert_eq!(entered, 24, "one bucket at the start, and one at the jump");
    }

    proptest! {
        #[test]
        fn no_ten_seconds_have_more_than_the_pace_and_one_tick(
            rate_u in 50_000_u64..400 * VISITOR_U, steps in proptest::collection::vec(0_i64..9_000, 1..200),
        ) {
            let mut now = 0;
            let times: Vec<i64> = steps.iter().map(|step| { now += step * step / 9_000; now }).collect();
            let entered = entries(&mut EntryGate::at_rate(None, rate_u, 0), times);
            let most_u = 10 * rate_u + rate_u.max(VISITOR_U);
            prop_assert!(most_in_ten_s(&entered) * VISITOR_U <= most_u);
        }

        #[test]
        fn a_pace_that_changes_allows_no_more_than_the_largest_one(
            rates in proptest::collection::vec(1_u64..200, 1..60),
        ) {
            let (mut gate, mut entered) = (None, Vec::new());
            for (second, per_s) in (0_i64..).zip(&rates) {
                let mut next = EntryGate::at_rate(gate, per_s * VISITOR_U, second * 1_000);
                entered.extend(entries(&mut next, (second * 1_000..second * 1_000 + 1_000).step_by(50)));
                gate = Some(next);
            }
            let largest = rates.iter().max().copied().unwrap_or(0);
            prop_assert!(most_in_ten_s(&entered) <= 11 * largest);
        }
    }
}
