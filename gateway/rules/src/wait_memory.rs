//! What the forecast of waits remembers from tick to tick. It is stored with the release counter,
//! as part of the pace's memory.

use serde::{Deserialize, Serialize};

use crate::entry_totals::EntryTotals;
use crate::pace::{ReleaseBound, ReleaseDecision, VISITOR_U};

/// Past seconds lose weight with this time constant, in seconds.
const MEMORY_S: f64 = 90.0;
/// At first, the pace is believed to call all people that it may. This counts as much as this many
/// seconds.
const BELIEF_S: f64 = 20.0;
/// If visitors in front use up the pace for longer than this, in seconds, the tick says nothing
/// about what the pace calls otherwise.
const DEBT_MAX_S: f64 = 3.0;
/// The least part of the pace that is believed to call people.
const KEPT_MIN: f64 = 0.1;

/// The figures of a regular tick.
#[derive(Debug, Clone, Copy)]
pub struct WaitSecond {
    /// The time of the tick, in milliseconds since the epoch.
    pub now: i64,
    /// How many visitors have entered so far, with every pass.
    pub entered: u64,
    /// How many visitors have ever claimed a pass.
    pub claimed: u64,
    /// The debt for late comers, in millionths of a visitor.
    pub owed_u: u64,
    /// How long a pass is valid, in seconds.
    pub pass_s: u32,
}

/// What is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WaitMemory {
    entries: EntryTotals,
    /// How many people were present when they were called.
    called: u64,
    /// Of the last seconds in which the pace was the limit: how many people were called, and for
    /// how many the pace was, as parts of the pace of one second. Both are sums of seconds.
    kept_s: [f64; 2],
    /// The debt for late comers after the last tick, in millionths of a visitor.
    owed_u: u64,
}

impl WaitMemory {
    /// Begins to remember with a tick's figures.
    #[must_use]
    pub fn new(second: &WaitSecond) -> Self {
        Self {
            entries: EntryTotals::new(second.now, second.entered, second.pass_s),
            called: second.claimed,
            kept_s: [BELIEF_S; 2],
            owed_u: second.owed_u,
        }
    }

    /// Returns the memory with the figures of a regular tick.
    #[must_use]
    pub fn after_second(self, second: &WaitSecond) -> Self {
        Self {
            entries: self
                .entries
                .with_total(second.now, second.entered, second.pass_s),
            owed_u: second.owed_u,
            ..self
        }
    }

    /// Returns the memory with what a tick decided for `elapsed_ms` at the pace `rate_u`, while
    /// `asking` called visitors asked to enter.
    #[must_use]
    pub fn after_release(
        self,
        decision: &ReleaseDecision,
        asking: u64,
        rate_u: u64,
        elapsed_ms: u64,
    ) -> Self {
        let in_front_u = self.owed_u.saturating_add(asking.saturating_mul(VISITOR_U)) as f64;
        let is_typical = decision.bound == ReleaseBound::Rate
            && in_front_u <= DEBT_MAX_S * rate_u.max(VISITOR_U) as f64;
        let elapsed_s = elapsed_ms as f64 / 1e3;
        let left = if is_typical {
            (-elapsed_s / MEMORY_S).exp()
        } else {
            1.0
        };
        let called_s = (decision.people * VISITOR_U) as f64 / rate_u.max(1) as f64;
        let [called, paced] = self.kept_s;
        Self {
            called: self.called + decision.people,
            owed_u: decision.owed_u,
            kept_s: if is_typical {
                [called * left + called_s, paced * left + elapsed_s]
            } else {
                self.kept_s
            },
            ..self
        }
    }

    /// Returns how many visitors had entered `age_s` seconds before `now` (ms). `total` visitors
    /// have entered by `now`.
    pub(crate) fn entered_before(&self, now: i64, age_s: f64, total: u64) -> f64 {
        self.entries.total_before(now, age_s, total)
    }

    /// Returns the debt for late comers after the last tick, in millionths of a visitor.
    pub(crate) fn owed_u(&self) -> u64 {
        self.owed_u
    }

    /// Returns which part of the pace calls people. The rest is used up by late comers, or goes by
    /// while called people wait to enter.
    pub(crate) fn kept_share(&self) -> f64 {
        let [called, paced] = self.kept_s;
        (called / paced).clamp(KEPT_MIN, 1.0)
    }

    /// Returns how many called visitors have not come within their window and may come late.
    /// `claimed` visitors have come, and `expected` are within their window.
    pub(crate) fn missing(&self, claimed: u64, expected: u64) -> u64 {
        self.called.saturating_sub(claimed).saturating_sub(expected)
    }
}
