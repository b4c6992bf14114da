//! What a node does for one room in a round: reserves numbers ahead of the joins, brings the line
//! into the ledger, and begins a new life where Redis lost one. Every round starts from what is
//! stored, so a round that failed is simply done again by the next, on this node or another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_base::clock::Clock;
use tokio::sync::Semaphore;

use super::blocks::{AHEAD_MIN, NumberBlocks};
use super::caller::RoomScriptRunner;
use super::codes::{RoomCodes, WAITED_FOR_MS};
use super::copier::LineCopier;
use super::lives::RoomLifeReader;
use super::rebuild::{RoomBuilder, RoomRebuildOutcome};
use super::rooms::OpenRooms;
use super::scripts::{AdoptLifeScript, AnyRoomFamily, CheckLifeScript};
use crate::ledger::RoomLife;
use crate::store::StoreFailure;

/// Rooms looked at at once,
const LOOKS_AT_ONCE: usize = 32;
/// and rooms filled in or copied at once. Those take their time, and whoever only looks does not
/// wait for them.
const WORKS_AT_ONCE: usize = 8;
/// A server that took over another's data within so long still has the mark of it, unless it was
/// told to forget sooner (`repl-backlog-ttl`, an hour by default).
const WELL_LATELY: Duration = Duration::from_secs(30);

/// How many rooms are looked after at once.
pub struct RoomKeeperLimits {
    looks: Semaphore,
    works: Semaphore,
}

impl Default for RoomKeeperLimits {
    fn default() -> Self {
        Self {
            looks: Semaphore::new(LOOKS_AT_ONCE),
            works: Semaphore::new(WORKS_AT_ONCE),
        }
    }
}

/// What there is to do for a room.
enum RoomKeeperTask {
    Nothing,
    /// Its data is not that of this life, or there is none yet: the next one is to be begun.
    NextLife(u64),
    /// The ledger does not have all of it yet.
    Copying(RoomLife),
    /// Joins wait for codes that nobody brings.
    Codes(RoomLife),
}

/// Looks after rooms.
pub struct RoomKeeper {
    pub rooms: Arc<OpenRooms>,
    pub lives: Arc<RoomLifeReader>,
    pub scripts: Arc<RoomScriptRunner>,
    pub blocks: Arc<NumberBlocks>,
    pub copier: Arc<LineCopier>,
    pub builder: RoomBuilder,
    pub codes: Arc<RoomCodes>,
    pub clock: Clock,
    pub limits: RoomKeeperLimits,
}

impl RoomKeeper {
    /// Looks after one room, and tells where that failed.
    pub async fn look_after(&self, room: &str) {
        if let Err(error) = self.maintain_room(room).await {
            metrics::counter!("fairgate_room_rounds_failed_total", "room" => room.to_owned())
                .increment(1);
            tracing::warn!(room, %error, "a room's store could not be looked after; the next round tries again");
        }
    }

    /// Looks after one room.
    pub async fn maintain_room(&self, room: &str) -> Result<(), StoreFailure> {
        let limits = &self.limits;
        let needs = {
            // Both live as long as the store.
            let _look = limits.looks.acquire().await;
            self.inspect_room(room).await?
        };
        match needs {
            RoomKeeperTask::Nothing => Ok(()),
            RoomKeeperTask::NextLife(from) => {
                let _work = limits.works.acquire().await;
                let open = self.rooms.find(room)?;
                let _tending = open.tending.lock().await;
                self.revive(room, from).await
            }
            RoomKeeperTask::Copying(life) => {
                let _work = limits.works.acquire().await;
                self.copier.copy_line(room, &life, true).await
            }
            RoomKeeperTask::Codes(life) => {
                let _work = limits.works.acquire().await;
                self.codes.take_from_ledger(room, &life).await
            }
        }
    }

    /// Reserves numbers where they run short, and finds out whether there is more to do.
    async fn inspect_room(&self, room: &str) -> Result<RoomKeeperTask, StoreFailure> {
        let open = self.rooms.find(room)?;
        let mut before = open.tending.lock().await;
        let Some(life) = self.lives.lease().last_known_life(room) else {
            return Ok(RoomKeeperTask::NextLife(0));
        };
        let stands = self.scripts.run(room, &life, CheckLifeScript {}).await;
        open.note_answer(!matches!(stands, Err(StoreFailure::Unreachable(_))));
        let stands = match stands {
            Err(StoreFailure::NotReady(why)) => {
                let well_at = before.well_at;
                return self.look_for_loss(room, &life, &why, well_at).await;
            }
            answer => answer?,
        };
        before.well_at = Some(Instant::now());
        let (next, ceiling) = (
            stands.item_at(0)?.as_count()?,
            stands.item_at(1)?.as_count()?,
        );
        let given = next.saturating_sub(before.next.replace(next).unwrap_or(next));
        self.blocks
            .reserve_ahead(room, &life, given, (next, ceiling))
            .await?;
        let codes_since = stands.item_at(3)?.as_integer()?;
        if codes_since > 0 && self.clock.now_ms() - codes_since > WAITED_FOR_MS {
            return Ok(RoomKeeperTask::Codes(life));
        }
        if stands.item_at(2)?.as_count()? > 0 {
            return Ok(RoomKeeperTask::Copying(life));
        }
        Ok(RoomKeeperTask::Nothing)
    }

    /// Finds out whether a room whose life does not stand in Redis was lost.
    async fn look_for_loss(
        &self,
        room: &str,
        life: &RoomLife,
        why: &str,
        well_at: Option<Instant>,
    ) -> Result<RoomKeeperTask, StoreFailure> {
        if self.is_renamed(room, life, well_at).await? {
            return Ok(RoomKeeperTask::Nothing);
        }
        // Another node may have begun a life that this one has not read yet.
        self.lives.read().await?;
        let newest = self.lives.lease().last_known_life(room).unwrap_or(*life);
        if newest.incarnation != life.incarnation {
            return Ok(RoomKeeperTask::Nothing);
        }
        if newest.is_unused() {
            // The room is new, and whoever made it fills it in just now or died over it.
            return Ok(RoomKeeperTask::NextLife(0));
        }
        let incarnation = life.incarnation;
        tracing::debug!(room, incarnation, why, "a room is not in Redis");
        Ok(RoomKeeperTask::NextLife(incarnation))
    }

    /// Whether only the name of the server's history changed, since the room was well a moment ago:
    /// its life goes on.
    async fn is_renamed(
        &self,
        room: &str,
        life: &RoomLife,
        well_at: Option<Instant>,
    ) -> Result<bool, StoreFailure> {
        if well_at.is_none_or(|at| at.elapsed() >= WELL_LATELY) {
            return Ok(false);
        }
        let adopt = AdoptLifeScript {
            incarnation: life.incarnation,
        };
        let adopted = self.scripts.run_as(room, AnyRoomFamily {}, adopt).await?;
        Ok(adopted.as_integer()? == 1)
    }

    /// Begins the life after `from`, and reserves its first block.
    async fn revive(&self, room: &str, from: u64) -> Result<(), StoreFailure> {
        if self.builder.rebuild_room(room, from).await? == RoomRebuildOutcome::Lives {
            // Whoever joins next does not wait for a block.
            if let Some(life) = self.lives.lease().last_known_life(room) {
                let upto = life.first + AHEAD_MIN;
                self.blocks.reserve(room, &life, upto).await?;
            }
        }
        self.lives.read().await
    }
}
