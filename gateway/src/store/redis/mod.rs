//! The room store that many gateways share, in one Redis. Every transition changes Redis in one
//! script on the room's slot. The script gets the life that the caller read from the ledger, and
//! fails if Redis has another life or none. Redis gives only numbers below a ceiling that the
//! ledger has reserved. A node gives numbers only within a second after it read the lives from the
//! ledger.
//!
//! Redis may lose its data. Joins are copied to the ledger within seconds (`copier`). Departures,
//! passes and the release counter are written to the ledger before the caller gets the answer. A
//! room that Redis lost is filled in again from the ledger, in its next life (`rebuild`).

mod baskets;
mod blocks;
mod caller;
mod claims;
mod codes;
mod condition;
mod copier;
mod joining;
mod keeper;
mod keys;
mod lease;
mod lives;
mod networks;
mod parts;
mod places;
mod presence;
mod read;
mod rebuild;
mod rooms;
mod rounds;
mod scripts;
#[cfg(test)]
mod tests;
mod ticks;
mod visits;
mod wishes;

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_pass::{Digest, Holder};
use fairgate_redis::Redis;
use fairgate_rules::network_limits::NetworkPlaces;

use self::parts::StoreParts;
use crate::ledger::{
    LedgerError, NetworkEpoch, NetworkKeys, RoomAuditEntry, RoomChangeOutcome, RoomLedger,
};
use crate::store::{
    AdmissionDecision, AwayNumbers, Claimant, EndedVisit, FailedPassClaim, IdleVisitor,
    LapsedVisit, NotedBasket, NumberSet, Place, PresentedPlace, PresentedPlaceStatus,
    RecordedPassClaim, RoomCounts, RoomStore, SingleUseId, StoreFailure, StoreFreezeOutcome,
    StoreJoinRefusal, StoreJoinRequest, StoreLeaveRequest, TickEnd, TickFigures,
    TickFiguresRequest, WaitRequest, WaitReservation, WishChanges, WishCursor, WishList,
};

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum RoomStoreOpenError {
    /// Two installations share one Redis, or the wrong database is named.
    #[error(
        "this Redis keeps the line of another ledger ({stored}, and this one is {own}). Nothing was changed. Set FAIRGATE_DATABASE_URL to the database of that ledger, or FAIRGATE_REDIS_URL to another Redis."
    )]
    OtherLedger {
        /// The ledger's id in Redis.
        stored: String,
        /// The id of this ledger.
        own: String,
    },
    /// The ledger did not answer with its id.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The room store in Redis. It is a cheap handle, and its clones share everything.
#[derive(Clone)]
pub struct RedisRoomStore {
    parts: Arc<StoreParts>,
}

impl RedisRoomStore {
    /// Opens a store over Redis and the ledger that all its nodes share. `node` is this process's
    /// name among them. If Redis does not answer now, the store opens all the same, and checks
    /// later which ledger the data belongs to. [`Self::start_rounds`] starts the maintenance of the
    /// rooms.
    ///
    /// # Errors
    /// Fails if the data in Redis belongs to another ledger, or if this ledger does not answer.
    pub async fn open(
        redis: Redis,
        ledger: RoomLedger,
        clock: Clock,
        node: String,
    ) -> Result<Self, RoomStoreOpenError> {
        let own = hex::encode(ledger.id().await?);
        let parts = StoreParts::build(&redis, ledger, own.clone(), clock, node);
        let owner = parts.watch.claim_or_read_owner().await;
        if let Ok(stored) = &owner
            && *stored != own
        {
            let stored = stored.clone();
            return Err(RoomStoreOpenError::OtherLedger { stored, own });
        }
        parts.condition.note_owner(owner, &own);
        Ok(Self {
            parts: Arc::new(parts),
        })
    }

    /// Starts the loops that maintain the rooms. They end when the store is dropped.
    pub fn start_rounds(&self) {
        rounds::start_rounds(&self.parts);
    }
}

#[async_trait]
impl RoomStore for RedisRoomStore {
    fn warnings(&self) -> Vec<String> {
        let lives = self.parts.lives.lease().lives();
        let now_ms = self.parts.clock.now_ms();
        self.parts.condition.warnings(&lives, now_ms)
    }

    async fn open(&self, room: &str) -> Result<(), LedgerError> {
        if !self.parts.rooms.open(room) {
            return Ok(());
        }
        // The room is read and filled in now, so that its creator does not have to wait for the
        // next round.
        if let Err(error) = self.parts.lives.read().await {
            log_failed_try!(error, room, "the room's life could not be read yet");
        }
        if let Err(error) = self.parts.keeper.maintain_room(room).await {
            log_failed_try!(error, room, "the room is not in Redis yet");
        }
        Ok(())
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, StoreFailure> {
        self.parts.codes.replace(room, codes, entry).await
    }

    async fn join(&self, room: &str, entrant: StoreJoinRequest) -> Result<Place, StoreJoinRefusal> {
        self.parts.line.join(room, entrant).await
    }

    async fn network_places(
        &self,
        room: &str,
        networks: NetworkKeys,
        now: i64,
    ) -> Result<NetworkPlaces, StoreFailure> {
        let scripts = &self.parts.networks;
        scripts.network_places(room, networks, now).await
    }

    async fn forget_networks(
        &self,
        room: &str,
        since: Option<NetworkEpoch>,
    ) -> Result<(), StoreFailure> {
        self.parts.networks.forget_networks(room, since).await
    }

    async fn reserve_wait(
        &self,
        room: &str,
        wait: WaitRequest,
    ) -> Result<WaitReservation, StoreFailure> {
        self.parts.networks.reserve_wait(room, wait).await
    }

    async fn use_once(
        &self,
        room: &str,
        used: SingleUseId,
        now: i64,
    ) -> Result<bool, StoreFailure> {
        self.parts.networks.use_once(room, used, now).await
    }

    async fn note_moved(&self, room: &str, number: u64, at: i64) -> Result<(), StoreFailure> {
        self.parts.places.note_moved(room, number, at).await
    }

    async fn moved_at(&self, room: &str, number: u64) -> Result<Option<i64>, StoreFailure> {
        self.parts.places.moved_at(room, number).await
    }

    async fn set_wishes(
        &self,
        room: &str,
        number: u64,
        wishes: WishList,
    ) -> Result<(), StoreFailure> {
        self.parts.wishes.set_wishes(room, number, &wishes).await
    }

    async fn wishes_of(&self, room: &str, number: u64) -> Result<Option<WishList>, StoreFailure> {
        self.parts.wishes.wishes_of(room, number).await
    }

    async fn wishes_changed(
        &self,
        room: &str,
        since: WishCursor,
    ) -> Result<WishChanges, StoreFailure> {
        self.parts.wishes.wishes_changed(room, since).await
    }

    async fn check_presented_place(
        &self,
        room: &str,
        presented: PresentedPlace,
    ) -> Result<PresentedPlaceStatus, StoreFailure> {
        Ok(self
            .parts
            .places
            .check_presented_place(room, &presented)
            .await)
    }

    async fn bring_back(
        &self,
        room: &str,
        presented: &[PresentedPlace],
    ) -> Result<u64, StoreFailure> {
        self.parts.places.restore_places(room, presented).await
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure> {
        self.parts.places.place_of(room, holder).await
    }

    async fn leave(&self, room: &str, leaving: StoreLeaveRequest) -> Result<(), StoreFailure> {
        self.parts.line.leave(room, leaving).await
    }

    async fn end_places(
        &self,
        room: &str,
        ended: &[StoreLeaveRequest],
    ) -> Result<(), StoreFailure> {
        self.parts.line.end_places(room, ended).await
    }

    async fn freeze(&self, room: &str, now: i64) -> Result<StoreFreezeOutcome, StoreFailure> {
        self.parts.line.freeze(room, now).await
    }

    async fn flush_to_ledger(&self, room: &str) -> Result<(), StoreFailure> {
        self.parts.line.flush_to_ledger(room).await
    }

    async fn admit_claimant(
        &self,
        room: &str,
        claimant: Claimant,
    ) -> Result<AdmissionDecision, StoreFailure> {
        self.parts.claims.admit_claimant(room, claimant).await
    }

    async fn note_claim(
        &self,
        room: &str,
        claimed: RecordedPassClaim,
    ) -> Result<bool, StoreFailure> {
        self.parts.claims.note_claim(room, claimed).await
    }

    async fn undo_admission(
        &self,
        room: &str,
        failed: FailedPassClaim,
    ) -> Result<(), StoreFailure> {
        self.parts.claims.undo_admission(room, failed).await
    }

    async fn mark_ticketed(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
    ) -> Result<(), StoreFailure> {
        self.parts.claims.mark_ticketed(room, cursor, holders).await
    }

    async fn tick_figures(
        &self,
        room: &str,
        request: TickFiguresRequest,
    ) -> Result<TickFigures, StoreFailure> {
        self.parts.ticks.tick_figures(room, request).await
    }

    async fn end_tick(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure> {
        self.parts.ticks.end_tick(room, end).await
    }

    async fn counts(&self, room: &str, now_s: i64) -> Result<RoomCounts, StoreFailure> {
        self.parts.ticks.counts(room, now_s).await
    }

    async fn absent_numbers(&self, room: &str) -> Result<NumberSet, StoreFailure> {
        self.parts.presence.absent_numbers(room).await
    }

    async fn note_seen(
        &self,
        room: &str,
        numbers: &[u64],
        now_s: i64,
    ) -> Result<u64, StoreFailure> {
        self.parts.presence.note_seen(room, numbers, now_s).await
    }

    async fn seen_since(
        &self,
        room: &str,
        numbers: &[u64],
        since_s: i64,
        now_s: i64,
    ) -> Result<Vec<u64>, StoreFailure> {
        let presence = &self.parts.presence;
        presence.seen_since(room, numbers, since_s, now_s).await
    }

    async fn note_basket(
        &self,
        room: &str,
        number: u64,
        basket: NotedBasket,
    ) -> Result<(), StoreFailure> {
        self.parts.baskets.note_basket(room, number, basket).await
    }

    async fn note_checkout(&self, room: &str, number: u64, at: i64) -> Result<(), StoreFailure> {
        self.parts.baskets.note_checkout(room, number, at).await
    }

    async fn baskets_of(
        &self,
        room: &str,
        number: u64,
        _now: i64,
    ) -> Result<Vec<NotedBasket>, StoreFailure> {
        self.parts.baskets.baskets_of(room, number).await
    }

    async fn note_active(&self, room: &str, active: &[(u64, i64)]) -> Result<(), StoreFailure> {
        self.parts.visits.note_active(room, active).await
    }

    async fn idle_visitors(
        &self,
        room: &str,
        until_s: i64,
        max: u32,
    ) -> Result<Vec<IdleVisitor>, StoreFailure> {
        self.parts.visits.idle_visitors(room, until_s, max).await
    }

    async fn end_visits(&self, room: &str, ended: &[EndedVisit]) -> Result<(), StoreFailure> {
        self.parts.visits.end_visits(room, ended).await
    }

    async fn excuse_visit(&self, room: &str, number: u64) -> Result<(), StoreFailure> {
        self.parts.visits.excuse_visit(room, number).await
    }

    async fn note_lapse(
        &self,
        room: &str,
        holder: Holder,
        hold: &str,
    ) -> Result<Option<LapsedVisit>, StoreFailure> {
        self.parts.visits.note_lapse(room, holder, hold).await
    }

    async fn away_numbers(
        &self,
        room: &str,
        now_s: i64,
        is_ordered: bool,
    ) -> Result<AwayNumbers, StoreFailure> {
        let presence = &self.parts.presence;
        presence.away_numbers(room, now_s, is_ordered).await
    }
}
