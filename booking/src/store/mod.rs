//! The seam to the fast state: who holds which cell until when. One method per domain transition,
//! each atomic.
//!
//! Every implementation passes `contract::suite`. The ledger decides; a store may forget everything
//! and is then opened again from the ledger.

#[cfg(test)]
mod contract;
pub mod memory;
pub mod redis;

use async_trait::async_trait;
use fairgate_model::grid::CellGrid;
pub use fairgate_model::grid::picture::VersionedCells;
use fairgate_model::grid::picture::{CellChanges, CellCounts};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldSignalState};
pub use fairgate_model::holds::{SeatOutboxAction, SecuredHold};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_pass::Holder;
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

/// A lock is prolonged where that gains so much: it is asked for again and again, and each time is
/// told to everybody.
pub const PROLONGED_BY_MS_MIN: i64 = 30_000;

/// Why a transition was not made; nothing was changed, but for what `Unreachable` leaves open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InventoryRefusal {
    /// These cells are not free.
    #[error("cells are not free: {0:?}")]
    Taken(Vec<u32>),
    /// The visitor would have more seats of the show than it may.
    #[error("the visitor has {have} seats and may have {limit}")]
    Limit {
        /// Seats held and bought so far.
        have: u32,
        /// The show's limit.
        limit: u32,
    },
    /// There is no such hold (any more).
    #[error("the hold is gone")]
    Gone,
    /// The hold is somebody else's.
    #[error("the hold is somebody else's")]
    Foreign,
    /// The hold was made for this, and serves nothing else.
    #[error("the hold was made for something else ({})", .0.as_str())]
    OtherPurpose(HoldPurpose),
    /// The hold has become an order.
    #[error("the hold has become an order")]
    Ordered,
    /// A seat to give back is not in the hold.
    #[error("seats are not in the hold: {0:?}")]
    NotHeld(Vec<u32>),
    /// The hold was extended as often as the show allows.
    #[error("no extensions are left")]
    NoExtensions,
    /// The plan of the hold is not the show's plan any more.
    #[error("the plan has changed")]
    PlanChanged,
    /// The show is not open, or is being opened anew; nothing was changed.
    #[error("the store is not ready for this show")]
    NotReady,
    /// The store did not answer: what was asked **may have been done**, and the same call again
    /// finds it.
    #[error("the store does not answer")]
    Unreachable,
}

/// A show's picture as the ledger knows it, to open the store with.
#[derive(Debug, Clone)]
pub struct OpeningInventory {
    /// The shape.
    pub grid: CellGrid,
    /// The pinned plan.
    pub plan_version: u32,
    /// The new incarnation, larger than every earlier one.
    pub incarnation: u64,
    /// Cells not for sale.
    pub blocked: Vec<u32>,
    /// What was sold, by visitor.
    pub sold: Vec<(Holder, Vec<HeldSeat>)>,
    /// What pending orders have taken.
    pub ordered: Vec<Hold>,
    /// The newest row of the seat outbox that this picture already contains.
    pub cursor: u64,
    /// What of the catalogue it was made of: [`fairgate_model::shows::Show::edition`].
    pub edition: u64,
}

/// Names one call, so that it is done once however often it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallId(pub [u8; 16]);

impl CallId {
    /// A visitor's call under a key of its choice.
    #[must_use]
    pub fn of_key(visitor: Holder, key: &str) -> Self {
        let digest = Sha256::new()
            .chain_update(b"fairgate/call/v1")
            .chain_update(visitor.0)
            .chain_update(key)
            .finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self(id)
    }
}

/// A row of the show's seat outbox: what the ledger has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatOutboxRow {
    /// Its number; rows are delivered in order, and a repeated one does nothing.
    pub seq: u64,
    /// What happens to the cells.
    pub kind: SeatOutboxAction,
    /// The hold behind it.
    pub hold: HoldId,
    /// The visitor behind it.
    pub visitor: Holder,
    /// The seats.
    pub items: Vec<HeldSeat>,
}

/// What a visitor's socket is told about its own hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldSignal {
    /// Whose hold.
    pub visitor: Holder,
    /// Which hold.
    pub hold: HoldId,
    /// What became of it.
    pub state: HoldSignalState,
    /// The deadline as shown.
    pub expires_at_ms: i64,
}

/// The holds of a show in figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShowHoldFigures {
    /// Holds, those with an order among them.
    pub all: u64,
    /// Holds without an order whose deadline is near.
    pub lapsing: u64,
    /// The cells of those.
    pub lapsing_cells: u64,
}

/// A hold that a claim may rest on now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimableHold {
    /// The hold, locked beyond the claim's deadline.
    pub hold: Hold,
    /// The life of the data in which it is locked: where that is lost, so are the locks.
    pub incarnation: u64,
}

/// What one sweep freed.
#[derive(Debug, Default)]
pub struct HoldSweepOutcome {
    /// The holds that lapsed.
    pub lapsed: Vec<HoldId>,
    /// Whether the batch was full and more may be due.
    pub more: bool,
}

/// The fast state of all shows.
#[async_trait]
pub trait InventoryStore: Send + Sync + 'static {
    /// The edition of the picture that is worked on; none where the show is not open.
    ///
    /// # Errors
    /// `Unreachable` where that cannot be found out, and nothing was heard of a loss before.
    async fn edition(&self, show: &ShowId) -> Result<Option<u64>, InventoryRefusal>;

    /// Begins an incarnation before its picture is known: from here on nothing is locked in an
    /// earlier one, and nothing in this one until it is opened. An open show with any hold that
    /// `opening` does not know is refused and left as it is.
    async fn begin(
        &self,
        show: &ShowId,
        opening: &OpeningInventory,
    ) -> Result<(), InventoryRefusal>;

    /// Opens a show from the ledger's picture, in an incarnation that was begun; an open one is
    /// replaced without that, if the picture knows every hold in it.
    async fn open(&self, show: &ShowId, opening: OpeningInventory) -> Result<(), InventoryRefusal>;

    /// Takes all cells of the hold, or none. The same hold id again answers with the hold as it is.
    async fn take(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal>;

    /// Somebody waits for seats of the show: cells that come free by whatever way are kept for the
    /// waitlist and stay held for everybody else, until this moment at the latest; it is to be said
    /// again before. 0: nobody waits any more, and what is kept is free. Answers with the cells
    /// that are kept, ascending.
    async fn keep_freed(&self, show: &ShowId, until_ms: i64) -> Result<Vec<u32>, InventoryRefusal>;

    /// As `take`, and the cells may be kept ones; the visitor is told of the offer.
    async fn offer(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal>;

    /// Frees those of the cells that are kept.
    async fn let_go(&self, show: &ShowId, cells: &[u32]) -> Result<(), InventoryRefusal>;

    /// Gives some seats of a basket back and takes others, whole or not at all; the deadline stays.
    async fn change(
        &self,
        hold: &HoldId,
        visitor: Holder,
        add: Vec<HeldSeat>,
        remove: Vec<u32>,
        side_by_side: bool,
        limit: u32,
    ) -> Result<Hold, InventoryRefusal>;

    /// The hold, while it lives.
    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, InventoryRefusal>;

    /// Frees the cells of a hold that was made for one of these purposes and is not locked for an
    /// order. The same again is the same success, for some minutes.
    async fn release(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<(), InventoryRefusal>;

    /// Moves the deadlines of a basket, while extensions last. The same call again answers with the
    /// hold as it is.
    async fn extend(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal>;

    /// Locks a hold that was made for one of these purposes beyond the deadline of the claim that
    /// is about to be made, so that no sweep frees it while an order has it. Each call moves the
    /// lock's deadline, and be it by a millisecond: a later try may need it longer, and whoever
    /// undoes one try does not undo the next.
    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
        lock_until_ms: i64,
    ) -> Result<ClaimableHold, InventoryRefusal>;

    /// Undoes the `secure` that ended with `secured_until_ms`, where it was the last, because the
    /// ledger did not take the claim: a basket again until `lock_until_ms`.
    async fn unsecure(&self, hold: &HoldId, secured_until_ms: i64, lock_until_ms: i64);

    /// Keeps the lock of an order whose claim the ledger has beyond its deadline: until
    /// `hold.lock_until_ms` at least, give or take [`PROLONGED_BY_MS_MIN`]. A lock that fell is
    /// taken again where nobody has the cells, also out of those that are kept for the waitlist.
    ///
    /// `cursor` is the newest row of the seat outbox when the claim was read. `NotReady` where a
    /// lock fell and a later row was carried out: the claim may have ended by it, and is to be read
    /// again.
    async fn prolong(&self, hold: Hold, cursor: u64) -> Result<(), InventoryRefusal>;

    /// The holds that are locked for orders, in all shows that are open here, as far as this
    /// process has heard.
    async fn ordered(&self) -> Vec<SecuredHold>;

    /// How far the show's seat outbox was carried out: the number of the newest row that was.
    ///
    /// Nobody uses the show by asking this, nor by `view`, `packed` and `counts`: those who look
    /// after shows must not keep one from coming to rest.
    async fn cursor(&self, show: &ShowId) -> Result<u64, InventoryRefusal>;

    /// Carries out what the ledger decided, in order, once each: repeated rows do nothing, and
    /// nothing behind a gap is carried out. Answers with the number of the newest row that is.
    async fn deliver(&self, show: &ShowId, rows: &[SeatOutboxRow])
    -> Result<u64, InventoryRefusal>;

    /// The ledger has deleted rows behind this cursor, and the store never had them: the show is
    /// closed until it is opened anew. Where the cursor is another one by now, nothing is done.
    async fn abandon(&self, show: &ShowId, cursor: u64) -> Result<(), InventoryRefusal>;

    /// Frees what is overdue in all open shows: a bounded batch.
    async fn sweep(&self, now_ms: i64, batch_max: usize) -> HoldSweepOutcome;

    /// The whole picture.
    async fn view(&self, show: &ShowId) -> Option<VersionedCells>;

    /// The whole picture for somebody who will not soon come again: nothing is kept up for that.
    /// `None` where the show is not open, or that cannot be found out.
    async fn glance(&self, show: &ShowId) -> Option<VersionedCells>;

    /// The whole picture, packed for the wire: version, cells, two bits a cell.
    async fn packed(&self, show: &ShowId) -> Option<(u64, u32, bytes::Bytes)>;

    /// What changed after a version.
    async fn changes(&self, show: &ShowId, since: u64) -> Option<CellChanges>;

    /// How many cells are in each state, and how many holds there are, with those that run out
    /// within `within_ms`.
    async fn counts(
        &self,
        show: &ShowId,
        now_ms: i64,
        within_ms: i64,
    ) -> Option<(CellCounts, ShowHoldFigures)>;

    /// Shows that were open here and are not any more: they are to be opened from the ledger again.
    async fn lost(&self) -> Vec<ShowId>;

    /// Shows that were asked for here lately and are open: the ones that somebody looks at or buys
    /// from.
    async fn in_use(&self) -> Vec<ShowId>;

    /// Whether other processes work on the same shows.
    fn is_shared(&self) -> bool;

    /// What an operator should know of the store, a sentence each.
    async fn warnings(&self) -> Vec<String>;

    /// Signals for the sockets of the holds' owners.
    fn signals(&self) -> broadcast::Receiver<HoldSignal>;
}
