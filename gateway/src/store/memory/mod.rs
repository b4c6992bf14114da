//! The room store of one machine. A join takes the next number, stores the leaf and queues the
//! write to the ledger, all under one lock. It returns when the write is durable. This is a real
//! store, not a mock.

mod absence;
mod activity;
mod baskets;
mod line;
mod networks;
mod passes;
mod places;
mod presence;
#[cfg(test)]
mod tests;
mod wishes;

use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};
use fairgate_rules::network_limits::NetworkPlaces;

use self::line::{JoinAssignment, RoomLine};
use crate::ledger::{
    DurableWrite, JoinRow, LedgerError, LedgerFreezeOutcome, LedgerJoinOutcome, LineFreeze,
    NetworkEpoch, NetworkKeys, RoomAuditEntry, RoomChangeOutcome, RoomLedger,
};
use crate::store::{
    AdmissionDecision, AwayNumbers, Claimant, EndedVisit, FailedPassClaim, IdleVisitor,
    LapsedVisit, NotedBasket, NumberSet, Place, PresentedPlace, PresentedPlaceStatus,
    RecordedPassClaim, RoomCounts, RoomStore, SingleUseId, StoreFailure, StoreFreezeOutcome,
    StoreJoinRefusal, StoreJoinRequest, StoreLeaveRequest, TickEnd, TickFigures,
    TickFiguresRequest, WaitRequest, WaitReservation, WishChanges, WishCursor, WishList,
};

/// The incarnation of every room in this store. The ledger has every number before its visitor gets
/// it, and a restart reads all numbers back. The store therefore never loses a number and needs no
/// second life.
const ONE_LIFE: u64 = 1;

/// The room store in memory. It is a cheap handle, and its clones share the rooms.
#[derive(Clone)]
pub struct MemoryRoomStore {
    inner: Arc<MemoryRooms>,
}

struct MemoryRooms {
    ledger: RoomLedger,
    rooms: RwLock<HashMap<String, Arc<Mutex<RoomLine>>>>,
}

/// What a join waits for outside the lock.
enum PendingJoin {
    /// A new number that is being written, and the networks that it is counted in.
    New(Place, NetworkKeys, DurableWrite<LedgerJoinOutcome>),
    /// The number that the holder already had. The call that gave the number may still be writing
    /// it.
    Known(Place, DurableWrite<()>),
}

impl MemoryRoomStore {
    /// Makes a store that writes joins, departures and freezes to `ledger`.
    #[must_use]
    pub fn new(ledger: RoomLedger) -> Self {
        Self {
            inner: Arc::new(MemoryRooms {
                ledger,
                rooms: RwLock::default(),
            }),
        }
    }

    fn room_line(&self, room: &str) -> Result<Arc<Mutex<RoomLine>>, StoreFailure> {
        let rooms = self.inner.rooms.read();
        rooms.get(room).cloned().ok_or_else(|| {
            StoreFailure::NotReady(format!("the room \"{room}\" is not open on this node"))
        })
    }

    fn begin_join(
        &self,
        room: &str,
        entrant: &StoreJoinRequest,
    ) -> Result<PendingJoin, StoreJoinRefusal> {
        let line = self.room_line(room)?;
        let mut line = line.lock();
        match line.assign(entrant) {
            JoinAssignment::CodeInvalid { recent } => Err(StoreJoinRefusal::CodeInvalid { recent }),
            JoinAssignment::CodesPaused(paused) => Err(StoreJoinRefusal::CodesPaused(paused)),
            JoinAssignment::CodeUsed => Err(StoreJoinRefusal::CodeUsed),
            JoinAssignment::Toll(refusal) => Err(refusal.into()),
            JoinAssignment::Known(place) => {
                Ok(PendingJoin::Known(place, self.inner.ledger.barrier()))
            }
            JoinAssignment::New(place) => {
                let join = JoinRow {
                    number: place.number,
                    holder: place.holder,
                    code: place.code,
                    at: place.at,
                    networks: entrant.toll.keys,
                };
                Ok(PendingJoin::New(
                    place,
                    join.networks,
                    self.inner.ledger.record_join(room, join),
                ))
            }
        }
    }

    async fn finish_join(
        &self,
        room: &str,
        pending: PendingJoin,
    ) -> Result<Option<Place>, StoreJoinRefusal> {
        match pending {
            PendingJoin::New(place, networks, durable) => {
                let outcome = durable.await;
                if let Ok(LedgerJoinOutcome::Done) = outcome {
                    return Ok(Some(place));
                }
                self.room_line(room)?
                    .lock()
                    .void_number(place.number, networks);
                Err(match outcome {
                    Ok(_) => StoreJoinRefusal::CodeUsed,
                    Err(error) => StoreFailure::from(error).into(),
                })
            }
            PendingJoin::Known(place, durable) => {
                durable.await.map_err(StoreFailure::from)?;
                let line = self.room_line(room)?;
                let line = line.lock();
                Ok(match line.place_status(place.number, place.holder) {
                    PresentedPlaceStatus::Here(place) => Some(place),
                    // The write that this call waited for failed, or the place was just left.
                    PresentedPlaceStatus::Left | PresentedPlaceStatus::Unknown => None,
                })
            }
        }
    }
}

#[async_trait]
impl RoomStore for MemoryRoomStore {
    async fn open(&self, room: &str) -> Result<(), LedgerError> {
        if self.room_line(room).is_ok() {
            return Ok(());
        }
        let ledger = &self.inner.ledger;
        let mut stored = ledger.line(room).await?;
        if let Some(life) = stored.life {
            // The room was in Redis before, and Redis may have given numbers that were not copied
            // to the ledger. So the next life begins now, above those numbers, and none of them is
            // given again. The ledger then refuses every node that still uses Redis for this room.
            let at = ledger.now_ms().await?;
            stored.life = Some(ledger.begin_life(room, life.incarnation, 0, at).await?);
        }
        let line = RoomLine::restore(&stored);
        let mut rooms = self.inner.rooms.write();
        rooms
            .entry(room.to_owned())
            .or_insert_with(|| Arc::new(Mutex::new(line)));
        Ok(())
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, StoreFailure> {
        let line = self.room_line(room)?;
        let written = self.inner.ledger.put_codes(room, codes.clone(), entry);
        let changed = written.await?;
        if matches!(changed, RoomChangeOutcome::To(_)) {
            line.lock().put_codes(&codes);
        }
        Ok(changed)
    }

    async fn join(&self, room: &str, entrant: StoreJoinRequest) -> Result<Place, StoreJoinRefusal> {
        let (store, room) = (self.clone(), room.to_owned());
        // The join runs in a task of its own. Otherwise a visitor who hangs up in the middle could
        // leave a number that is neither written nor void.
        let task = tokio::spawn(async move {
            for _ in 0..2 {
                let pending = store.begin_join(&room, &entrant)?;
                if let Some(place) = store.finish_join(&room, pending).await? {
                    return Ok(place);
                }
            }
            let reason = "the place was given up during the join";
            Err(StoreFailure::from(LedgerError::Unavailable(reason.into())).into())
        });
        task.await.unwrap_or_else(|error| {
            Err(StoreFailure::from(LedgerError::Unavailable(error.to_string())).into())
        })
    }

    async fn network_places(
        &self,
        room: &str,
        networks: NetworkKeys,
        now: i64,
    ) -> Result<NetworkPlaces, StoreFailure> {
        let line = self.room_line(room)?;
        let line = line.lock();
        Ok(line.networks.places_of(networks, now))
    }

    async fn forget_networks(
        &self,
        room: &str,
        since: Option<NetworkEpoch>,
    ) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().networks.forget(since);
        Ok(())
    }

    async fn reserve_wait(
        &self,
        room: &str,
        wait: WaitRequest,
    ) -> Result<WaitReservation, StoreFailure> {
        Ok(self.room_line(room)?.lock().networks.reserve_wait(&wait))
    }

    async fn use_once(
        &self,
        room: &str,
        used: SingleUseId,
        now: i64,
    ) -> Result<bool, StoreFailure> {
        Ok(self.room_line(room)?.lock().networks.use_once(used, now))
    }

    async fn note_moved(&self, room: &str, number: u64, at: i64) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().moved_at.insert(number, at);
        Ok(())
    }

    async fn moved_at(&self, room: &str, number: u64) -> Result<Option<i64>, StoreFailure> {
        Ok(self.room_line(room)?.lock().moved_at.get(&number).copied())
    }

    async fn set_wishes(
        &self,
        room: &str,
        number: u64,
        wishes: WishList,
    ) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().wishes.set(number, wishes);
        Ok(())
    }

    async fn wishes_of(&self, room: &str, number: u64) -> Result<Option<WishList>, StoreFailure> {
        Ok(self.room_line(room)?.lock().wishes.of(number))
    }

    async fn wishes_changed(
        &self,
        room: &str,
        since: WishCursor,
    ) -> Result<WishChanges, StoreFailure> {
        let line = self.room_line(room)?;
        Ok(line.lock().wishes.changed(since, ONE_LIFE))
    }

    async fn check_presented_place(
        &self,
        room: &str,
        presented: PresentedPlace,
    ) -> Result<PresentedPlaceStatus, StoreFailure> {
        Ok(self
            .room_line(room)?
            .lock()
            .place_status(presented.number, presented.holder))
    }

    async fn bring_back(
        &self,
        _room: &str,
        _presented: &[PresentedPlace],
    ) -> Result<u64, StoreFailure> {
        Ok(ONE_LIFE)
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure> {
        Ok(self.room_line(room)?.lock().place_of(holder))
    }

    async fn leave(&self, room: &str, leaving: StoreLeaveRequest) -> Result<(), StoreFailure> {
        let durable = {
            let line = self.room_line(room)?;
            let mut line = line.lock();
            let void = line.leave(&leaving);
            let StoreLeaveRequest { number, now, .. } = leaving;
            self.inner.ledger.record_leave(room, number, now, void)
        };
        Ok(durable.await?)
    }

    async fn end_places(
        &self,
        room: &str,
        ended: &[StoreLeaveRequest],
    ) -> Result<(), StoreFailure> {
        let line = self.room_line(room)?;
        let mut line = line.lock();
        for ending in ended {
            line.end_place(ending);
        }
        Ok(())
    }

    async fn freeze(&self, room: &str, now: i64) -> Result<StoreFreezeOutcome, StoreFailure> {
        let line = self.room_line(room)?;
        let durable = {
            let mut line = line.lock();
            let n = line.freeze();
            let freeze = LineFreeze { n, at: now };
            self.inner.ledger.record_freeze(room, freeze, None)
        };
        let outcome = durable.await.and_then(|recorded| match recorded {
            LedgerFreezeOutcome::Stands(freeze) => Ok(freeze),
            LedgerFreezeOutcome::OtherLife | LedgerFreezeOutcome::NotBefore(_) => Err(
                LedgerError::Corrupt("the ledger refused a freeze without a life".into()),
            ),
        });
        // The line takes the freeze that the ledger has. If the ledger returned none, the line is
        // open again until the next try.
        line.lock().frozen = outcome.as_ref().ok().map(|freeze| freeze.n);
        Ok(StoreFreezeOutcome::Done(outcome?))
    }

    async fn flush_to_ledger(&self, _room: &str) -> Result<(), StoreFailure> {
        Ok(self.inner.ledger.barrier().await?)
    }

    async fn admit_claimant(
        &self,
        room: &str,
        claimant: Claimant,
    ) -> Result<AdmissionDecision, StoreFailure> {
        Ok(self.room_line(room)?.lock().admit_claimant(&claimant))
    }

    async fn note_claim(
        &self,
        room: &str,
        claimed: RecordedPassClaim,
    ) -> Result<bool, StoreFailure> {
        Ok(self.room_line(room)?.lock().note_claim(&claimed))
    }

    async fn undo_admission(
        &self,
        room: &str,
        failed: FailedPassClaim,
    ) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().undo_admission(failed);
        Ok(())
    }

    async fn mark_ticketed(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
    ) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().mark_ticketed(cursor, holders);
        Ok(())
    }

    async fn tick_figures(
        &self,
        room: &str,
        request: TickFiguresRequest,
    ) -> Result<TickFigures, StoreFailure> {
        Ok(self.room_line(room)?.lock().tick_figures(request))
    }

    async fn end_tick(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure> {
        Ok(self.room_line(room)?.lock().end_tick(end))
    }

    async fn counts(&self, room: &str, now_s: i64) -> Result<RoomCounts, StoreFailure> {
        Ok(self.room_line(room)?.lock().counts(now_s))
    }

    async fn absent_numbers(&self, room: &str) -> Result<NumberSet, StoreFailure> {
        Ok(self.room_line(room)?.lock().absent_numbers())
    }

    async fn note_seen(
        &self,
        room: &str,
        numbers: &[u64],
        now_s: i64,
    ) -> Result<u64, StoreFailure> {
        self.room_line(room)?.lock().note_seen(numbers, now_s);
        Ok(ONE_LIFE)
    }

    async fn seen_since(
        &self,
        room: &str,
        numbers: &[u64],
        since_s: i64,
        _now_s: i64,
    ) -> Result<Vec<u64>, StoreFailure> {
        let line = self.room_line(room)?;
        Ok(line.lock().seen_since(numbers, since_s))
    }

    async fn note_basket(
        &self,
        room: &str,
        number: u64,
        basket: NotedBasket,
    ) -> Result<(), StoreFailure> {
        let line = self.room_line(room)?;
        line.lock().note_basket(number, basket);
        Ok(())
    }

    async fn note_checkout(&self, room: &str, number: u64, at: i64) -> Result<(), StoreFailure> {
        let line = self.room_line(room)?;
        line.lock().baskets.note_checkout(number, at);
        Ok(())
    }

    async fn baskets_of(
        &self,
        room: &str,
        number: u64,
        now: i64,
    ) -> Result<Vec<NotedBasket>, StoreFailure> {
        let line = self.room_line(room)?;
        Ok(line.lock().baskets.of_number(number, now))
    }

    async fn note_active(&self, room: &str, active: &[(u64, i64)]) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().note_active(active);
        Ok(())
    }

    async fn idle_visitors(
        &self,
        room: &str,
        until_s: i64,
        max: u32,
    ) -> Result<Vec<IdleVisitor>, StoreFailure> {
        let line = self.room_line(room)?;
        Ok(line.lock().idle_visitors(until_s, max))
    }

    async fn end_visits(&self, room: &str, ended: &[EndedVisit]) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().end_visits(ended);
        Ok(())
    }

    async fn excuse_visit(&self, room: &str, number: u64) -> Result<(), StoreFailure> {
        self.room_line(room)?.lock().excuse_visit(number);
        Ok(())
    }

    async fn note_lapse(
        &self,
        room: &str,
        holder: Holder,
        hold: &str,
    ) -> Result<Option<LapsedVisit>, StoreFailure> {
        let line = self.room_line(room)?;
        Ok(line.lock().note_lapse(holder, hold))
    }

    async fn away_numbers(
        &self,
        room: &str,
        now_s: i64,
        is_ordered: bool,
    ) -> Result<AwayNumbers, StoreFailure> {
        let line = self.room_line(room)?;
        Ok(line.lock().away_numbers(now_s, is_ordered))
    }
}
