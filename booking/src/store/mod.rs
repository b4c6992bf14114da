//! The interface of the inventory stores. A store keeps the state that changes fast: which visitor
//! holds which cell, and until when. Each method of [`InventoryStore`] is one atomic domain
//! transition.
//!
//! Every implementation passes `contract::suite`. The ledger is the authority. If a store loses its
//! data, its shows are opened again from the ledger.

#[cfg(test)]
mod contract;
pub mod memory;
pub mod redis;

use std::collections::HashSet;

use async_trait::async_trait;
use fairgate_model::grid::CellGrid;
pub use fairgate_model::grid::picture::VersionedCells;
use fairgate_model::grid::picture::{CellChanges, CellCounts};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldSignalState};
pub use fairgate_model::holds::{SeatOutboxAction, SecuredHold};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_model::shows::Show;
use fairgate_pass::Holder;
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

/// A lock is prolonged only if its deadline moves by this many milliseconds or more. Callers repeat
/// the call often, and each prolonged lock is reported to all processes.
pub const PROLONGED_BY_MS_MIN: i64 = 30_000;

/// What operators read if the store does not answer.
pub const SEATS_SILENT: &str = "The store of the seats does not answer; no seats can be held.";

/// Why a transition failed. In every case except `Unreachable`, the transition changed nothing.
/// After `Unreachable`, the transition may have been made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InventoryRefusal {
    /// These cells are not free.
    #[error("cells are not free: {0:?}")]
    Taken(Vec<u32>),
    /// The visitor would have more seats of the show than the limit allows.
    #[error("the visitor has {have} seats and may have {limit}")]
    Limit {
        /// Seats held and bought so far.
        have: u32,
        /// The show's limit.
        limit: u32,
    },
    /// The hold does not exist, or no longer exists.
    #[error("the hold is gone")]
    Gone,
    /// The hold is somebody else's.
    #[error("the hold is somebody else's")]
    Foreign,
    /// The hold was made for this purpose, and the call does not accept this purpose.
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
    /// The hold was made on another version of the plan than the show has now.
    #[error("the plan has changed")]
    PlanChanged,
    /// The show is not open, or is being opened again, or the caller must read the ledger again.
    /// Nothing was changed.
    #[error("the store is not ready for this show")]
    NotReady,
    /// The store did not answer. The transition **may have been made**. The caller finds out by
    /// repeating the call.
    #[error("the store does not answer")]
    Unreachable,
}

/// A show's picture from the ledger. The store opens the show with it.
#[derive(Debug, Clone)]
pub struct OpeningInventory {
    /// The numbers of seats and legs.
    pub grid: CellGrid,
    /// The version of the seating plan that the show uses.
    pub plan_version: u32,
    /// The new incarnation, larger than every earlier one.
    pub incarnation: u64,
    /// The cells that are not for sale.
    pub blocked: Vec<u32>,
    /// The sold seats, by visitor.
    pub sold: Vec<(Holder, Vec<HeldSeat>)>,
    /// The holds of pending orders.
    pub ordered: Vec<Hold>,
    /// The newest row of the seat outbox that this picture already contains.
    pub cursor: u64,
    /// The edition of the catalogue's data in this picture:
    /// [`fairgate_model::shows::Show::edition`].
    pub edition: u64,
    /// Whether holds on an older plan end, because their cells are others now: a train got other
    /// stops.
    pub ends_older_holds: bool,
}

/// The id of one call. It lets the store recognise a repeated call, so that the call takes effect
/// only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallId(pub [u8; 16]);

impl CallId {
    /// Derives the id of a visitor's call from a key that the visitor chose.
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

/// A row of the show's seat outbox: one decision of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatOutboxRow {
    /// The row's number. Rows are delivered in order, and a repeated row does nothing.
    pub seq: u64,
    /// What happens to the cells.
    pub kind: SeatOutboxAction,
    /// The hold that the decision is about.
    pub hold: HoldId,
    /// The visitor who has the hold.
    pub visitor: Holder,
    /// The seats that the decision is about.
    pub items: Vec<HeldSeat>,
}

/// A message to a visitor's socket about the visitor's own hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldSignal {
    /// The visitor who has the hold.
    pub visitor: Holder,
    /// The hold's id.
    pub hold: HoldId,
    /// What happened to the hold.
    pub state: HoldSignalState,
    /// The deadline as the visitor sees it, in milliseconds since the epoch.
    pub expires_at_ms: i64,
}

/// Counts of a show's holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShowHoldFigures {
    /// The number of all holds, including holds with an order.
    pub all: u64,
    /// The number of holds without an order whose lock ends soon.
    pub lapsing: u64,
    /// The number of cells of the holds in `lapsing`.
    pub lapsing_cells: u64,
}

/// The deadlines of a basket, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketDeadlines {
    /// The deadline as the visitor sees it.
    pub expires_at_ms: i64,
    /// When the basket's locks end.
    pub lock_until_ms: i64,
}

/// A hold that is locked for an order, so that the order may claim its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimableHold {
    /// The hold. Its lock ends after the claim's deadline.
    pub hold: Hold,
    /// The incarnation in which the hold is locked. If the data of this incarnation is lost, the
    /// lock is lost with it.
    pub incarnation: u64,
}

/// The result of one sweep.
#[derive(Debug, Default)]
pub struct HoldSweepOutcome {
    /// The holds that lapsed.
    pub lapsed: Vec<HoldId>,
    /// Whether more holds may be due, because the batch was full.
    pub more: bool,
}

/// The whole picture of a show, and the plan that it was made from.
#[derive(Debug, Clone)]
pub struct GlancedCells {
    /// The version of the plan.
    pub plan_version: u32,
    /// The picture.
    pub cells: VersionedCells,
}

impl GlancedCells {
    /// Returns whether the cells are those of the show as this process knows it. When a train gets
    /// other stops, its picture is older for a moment, or newer.
    #[must_use]
    pub fn are_of(&self, show: &Show) -> bool {
        show.run.is_none() || self.plan_version == show.plan.version
    }
}

/// The fast-changing state of all shows.
#[async_trait]
pub trait InventoryStore: Send + Sync + 'static {
    /// Returns the edition of the show's picture in this store, or `None` if the show is not open.
    ///
    /// # Errors
    /// `Unreachable` if the store does not answer and this process knows no open picture of the
    /// show.
    async fn edition(&self, show: &ShowId) -> Result<Option<u64>, InventoryRefusal>;

    /// Begins an incarnation. This happens before the ledger's picture is read. From then on no
    /// call can lock cells in an earlier incarnation, and no call can lock cells in the new one
    /// until it is opened. If the show is open and has a hold that is not in `opening`, the call is
    /// refused and the show stays as it is. If the show is open with an older plan and the opening
    /// says so, its holds end instead.
    async fn begin(
        &self,
        show: &ShowId,
        opening: &OpeningInventory,
    ) -> Result<(), InventoryRefusal>;

    /// Opens a show from the ledger's picture, in an incarnation that was begun. An open show needs
    /// no `begin`. The new picture replaces the old one if it has every hold of the show.
    async fn open(&self, show: &ShowId, opening: OpeningInventory) -> Result<(), InventoryRefusal>;

    /// Takes all cells of the hold, or none. If a hold with this id exists already, returns that
    /// hold.
    async fn take(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal>;

    /// Keeps freed cells for the waitlist until `until_ms`. Until then, only an offer (or
    /// `prolong`) can take a cell that becomes free. A call that would move the end by less than 3
    /// seconds may change nothing. The caller must repeat the call before the end. An `until_ms` of
    /// 0 means that nobody waits any more, and all kept cells become free. Returns the kept cells,
    /// ascending.
    async fn keep_freed(&self, show: &ShowId, until_ms: i64) -> Result<Vec<u32>, InventoryRefusal>;

    /// Takes all cells of the hold, or none, as `take` does. Cells that are kept for the waitlist
    /// count as free. Signals the offer to the visitor.
    async fn offer(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal>;

    /// Turns an offer into a basket with these deadlines, if the offer's lock has not ended at
    /// `now_ms` and the visitor has no more than `limit` seats. The hold keeps its id (the fencing
    /// value of its locks), its cells, its plan, its terms and its extensions. A repeated call
    /// returns the basket as it is. A basket that never was an offer is refused as `OtherPurpose`.
    async fn accept_offer(
        &self,
        hold: &HoldId,
        visitor: Holder,
        limit: u32,
        until: BasketDeadlines,
        now_ms: i64,
    ) -> Result<Hold, InventoryRefusal>;

    /// Frees the cells in `cells` that are kept for the waitlist. Other cells do not change.
    async fn free_kept_cells(&self, show: &ShowId, cells: &[u32]) -> Result<(), InventoryRefusal>;

    /// Gives some seats of a basket back and takes others, all or nothing. The deadline does not
    /// change. A call that repeats the last change returns the hold as it is.
    async fn change(
        &self,
        hold: &HoldId,
        visitor: Holder,
        add: Vec<HeldSeat>,
        remove: Vec<u32>,
        side_by_side: bool,
        limit: u32,
    ) -> Result<Hold, InventoryRefusal>;

    /// Returns a hold of this visitor.
    async fn hold(&self, hold: &HoldId, visitor: Holder) -> Result<Hold, InventoryRefusal>;

    /// Returns all holds of this visitor in a show, in the order in which their locks end. This
    /// call does not count as use of the show.
    async fn holds_of(&self, show: &ShowId, visitor: Holder)
    -> Result<Vec<Hold>, InventoryRefusal>;

    /// Frees the cells of a hold that was made for one of these purposes and is not locked for an
    /// order. A repeated call also succeeds, as long as the store remembers the release.
    async fn release(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<(), InventoryRefusal>;

    /// Moves the deadlines of a basket if it has extensions left. A deadline never moves to an
    /// earlier time. A call that repeats the last extension returns the hold as it is.
    async fn extend(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        expires_at_ms: i64,
        lock_until_ms: i64,
    ) -> Result<Hold, InventoryRefusal>;

    /// Locks a hold for an order that is about to claim it. The hold must have been made for one of
    /// these purposes. The lock ends after the claim's deadline, so that no sweep frees the cells
    /// while the order has them. Each further call moves the lock's deadline by at least a
    /// millisecond. Each attempt therefore has a deadline of its own, and undoing one attempt does
    /// not end the lock of a later attempt.
    async fn secure(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
        lock_until_ms: i64,
    ) -> Result<ClaimableHold, InventoryRefusal>;

    /// Turns the hold into a basket again until `lock_until_ms`, because the ledger did not accept
    /// the claim. This undoes the `secure` call that set the deadline `secured_until_ms`. It does
    /// nothing if a later call moved the deadline.
    async fn unsecure(&self, hold: &HoldId, secured_until_ms: i64, lock_until_ms: i64);

    /// Prolongs the lock of an order whose claim is still in the ledger after the claim's deadline.
    /// The lock's deadline moves to `hold.lock_until_ms`, unless it would move by less than
    /// [`PROLONGED_BY_MS_MIN`]. If the hold has lapsed, its cells are locked again, provided that
    /// no other hold has them. Cells that are kept for the waitlist count as free.
    ///
    /// `cursor` is the newest row of the seat outbox when the claim was read. If the hold has
    /// lapsed and a later row was carried out, the answer is `NotReady`. That row may have ended
    /// the claim, so the caller must read the claim again.
    async fn prolong(&self, hold: Hold, cursor: u64) -> Result<(), InventoryRefusal>;

    /// Returns the holds that are locked for orders, in all shows that are open in this process, as
    /// far as this process knows.
    async fn holds_locked_for_orders(&self) -> Vec<SecuredHold>;

    /// Returns the number of the newest row of the show's seat outbox that was carried out.
    ///
    /// This call does not count as use of the show. Neither do `prolong`, `abandon`, `view`,
    /// `glance`, `packed` and `counts`. A show without use comes to rest, and its feed is then read
    /// less often.
    async fn cursor(&self, show: &ShowId) -> Result<u64, InventoryRefusal>;

    /// Carries out the ledger's decisions in order, each only once. Repeated rows do nothing, and
    /// no row after a gap is carried out. Returns the number of the newest row carried out.
    async fn deliver(&self, show: &ShowId, rows: &[SeatOutboxRow])
    -> Result<u64, InventoryRefusal>;

    /// Closes a show until it is opened again. This is necessary if the ledger has deleted rows
    /// after `cursor` that the store never got. Does nothing if the show's cursor is no longer
    /// `cursor`.
    async fn abandon(&self, show: &ShowId, cursor: u64) -> Result<(), InventoryRefusal>;

    /// Frees up to `batch_max` overdue holds in all open shows, and warns the owners of baskets
    /// that end soon.
    async fn sweep(&self, now_ms: i64, batch_max: usize) -> HoldSweepOutcome;

    /// Returns the whole picture of a show.
    async fn view(&self, show: &ShowId) -> Option<VersionedCells>;

    /// Returns the whole picture of a show, for a caller that will not ask again soon. The store
    /// therefore does not begin to follow the show. Returns `None` if the show is not open, or if
    /// the store does not answer.
    async fn glance(&self, show: &ShowId) -> Option<GlancedCells>;

    /// Returns the whole picture of a show, packed for the network: its version, the number of its
    /// cells, and two bits a cell.
    async fn packed(&self, show: &ShowId) -> Option<(u64, u32, bytes::Bytes)>;

    /// Returns what changed after a version.
    async fn changes(&self, show: &ShowId, since: u64) -> Option<CellChanges>;

    /// Returns how many cells are in each state and how many holds there are. Also counts the holds
    /// without an order that run out within `within_ms`.
    async fn counts(
        &self,
        show: &ShowId,
        now_ms: i64,
        within_ms: i64,
    ) -> Option<(CellCounts, ShowHoldFigures)>;

    /// Returns the shows that were open in this process but are no longer open. They must be opened
    /// again from the ledger.
    async fn lost(&self) -> Vec<ShowId>;

    /// Returns the open shows that were used in this process lately. A show is used if, for
    /// example, somebody follows its changes or takes its seats. The store of a single process
    /// returns all open shows.
    async fn in_use(&self) -> Vec<ShowId>;

    /// Returns which of these shows are in use, as [`Self::in_use`] does.
    async fn in_use_among(&self, shows: &[&ShowId]) -> HashSet<ShowId>;

    /// Returns whether other processes work on the same shows.
    fn is_shared(&self) -> bool;

    /// Returns what an operator should know about the store, one sentence each.
    async fn warnings(&self) -> Vec<String>;

    /// Returns a receiver of the signals to the owners of holds.
    fn signals(&self) -> broadcast::Receiver<HoldSignal>;
}
