//! The fast data of a room: which visitor has which number, and which visitors are being admitted.
//! Each method of [`RoomStore`] does one complete step, such as a join or a freeze. Every
//! implementation passes the same contract suite.

mod baskets;
#[cfg(test)]
pub mod contract;
mod figures;
mod join_times;
mod memory;
mod place;
pub mod redis;
mod visits;
mod wishes;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_base::retry::BackgroundError;
use fairgate_pass::{Digest, Holder};

pub use baskets::{BASKET_KNOWN_MS, NotedBasket};
pub use figures::{
    AdmissionDecision, CalledRanks, Claimant, FailedPassClaim, RecordedPassClaim, RoomCounts,
    TickCarryover, TickEnd, TickFigures, TickFiguresRequest,
};
pub use memory::MemoryRoomStore;
pub use place::{
    CodesPaused, NetworkToll, Place, PresentedPlace, PresentedPlaceStatus, ShownCode, SingleUseId,
    StoreJoinRefusal, StoreJoinRequest, StoreLeaveRequest, TollRefusal, WaitRequest,
    WaitReservation,
};

pub use visits::{EndedVisit, IdleVisitor, LapsedVisit};
pub use wishes::{CHANGES_MAX, WishChanges, WishCursor, WishList};

use fairgate_rules::network_limits::NetworkPlaces;

use crate::ledger::{
    LedgerError, LineFreeze, NetworkEpoch, NetworkKeys, RoomAuditEntry, RoomChangeOutcome,
};

/// A visitor counts as away after not being seen for this many seconds. For as many seconds after
/// its start, a store counts every visitor as here.
pub const AWAY_AFTER_S: i64 = 60;

/// A store tells at most this many seconds too early when a visitor was seen.
pub const SEEN_EARLY_S: i64 = 5;
/// A store knows for at least this many seconds when a visitor was seen.
pub const SEEN_KNOWN_S: i64 = 75;

/// Why the store gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreFailure {
    /// The ledger of the store gave no answer, or refused the write.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The store did not answer in time. The transition may have happened. A repeated call does not
    /// make it happen twice.
    #[error("the room store did not answer: {0}")]
    Unreachable(String),
    /// The store cannot take the call now. A new life is beginning, this node may not give numbers
    /// at the moment, or codes are being replaced. The caller may repeat the call.
    #[error("the room store is not ready: {0}")]
    NotReady(String),
}

impl BackgroundError for StoreFailure {
    fn is_temporary(&self) -> bool {
        match self {
            Self::Ledger(failure) => failure.is_temporary(),
            Self::Unreachable(_) | Self::NotReady(_) => true,
        }
    }
}

/// A snapshot of a set of numbers, one bit for each number.
#[derive(Debug, Clone, Default)]
pub struct NumberSet(pub(crate) Arc<Vec<u64>>);

impl NumberSet {
    /// Returns whether the number is in the set.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        usize::try_from(number / 64)
            .ok()
            .and_then(|at| self.0.get(at))
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Iterates over the numbers of the set in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0_u64..).zip(self.0.iter()).flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }
}

/// The numbers of visitors who are away.
#[derive(Debug, Clone, Default)]
pub struct AwayNumbers {
    /// Those who are away now.
    pub now: NumberSet,
    /// Those who were away at a time when the line was ordered, whether they came back or not.
    pub ever: NumberSet,
}

/// How a freeze ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFreezeOutcome {
    /// The line is frozen.
    Done(LineFreeze),
    /// The store has just lost its data, and visitors may still show their lost places. The line
    /// cannot be frozen before this time, milliseconds since the epoch.
    NotBefore(i64),
}

/// The fast store of all rooms.
#[async_trait]
pub trait RoomStore: Send + Sync + 'static {
    /// Returns one text for each problem that an operator should solve.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    /// Opens a room that is in the ledger, after its creation or after a restart. Changes nothing
    /// if the room is open already.
    async fn open(&self, room: &str) -> Result<(), LedgerError>;
    /// Replaces the codes of a room that nobody has joined, in the store and in the ledger. The
    /// ledger also records `entry`. Never returns [`RoomChangeOutcome::Conflict`].
    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, StoreFailure>;
    /// Gives the holder the next number, or returns the place that the holder already has. When the
    /// call returns, the store has made the number as durable as it can. A code is looked at only
    /// while the room's budget of wrong codes has tries left ([`fairgate_rules::wrong_codes`]).
    /// All nodes share it. The store may forget it if it loses its data.
    async fn join(&self, room: &str, entrant: StoreJoinRequest) -> Result<Place, StoreJoinRefusal>;
    /// Counts the places that these networks were given in the room up to `now` (ms), including
    /// places that visitors gave up.
    async fn network_places(
        &self,
        room: &str,
        networks: NetworkKeys,
        now: i64,
    ) -> Result<NetworkPlaces, StoreFailure>;
    /// Forgets from which networks the places were taken. With `since`, keeps this for the day
    /// `since` and for later days.
    async fn forget_networks(
        &self,
        room: &str,
        since: Option<NetworkEpoch>,
    ) -> Result<(), StoreFailure>;
    /// Reserves a wait after the network's last wait, unless the visitor would wait too long.
    /// People of one network wait one after the other.
    async fn reserve_wait(
        &self,
        room: &str,
        wait: WaitRequest,
    ) -> Result<WaitReservation, StoreFailure>;
    /// Uses up an id that counts only once, such as the id of a code. Returns false if it was used
    /// before. The store remembers the id until it expires, and may forget it if it loses its data.
    async fn use_once(&self, room: &str, used: SingleUseId, now: i64)
    -> Result<bool, StoreFailure>;
    /// Notes that a code brought the place of a number to another device at `at` (ms). The store
    /// may forget this if it loses its data.
    async fn note_moved(&self, room: &str, number: u64, at: i64) -> Result<(), StoreFailure>;
    /// Returns when a code last brought the place of a number to another device (ms).
    async fn moved_at(&self, room: &str, number: u64) -> Result<Option<i64>, StoreFailure>;
    /// Stores the wishes of a number's visitor in place of the earlier ones. The store may forget
    /// wishes if it loses its data. It forgets the wishes of a place that was given up.
    async fn set_wishes(
        &self,
        room: &str,
        number: u64,
        wishes: WishList,
    ) -> Result<(), StoreFailure>;
    /// Returns the wishes of a number. Returns `None` if none were ever set, or if the store has
    /// forgotten them.
    async fn wishes_of(&self, room: &str, number: u64) -> Result<Option<WishList>, StoreFailure>;
    /// Reads the wishes that changed after a cursor.
    async fn wishes_changed(
        &self,
        room: &str,
        since: WishCursor,
    ) -> Result<WishChanges, StoreFailure>;
    /// Returns the status of a signed place that a visitor shows. A store that has lost the place
    /// restores it.
    async fn check_presented_place(
        &self,
        room: &str,
        presented: PresentedPlace,
    ) -> Result<PresentedPlaceStatus, StoreFailure>;
    /// Restores the places of visitors who are here, if the store lost them with its last life.
    /// Places that cannot be restored are skipped. Returns the incarnation that has the restored
    /// places. On an error some places may be missing; calling again is harmless.
    async fn bring_back(
        &self,
        room: &str,
        presented: &[PresentedPlace],
    ) -> Result<u64, StoreFailure>;
    /// Returns the place of a holder.
    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure>;
    /// Gives a place up. Before the freeze its leaf becomes void.
    async fn leave(&self, room: &str, leaving: StoreLeaveRequest) -> Result<(), StoreFailure>;
    /// Takes these numbers from their visitors, after the ledger recorded that the promoter ended
    /// the places. Their leaves stay in the draw. Calling again is harmless.
    async fn end_places(&self, room: &str, ended: &[StoreLeaveRequest])
    -> Result<(), StoreFailure>;
    /// Freezes the line. The numbers given so far are then all in the ledger, and later joins get
    /// higher numbers. Returns the first freeze if the line is frozen already.
    async fn freeze(&self, room: &str, now: i64) -> Result<StoreFreezeOutcome, StoreFailure>;
    /// Copies to the ledger what it lacks, or waits for queued writes. Afterwards the ledger has
    /// every join and every departure that was answered before the call.
    async fn flush_to_ledger(&self, room: &str) -> Result<(), StoreFailure>;

    /// Decides whether a visitor may claim a pass now. If so, reserves one of the `max_inside`
    /// entries.
    async fn admit_claimant(
        &self,
        room: &str,
        claimant: Claimant,
    ) -> Result<AdmissionDecision, StoreFailure>;
    /// Notes that a claim was written. Counts its visitor as inside, unless an order was already
    /// ticketed. Returns whether it is the first claim of the number.
    async fn note_claim(
        &self,
        room: &str,
        claimed: RecordedPassClaim,
    ) -> Result<bool, StoreFailure>;
    /// Undoes an admission whose claim could not be written. If the claim was for the visitor's
    /// first pass, the visitor is expected as before, unless the visitor has left.
    async fn undo_admission(&self, room: &str, failed: FailedPassClaim)
    -> Result<(), StoreFailure>;
    /// Notes that these holders have ticketed orders, so that they no longer count as inside.
    /// `cursor` is how far booking's finished orders have been read. Calling again is harmless.
    async fn mark_ticketed(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
    ) -> Result<(), StoreFailure>;

    /// Reads all figures that a tick starts from, as of one moment.
    async fn tick_figures(
        &self,
        room: &str,
        request: TickFiguresRequest,
    ) -> Result<TickFigures, StoreFailure>;
    /// Ends a tick. Stores its accounts, unless another tick has ended first. Returns whether it
    /// stored them. The called ranks are noted in either case.
    async fn end_tick(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure>;
    /// Counts the room's visitors now.
    async fn counts(&self, room: &str, now_s: i64) -> Result<RoomCounts, StoreFailure>;
    /// Returns the numbers without a visitor: void numbers, and numbers whose visitor left.
    async fn absent_numbers(&self, room: &str) -> Result<NumberSet, StoreFailure>;
    /// Notes that these visitors were here just now. Returns the incarnation of the room in the
    /// store. If this is a new incarnation, visitors who are here should show their places again.
    async fn note_seen(&self, room: &str, numbers: &[u64], now_s: i64)
    -> Result<u64, StoreFailure>;
    /// Returns those of the numbers whose visitors any node saw at `since_s` or later. A store may
    /// also return visitors who were seen up to [`SEEN_EARLY_S`] before, and may forget visitors
    /// who were last seen more than [`SEEN_KNOWN_S`] before `now_s`.
    async fn seen_since(
        &self,
        room: &str,
        numbers: &[u64],
        since_s: i64,
        now_s: i64,
    ) -> Result<Vec<u64>, StoreFailure>;
    /// Notes a basket that the visitor of a number made. A basket that is known already stays as it
    /// is. The store forgets it after [`BASKET_KNOWN_MS`], or if it loses its data.
    async fn note_basket(
        &self,
        room: &str,
        number: u64,
        basket: NotedBasket,
    ) -> Result<(), StoreFailure>;
    /// Notes that the visitor of a number fills in the checkout at `at` (ms). All baskets that the
    /// visitor has made by then are in checkout.
    async fn note_checkout(&self, room: &str, number: u64, at: i64) -> Result<(), StoreFailure>;
    /// Returns the baskets that the visitor of a number made, as far as the store knows them.
    async fn baskets_of(
        &self,
        room: &str,
        number: u64,
        now: i64,
    ) -> Result<Vec<NotedBasket>, StoreFailure>;
    /// Notes when visitors did something, as pairs of a number and unix seconds. A time in the
    /// future means that the visitor counts as active until then. Earlier times than the known ones
    /// and visitors who are not inside change nothing.
    async fn note_active(&self, room: &str, active: &[(u64, i64)]) -> Result<(), StoreFailure>;
    /// Returns the visitors inside who have done nothing since `until_s`, longest first, but at
    /// most `max`. A claim counts as doing something, and so does the moment at which the store
    /// read the passes from the ledger.
    async fn idle_visitors(
        &self,
        room: &str,
        until_s: i64,
        max: u32,
    ) -> Result<Vec<IdleVisitor>, StoreFailure>;
    /// Ends visits before their passes run out. The entries are free once no node takes the passes.
    /// Calling again is harmless.
    async fn end_visits(&self, room: &str, ended: &[EndedVisit]) -> Result<(), StoreFailure>;
    /// Notes that no seats that fitted were free for the visitor of a number, so that its visit
    /// does not count unless it makes a basket.
    async fn excuse_visit(&self, room: &str, number: u64) -> Result<(), StoreFailure>;
    /// Notes that a basket has lapsed. Counts each basket once. Returns `None` if its holder has no
    /// place with a pass, or the store does not know the basket.
    async fn note_lapse(
        &self,
        room: &str,
        holder: Holder,
        hold: &str,
    ) -> Result<Option<LapsedVisit>, StoreFailure>;
    /// Returns the numbers of visitors who have not been seen for [`AWAY_AFTER_S`]. A store may
    /// report a visitor a few seconds late, but never early. No visitor is away for
    /// [`AWAY_AFTER_S`] after the first call, and again after the store lost the room. If the line
    /// is ordered, the store remembers who is away until it loses the room.
    async fn away_numbers(
        &self,
        room: &str,
        now_s: i64,
        is_ordered: bool,
    ) -> Result<AwayNumbers, StoreFailure>;
}
