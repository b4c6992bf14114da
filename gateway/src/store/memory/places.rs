//! The slots of a line in memory. Each number has one slot.

use fairgate_pass::{Digest, Holder, VOID};

/// The data of one number.
#[derive(Clone, Copy)]
pub(super) struct LineSlot {
    pub(super) holder: Holder,
    /// When the number was given, ms.
    pub(super) at: i64,
    pub(super) code: Option<Digest>,
    pub(super) has_visitor: bool,
    pub(super) done: bool,
}

impl LineSlot {
    /// The slot of a void number.
    pub(super) const VOID: Self = Self {
        holder: VOID,
        at: 0,
        code: None,
        has_visitor: false,
        done: false,
    };

    /// Returns whether this visitor can still buy.
    pub(super) const fn may_buy(&self) -> bool {
        self.has_visitor && !self.done
    }
}

/// Returns the index of a number's slot.
pub(super) fn index(number: u64) -> usize {
    // Every given number has a slot in memory, so its index fits `usize`.
    usize::try_from(number).unwrap_or(usize::MAX)
}
