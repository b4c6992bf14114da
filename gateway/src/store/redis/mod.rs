//! The line of many gateways in one Redis. Every transition is one script on the room's slot; each carries the life
//! that the ledger has and refuses where Redis has another, or none. Numbers are given below a ceiling that the ledger
//! reserved before, and only by a node that has read the lives within the last second.
//!
//! What Redis says may be lost: the ledger has the line seconds behind (`copier`), passes and counters before they are
//! answered, and a room that lost its data is filled in again under its next life (`rebuild`).

mod codes;
mod condition;
mod copier;
mod keeper;
mod keys;
mod lease;
mod places;
mod presence;
mod read;
mod rebuild;
mod scripts;
#[cfg(test)]
mod tests;
mod transitions;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use fairgate_base::clock::Clock;
use fairgate_redis::{Redis, Reply, ScriptCall, ScriptFamily};

use self::condition::Condition;
use self::lease::Lease;
use self::scripts::LivingRoom;
use super::{Numbers, StoreFailure};
use crate::ledger::{Failure, Ledger, RoomLife};

/// A room that Redis keeps silent about for so long is not asked for any more until it answers whoever looks after it.
const SILENT: Duration = Duration::from_secs(1);

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Two installations share one Redis, or the wrong database is named.
    #[error(
        "this Redis keeps the line of another ledger ({stored}, and this one is {own}). Nothing was changed. Name the database that it belongs to, or another Redis."
    )]
    OtherLedger {
        /// The id in Redis.
        stored: String,
        /// The ledger's.
        own: String,
    },
    /// The ledger did not say which it is.
    #[error(transparent)]
    Ledger(#[from] Failure),
}

/// A cheap handle; clones share everything.
#[derive(Clone)]
pub struct RedisStore {
    inner: Arc<Inner>,
}

/// What the handles share.
pub struct Inner {
    redis: Redis,
    ledger: Arc<dyn Ledger>,
    /// Which ledger that is, in hex.
    ledger_id: String,
    condition: Condition,
    clock: Clock,
    node: String,
    lease: Lease,
    /// Held while the lives are read out of turn.
    reading: tokio::sync::Mutex<()>,
    limits: keeper::Limits,
    rooms: RwLock<HashMap<String, Arc<State>>>,
}

/// What this node keeps of one room.
#[derive(Default)]
struct State {
    /// Held while the room is looked after.
    tending: tokio::sync::Mutex<Pace>,
    absent: Mutex<Absent>,
    /// Since when Redis has not answered whoever looks after the room.
    silent_since: Mutex<Option<Instant>>,
}

impl State {
    /// Whoever looks after the room heard from Redis, or did not.
    fn heard(&self, answered: bool) {
        let mut since = lock(&self.silent_since);
        *since = match *since {
            _ if answered => None,
            None => Some(Instant::now()),
            lasting => lasting,
        };
    }

    fn silent_for(&self) -> Option<Duration> {
        lock(&self.silent_since).map(|since| since.elapsed())
    }
}

/// How the room was found by the round before.
#[derive(Default)]
struct Pace {
    /// The next number, a round ago.
    next: Option<u64>,
    /// When the room's life was last found to stand.
    well_at: Option<Instant>,
}

/// The absent numbers as last read.
#[derive(Default, Clone)]
struct Absent {
    incarnation: u64,
    version: u64,
    numbers: Numbers,
}

impl RedisStore {
    /// A store over Redis and the ledger that all its nodes share, and the tasks that look after its rooms. `node` is
    /// this process's name among them. Where Redis is away it is used from when it answers, if it is this ledger's.
    ///
    /// # Errors
    /// Where the data in Redis belongs to another ledger, or this one did not answer.
    pub async fn open(
        redis: Redis,
        ledger: Arc<dyn Ledger>,
        clock: Clock,
        node: String,
    ) -> Result<Self, OpenError> {
        let own = hex::encode(ledger.id().await?);
        let condition = Condition::default();
        let owner = condition::belongs_to(&redis, &own).await;
        if let Ok(stored) = &owner
            && *stored != own
        {
            let stored = stored.clone();
            return Err(OpenError::OtherLedger { stored, own });
        }
        condition.heard(owner, &own);
        let inner = Arc::new(Inner {
            redis,
            ledger,
            ledger_id: own,
            condition,
            clock,
            node,
            lease: Lease::default(),
            reading: tokio::sync::Mutex::default(),
            limits: keeper::Limits::default(),
            rooms: RwLock::default(),
        });
        tokio::spawn(keeper::renew(Arc::downgrade(&inner)));
        tokio::spawn(keeper::run(Arc::downgrade(&inner)));
        tokio::spawn(condition::watch(Arc::downgrade(&inner)));
        Ok(Self { inner })
    }

    fn ledger(&self) -> &dyn Ledger {
        &*self.inner.ledger
    }

    fn lease(&self) -> &Lease {
        &self.inner.lease
    }

    fn node(&self) -> &str {
        &self.inner.node
    }

    fn now_ms(&self) -> i64 {
        self.inner.clock.now_ms()
    }

    fn rooms(&self) -> Vec<String> {
        let rooms = self.inner.rooms.read();
        let rooms = rooms.unwrap_or_else(PoisonError::into_inner);
        rooms.keys().cloned().collect()
    }

    fn state(&self, room: &str) -> Result<Arc<State>, StoreFailure> {
        let rooms = self.inner.rooms.read();
        let rooms = rooms.unwrap_or_else(PoisonError::into_inner);
        rooms.get(room).cloned().ok_or_else(|| {
            StoreFailure::NotReady(format!("the room \"{room}\" is not open on this node"))
        })
    }

    /// Refuses at once where Redis keeps silent about the room for a while: nobody waits for one more silence.
    fn answers(&self, room: &str) -> Result<(), StoreFailure> {
        match self.state(room)?.silent_for() {
            Some(silent) if silent >= SILENT => Err(StoreFailure::Unreachable(format!(
                "it has kept silent for {} s",
                silent.as_secs()
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// The life that this node knows of, however old that knowledge is: the script itself compares.
    fn life(&self, room: &str) -> Result<RoomLife, StoreFailure> {
        self.answers(room)?;
        self.lease()
            .life(room)
            .ok_or_else(|| StoreFailure::NotReady("the room has no life yet".into()))
    }

    /// The life in which this node may give numbers just now.
    fn held(&self, room: &str) -> Result<RoomLife, StoreFailure> {
        self.answers(room)?;
        let held = self.lease().held(room, Instant::now());
        held.ok_or_else(|| {
            StoreFailure::NotReady("the ledger has not been read for a second".into())
        })
    }

    /// Reads the lives again, once for all who find at the same time that theirs is over.
    async fn read_lives_again(&self) -> Result<(), StoreFailure> {
        let since = Instant::now();
        let _reading = self.inner.reading.lock().await;
        if self.lease().asked_after(since) {
            return Ok(());
        }
        self.read_lives().await
    }

    /// Runs a script that needs the room to live, and in this life.
    async fn run(
        &self,
        room: &str,
        life: &RoomLife,
        script: impl ScriptCall<Family = LivingRoom>,
    ) -> Result<Reply, StoreFailure> {
        let living = LivingRoom {
            incarnation: life.incarnation,
        };
        self.run_as(room, living, script).await
    }

    /// Runs a script, unless Redis belongs to another ledger.
    async fn run_as<F: ScriptFamily>(
        &self,
        room: &str,
        family: F,
        script: impl ScriptCall<Family = F>,
    ) -> Result<Reply, StoreFailure> {
        if self.inner.condition.is_foreign() {
            let other = "it belongs to another ledger";
            return Err(StoreFailure::NotReady(other.into()));
        }
        let key = keys::life(room);
        Ok(self
            .inner
            .redis
            .run(&key, family, &script.prepare())
            .await?)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept under it is replaced whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
