//! The durable data of a room: documents, secrets, the line, the draw, the release counter, passes
//! and the audit. Each method of [`RoomLedger`] is one domain transition. [`sql`] implements each
//! method once, for both databases.
//!
//! **Architecture invariant:** SQL is only in `ledger/sql`. Only `fairgate-databases` uses rusqlite
//! and tokio-postgres, never this crate.

#[cfg(test)]
pub mod contract;
mod copying;
mod life;
mod network_keys;
mod records;
pub mod sql;

use async_trait::async_trait;
use fairgate_base::retry::BackgroundError;
use fairgate_databases::LedgerError;
use fairgate_pass::{Digest, Holder};
use futures_util::future::BoxFuture;

pub use life::{FREEZE_AFTER_MS, LedgerFreezeOutcome, LineCopyOutcome, LineFeedEntry, RoomLife};
pub use network_keys::{NetworkEpoch, NetworkKey, NetworkKeys};
pub use records::{
    AuditRow, DrawRow, DrawSecret, DrawStage, JoinRow, LedgerClaimOutcome, LedgerJoinOutcome,
    LineFreeze, PassRow, PassStopCause, PlaceSelection, PublishedDraw, PublishedFreeze, ReleaseRow,
    RoomAuditEntry, RoomChangeOutcome, RoomRow, RoomSample, RoomVersion, StoppedPass, StoredLine,
    StoredPlace,
};

use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;

/// Why the ledger gave no answer. The transition changed nothing, except perhaps with
/// [`RoomLedgerFailure::Unknown`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum RoomLedgerFailure {
    /// The write was not made, or the read failed.
    #[error("the ledger did not answer: {0}")]
    Unavailable(String),
    /// A statement failed, which is a fault of this program. Nothing was written.
    #[error("a statement of the ledger failed: {0}")]
    Sql(String),
    /// The answer to a commit was lost, so the ledger has either the whole transition or nothing of
    /// it. A caller can repeat the transition, and the second answer shows which is the case.
    #[error("it is not known whether the ledger made the write: {0}")]
    Unknown(String),
    /// A row holds something that this version cannot read.
    #[error("the ledger holds something unreadable: {0}")]
    Corrupt(String),
}

impl BackgroundError for RoomLedgerFailure {
    fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Unknown(_))
    }
}

impl From<LedgerError> for RoomLedgerFailure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Corrupt(what) => Self::Corrupt(what),
            LedgerError::Unknown(why) => Self::Unknown(why),
            LedgerError::Sql(why) => Self::Sql(why),
            LedgerError::Unavailable(why) => Self::Unavailable(why),
        }
    }
}

/// The outcome of a queued write. The write is queued when the call returns, and it runs even if
/// this future is dropped.
pub type DurableWrite<T> = BoxFuture<'static, Result<T, RoomLedgerFailure>>;

/// The rooms' ledger. Times are milliseconds since the epoch.
#[async_trait]
pub trait RoomLedger: Send + Sync + 'static {
    /// Reads every room.
    async fn rooms(&self) -> Result<Vec<RoomRow>, RoomLedgerFailure>;
    /// Reads one room.
    async fn room(&self, room: &str) -> Result<Option<RoomRow>, RoomLedgerFailure>;
    /// Reads the version and draw stage of every room. The answer is small, so a node can ask
    /// several times a second what other nodes changed.
    async fn versions(&self) -> Result<Vec<RoomVersion>, RoomLedgerFailure>;
    /// Creates a room with its draw secret. Returns `false` and changes nothing if the room exists
    /// already.
    async fn create_room(
        &self,
        row: RoomRow,
        entry: RoomAuditEntry,
    ) -> Result<bool, RoomLedgerFailure>;
    /// Replaces document and facts if the row still has `version`. With `before_joins` it also
    /// requires that nobody has joined, checked in the same transaction.
    async fn change_room(
        &self,
        room: &str,
        version: u64,
        document: RoomDocument,
        facts: RoomFacts,
        before_joins: bool,
        entry: Option<RoomAuditEntry>,
    ) -> Result<RoomChangeOutcome, RoomLedgerFailure>;
    /// Replaces the codes of a room, if nobody has joined yet.
    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, RoomLedgerFailure>;

    /// Queues one join. The caller chooses the number, and queues a room's numbers in rising order.
    fn record_join(&self, room: &str, join: JoinRow) -> DurableWrite<LedgerJoinOutcome>;
    /// Queues one leaving, which also stops the pass of the place. `void` also makes the leaf void,
    /// which is allowed only for places that are left before the freeze.
    fn record_leave(&self, room: &str, number: u64, at: i64, void: bool) -> DurableWrite<()>;
    /// Removes the networks of at most `max` places, from the number `from` on, that were given
    /// before `before`. Returns the number to go on from, or `None` if no such place is left.
    async fn forget_networks(
        &self,
        room: &str,
        from: u64,
        max: u32,
        before: i64,
    ) -> Result<Option<u64>, RoomLedgerFailure>;
    /// Queues the freeze of numbers below `n`. A second freeze changes nothing and returns the
    /// first. For a room in Redis, the caller passes the room's `life`. Then the freeze is written
    /// only if that life is the current one. A life after the room's first must also have begun at
    /// least [`FREEZE_AFTER_MS`] before the freeze.
    fn record_freeze(
        &self,
        room: &str,
        freeze: LineFreeze,
        life: Option<u64>,
    ) -> DurableWrite<LedgerFreezeOutcome>;
    /// Waits until every write that was queued before is durable or has failed.
    fn barrier(&self) -> DurableWrite<()>;
    /// Checks that the database takes writes just now, by making one.
    async fn check(&self) -> Result<(), RoomLedgerFailure>;
    /// Reads everything that the room store needs after a restart.
    async fn line(&self, room: &str) -> Result<StoredLine, RoomLedgerFailure>;
    /// Reads the same as [`RoomLedger::line`] without the places. [`RoomLedger::places`] reads them
    /// in parts, so that a long line is never whole in memory.
    async fn bare_line(&self, room: &str) -> Result<StoredLine, RoomLedgerFailure>;
    /// Reads at most `max` places with numbers from `from` on, in rising order.
    async fn places(
        &self,
        room: &str,
        from: u64,
        max: u32,
    ) -> Result<Vec<StoredPlace>, RoomLedgerFailure>;
    /// Reads the place of a holder, unless the holder has left it.
    async fn place_of(
        &self,
        room: &str,
        holder: Holder,
    ) -> Result<Option<StoredPlace>, RoomLedgerFailure>;
    /// Reads the holders of numbers 0..n, 32 bytes each. Void numbers and numbers without a record
    /// are zeros.
    async fn leaves(&self, room: &str, n: u64) -> Result<Vec<u8>, RoomLedgerFailure>;

    /// Begins the next life of a room if the current life is still `from` (0: there is none).
    /// Otherwise returns the current life. The new life's numbers begin at the ceiling of the last
    /// life or higher: above every recorded or frozen number, and not below `above`. The caller
    /// knows that numbers below `above` may have been given. It passes this limit, because this
    /// ledger may have lost some of them. If the ledger never had the life `from`, it is an older
    /// copy or another ledger, and the call fails with [`RoomLedgerFailure::Corrupt`].
    async fn begin_life(
        &self,
        room: &str,
        from: u64,
        above: u64,
        at: i64,
    ) -> Result<RoomLife, RoomLedgerFailure>;
    /// Allows a life to give numbers below `upto`, and returns the life with its new ceiling. Never
    /// lowers the ceiling. Returns `None` if another life has begun.
    async fn reserve(
        &self,
        room: &str,
        incarnation: u64,
        upto: u64,
    ) -> Result<Option<RoomLife>, RoomLedgerFailure>;
    /// Reads the lives of all rooms that have one.
    async fn lives(&self) -> Result<Vec<(String, RoomLife)>, RoomLedgerFailure>;
    /// Copies joins and leavings of the life `incarnation` from Redis into the ledger. Copying the
    /// same rows again is harmless. If a holder has two living numbers, the lower one stays valid.
    /// If two holders joined with one code, the number that was copied first stays valid. The other
    /// number becomes void, and its code stays used. Returns `None` and writes nothing if another
    /// life has begun.
    async fn copy_line(
        &self,
        room: &str,
        incarnation: u64,
        rows: Vec<LineFeedEntry>,
    ) -> Result<Option<LineCopyOutcome>, RoomLedgerFailure>;

    /// Reads how far the draw of a room has come.
    async fn draw(&self, room: &str) -> Result<DrawRow, RoomLedgerFailure>;
    /// Stores root and signature of a freeze, and the audit row with them. Returns the stored seal:
    /// a second seal changes nothing.
    async fn seal(
        &self,
        room: &str,
        sealed: PublishedFreeze,
        entry: RoomAuditEntry,
    ) -> Result<PublishedFreeze, RoomLedgerFailure>;
    /// Stores the seed, and the audit row with it. Returns the stored draw: a second draw changes
    /// nothing.
    async fn record_draw(
        &self,
        room: &str,
        drawn: PublishedDraw,
        entry: RoomAuditEntry,
    ) -> Result<PublishedDraw, RoomLedgerFailure>;

    /// Reads the release counter.
    async fn release(&self, room: &str) -> Result<ReleaseRow, RoomLedgerFailure>;
    /// Moves the counter if it still equals `from`, and never backwards. Returns whether it moved.
    async fn advance(
        &self,
        room: &str,
        from: &ReleaseRow,
        to: &ReleaseRow,
    ) -> Result<bool, RoomLedgerFailure>;

    /// Returns the stored pass of the number if it has not expired at `now_s`. Otherwise stores
    /// `fresh` and returns it. A place that has ended gets no pass.
    async fn claim(
        &self,
        room: &str,
        fresh: PassRow,
        now_s: i64,
    ) -> Result<LedgerClaimOutcome, RoomLedgerFailure>;
    /// Returns the numbers of the living places that a selection names. The ledger must have every
    /// place, so the caller copies the line first.
    async fn selected_places(
        &self,
        room: &str,
        selection: PlaceSelection,
    ) -> Result<Vec<u64>, RoomLedgerFailure>;
    /// Returns the living places with numbers from `from` on and below `below`, at most `max`.
    async fn living_places(
        &self,
        room: &str,
        from: u64,
        below: u64,
        max: u32,
    ) -> Result<Vec<u64>, RoomLedgerFailure>;
    /// Returns the number above all recorded numbers.
    async fn next_number(&self, room: &str) -> Result<u64, RoomLedgerFailure>;
    /// Ends these places and stops their passes, for the promoter. Their leaves stay in the draw.
    /// `cause` has the reason, and what the visitors are told. Writes `entry` in the same
    /// transaction. Returns how many places were living. A place that has ended already stays as it
    /// is.
    async fn revoke_places(
        &self,
        room: &str,
        numbers: Vec<u64>,
        cause: (PassStopCause, String),
        at: i64,
        entry: Option<RoomAuditEntry>,
    ) -> Result<u64, RoomLedgerFailure>;
    /// Stops the passes of all numbers below a limit that have not expired at `now` (ms). `cause`
    /// has the reason, and what the visitors are told.
    async fn stop_open_passes(
        &self,
        room: &str,
        below: u64,
        cause: (PassStopCause, String),
        now: i64,
    ) -> Result<(), RoomLedgerFailure>;
    /// Returns the passes that were stopped after the cursor `after` and have not expired at
    /// `now_s`, and all places that the promoter ended after it; also returns the new cursor.
    async fn stopped_passes(
        &self,
        room: &str,
        after: u64,
        now_s: i64,
    ) -> Result<(u64, Vec<StoppedPass>), RoomLedgerFailure>;
    /// Marks visitors as done, and moves the cursor of finished orders in the same transaction.
    async fn finish(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
        at: i64,
    ) -> Result<(), RoomLedgerFailure>;

    /// Reads the audit of a room, oldest first.
    async fn audit(&self, room: &str) -> Result<Vec<AuditRow>, RoomLedgerFailure>;
    /// Adds one audit row.
    async fn note(&self, room: &str, entry: RoomAuditEntry) -> Result<(), RoomLedgerFailure>;
    /// Adds one sample for the report. If the ledger has a sample of the same time already, that
    /// sample stays.
    async fn sample(&self, room: &str, sample: RoomSample) -> Result<(), RoomLedgerFailure>;
    /// Reads the samples of a room, oldest first.
    async fn samples(&self, room: &str) -> Result<Vec<RoomSample>, RoomLedgerFailure>;

    /// Takes or renews the lease `name` for `owner` until `ttl_ms` from now by the ledger's clock.
    /// Returns `false` while another owner has the lease. The owner must count `ttl_ms` from a
    /// moment before this call.
    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, RoomLedgerFailure>;
    /// Ends the owner's lease early. A lease of another owner stays.
    async fn end_lease(&self, name: &str, owner: &str) -> Result<(), RoomLedgerFailure>;
    /// Reads the ledger's clock, milliseconds since the epoch.
    async fn now_ms(&self) -> Result<i64, RoomLedgerFailure>;
    /// Returns the id of this ledger: 32 random bytes that were made with the ledger. Redis stores
    /// it, so that a node with another ledger is noticed.
    async fn id(&self) -> Result<[u8; 32], RoomLedgerFailure>;
}
