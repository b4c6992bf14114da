//! The lives of a room's fast store. Numbers are given by the store and reserved here in blocks, so
//! that a store that was lost, went back in time or was replaced never gives a number again: the
//! next life begins above the block.

use super::{JoinRow, LineFreeze, RoomLedgerFailure};

/// So long after a life began, those whose places the last one lost can come back with them before
/// the line is frozen. The first life of a room has lost nothing, and waits for nobody.
pub const FREEZE_AFTER_MS: i64 = 60_000;

/// One life of the store's data of one room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomLife {
    /// From 1, by one with each life.
    pub incarnation: u64,
    /// Its first number. What lies below and is not in the ledger is void until somebody brings it
    /// back.
    pub first: u64,
    /// It gives numbers below this only.
    pub ceiling: u64,
    /// Milliseconds since the epoch.
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

    /// Whether this is a room's first life and no number of it can have been given: whatever Redis
    /// lacks of it is not lost.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        self.incarnation == 1 && self.ceiling == self.first
    }

    /// From when on (ms) the line may be frozen in this life.
    #[must_use]
    pub fn freezes_from(&self) -> i64 {
        if self.incarnation <= 1 {
            i64::MIN
        } else {
            self.begun_at.saturating_add(FREEZE_AFTER_MS)
        }
    }
}

/// One thing that a store did, on its way into the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFeedEntry {
    /// A number was given, or brought back by whom it was given to.
    Join(JoinRow),
    /// A place was given up.
    Leave {
        /// Which.
        number: u64,
        /// When.
        at: i64,
        /// The leaf becomes nobody's; below a freeze that stands it stays as it was frozen.
        void: bool,
    },
}

/// What of the copied rows came out otherwise than the store has it, rising.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCopyOutcome {
    /// Numbers that are void: left before the freeze, or their holder or code has another one.
    pub voided: Vec<u64>,
    /// Numbers that are not this holder's: below the freeze, beyond what was reserved, or somebody
    /// else's.
    pub refused: Vec<u64>,
}

/// How a freeze ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerFreezeOutcome {
    /// This one stands: the given one, or an earlier one.
    Stands(LineFreeze),
    /// Another life has begun; nothing was written.
    OtherLife,
    /// The life is too young; nothing was written. Again from this time (ms) on.
    NotBefore(i64),
}
