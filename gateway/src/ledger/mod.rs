//! The slow and precious half of a room: documents, secrets, the line, the draw, the release
//! counter, passes, audit. One method of [`RoomLedger`] is one domain transition; [`sql`] has each
//! of them once, for both databases.
//!
//! **Architecture invariant:** SQL stands only under `ledger/sql`. rusqlite and tokio-postgres are
//! not named in this crate: `fairgate-databases` has them.

#[cfg(test)]
pub mod contract;
mod copying;
mod life;
mod records;
pub mod sql;

use async_trait::async_trait;
use fairgate_databases::LedgerError;
use fairgate_pass::{Digest, Holder};
use futures_util::future::BoxFuture;

pub use life::{FREEZE_AFTER_MS, LedgerFreezeOutcome, LineCopyOutcome, LineFeedEntry, RoomLife};
pub use records::{
    AuditRow, DrawRow, DrawSecret, DrawStage, JoinRow, LedgerJoinOutcome, LineFreeze, PassRow,
    PublishedDraw, PublishedFreeze, ReleaseRow, RoomAuditEntry, RoomChangeOutcome, RoomRow,
    RoomSample, RoomVersion, StoredLine, StoredPlace,
};

use crate::room::{RoomDocument, RoomFacts};

/// Why the ledger gave no answer. But for [`RoomLedgerFailure::Unknown`], nothing of the transition
/// stays.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RoomLedgerFailure {
    /// The write was not taken, or the read did not come through.
    #[error("the ledger did not answer: {0}")]
    Unavailable(String),
    /// The answer to a commit was lost: the transition stands whole or not at all. Every transition
    /// may be asked for again, and then says which.
    #[error("whether the ledger took it is not known: {0}")]
    Unknown(String),
    /// A row holds something this version cannot read.
    #[error("the ledger holds something unreadable: {0}")]
    Corrupt(String),
}

impl From<LedgerError> for RoomLedgerFailure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Corrupt(what) => Self::Corrupt(what),
            LedgerError::Unknown(why) => Self::Unknown(why),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

/// What a queued write will come to; it is queued when the call returns, and runs even if this is
/// dropped.
pub type DurableWrite<T> = BoxFuture<'static, Result<T, RoomLedgerFailure>>;

/// The rooms' ledger. Times are milliseconds since the epoch.
#[async_trait]
pub trait RoomLedger: Send + Sync + 'static {
    /// Every room.
    async fn rooms(&self) -> Result<Vec<RoomRow>, RoomLedgerFailure>;
    /// One room.
    async fn room(&self, room: &str) -> Result<Option<RoomRow>, RoomLedgerFailure>;
    /// How far every room has come: so little that a node can ask several times a second what
    /// others changed.
    async fn versions(&self) -> Result<Vec<RoomVersion>, RoomLedgerFailure>;
    /// Makes a room with its draw secret; `false` where it exists already, and then nothing is
    /// changed.
    async fn create_room(
        &self,
        row: RoomRow,
        entry: RoomAuditEntry,
    ) -> Result<bool, RoomLedgerFailure>;
    /// Replaces document and facts where the row still has `version`. With `before_joins` also only
    /// while nobody has joined, checked in the same transaction.
    async fn change_room(
        &self,
        room: &str,
        version: u64,
        document: RoomDocument,
        facts: RoomFacts,
        before_joins: bool,
        entry: Option<RoomAuditEntry>,
    ) -> Result<RoomChangeOutcome, RoomLedgerFailure>;
    /// Replaces the codes of a room; only while nobody has joined.
    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, RoomLedgerFailure>;

    /// Queues one join. The number is the caller's; numbers of a room are queued in rising order.
    fn record_join(&self, room: &str, join: JoinRow) -> DurableWrite<LedgerJoinOutcome>;
    /// Queues one leaving. `void` makes the leaf nobody's (before the freeze); else only the place
    /// is gone.
    fn record_leave(&self, room: &str, number: u64, at: i64, void: bool) -> DurableWrite<()>;
    /// Queues the freeze of numbers below `n`: a second freeze changes nothing, and is told the
    /// first. A store with lives names its `life`, and freezes only while that one stands and none
    /// is younger than [`FREEZE_AFTER_MS`].
    fn record_freeze(
        &self,
        room: &str,
        freeze: LineFreeze,
        life: Option<u64>,
    ) -> DurableWrite<LedgerFreezeOutcome>;
    /// Queues nothing, and answers when everything queued before is durable or void.
    fn barrier(&self) -> DurableWrite<()>;
    /// Whether the database takes writes just now: one is made to find out.
    async fn check(&self) -> Result<(), RoomLedgerFailure>;
    /// All that the room store must know again after a restart.
    async fn line(&self, room: &str) -> Result<StoredLine, RoomLedgerFailure>;
    /// The same without the places: those come by [`RoomLedger::places`], so that a long line is
    /// never whole in memory.
    async fn bare_line(&self, room: &str) -> Result<StoredLine, RoomLedgerFailure>;
    /// At most `max` places with numbers from `from` on, rising.
    async fn places(
        &self,
        room: &str,
        from: u64,
        max: u32,
    ) -> Result<Vec<StoredPlace>, RoomLedgerFailure>;
    /// The living place of a holder.
    async fn place_of(
        &self,
        room: &str,
        holder: Holder,
    ) -> Result<Option<StoredPlace>, RoomLedgerFailure>;
    /// The holders of numbers 0..n, 32 bytes each; zeros where nobody holds the number.
    async fn leaves(&self, room: &str, n: u64) -> Result<Vec<u8>, RoomLedgerFailure>;

    /// Begins the next life of a room's fast store where the one that stands is still `from` (0:
    /// there was none); else gives the one that stands. Its numbers begin where the last one's
    /// ended, above every recorded number, and not below `above`, which is what the caller has
    /// heard to be given: this ledger may have lost some of it. A `from` that never was says that
    /// this ledger is an older copy, or another: [`RoomLedgerFailure::Corrupt`].
    async fn begin_life(
        &self,
        room: &str,
        from: u64,
        above: u64,
        at: i64,
    ) -> Result<RoomLife, RoomLedgerFailure>;
    /// Allows a life to give numbers below `upto`, and gives what it may by now; `None` where
    /// another life has begun.
    async fn reserve(
        &self,
        room: &str,
        incarnation: u64,
        upto: u64,
    ) -> Result<Option<RoomLife>, RoomLedgerFailure>;
    /// The lives of all rooms that have one.
    async fn lives(&self) -> Result<Vec<(String, RoomLife)>, RoomLedgerFailure>;
    /// Brings what a life's store gave and took into the ledger; again is harmless. Where a holder
    /// comes to two living numbers the lower one stays, and where a code comes to two the first;
    /// the other number is void, and its code stays used. `None` where another life has begun:
    /// nothing was written.
    async fn copy_line(
        &self,
        room: &str,
        incarnation: u64,
        rows: Vec<LineFeedEntry>,
    ) -> Result<Option<LineCopyOutcome>, RoomLedgerFailure>;

    /// How far the draw of a room has come.
    async fn draw(&self, room: &str) -> Result<DrawRow, RoomLedgerFailure>;
    /// Stores root and signature of a freeze, and the audit row with them; gives what stands. A
    /// second seal changes nothing.
    async fn seal(
        &self,
        room: &str,
        sealed: PublishedFreeze,
        entry: RoomAuditEntry,
    ) -> Result<PublishedFreeze, RoomLedgerFailure>;
    /// Stores the seed, and the audit row with it; gives what stands. A second draw changes
    /// nothing.
    async fn record_draw(
        &self,
        room: &str,
        drawn: PublishedDraw,
        entry: RoomAuditEntry,
    ) -> Result<PublishedDraw, RoomLedgerFailure>;

    /// The release counter.
    async fn release(&self, room: &str) -> Result<ReleaseRow, RoomLedgerFailure>;
    /// Moves the counter where it still stands at `from`; never backwards. Gives whether it moved.
    async fn advance(
        &self,
        room: &str,
        from: &ReleaseRow,
        to: &ReleaseRow,
    ) -> Result<bool, RoomLedgerFailure>;

    /// The pass of a number that lives at `now_s`; else stores `fresh` and gives that.
    async fn claim(
        &self,
        room: &str,
        fresh: PassRow,
        now_s: i64,
    ) -> Result<PassRow, RoomLedgerFailure>;
    /// Marks visitors as done and moves the cursor of finished orders with them.
    async fn finish(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
        at: i64,
    ) -> Result<(), RoomLedgerFailure>;

    /// The audit of a room, oldest first.
    async fn audit(&self, room: &str) -> Result<Vec<AuditRow>, RoomLedgerFailure>;
    /// Adds one audit row.
    async fn note(&self, room: &str, entry: RoomAuditEntry) -> Result<(), RoomLedgerFailure>;
    /// Adds one sample for the report; the first one of a moment stands.
    async fn sample(&self, room: &str, sample: RoomSample) -> Result<(), RoomLedgerFailure>;
    /// The samples of a room, oldest first.
    async fn samples(&self, room: &str) -> Result<Vec<RoomSample>, RoomLedgerFailure>;

    /// Takes or renews the lease `name` for `owner` until `ttl_ms` from now by the ledger's clock;
    /// `false` while somebody else has it. Whoever works under it counts from before this call.
    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, RoomLedgerFailure>;
    /// Gives a lease back before its time; somebody else's stays.
    async fn let_go(&self, name: &str, owner: &str) -> Result<(), RoomLedgerFailure>;
    /// The ledger's clock.
    async fn now_ms(&self) -> Result<i64, RoomLedgerFailure>;
    /// Which ledger this is: 32 random bytes of its first day. A store remembers it.
    async fn id(&self) -> Result<[u8; 32], RoomLedgerFailure>;
}
