//! The lives of a room's fast store. The store gives the numbers, and the ledger reserves them in
//! blocks. The next life begins above the last block, so a store that was lost, set back or
//! replaced never gives a number twice.

use super::{JoinRow, LineFreeze, RoomLedgerFailure};

/// How long (ms) after a life began the line may not be frozen yet. In this time visitors whose
/// places the last life lost can come back with them. A room's first life has lost nothing and does
/// not wait.
pub const FREEZE_AFTER_MS: i64 = 60_000;

/// One life of the fast store's data of one room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomLife {
    /// The number of this life, from 1.
    pub incarnation: u64,
    /// The life's first number. A lower number that is not in the ledger is void until its visitor
    /// brings it back.
    pub first: u64,
    /// The life gives only numbers below this.
    pub ceiling: u64,
    /// When the life began, milliseconds since the epoch.
    pub begun_at: i64,
}

impl RoomLife {
    /// Refuses to follow a life that this ledger, whose life is `standing`, has never had.
    pub(super) fn check_from(
        room: &str,
        from: u64,
        standing: u64,
    ) -> Result<(), RoomLedgerFailure> {
        if from <= standing {
            return Ok(());
        }
        Err(RoomLedgerFailure::Corrupt(format!(
            "the room \"{room}\" is at life {standing}, and its store at {from}: this ledger is an older copy, or another"
        )))
    }

    /// Returns whether this is a room's first life and it cannot have given any number yet.
    /// Whatever Redis lacks of such a life is not lost.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        self.incarnation == 1 && self.ceiling == self.first
    }

    /// Returns the time (ms) from which the line may be frozen in this life.
    #[must_use]
    pub fn freezes_from(&self) -> i64 {
        if self.incarnation <= 1 {
            i64::MIN
        } else {
            self.begun_at.saturating_add(FREEZE_AFTER_MS)
        }
    }
}

/// One thing that a store did and that is to be copied into the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFeedEntry {
    /// A number was given to a visitor, or its visitor brought it back.
    Join(JoinRow),
    /// A place was given up.
    Leave {
        /// The place's join number.
        number: u64,
        /// When the place was given up, milliseconds since the epoch.
        at: i64,
        /// Whether the leaf becomes nobody's. Below a freeze that stands, the leaf stays as it was
        /// frozen.
        void: bool,
    },
}

/// The copied rows that the ledger records otherwise than the store has them; numbers rising.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCopyOutcome {
    /// Void numbers: they were left before the freeze, or their holder or code has another number.
    pub voided: Vec<u64>,
    /// Numbers that this holder cannot have: they are below the freeze, beyond what was reserved,
    /// or another holder's.
    pub refused: Vec<u64>,
}

/// How a freeze ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerFreezeOutcome {
    /// This freeze stands, whether it is the given one or an earlier one.
    Stands(LineFreeze),
    /// Another life has begun; nothing was written.
    OtherLife,
    /// The life is too young, so nothing was written. The freeze may be asked for again from this
    /// time (ms) on.
    NotBefore(i64),
}
