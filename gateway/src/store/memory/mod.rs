//! The store of one machine: number and leaf under one lock, the ledger's write queued under that same lock, and
//! the answer given when the write is durable. A real store, not a mock.

mod line;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};

use self::line::{Assigned, Line};
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
pub struct MemoryStore {
    inner: Arc<Inner>,
}

struct Inner {
    ledger: Arc<dyn Ledger>,
    rooms: RwLock<HashMap<String, Arc<Mutex<Line>>>>,
}

/// What a caller waits for outside the lock.
enum Pending {
    /// A new number, being written.
    New(Place, Durable<JoinRecorded>),
    /// A number of before, perhaps still being written by another call.
    Known(Place, Durable<()>),
}

impl MemoryStore {
    /// A store that writes through to `ledger`.
    #[must_use]
    pub fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self {
            inner: Arc::new(Inner {
                ledger,
                rooms: RwLock::default(),
            }),
        }
    }

    fn line(&self, room: &str) -> Result<Arc<Mutex<Line>>, StoreFailure> {
        let rooms = self
            .inner
            .rooms
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        rooms.get(room).cloned().ok_or_else(|| {
            StoreFailure::NotReady(format!("the room \"{room}\" is not open on this node"))
        })
    }

    fn begin_join(&self, room: &str, entrant: &Entrant) -> Result<Pending, JoinRefused> {
        let line = self.line(room)?;
        let mut line = lock(&line);
        match line.assign(entrant) {
            Assigned::CodeInvalid => Err(JoinRefused::CodeInvalid),
            Assigned::CodeUsed => Err(JoinRefused::CodeUsed),
            Assigned::Known(place) => Ok(Pending::Known(place, self.inner.ledger.barrier())),
            Assigned::New(place) => {
                let join = JoinRow {
                    number: place.number,
                    holder: place.holder,
                    code: place.code,
                    at: place.at,
                };
                Ok(Pending::New(
                    place,
                    self.inner.ledger.record_join(room, join),
                ))
            }
        }
    }

    async fn settle(&self, room: &str, pending: Pending) -> Result<Option<Place>, JoinRefused> {
        match pending {
            Pending::New(place, durable) => {
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
            Pending::Known(place, durable) => {
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

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    // Transitions of a line do not panic half-way; a poisoned lock only says that some caller did.
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl RoomStore for MemoryStore {
    async fn open(&self, room: &str) -> Result<(), Failure> {
        if self.line(room).is_ok() {
            return Ok(());
        }
        let ledger = &self.inner.ledger;
        let mut stored = ledger.line(room).await?;
        if let Some(life) = stored.life {
            // A store with lives gave numbers here, perhaps more than the ledger was told of. Its life ends now, so that
            // none of them is given again, and whoever still works with it is refused.
            let at = ledger.now_ms().await?;
            stored.life = Some(ledger.begin_life(room, life.incarnation, 0, at).await?);
        }
        let line = Line::restore(&stored);
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
        // In a task of its own: a visitor who hangs up in the middle must not leave a number that nobody settles.
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
        // What the ledger says stands; where it said nothing the line goes on filling until the next try.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::sql::RoomSqlLedger;
    use crate::ledger::{RoomRow, Secret};
    use crate::room::{Document, Facts};
    use crate::store::contract::{Pair, suite};
    use fairgate_databases::{Installation, Writer};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn the_store_in_memory_keeps_the_contract_even_over_restarts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let generation = AtomicUsize::new(0);
        suite(|again| {
            let at =
                generation.fetch_add(usize::from(!again), Ordering::SeqCst) + usize::from(!again);
            let path = folder.path().join(format!("{at}.db"));
            async move {
                let file = Installation::File(Writer::open(&path).expect("the file opens"));
                let ledger: Arc<dyn Ledger> =
                    Arc::new(RoomSqlLedger::open(file).await.expect("migrates"));
                let row = RoomRow {
                    room: "r".into(),
                    document: Document::everyday(),
                    facts: Facts::default(),
                    version: 1,
                    secret: Secret([1; 32]),
                    created_at: 0,
                };
                let entry = Entry {
                    at: 0,
                    role: "promoter",
                    action: "room_created",
                    detail: serde_json::Value::Null,
                };
                ledger
                    .create_room(row, entry)
                    .await
                    .expect("it is made, or there");
                let store = MemoryStore::new(Arc::clone(&ledger));
                store.open("r").await.expect("it reads");
                Pair {
                    store: Arc::new(store),
                    ledger,
                    outlives: false,
                }
            }
        })
        .await;
    }

    #[tokio::test]
    async fn numbers_that_a_store_with_lives_may_have_given_are_not_given_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let writer = Writer::open(&folder.path().join("ledger.db")).expect("the file opens");
        let ledger = RoomSqlLedger::open(Installation::File(writer)).await;
        let ledger: Arc<dyn Ledger> = Arc::new(ledger.expect("migrates"));
        let life = ledger
            .begin_life("r", 0, 0, 1_000)
            .await
            .expect("it begins");
        let reserved = ledger.reserve("r", life.incarnation, 100).await;
        assert!(reserved.expect("it is reserved").is_some());
        let store = MemoryStore::new(Arc::clone(&ledger));
        store.open("r").await.expect("it opens");
        let entrant = Entrant {
            holder: Holder([1; 32]),
            code: None,
            needs_code: false,
            now: 2_000,
        };
        let place = store.join("r", entrant).await.expect("a place");
        assert_eq!(place.number, 100);
        let reserved = ledger.reserve("r", life.incarnation, 200).await;
        assert_eq!(reserved.expect("it answers"), None, "that life is over");
    }
}
