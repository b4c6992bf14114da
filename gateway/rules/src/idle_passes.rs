//! Says when the holder of a pass is asked whether somebody is still there, and when the pass ends
//! because nobody does anything.

/// How long before the end the question is asked, in seconds, if the time allows it.
const ASKS_BEFORE_S: i64 = 30;
/// Times are whole seconds, so a visitor may have done something this much later than noted, in
/// seconds.
const NOTED_EARLY_S: i64 = 1;

/// When a pass ends whose holder does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleLimits {
    idle_s: i64,
}

/// What is due for the holder of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleStep {
    /// Nothing yet.
    Nothing,
    /// The question whether somebody is there. It stands until the pass ends.
    Ask,
    /// The end of the pass.
    End,
}

impl IdleLimits {
    /// Returns the limits of a room with this `pass_idle_s`.
    #[must_use]
    pub fn new(pass_idle_s: u64) -> Self {
        Self {
            idle_s: i64::try_from(pass_idle_s).unwrap_or(i64::MAX / 4),
        }
    }

    /// Returns after how many seconds without any action the question is asked: 30 seconds before
    /// the end, or half of the time if that is later.
    #[must_use]
    pub fn asks_after_s(self) -> i64 {
        self.idle_s - ASKS_BEFORE_S.min(self.idle_s / 2)
    }

    /// Returns when the pass of a visitor ends who last did something at `active_s` (unix seconds).
    #[must_use]
    pub fn ends_at_s(self, active_s: i64) -> i64 {
        active_s + self.idle_s + NOTED_EARLY_S
    }

    /// Returns what is due at `now_s` for a visitor who last did something at `active_s`.
    #[must_use]
    pub fn step(self, active_s: i64, now_s: i64) -> IdleStep {
        if now_s >= self.ends_at_s(active_s) {
            IdleStep::End
        } else if now_s >= active_s + self.asks_after_s() {
            IdleStep::Ask
        } else {
            IdleStep::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IdleStep::{Ask, End, Nothing};

    #[test]
    fn the_question_comes_half_a_minute_before_the_end() {
        let limits = IdleLimits::new(120);
        let steps = [189, 190, 220, 221].map(|now_s| limits.step(100, now_s));
        assert_eq!(steps, [Nothing, Ask, Ask, End]);
    }

    #[test]
    fn a_short_time_leaves_half_of_it_for_the_answer() {
        let limits = IdleLimits::new(20);
        let steps = [109, 110, 120, 121].map(|now_s| limits.step(100, now_s));
        assert_eq!(steps, [Nothing, Ask, Ask, End]);
    }
}
