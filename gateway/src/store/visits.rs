//! What the store says about visits. A visit begins with a pass and ends with it.

use fairgate_pass::Holder;

/// A visitor inside who has done nothing for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleVisitor {
    /// The join number.
    pub number: u64,
    /// The holder of the place.
    pub holder: Holder,
    /// When the visitor last did something, unix seconds.
    pub active_s: i64,
    /// Expiry of the visitor's pass, unix seconds.
    pub pass_exp_s: i64,
}

/// A visit that ended before its pass ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedVisit {
    /// The join number.
    pub number: u64,
    /// When the pass would have run out, unix seconds. If the number has another pass by now, that
    /// one goes on.
    pub pass_exp_s: i64,
    /// When the visit ended, unix seconds.
    pub ended_s: i64,
}

/// A pass that was stopped is refused by every node after this time, in seconds.
pub(super) const STOPPED_WITHIN_S: i64 = 2;

impl EndedVisit {
    /// Returns the time (unix seconds) from which on no node takes the pass.
    #[must_use]
    pub const fn stopped_s(&self) -> i64 {
        self.ended_s + 1 + STOPPED_WITHIN_S
    }
}

/// The visit of a visitor whose basket has lapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LapsedVisit {
    /// The join number.
    pub number: u64,
    /// How many baskets of the visit have lapsed.
    pub lapses: u64,
    /// Expiry of the visitor's last pass, unix seconds.
    pub pass_exp_s: i64,
}
