//! The budget of wrong codes that all visitors of a room share. Without it, somebody with many
//! networks could try codes as fast as the gateway answers, because other limits count by network.
//! A code is looked at only while the budget has a try left, whether it is right or wrong. Only a
//! wrong code uses the try up. The scripts of the store in Redis count in the same way.

/// How many wrong codes are looked at without a wait.
pub const WRONG_AT_ONCE: i64 = 100;
/// After each of this many milliseconds, one more wrong code is looked at.
pub const WRONG_EVERY_MS: i64 = 500;
/// The last tries of the budget are kept for networks that have shown hardly any code. Otherwise
/// somebody with few networks could make everybody else wait.
pub const KEPT_FOR_NEW: i64 = 10;
/// The length (ms) of the slices in which the last minute is counted.
pub const WRONG_SLICE_MS: i64 = 5_000;
/// How many slices count: the running one and those before it.
pub const WRONG_SLICES: i64 = 12;
/// After this long (ms) without a wrong code, nothing of the earlier ones counts any more.
pub const WRONG_KNOWN_MS: i64 = 120_000;

/// The wrong codes that were shown in one room.
#[derive(Debug, Clone, Default)]
pub struct WrongCodes {
    /// When the budget is whole again, if no further code is wrong (ms).
    whole_at: i64,
    /// The slices of the last minute with wrong codes, each with how many. In no particular order.
    slices: Vec<(i64, u64)>,
}

impl WrongCodes {
    /// Returns for how long (ms) no code is looked at, from `now` (ms) on. It is 0 if a code may be
    /// looked at now. `kept` is how many tries must be left afterwards.
    #[must_use]
    pub fn wait_ms(&self, kept: i64, now: i64) -> i64 {
        let missing_ms = self.whole_at.saturating_sub(now);
        let missing_max_ms = (WRONG_AT_ONCE - 1 - kept) * WRONG_EVERY_MS;
        missing_ms.saturating_sub(missing_max_ms).max(0)
    }

    /// Counts a wrong code that was looked at `now` (ms).
    pub fn note(&mut self, now: i64) {
        self.whole_at = self.whole_at.max(now).saturating_add(WRONG_EVERY_MS);
        let (slice, oldest) = (slice_of(now), oldest_slice(now));
        self.slices.retain(|(slice, _)| *slice >= oldest);
        match self.slices.iter_mut().find(|(stored, _)| *stored == slice) {
            Some((_, codes)) => *codes += 1,
            None => self.slices.push((slice, 1)),
        }
    }

    /// Returns how many wrong codes were looked at in the minute before `now` (ms), or in the last
    /// 55 seconds of it.
    #[must_use]
    pub fn in_last_minute(&self, now: i64) -> u64 {
        let oldest = oldest_slice(now);
        let counted = self.slices.iter().filter(|(slice, _)| *slice >= oldest);
        counted.map(|(_, codes)| codes).sum()
    }
}

fn slice_of(at: i64) -> i64 {
    at.div_euclid(WRONG_SLICE_MS)
}

fn oldest_slice(now: i64) -> i64 {
    slice_of(now) - (WRONG_SLICES - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows a wrong code at `now`. Returns whether it was looked at.
    fn show_wrong(codes: &mut WrongCodes, kept: i64, now: i64) -> bool {
        let is_looked_at = codes.wait_ms(kept, now) == 0;
        if is_looked_at {
            codes.note(now);
        }
        is_looked_at
    }

    fn looked_at(codes: &mut WrongCodes, kept: i64, now: i64) -> usize {
        let shown = (0..1_000).filter(|_| show_wrong(codes, kept, now));
        shown.count()
    }

    #[test]
    fn a_hundred_wrong_codes_are_looked_at_and_then_two_a_second() {
        let mut codes = WrongCodes::default();
        assert_eq!(looked_at(&mut codes, 0, 0), 100);
        assert_eq!(codes.wait_ms(0, 0), 500);
        assert_eq!(looked_at(&mut codes, 0, 499), 0);
        assert_eq!(looked_at(&mut codes, 0, 500), 1);
        assert_eq!(looked_at(&mut codes, 0, 5_500), 10);
        assert_eq!(looked_at(&mut codes, 0, 10_000_000), 100, "it is whole");
    }

    #[test]
    fn the_last_tries_are_kept_for_those_who_have_tried_hardly_any_code() {
        let mut codes = WrongCodes::default();
        assert_eq!(looked_at(&mut codes, KEPT_FOR_NEW, 0), 90);
        assert_eq!(looked_at(&mut codes, KEPT_FOR_NEW, 500), 1);
        assert_eq!(looked_at(&mut codes, 0, 500), 10);
        assert_eq!(codes.wait_ms(0, 500), 500);
        assert_eq!(codes.wait_ms(KEPT_FOR_NEW, 500), 5_500);
    }

    #[test]
    fn a_right_code_uses_no_try_up() {
        let mut codes = WrongCodes::default();
        assert_eq!(looked_at(&mut codes, 0, 0), 100);
        // Looking at a right code notes nothing, so any number of them is looked at.
        assert_eq!(codes.wait_ms(0, 500), 0);
        assert!(show_wrong(&mut codes, 0, 500));
        assert_eq!(codes.wait_ms(0, 500), 500);
    }

    #[test]
    fn wrong_codes_are_counted_for_a_minute() {
        let mut codes = WrongCodes::default();
        for second in 0..30 {
            codes.note(second * 1_000);
        }
        let counted = [29_999, 59_999, 64_999, 84_999, 85_000].map(|at| codes.in_last_minute(at));
        assert_eq!(counted, [30, 30, 25, 5, 0]);
        codes.note(600_000);
        assert_eq!(codes.slices, [(120, 1)]);
    }

    proptest! {
        #[test]
        fn in_any_time_no_more_wrong_codes_are_looked_at_than_the_budget_has(
            tries in proptest::collection::vec((0_i64..2_000, 0_i64..20), 1..400),
        ) {
            let (mut codes, mut times, mut now) = (WrongCodes::default(), Vec::new(), 0);
            for (step, kept) in tries {
                // Most tries come at once.
                now += if step < 1_500 { 0 } else { step };
                let waits_ms = codes.wait_ms(kept, now);
                if show_wrong(&mut codes, kept, now) {
                    times.push(now);
                }
                if waits_ms > 0 {
                    prop_assert_eq!(codes.wait_ms(kept, now + waits_ms), 0);
                }
            }
            for (at, from) in times.iter().enumerate() {
                for (more, to) in times[at..].iter().enumerate() {
                    let budget = WRONG_AT_ONCE + (to - from) / WRONG_EVERY_MS;
                    prop_assert!(i64::try_from(more).expect("few") < budget);
                }
            }
        }
    }
}
