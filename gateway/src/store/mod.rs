//! The fast half of a room: who has which number just now, and who is being let in. One method is
//! one domain transition, and every implementation passes the same contract suite.

#[cfg(test)]
pub mod contract;
mod figures;
mod memory;
mod place;
pub mod redis;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};

pub use figures::{
    AdmissionDecision, CalledRanks, Claimant, RecordedPassClaim, RoomCounts, TickCarryover,
    TickEnd, TickFigures, TickFiguresRequest,
};
pub use memory::MemoryRoomStore;
pub use place::{
    Place, PresentedPlace, PresentedPlaceStatus, StoreJoinRefusal, StoreJoinRequest,
    StoreLeaveRequest,
};

use crate::ledger::{LineFreeze, RoomAuditEntry, RoomChangeOutcome, RoomLedgerFailure};

/// Seconds after which a visitor who was not seen counts as away. A visitor whom this store has
/// never seen counts as here for the same time.
pub const AWAY_AFTER_S: i64 = 60;

/// Why the store gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreFailure {
    /// The ledger behind the store did not take the write, so nothing of the transition stays.
    #[error(transparent)]
    Ledger(#[from] RoomLedgerFailure),
    /// The store was not reached in time. The transition may have happened; if it is asked for
    /// again, it still happens once.
    #[error("the room store did not answer: {0}")]
    Unreachable(String),
    /// The store is beginning a new life, or this node may not give numbers for a moment. Nothing
    /// was changed.
    #[error("the room store is not ready: {0}")]
    NotReady(String),
}

/// A snapshot of a set of numbers, one bit for each number.
#[derive(Debug, Clone, Default)]
pub struct NumberSet(pub(crate) Arc<Vec<u64>>);

impl NumberSet {
    /// Returns whether the set has the number.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        usize::try_from(number / 64)
            .ok()
            .and_then(|at| self.0.get(at))
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Iterates over the numbers in the set, rising.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0_u64..).zip(self.0.iter()).flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }
}

/// How a freeze ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFreezeOutcome {
    /// The numbers are fixed.
    Done(LineFreeze),
    /// The store has just lost its data, and visitors may still bring their places back. The line
    /// may not be frozen before this time, milliseconds since the epoch.
    NotBefore(i64),
}

/// The fast store of all rooms.
#[async_trait]
pub trait RoomStore: Send + Sync + 'static {
    /// Returns what an operator should put right, one sentence each; empty if all is well.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    /// Opens a room of the ledger, whether new or after a restart. A room that is open already
    /// stays as it is.
    async fn open(&self, room: &str) -> Result<(), RoomLedgerFailure>;
    /// Replaces the codes of a room that nobody has joined, in the store and, with the `entry`, in
    /// the ledger. Never returns [`RoomChangeOutcome::Conflict`].
    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, StoreFailure>;
    /// Gives the holder the next number, or finds the one that the holder has. Answers once it is
    /// as durable as the store keeps it.
    async fn join(&self, room: &str, entrant: StoreJoinRequest) -> Result<Place, StoreJoinRefusal>;
    /// Returns the status of a signed place that a visitor shows. A store that has lost the place
    /// takes it back.
    async fn check_presented_place(
        &self,
        room: &str,
        shown: PresentedPlace,
    ) -> Result<PresentedPlaceStatus, StoreFailure>;
    /// Takes back the places of visitors who are here, if a new life of the store has lost them.
    /// Returns the life in which all of them stand, as far as they can. On an error some may not
    /// stand; calling again is harmless.
    async fn bring_back(&self, room: &str, shown: &[PresentedPlace]) -> Result<u64, StoreFailure>;
    /// Returns the place of a holder.
    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure>;
    /// Gives a place up. Before the freeze its leaf becomes nobody's.
    async fn leave(&self, room: &str, leaving: StoreLeaveRequest) -> Result<(), StoreFailure>;
    /// Fixes the numbers given so far, with all of them in the ledger. Later joins get numbers
    /// behind them.
    async fn freeze(&self, room: &str, now: i64) -> Result<StoreFreezeOutcome, StoreFailure>;
    /// Waits until the ledger has everything that was answered before.
    async fn flush_to_ledger(&self, room: &str) -> Result<(), StoreFailure>;

    /// Decides whether a visitor may claim, and if so reserves a place inside.
    async fn admit_claimant(
        &self,
        room: &str,
        claimant: Claimant,
    ) -> Result<AdmissionDecision, StoreFailure>;
    /// Counts the visitor as inside, since the claim was written. Returns whether it is the
    /// number's first.
    async fn note_claim(
        &self,
        room: &str,
        claimed: RecordedPassClaim,
    ) -> Result<bool, StoreFailure>;
    /// Takes back the admission of a rank whose claim could not be written. `first` is the value
    /// that the admission had.
    async fn undo_admission(&self, room: &str, rank: u64, first: bool) -> Result<(), StoreFailure>;
    /// Notes ticketed orders of these holders, up to that cursor. Calling again is harmless.
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
        moment: TickFiguresRequest,
    ) -> Result<TickFigures, StoreFailure>;
    /// Ends a tick. Returns whether its accounts stand, which they do not if another tick was
    /// first. The called ranks are noted in either case.
    async fn end_tick(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure>;
    /// Counts the room's visitors now.
    async fn counts(&self, room: &str, now_s: i64) -> Result<RoomCounts, StoreFailure>;
    /// Returns the numbers without a visitor, because they are void or were left.
    async fn absent_numbers(&self, room: &str) -> Result<NumberSet, StoreFailure>;
    /// Notes that these visitors were here just now. Returns the life of the store that noted it.
    /// In a new life, visitors who are here should show their places again.
    async fn note_seen(&self, room: &str, numbers: &[u64], now_s: i64)
    -> Result<u64, StoreFailure>;
    /// Returns the numbers of visitors who have not been seen for [`AWAY_AFTER_S`], give or take a
    /// few seconds. For as long after a restart the set is empty.
    async fn away_numbers(&self, room: &str, now_s: i64) -> Result<NumberSet, StoreFailure>;
}
