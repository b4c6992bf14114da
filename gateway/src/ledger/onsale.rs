//! The rooms of an on-sale file, as they are written in one transaction.

use super::{LedgerError, RoomAuditEntry, RoomRow};

/// What an apply does with a room.
#[derive(Debug, Clone)]
pub enum AppliedRoomChange {
    /// The room stays as it is.
    None,
    /// The room is created.
    Create(RoomAuditEntry),
    /// The room's document is replaced.
    Replace {
        /// The room's audit row.
        entry: RoomAuditEntry,
        /// Whether the change is allowed only while nobody has joined.
        before_joins: bool,
    },
}

/// A room of an on-sale file.
#[derive(Debug, Clone)]
pub struct AppliedRoom {
    /// The room's row after the apply.
    pub row: RoomRow,
    /// What changes.
    pub change: AppliedRoomChange,
    /// The room's document in the file, as JSON.
    pub applied: String,
}

/// Why the rooms of an on-sale file were not written. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum RoomsRefused {
    /// A room was changed, created or joined after the file was compared with it.
    #[error("a room was changed")]
    ChangedMeanwhile,
    /// The ledger could not write the rooms.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}
