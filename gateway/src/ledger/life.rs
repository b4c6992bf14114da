//! The lives of a room's data in Redis. Redis gives the numbers, and the ledger reserves them in
//! blocks. If the data is lost, replaced, or restored from an older copy, the next life begins
//! above the last block, so no number is given twice. The in-process store writes every number to
//! the ledger before it answers, so it needs no lives.

use super::{JoinRow, LedgerError, LineFreeze};

/// The line cannot be frozen for this long (ms) after a life began. During this time visitors show
/// their signed places, and numbers that were lost with the previous life are restored. A room's
/// first life has lost nothing, so its line can be frozen at once.
pub const FREEZE_AFTER_MS: i64 = 60_000;

/// One life of a room's data in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomLife {
    /// The number of this life, from 1.
    pub incarnation: u64,
    /// The life's first number. A lower number that is not in the ledger is void until its visitor
    /// shows the signed place.
    pub first: u64,
    /// The life gives only numbers below this.
    pub ceiling: u64,
    /// When the life began, milliseconds since the epoch.
    pub begun_at: i64,
}

impl RoomLife {
    /// Fails if this ledger has never had the room's life `from`. `current` is the room's life in
    /// this ledger now.
    pub(super) fn check_from(room: &str, from: u64, current: u64) -> Result<(), LedgerError> {
        if from <= current {
            return Ok(());
        }
        Err(LedgerError::Corrupt(format!(
            "this ledger has life {current} of the room \"{room}\", and the store has life {from}: this ledger is an older copy, or not the ledger of this store"
        )))
    }

    /// Returns whether this is a room's first life and no block is reserved yet. Such a life cannot
    /// have given any number. If Redis does not have its data, no number is lost.
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

/// One join or departure in Redis, to be copied into the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFeedEntry {
    /// A number was given to a visitor, or restored from the visitor's signed place.
    Join(JoinRow),
    /// A place was given up.
    Leave {
        /// The place's join number.
        number: u64,
        /// When the place was given up, milliseconds since the epoch.
        at: i64,
        /// Whether the leaf becomes void. A leaf of a frozen number never does.
        void: bool,
    },
}

/// The numbers whose rows in the ledger differ from the rows in Redis. They are in rising order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCopyOutcome {
    /// Void numbers. A number is void for one of four reasons: its holder left before the freeze or
    /// has a lower number, another holder used the code, or the room has no such code.
    pub voided: Vec<u64>,
    /// Numbers that the row's holder cannot have: they are below the freeze, not reserved, or
    /// another holder's.
    pub refused: Vec<u64>,
}

/// The outcome of a freeze.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerFreezeOutcome {
    /// The line is frozen, by this call or by an earlier one.
    Stands(LineFreeze),
    /// Another life has begun; nothing was written.
    OtherLife,
    /// The life is too young, so nothing was written. The line can be frozen from this time (ms)
    /// on.
    NotBefore(i64),
}
