//! What a node does for the rooms all the time: reads their lives, reserves numbers ahead of the joins, brings the line
//! into the ledger, and begins a new life where Redis lost one. Every round starts from what is stored, so a round that
//! failed is simply done again by the next, on this node or another.

use std::collections::HashMap;
use std::sync::Weak;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use super::lease::LEASE;
use super::rebuild::Begun;
use super::scripts::{AdoptScript, AnyRoom, CheckScript, RaiseScript};
use super::{Inner, RedisStore, codes};
use crate::ledger::RoomLife;
use crate::store::StoreFailure;

const EVERY: Duration = Duration::from_millis(300);
/// Rooms looked at at once,
const LOOKS_AT_ONCE: usize = 32;
/// and rooms filled in or copied at once. Those take their time, and whoever only looks does not wait for them.
const WORKS_AT_ONCE: usize = 8;
/// At the least so many numbers are reserved ahead,
const AHEAD_MIN: u64 = 1000;
/// and at the most: a lost store leaves the rest of its block void.
const AHEAD_MAX: u64 = 200_000;
/// Numbers are reserved for so many rounds as the last one was.
const ROUNDS_AHEAD: u64 = 8;

/// A server that took over another's data within so long still has the mark of it, unless it was told to forget sooner
/// (`repl-backlog-ttl`, an hour by default).
const WELL_LATELY: Duration = Duration::from_secs(30);

/// How many rooms are looked after at once.
pub struct Limits {
    looks: Semaphore,
    works: Semaphore,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            looks: Semaphore::new(LOOKS_AT_ONCE),
            works: Semaphore::new(WORKS_AT_ONCE),
        }
    }
}

/// Reads the lives until the store is dropped. Nothing else is done here: whatever takes its time would cost all rooms
/// their lease.
pub async fn renew(store: Weak<Inner>) {
    let mut every = rounds();
    loop {
        every.tick().await;
        let Some(inner) = store.upgrade() else {
            return;
        };
        if let Err(error) = (RedisStore { inner }).read_lives().await {
            metrics::counter!("fairgate_room_leases_missed_total").increment(1);
            tracing::warn!(%error, "the rooms' lives could not be read; no number is given until they are");
        }
    }
}

/// Looks after the rooms until the store is dropped, each in a task of its own.
pub async fn run(store: Weak<Inner>) {
    let mut every = rounds();
    let mut tended: HashMap<String, JoinHandle<()>> = HashMap::new();
    loop {
        every.tick().await;
        let Some(inner) = store.upgrade() else {
            return;
        };
        let store = RedisStore { inner };
        for room in store.rooms() {
            // Who is still at it from an earlier round goes on.
            if tended.get(&room).is_none_or(JoinHandle::is_finished) {
                let tending = tokio::spawn(store.clone().look_after(room.clone()));
                tended.insert(room, tending);
            }
        }
    }
}

fn rounds() -> Interval {
    let mut every = interval(EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    every
}

/// How a room was found.
enum Look {
    /// There is nothing to do.
    Well,
    /// Its data is not that of this life, or there is none yet: the next one is to be begun.
    Lost(u64),
    /// The ledger does not have all of it yet.
    Behind(RoomLife),
    /// Joins wait for codes that nobody brings.
    WithoutCodes(RoomLife),
}

impl RedisStore {
    async fn look_after(self, room: String) {
        if let Err(error) = self.tend(&room).await {
            metrics::counter!("fairgate_room_rounds_failed_total", "room" => room.clone())
                .increment(1);
            tracing::warn!(room, %error, "a room's store could not be looked after; the next round tries again");
        }
    }

    /// Reads the rooms' lives; from when it was asked, that may be believed for a second.
    pub(super) async fn read_lives(&self) -> Result<(), StoreFailure> {
        let asked = Instant::now();
        let lives = timeout(LEASE, self.ledger().lives())
            .await
            .map_err(|_| StoreFailure::NotReady("the ledger is slow".into()))??;
        let lost = self.lease().renew(asked, lives);
        self.inner.condition.set_back(&lost, self.now_ms());
        Ok(())
    }

    /// Looks after one room.
    pub(super) async fn tend(&self, room: &str) -> Result<(), StoreFailure> {
        let limits = &self.inner.limits;
        let looked = {
            // Both live as long as the store.
            let _look = limits.looks.acquire().await;
            self.look(room).await?
        };
        match looked {
            Look::Well => Ok(()),
            Look::Lost(from) => {
                let _work = limits.works.acquire().await;
                let state = self.state(room)?;
                let _pace = state.tending.lock().await;
                self.revive(room, from).await
            }
            Look::Behind(life) => {
                let _work = limits.works.acquire().await;
                self.copy(room, &life, true).await
            }
            Look::WithoutCodes(life) => {
                let _work = limits.works.acquire().await;
                self.codes_of_ledger(room, &life).await
            }
        }
    }

    /// Reserves numbers where they run short, and finds out whether there is more to do.
    async fn look(&self, room: &str) -> Result<Look, StoreFailure> {
        let state = self.state(room)?;
        let mut pace = state.tending.lock().await;
        let Some(life) = self.lease().life(room) else {
            return Ok(Look::Lost(0));
        };
        let stands = self.run(room, &life, CheckScript {}).await;
        state.heard(!matches!(stands, Err(StoreFailure::Unreachable(_))));
        let well_at = pace.well_at;
        let stands = match stands {
            Err(StoreFailure::NotReady(_)) if self.is_renamed(room, &life, well_at).await? => {
                return Ok(Look::Well);
            }
            Err(StoreFailure::NotReady(why)) => {
                // Another node may have begun a life that this one has not read yet.
                self.read_lives().await?;
                let newest = self.lease().life(room).unwrap_or(life);
                if newest.incarnation != life.incarnation {
                    return Ok(Look::Well);
                }
                if newest.is_unused() {
                    // The room is new, and whoever made it fills it in just now or died over it.
                    return Ok(Look::Lost(0));
                }
                tracing::debug!(
                    room,
                    incarnation = life.incarnation,
                    why,
                    "a room is not in Redis"
                );
                return Ok(Look::Lost(life.incarnation));
            }
            answer => answer?,
        };
        pace.well_at = Some(Instant::now());
        let (next, ceiling) = (stands.at(0)?.count()?, stands.at(1)?.count()?);
        let given = next.saturating_sub(pace.next.replace(next).unwrap_or(next));
        let ahead = given
            .saturating_mul(ROUNDS_AHEAD)
            .clamp(AHEAD_MIN, AHEAD_MAX);
        let short = next.saturating_add(ahead / 2) >= ceiling;
        // A ledger that was set back is told again up to where numbers are given: the next life begins above them.
        if life.ceiling < ceiling {
            self.compare_ceilings(room, &life, ceiling).await?;
        }
        if short || life.ceiling < ceiling {
            let upto = if short {
                next.saturating_add(ahead)
            } else {
                ceiling
            };
            self.reserve(room, &life, upto.max(ceiling)).await?;
        }
        let codes_since = stands.at(3)?.int()?;
        if codes_since > 0 && self.now_ms() - codes_since > codes::WAITED_FOR_MS {
            return Ok(Look::WithoutCodes(life));
        }
        if stands.at(2)?.count()? > 0 {
            return Ok(Look::Behind(life));
        }
        Ok(Look::Well)
    }

    /// Another node may have reserved since the lives were read. Where it is not that, the ledger has lost a block.
    async fn compare_ceilings(
        &self,
        room: &str,
        life: &RoomLife,
        ceiling: u64,
    ) -> Result<(), StoreFailure> {
        self.read_lives().await?;
        let newest = self.lease().life(room);
        let is_less =
            |newest: &RoomLife| newest.incarnation == life.incarnation && newest.ceiling < ceiling;
        if newest.as_ref().is_some_and(is_less) {
            let rooms = [room.to_owned()];
            self.inner.condition.set_back(&rooms, self.now_ms());
        }
        Ok(())
    }

    /// Whether only the name of the server's history changed, since the room was well a moment ago: its life goes on.
    async fn is_renamed(
        &self,
        room: &str,
        life: &RoomLife,
        well_at: Option<Instant>,
    ) -> Result<bool, StoreFailure> {
        if well_at.is_none_or(|at| at.elapsed() >= WELL_LATELY) {
            return Ok(false);
        }
        let adopt = AdoptScript {
            incarnation: life.incarnation,
        };
        let adopted = self.run_as(room, AnyRoom {}, adopt).await?;
        Ok(adopted.int()? == 1)
    }

    async fn revive(&self, room: &str, from: u64) -> Result<(), StoreFailure> {
        if self.begin(room, from).await? == Begun::Lives {
            // Whoever joins next does not wait for a block.
            if let Some(life) = self.lease().life(room) {
                self.reserve(room, &life, life.first + AHEAD_MIN).await?;
            }
        }
        self.read_lives().await
    }

    /// Reserves numbers in the ledger, and only then lets Redis give them.
    pub(super) async fn reserve(
        &self,
        room: &str,
        life: &RoomLife,
        upto: u64,
    ) -> Result<(), StoreFailure> {
        let reserved = self.ledger().reserve(room, life.incarnation, upto).await?;
        let life =
            reserved.ok_or_else(|| StoreFailure::NotReady("another life has begun".into()))?;
        self.lease().learn(room, life, Instant::now());
        let ceiling = life.ceiling;
        self.run(room, &life, RaiseScript { ceiling }).await?;
        Ok(())
    }

    /// Reserves a block at once, because the joins were faster than the rounds.
    pub(super) async fn reserve_now(
        &self,
        room: &str,
        life: &RoomLife,
    ) -> Result<(), StoreFailure> {
        let state = self.state(room)?;
        let _pace = state.tending.lock().await;
        let stands = self.run(room, life, CheckScript {}).await?;
        let (next, ceiling) = (stands.at(0)?.count()?, stands.at(1)?.count()?);
        if next < ceiling {
            return Ok(());
        }
        self.reserve(room, life, next + AHEAD_MIN.max(AHEAD_MAX / 20))
            .await
    }
}
