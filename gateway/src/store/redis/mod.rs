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
mod read;
mod rebuild;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use booking::clock::Clock;
use fairgate_pass::{Digest, Holder};
use fairgate_redis::{Call, Redis, Reply, Script};

use self::condition::Condition;
use self::keys::SCRIPTS;
use self::lease::{LEASE, Lease};
use super::{
    AWAY_AFTER_S, Claimant, Claimed, Counts, Entered, Entrant, Figures, Freezing, JoinRefused,
    Leaving, Moment, Numbers, Place, RoomStore, Shown, Standing, StoreFailure, TickEnd,
};
use crate::admission::cohort::WAY_IN_LAPSES_MS;
use crate::ledger::{Changed, Entry, Failure, Freeze, FreezeRecorded, Ledger, RoomLife};

/// A join that finds its block used up waits for another so often.
const JOIN_TRIES: usize = 3;
/// Who was seen is kept by so many seconds,
const SLOT_S: i64 = 5;
/// and for so long, milliseconds.
const SLOT_LIVES_MS: u64 = 90_000;
/// Numbers that one script marks as seen.
const SEEN_BATCH: usize = 2000;
/// A room that Redis keeps silent about for so long is not asked for any more until it answers whoever looks after it.
const SILENT: Duration = Duration::from_secs(1);
/// Beyond the leases, for a clock's grain.
const LEASE_MARGIN: Duration = Duration::from_millis(50);

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

    fn call<'s>(&self, room: &str, life: &RoomLife, script: &'s Script) -> Call<'s> {
        script.call().key(keys::life(room)).arg(life.incarnation)
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

    async fn run(&self, call: &Call<'_>) -> Result<Reply, StoreFailure> {
        if self.inner.condition.is_foreign() {
            let other = "it belongs to another ledger";
            return Err(StoreFailure::NotReady(other.into()));
        }
        Ok(self.inner.redis.run(call).await?)
    }

    /// One join, in the life that is held before it and after it: what is answered was given in time.
    async fn join_once(&self, room: &str, entrant: &Entrant) -> Result<Option<Place>, JoinRefused> {
        let life = self.held(room)?;
        let code = entrant.code.map_or_else(Vec::new, |code| code.0.to_vec());
        let join = self
            .call(room, &life, &SCRIPTS.join)
            .arg(&entrant.holder.0[..])
            .arg(&entrant.now.to_be_bytes()[..])
            .arg(code)
            .arg(u32::from(entrant.needs_code))
            .arg(slot(entrant.now.div_euclid(1000)))
            .arg(entrant.now)
            .arg(SLOT_LIVES_MS);
        let joined = self.run(&join).await?;
        match read::kind(&joined).map_err(StoreFailure::from)? {
            "code_invalid" => Err(JoinRefused::CodeInvalid),
            "code_used" => Err(JoinRefused::CodeUsed),
            "codes_due" => {
                let due = "the room's codes are being replaced";
                Err(StoreFailure::NotReady(due.into()).into())
            }
            "full" => {
                self.reserve_now(room, &life).await?;
                Ok(None)
            }
            _ if self.held(room)?.incarnation != life.incarnation => {
                Err(StoreFailure::NotReady("another life has begun".into()).into())
            }
            _ => Ok(Some(read::place(&joined).map_err(StoreFailure::from)?)),
        }
    }
}

fn slot(now_s: i64) -> i64 {
    now_s.div_euclid(SLOT_S)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept under it is replaced whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl RoomStore for RedisStore {
    fn warnings(&self) -> Vec<String> {
        self.inner.condition.warnings(self.now_ms())
    }

    async fn open(&self, room: &str) -> Result<(), Failure> {
        let opened = {
            let mut rooms = self
                .inner
                .rooms
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let before = rooms.len();
            rooms.entry(room.to_owned()).or_default();
            rooms.len() > before
        };
        // The rounds would come to it; whoever made the room need not wait for them.
        if opened && let Err(error) = self.read_lives().await {
            tracing::warn!(room, %error, "the room's life could not be read yet");
        }
        if opened && let Err(error) = self.tend(room).await {
            tracing::warn!(room, %error, "the room is not in Redis yet");
        }
        Ok(())
    }

    async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: Entry,
    ) -> Result<Changed, StoreFailure> {
        // In a task of its own: a promoter who hangs up in the middle must not leave joins waiting.
        let (store, room) = (self.clone(), room.to_owned());
        let put = tokio::spawn(async move { store.replace_codes(&room, codes, entry).await });
        put.await
            .unwrap_or_else(|error| Err(StoreFailure::NotReady(error.to_string())))
    }

    async fn join(&self, room: &str, entrant: Entrant) -> Result<Place, JoinRefused> {
        for _ in 0..JOIN_TRIES {
            if let Some(place) = self.join_once(room, &entrant).await? {
                return Ok(place);
            }
        }
        let used_up = "more joined at once than numbers were reserved";
        Err(StoreFailure::NotReady(used_up.into()).into())
    }

    async fn standing(&self, room: &str, shown: Shown) -> Result<Standing, StoreFailure> {
        Ok(self.standing_of(room, &shown).await)
    }

    async fn bring_back(&self, room: &str, shown: &[Shown]) -> Result<u64, StoreFailure> {
        self.take_back(room, shown).await
    }

    async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<Place>, StoreFailure> {
        self.place_by(room, holder).await
    }

    async fn leave(&self, room: &str, leaving: Leaving) -> Result<(), StoreFailure> {
        let rank = leaving
            .rank
            .map_or_else(String::new, |rank| rank.to_string());
        let leave = self.call(room, &self.life(room)?, &SCRIPTS.leave);
        self.run(&leave.arg(leaving.number).arg(rank).arg(leaving.now))
            .await?;
        Ok(())
    }

    async fn freeze(&self, room: &str, now: i64) -> Result<Freezing, StoreFailure> {
        if let Some(freeze) = self.ledger().draw(room).await?.freeze {
            return Ok(Freezing::Done(freeze));
        }
        let life = self.held(room)?;
        if now < life.freezes_from() {
            return Ok(Freezing::NotBefore(life.freezes_from()));
        }
        let n = self.run(&self.call(room, &life, &SCRIPTS.freeze)).await?;
        let freeze = Freeze {
            n: n.count()?,
            at: now,
        };
        // A node that read an older life may still give numbers of it, until it must read again.
        tokio::time::sleep(LEASE + LEASE_MARGIN).await;
        self.copy(room, &life, false).await?;
        let recorded = self
            .ledger()
            .record_freeze(room, freeze, Some(life.incarnation));
        match recorded.await? {
            FreezeRecorded::Stands(freeze) => Ok(Freezing::Done(freeze)),
            FreezeRecorded::NotBefore(at) => Ok(Freezing::NotBefore(at)),
            FreezeRecorded::OtherLife => {
                Err(StoreFailure::NotReady("another life has begun".into()))
            }
        }
    }

    async fn settle(&self, room: &str) -> Result<(), StoreFailure> {
        self.copy(room, &self.life(room)?, false).await
    }

    async fn enter(&self, room: &str, claimant: Claimant) -> Result<Entered, StoreFailure> {
        let enter = self
            .call(room, &self.life(room)?, &SCRIPTS.enter)
            .arg(claimant.number)
            .arg(claimant.rank)
            .arg(claimant.released)
            .arg(claimant.max_inside)
            .arg(u32::from(claimant.line))
            .arg(claimant.now)
            .arg(claimant.now.saturating_add(WAY_IN_LAPSES_MS));
        let reply = self.run(&enter).await?;
        Ok(match read::kind(&reply)? {
            "lives" => Entered::Lives,
            "let" => Entered::Let {
                first: reply.at(1)?.int()? == 1,
            },
            _ => Entered::Wait,
        })
    }

    async fn claimed(&self, room: &str, claimed: Claimed) -> Result<bool, StoreFailure> {
        let reserved = claimed
            .reserved
            .map_or_else(String::new, |rank| rank.to_string());
        let call = self.call(room, &self.life(room)?, &SCRIPTS.claimed);
        let call = call.arg(claimed.number).arg(reserved).arg(claimed.exp_s);
        Ok(self.run(&call).await?.int()? == 1)
    }

    async fn turned_back(&self, room: &str, rank: u64, first: bool) -> Result<(), StoreFailure> {
        let call = self.call(room, &self.life(room)?, &SCRIPTS.turned_back);
        self.run(&call.arg(rank).arg(u32::from(first))).await?;
        Ok(())
    }

    async fn done(&self, room: &str, cursor: u64, holders: &[Holder]) -> Result<(), StoreFailure> {
        let call = self
            .call(room, &self.life(room)?, &SCRIPTS.done)
            .arg(cursor);
        self.run(&call.args(holders.iter().map(|holder| &holder.0[..])))
            .await?;
        Ok(())
    }

    async fn figures(&self, room: &str, moment: Moment) -> Result<Figures, StoreFailure> {
        let call = self
            .call(room, &self.life(room)?, &SCRIPTS.figures)
            .arg(moment.now)
            .arg(moment.claim_ms)
            .arg(self.node())
            .arg(moment.vitals)
            .args(moment.ends_s);
        Ok(read::figures(&self.run(&call).await?, self.node())?)
    }

    async fn ticked(&self, room: &str, end: TickEnd) -> Result<bool, StoreFailure> {
        let mut call = self
            .call(room, &self.life(room)?, &SCRIPTS.ticked)
            .arg(end.since)
            .arg(end.until)
            .arg(end.owed_u)
            .arg(end.credit_u)
            .arg(end.per_s_u)
            .arg(self.node())
            .arg(end.left.row.released)
            .arg(end.left.row.remainder_u)
            .arg(end.left.row.ticked_at)
            .arg(end.left.row.memory)
            .arg(end.left.memory);
        if let Some(called) = end.called {
            let first = called.from / 8 * 8;
            let bytes = usize::try_from((called.to - first).div_ceil(8)).unwrap_or(0);
            let mut away = vec![0_u8; bytes];
            for rank in called.away {
                let at = usize::try_from((rank - first) / 8).unwrap_or(usize::MAX);
                if let Some(byte) = away.get_mut(at) {
                    *byte |= 0x80 >> (rank % 8);
                }
            }
            call = call
                .arg(called.from)
                .arg(called.to)
                .arg(end.now)
                .arg(called.people)
                .arg(away);
        }
        Ok(self.run(&call).await?.int()? == 1)
    }

    async fn counts(&self, room: &str, now_s: i64) -> Result<Counts, StoreFailure> {
        let call = self.call(room, &self.life(room)?, &SCRIPTS.counts);
        Ok(read::counts(&self.run(&call.arg(now_s)).await?)?)
    }

    async fn absent(&self, room: &str) -> Result<Numbers, StoreFailure> {
        let (state, life) = (self.state(room)?, self.life(room)?);
        let known = lock(&state.absent).clone();
        let version = if known.incarnation == life.incarnation {
            known.version
        } else {
            0
        };
        let call = self.call(room, &life, &SCRIPTS.absent).arg(version);
        let reply = self.run(&call).await?;
        let Ok(bits) = reply.at(1) else {
            return Ok(known.numbers);
        };
        let read = Absent {
            incarnation: life.incarnation,
            version: reply.at(0)?.count()?,
            numbers: read::numbers(bits.bytes()?),
        };
        *lock(&state.absent) = read.clone();
        Ok(read.numbers)
    }

    async fn seen(&self, room: &str, numbers: &[u64], now_s: i64) -> Result<u64, StoreFailure> {
        let life = self.life(room)?;
        for batch in numbers.chunks(SEEN_BATCH) {
            let seen = self.call(room, &life, &SCRIPTS.seen).arg(slot(now_s));
            self.run(&seen.arg(SLOT_LIVES_MS).args(batch.iter().copied()))
                .await?;
        }
        Ok(life.incarnation)
    }

    async fn away(&self, room: &str, now_s: i64) -> Result<Numbers, StoreFailure> {
        let absent = self.absent(room).await?;
        // A slot counts until its last second is long enough ago.
        let slots = slot(now_s - AWAY_AFTER_S)..=slot(now_s) + 1;
        let away = self.call(room, &self.life(room)?, &SCRIPTS.away);
        let reply = self
            .run(&away.arg(now_s).arg(AWAY_AFTER_S).args(slots))
            .await?;
        let Ok(joined) = reply.at(0) else {
            return Ok(Numbers::default());
        };
        let (joined, here) = (joined.count()?, read::numbers(reply.at(1)?.bytes()?));
        Ok(neither(joined, &here, &absent))
    }
}

/// The numbers below `joined` that are in neither set.
fn neither(joined: u64, here: &Numbers, absent: &Numbers) -> Numbers {
    let words = usize::try_from(joined.div_ceil(64)).unwrap_or(0);
    let word = |numbers: &Numbers, at: usize| numbers.0.get(at).copied().unwrap_or(0);
    let mut bits: Vec<u64> = (0..words)
        .map(|at| !(word(here, at) | word(absent, at)))
        .collect();
    if let Some(last) = bits.last_mut()
        && !joined.is_multiple_of(64)
    {
        *last &= (1 << (joined % 64)) - 1;
    }
    Numbers(Arc::new(bits))
}
