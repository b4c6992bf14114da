//! The fast half of a room: who stands at which number, now, and who is on the way in. One method
//! is one domain transition; every implementation passes the same contract suite.

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

/// Seconds after which somebody who was not seen counts as away; who was never heard of counts as
/// here for as long.
pub const AWAY_AFTER_S: i64 = 60;

/// Why the store gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreFailure {
    /// The ledger behind it did not take it: nothing of the transition stays.
    #[error(transparent)]
    Ledger(#[from] RoomLedgerFailure),
    /// The store itself was not reached in time. What was asked may have happened; asked again, it
    /// happens once.
    #[error("the room store did not answer: {0}")]
    Unreachable(String),
    /// The store begins a new life, or this node may not give numbers for a moment. Nothing was
    /// changed.
    #[error("the room store is not ready: {0}")]
    NotReady(String),
}

/// A set of numbers: a snapshot, one bit a number.
#[derive(Debug, Clone, Default)]
pub struct NumberSet(pub(crate) Arc<Vec<u64>>);

impl NumberSet {
    /// Whether the number is in it.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        usize::try_from(number / 64)
            .ok()
            .and_then(|at| self.0.get(at))
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Every number in it, rising.
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
    /// The store lost its data a moment ago, and whoever has a place may still bring it back: not
    /// before then, ms.
    NotBefore(i64),
}

/// The rooms' store.
#[async_trait]
pub trait RoomStore: Send + Sync + 'static {
    /// What of the store should not be left so, a sentence each; empty where all is well.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
    /// Takes up a room of the ledger, new or after a restart. A room that is open already stays as
    /// it is.
    async fn open(&self, room: &str) -> Result<(), RoomLedgerFailure>;
    /// Replaces the codes of a room nobody has joined, here and with the `entry` in the ledger.
    /// Never [`RoomChangeOutcome::Conflict`].
    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, StoreFailure>;
    /// The next number, or the one this holder has. Answers when it is as durable as the store
    /// keeps it.
    async fn join(&self, room: &str, entrant: StoreJoinRequest) -> Result<Place, StoreJoinRefusal>;
    /// Whose is the number that somebody shows, signed? A store that lost it takes it back.
    async fn check_presented_place(
        &self,
        room: &str,
        shown: PresentedPlace,
    ) -> Result<PresentedPlaceStatus, StoreFailure>;
    /// Takes back, where a new life of the store has lost them, the places of those who are here.
    /// Gives the life in which all of them stand as far as they can; an error says that some may
    /// not. Again is harmless.
    async fn bring_back(&self, room: &str, shown: &[PresentedPlace]) -> Result<u64, StoreFailure>;
    /// The place of a holder.
    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure>;
    /// Gives a place up. Before the freeze its leaf becomes nobody's.
    async fn leave(&self, room: &str, leaving: StoreLeaveRequest) -> Result<(), StoreFailure>;
    /// Fixes the numbers so far, complete in the ledger; joins from now on come behind them.
    async fn freeze(&self, room: &str, now: i64) -> Result<StoreFreezeOutcome, StoreFailure>;
    /// Answers when the ledger has all that was answered before.
    async fn flush_to_ledger(&self, room: &str) -> Result<(), StoreFailure>;

    /// Decides whether somebody may claim, and reserves the room inside.
    async fn admit_claimant(
        &self,
        room: &str,
        claimant: Claimant,
    ) -> Result<AdmissionDecision, StoreFailure>;
    /// A claim was written: from now on its visitor is inside. Gives whether it is this number's
    /// first.
    async fn note_claim(
        &self,
        room: &str,
        claimed: RecordedPassClaim,
    ) -> Result<bool, StoreFailure>;
    /// The claim of a rank that was let in could not be written; `first` as it was let in.
    async fn undo_admission(&self, room: &str, rank: u64, first: bool) -> Result<(), StoreFailure>;
    /// Orders of these holders were ticketed, up to that cursor. Again is harmless.
    async fn mark_ticketed(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
    ) -> Result<(), StoreFailure>;

    /// All that a tick starts from, as one moment.
    async fn tick_figures(
        &self,
        room: &str,
        moment: TickFiguresRequest,
    ) -> Result<TickFigures, StoreFailure>;
    /// Ends a tick. Gives whether its accounts stand, or another tick was first; who was called is
    /// noted either way.
    async fn end_tick(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure>;
    /// Figures now.
    async fn counts(&self, room: &str, now_s: i64) -> Result<RoomCounts, StoreFailure>;
    /// The numbers at which nobody stands: void or left.
    async fn absent_numbers(&self, room: &str) -> Result<NumberSet, StoreFailure>;
    /// These visitors were here just now. Gives which life of the store heard it: in a new one,
    /// whoever is here should show their places again.
    async fn note_seen(&self, room: &str, numbers: &[u64], now_s: i64)
    -> Result<u64, StoreFailure>;
    /// The numbers of those who have not been seen for [`AWAY_AFTER_S`], a few seconds more or
    /// less. After a restart nobody is, for as long.
    async fn away_numbers(&self, room: &str, now_s: i64) -> Result<NumberSet, StoreFailure>;
}
