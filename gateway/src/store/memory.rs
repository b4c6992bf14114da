//! The store of one machine: number and leaf under one lock, the ledger's write queued under that same lock, and
//! the answer given when the write is durable. A real store, not a mock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use fairgate_pass::{Digest, Holder};

use super::line::{Assigned, Line};
use super::{Counts, Entrant, JoinRefused, Numbers, Place, RoomStore, Standing};
use crate::ledger::{
    Durable, Failure, Freeze, FreezeRecorded, JoinRecorded, JoinRow, Ledger, StoredLine,
};

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

    fn line(&self, room: &str) -> Result<Arc<Mutex<Line>>, Failure> {
        let rooms = self
            .inner
            .rooms
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        rooms.get(room).cloned().ok_or_else(|| {
            Failure::Unavailable(format!("the room \"{room}\" is not open on this node"))
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
                Err(outcome.map_or_else(JoinRefused::Ledger, |_| JoinRefused::CodeUsed))
            }
            Pending::Known(place, durable) => {
                durable.await?;
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
    async fn open(&self, room: &str, line: StoredLine) {
        let mut rooms = self
            .inner
            .rooms
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        rooms
            .entry(room.to_owned())
            .or_insert_with(|| Arc::new(Mutex::new(Line::restore(&line))));
    }

    async fn put_codes(&self, room: &str, codes: &[Digest]) {
        if let Ok(line) = self.line(room) {
            lock(&line).put_codes(codes);
        }
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
            Err(JoinRefused::Ledger(Failure::Unavailable(
                "the place was given up while it was asked for".into(),
            )))
        });
        settled.await.unwrap_or_else(|error| {
            Err(JoinRefused::Ledger(Failure::Unavailable(error.to_string())))
        })
    }

    async fn standing(&self, room: &str, number: u64, holder: Holder) -> Standing {
        self.line(room).map_or(Standing::Unknown, |line| {
            lock(&line).standing(number, holder)
        })
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Option<Place> {
        self.line(room)
            .ok()
            .and_then(|line| lock(&line).place_of(holder))
    }

    async fn leave(&self, room: &str, number: u64, now: i64) -> Result<(), Failure> {
        let durable = {
            let line = self.line(room)?;
            let mut line = lock(&line);
            let void = line.leave(number);
            self.inner.ledger.record_leave(room, number, now, void)
        };
        durable.await
    }

    async fn freeze(&self, room: &str, now: i64) -> Result<Freeze, Failure> {
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
        outcome
    }

    async fn claimed(&self, room: &str, number: u64, exp_s: i64) -> bool {
        self.line(room)
            .is_ok_and(|line| lock(&line).claimed(number, exp_s))
    }

    async fn done(&self, room: &str, cursor: u64, holders: &[Holder]) {
        if let Ok(line) = self.line(room) {
            lock(&line).done(cursor, holders);
        }
    }

    async fn counts(&self, room: &str, now_s: i64) -> Counts {
        self.line(room)
            .map_or_else(|_| Counts::default(), |line| lock(&line).counts(now_s))
    }

    async fn inside_beyond(&self, room: &str, exps_s: &[i64]) -> Vec<u64> {
        self.line(room).map_or_else(
            |_| vec![0; exps_s.len()],
            |line| lock(&line).inside_beyond(exps_s),
        )
    }

    async fn absent(&self, room: &str) -> Numbers {
        self.line(room)
            .map_or_else(|_| Numbers::default(), |line| lock(&line).absent())
    }

    async fn seen(&self, room: &str, numbers: &[u64], now_s: i64) {
        if let Ok(line) = self.line(room) {
            lock(&line).seen(numbers, now_s);
        }
    }

    async fn away(&self, room: &str, now_s: i64) -> Numbers {
        self.line(room)
            .map_or_else(|_| Numbers::default(), |line| lock(&line).away(now_s))
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::{Pair, suite};
    use super::*;
    use crate::ledger::sqlite::Sqlite;
    use crate::ledger::{Entry, RoomRow, Secret};
    use crate::room::{Document, Facts};
    use fairgate_writer::Writer;
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
                let writer = Writer::open(&path).expect("the file opens");
                let ledger: Arc<dyn Ledger> =
                    Arc::new(Sqlite::open(writer).await.expect("migrates"));
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
                store
                    .open("r", ledger.line("r").await.expect("it reads"))
                    .await;
                Pair {
                    store: Arc::new(store),
                    ledger,
                }
            }
        })
        .await;
    }
}
