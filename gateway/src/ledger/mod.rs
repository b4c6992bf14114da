//! The durable data of a room: documents, secrets, the line, the draw, the release counter, passes
//! and the audit. Each method of [`RoomLedger`] does one complete step, such as a join or a freeze.
//! Its file under `ledger/sql` is named after its subject.
//!
//! **Architecture invariant:** SQL is only in `ledger/sql`. Only `fairgate-databases` uses rusqlite
//! and tokio-postgres, never this crate.

#[cfg(test)]
pub mod contract;
mod copying;
mod life;
mod network_keys;
mod onsale;
mod records;
mod sql;

use futures_util::future::BoxFuture;

pub use fairgate_databases::LedgerError;
pub use life::{FREEZE_AFTER_MS, LedgerFreezeOutcome, LineCopyOutcome, LineFeedEntry, RoomLife};
pub use network_keys::{NetworkEpoch, NetworkKey, NetworkKeys};
pub use onsale::{AppliedRoom, AppliedRoomChange, RoomsRefused};
pub use records::{
    AuditRow, DrawRow, DrawSecret, DrawStage, EndedPass, JoinRow, LedgerClaimOutcome,
    LedgerJoinOutcome, LineFreeze, NewPassStops, PassRow, PassStopCause, PlaceSelection,
    PublishedDraw, PublishedFreeze, ReleaseRow, RoomAuditEntry, RoomChangeOutcome, RoomRow,
    RoomSample, RoomVersion, StoppedPass, StoredLine, StoredPlace,
};
pub use sql::RoomLedger;

/// The outcome of a queued write. The write is queued when the call returns, and it runs even if
/// this future is dropped.
pub type DurableWrite<T> = BoxFuture<'static, Result<T, LedgerError>>;
