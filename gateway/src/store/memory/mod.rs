//! The store of one machine: number and leaf under one lock, the ledger's write queued under that
//! same lock, and the answer given when the write is durable. A real store, not a mock.

mod absence;
mod line;
mod passes;
mod places;
mod presence;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};

use self::line::{JoinAssigned, RoomLine};
use crate::ledger::{
    Changed, Durable, Entry, Failure, Freeze, FreezeRecorded, JoinRecorded, JoinRow, Ledger,
};
use crate::store::{
    Claimant, Claimed, Counts, Entered, Entrant, Figures, Freezing, JoinRefused, Leaving, Moment,
    Numbers, Place, RoomStore, Shown, Standing, StoreFailure, TickEnd,
};

/// What is in this memory is written through, and read back whole: it never loses what it gave.
const ONE_LIFE: u64 = 1;

/// A cheap handle; clones share the rooms.
#[derive(Clone)]
pub struct MemoryRoomStore {
    inner: Arc<MemoryRooms>,
}

struct MemoryRooms {
    ledger: Arc<dyn Ledger>,
    rooms: RwLock<HashMap<String, Arc<Mutex<RoomLine>>>>,
}

/// What a caller waits for outside the lock.
enum JoinPending {
    /// A new number, being written.
    New(Place, Durable<JoinRecorded>),
    /// A number of before, perhaps still being written by another call.
    Known(Place, Durable<()>),
}

impl MemoryRoomStore {
    /// A store that writes through to `ledger`.
    #[must_use]
    pub fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self {
            inner: Arc::new(MemoryRooms {
                ledger,
                rooms: RwLock::default(),
            }),
        }
    }

    fn line(&self, room: &str) -> Result<Arc<Mutex<RoomLine>>, StoreFailure> {
        let rooms = self
            .inner
            .rooms
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        rooms.get(room).cloned().ok_or_else(|| {
            StoreFailure::NotReady(format!("the room \"{room}\" is not open on this node"))
        })
    }

    fn begin_join(&self, room: &str, entrant: &Entrant) -> Result<JoinPending, JoinRefused> {
        let line = self.line(room)?;
        let mut line = lock(&line);
        match line.assign(entrant) {
            JoinAssigned::CodeInvalid => Err(JoinRefused::CodeInvalid),
            JoinAssigned::CodeUsed => Err(JoinRefused::CodeUsed),
            JoinAssigned::Known(place) => {
                Ok(JoinPending::Known(place, self.inner.ledger.barrier()))
            }
            JoinAssigned::New(place) => {
                let join = JoinRow {
                    number: place.number,
                    holder: place.holder,
                    code: place.code,
                    at: place.at,
                };
                Ok(JoinPending::New(
                    place,
                    self.inner.ledger.record_join(room, join),
                ))
            }
        }
    }

    async fn settle(&self, room: &str, pending: JoinPending) -> Result<Option<Place>, JoinRefused> {
        match pending {
            JoinPending::New(place, durable) => {
                let outcome = durable.await;
                if let Ok(JoinRecorded::Done) = outcome {
                    return Ok(Some(place));
                }
                lock(&*self.line(room)?).void(place.number);
                Err(match outcome {
                    Ok(_) => JoinRefused::CodeUsed,
                    Err(error) => StoreFailure::from(error).into(),
                })
            }
            JoinPending::Known(place, durable) => {
                durable.await.map_err(StoreFailure::from)?;
                let line = self.line(room)?;
                let line = lock(&line);
                Ok(match line.standing(place.number, place.holder) {
                    Standing::Here(place) => Some(place),
                    // The write this call waited for came to nothing, or the place was just left.
                    Standing::Left | Standing::Unknown => None,
                })
            }
        }
    }
}

fn lock(line: &Mutex<RoomLine>) -> MutexGuard<'_, RoomLine> {
    // Transitions of a line do not panic half-way; a poisoned lock only says that some caller did.
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl RoomStore for MemoryRoomStore {
    async fn open(&self, room: &str) -> Result<(), Failure> {
        if self.line(room).is_ok() {
            return Ok(());
        }
        let ledger = &self.inner.ledger;
        let mut stored = ledger.line(room).await?;
        if let Some(life) = stored.life {
            // A store with lives gave numbers here, perhaps more than the ledger was told of. Its
            // life ends now, so that none of them is given again, and whoever still works with it
            // is refused.
            let at = ledger.now_ms().await?;
            stored.life = Some(ledger.begin_life(room, life.incarnation, 0, at).await?);
        }
        let line = RoomLine::restore(&stored);
        let mut rooms = self
            .inner
            .rooms
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        rooms
            .entry(room.to_owned())
            .or_insert_with(|| Arc::new(Mutex::new(line)));
        Ok(())
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: Entry,
    ) -> Result<Changed, StoreFailure> {
        let line = self.line(room)?;
        let written = self.inner.ledger.put_codes(room, codes.clone(), entry);
        let changed = written.await?;
        if matches!(changed, Changed::To(_)) {
            lock(&line).put_codes(&codes);
        }
        Ok(changed)
    }

    async fn join(&self, room: &str, entrant: Entrant) -> Result<Place, JoinRefused> {
        let (store, room) = (self.clone(), room.to_owned());
        // In a task of its own: a visitor who hangs up in the middle must not leave a number that
        // nobody settles.
        let settled = tokio::spawn(async move {
            for _ in 0..2 {
                let pending = store.begin_join(&room, &entrant)?;
                if let Some(place) = store.settle(&room, pending).await? {
                    return Ok(place);
                }
            }
            let gone = "the place was given up while it was asked for";
            Err(StoreFailure::from(Failure::Unavailable(gone.into())).into())
        });
        settled.await.unwrap_or_else(|error| {
            Err(StoreFailure::from(Failure::Unavailable(error.to_string())).into())
        })
    }

    async fn standing(&self, room: &str, shown: Shown) -> Result<Standing, StoreFailure> {
        Ok(lock(&*self.line(room)?).standing(shown.number, shown.holder))
    }

    async fn bring_back(&self, _room: &str, _shown: &[Shown]) -> Result<u64, StoreFailure> {
        Ok(ONE_LIFE)
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure> {
        Ok(lock(&*self.line(room)?).place_of(holder))
    }

    async fn leave(&self, room: &str, leaving: Leaving) -> Result<(), StoreFailure> {
        let durable = {
            let line = self.line(room)?;
            let mut line = lock(&line);
            let void = line.leave(&leaving);
            let Leaving { number, now, .. } = leaving;
            self.inner.ledger.record_leave(room, number, now, void)
        };
        Ok(durable.await?)
    }

    async fn freeze(&self, room: &str, now: i64) -> Result<Freezing, StoreFailure> {
        let line = self.line(room)?;
        let durable = {
            let mut line = lock(&line);
            let n = line.freeze();
            let freeze = Freeze { n, at: now };
            self.inner.ledger.record_freeze(room, freeze, None)
        };
        let outcome = durable.await.and_then(|recorded| match recorded {
            FreezeRecorded::Stands(freeze) => Ok(freeze),
            FreezeRecorded::OtherLife | FreezeRecorded::NotBefore(_) => Err(Failure::Corrupt(
                "a store without lives was refused for its life".into(),
            )),
        });
        // What the ledger says stands; where it said nothing the line goes on filling until the
        // next try.
        lock(&line).frozen = outcome.as_ref().ok().map(|freeze| freeze.n);
        Ok(Freezing::Done(outcome?))
    }

    async fn settle(&self, _room: &str) -> Result<(), StoreFailure> {
        Ok(self.inner.ledger.barrier().await?)
    }

    async fn enter(&self, room: &str, claimant: Claimant) -> Result<Entered, StoreFailure> {
        Ok(lock(&*self.line(room)?).enter(&claimant))
    }

    async fn claimed(&self, room: &str, claimed: Claimed) -> Result<bool, StoreFailure> {
        Ok(lock(&*self.line(room)?).claimed(&claimed))
    }

    async fn turned_back(&self, room: &str, rank: u64, first: bool) -> Result<(), StoreFailure> {
        lock(&*self.line(room)?).turned_back(rank, first);
        Ok(())
    }

    async fn done(&self, room: &str, cursor: u64, holders: &[Holder]) -> Result<(), StoreFailure> {
        lock(&*self.line(room)?).done(cursor, holders);
        Ok(())
    }

    async fn figures(&self, room: &str, moment: Moment) -> Result<Figures, StoreFailure> {
        Ok(lock(&*self.line(room)?).figures(moment))
    }

    async fn ticked(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure> {
        Ok(lock(&*self.line(room)?).ticked(end))
    }

    async fn counts(&self, room: &str, now_s: i64) -> Result<Counts, StoreFailure> {
        Ok(lock(&*self.line(room)?).counts(now_s))
    }

    async fn absent(&self, room: &str) -> Result<Numbers, StoreFailure> {
        Ok(lock(&*self.line(room)?).absent())
    }

    async fn seen(&self, room: &str, numbers: &[u64], now_s: i64) -> Result<u64, StoreFailure> {
        lock(&*self.line(room)?).seen(numbers, now_s);
        Ok(ONE_LIFE)
    }

    async fn away(&self, room: &str, now_s: i64) -> Result<Numbers, StoreFailure> {
        Ok(lock(&*self.line(room)?).away(now_s))
    }
}
