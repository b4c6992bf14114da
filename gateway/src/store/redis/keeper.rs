//! What a node does for one room in one round. It reserves numbers ahead of the joins, copies the
//! line into the ledger, ends an abandoned change of codes, and begins a new life if Redis lost the
//! room. Every round starts from what is stored. So if a round fails, the next round on any node
//! does its work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use tokio::sync::Semaphore;

use super::blocks::{AHEAD_MIN, NumberBlocks};
use super::caller::RoomScriptRunner;
use super::codes::{PAUSE_MAX_MS, RoomCodes};
use super::copier::LineCopier;
use super::lives::RoomLifeReader;
use super::rebuild::{RoomBuilder, RoomRebuildOutcome};
use super::rooms::OpenRooms;
use super::scripts::{AdoptLifeScript, AnyRoomFamily, CheckLifeScript};
use crate::ledger::RoomLife;
use crate::store::StoreFailure;

/// At most this many rooms are inspected at once.
const INSPECTIONS_MAX: usize = 32;
/// At most this many rooms are filled in or copied at once. This work takes long, so inspections do
/// not wait for it.
const TASKS_AT_ONCE: usize = 8;
/// The `master_replid` of a server is the id of its history of data. If this id changes, a life
/// goes on only if a round found the life in Redis at most this long ago. `adopt_life.lua` must
/// recognise a server that took over another server's data in the meantime. Such a server has the
/// other server's id as its `master_replid2`, and keeps it for `repl-backlog-ttl` (an hour by
/// default). That must be longer than this time.
const LIFE_SEEN_WITHIN: Duration = Duration::from_secs(30);

/// Limits how many rooms are inspected at once, and how many are filled in or copied at once.
pub struct RoomKeeperLimits {
    inspections: Semaphore,
    tasks: Semaphore,
}

impl Default for RoomKeeperLimits {
    fn default() -> Self {
        Self {
            inspections: Semaphore::new(INSPECTIONS_MAX),
            tasks: Semaphore::new(TASKS_AT_ONCE),
        }
    }
}

/// What a room needs now.
enum RoomKeeperTask {
    Nothing,
    /// Redis does not have the room in this life (0: the room has no life yet). The next life must
    /// begin.
    NextLife(u64),
    /// The ledger lacks some entries of the feed.
    Copying(RoomLife),
    /// Joins are paused for new codes that no node is writing any more.
    Codes(RoomLife),
}

/// Maintains rooms: inspects a room, and does the work that it needs.
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
    /// Maintains one room. Logs the error if that fails.
    pub async fn maintain_and_log(&self, room: &str) {
        if let Err(error) = self.maintain_room(room).await {
            metrics::counter!("fairgate_room_rounds_failed_total", "room" => room.to_owned())
                .increment(1);
            log_failed_try!(
                error,
                room,
                "a room could not be maintained in the room store; the next round tries again"
            );
        }
    }

    /// Inspects one room and does what it needs.
    pub async fn maintain_room(&self, room: &str) -> Result<(), StoreFailure> {
        let limits = &self.limits;
        let task = {
            // Neither semaphore is ever closed, so acquiring cannot fail.
            let _inspection = limits.inspections.acquire().await;
            self.inspect_room(room).await?
        };
        match task {
            RoomKeeperTask::Nothing => Ok(()),
            RoomKeeperTask::NextLife(from) => {
                let _work = limits.tasks.acquire().await;
                let open = self.rooms.find(room)?;
                let _tending = open.tending.lock().await;
                self.revive(room, from).await
            }
            RoomKeeperTask::Copying(life) => {
                let _work = limits.tasks.acquire().await;
                self.copier.copy_line(room, &life, true).await
            }
            RoomKeeperTask::Codes(life) => {
                let _work = limits.tasks.acquire().await;
                self.codes.copy_from_ledger(room, &life).await
            }
        }
    }

    /// Reserves numbers if they run short, and returns what else the room needs.
    async fn inspect_room(&self, room: &str) -> Result<RoomKeeperTask, StoreFailure> {
        let open = self.rooms.find(room)?;
        let mut previous_round = open.tending.lock().await;
        let Some(life) = self.lives.lease().last_known_life(room) else {
            return Ok(RoomKeeperTask::NextLife(0));
        };
        let checked = self.scripts.run(room, &life, CheckLifeScript {}).await;
        open.note_answer(!matches!(checked, Err(StoreFailure::Unreachable(_))));
        let checked = match checked {
            Err(StoreFailure::NotReady(why)) => {
                let life_seen_at = previous_round.life_seen_at;
                return self
                    .find_why_life_is_missing(room, &life, &why, life_seen_at)
                    .await;
            }
            answer => answer?,
        };
        previous_round.life_seen_at = Some(Instant::now());
        let (next, ceiling) = (
            checked.field("next")?.as_count()?,
            checked.field("ceiling")?.as_count()?,
        );
        let numbers_given = next.saturating_sub(previous_round.next.replace(next).unwrap_or(next));
        self.blocks
            .reserve_ahead(room, &life, numbers_given, (next, ceiling))
            .await?;
        let codes_since = checked.field("codes_since_ms")?.as_integer()?;
        if codes_since > 0 && self.clock.now_ms() - codes_since > PAUSE_MAX_MS {
            return Ok(RoomKeeperTask::Codes(life));
        }
        if checked.field("feed_entries")?.as_count()? > 0 {
            return Ok(RoomKeeperTask::Copying(life));
        }
        Ok(RoomKeeperTask::Nothing)
    }

    /// Continues the life if only the server's `master_replid` changed. Otherwise finds out why
    /// Redis does not have the life. Returns what the room needs.
    async fn find_why_life_is_missing(
        &self,
        room: &str,
        life: &RoomLife,
        why: &str,
        life_seen_at: Option<Instant>,
    ) -> Result<RoomKeeperTask, StoreFailure> {
        if self.adopt_if_renamed(room, life, life_seen_at).await? {
            return Ok(RoomKeeperTask::Nothing);
        }
        // Another node may have begun a life that this node has not read yet.
        self.lives.read().await?;
        let newest = self.lives.lease().last_known_life(room).unwrap_or(*life);
        if newest.incarnation != life.incarnation {
            return Ok(RoomKeeperTask::Nothing);
        }
        if newest.is_unused() {
            // The room is new. The node that began its life is still filling the room in, or died
            // before it had finished.
            return Ok(RoomKeeperTask::NextLife(0));
        }
        let incarnation = life.incarnation;
        tracing::debug!(room, incarnation, why, "a room is not in Redis");
        Ok(RoomKeeperTask::NextLife(incarnation))
    }

    /// Continues the life if only the server's `master_replid` changed. Returns whether the life
    /// goes on. `life_seen_at` is when a round last found the life in Redis.
    async fn adopt_if_renamed(
        &self,
        room: &str,
        life: &RoomLife,
        life_seen_at: Option<Instant>,
    ) -> Result<bool, StoreFailure> {
        if life_seen_at.is_none_or(|at| at.elapsed() >= LIFE_SEEN_WITHIN) {
            return Ok(false);
        }
        let adopt = AdoptLifeScript {
            incarnation: life.incarnation,
        };
        let adopted = self.scripts.run_as(room, AnyRoomFamily {}, adopt).await?;
        Ok(adopted.as_integer()? == 1)
    }

    /// Begins the life after `from` and reserves its first block, unless another node does this.
    async fn revive(&self, room: &str, from: u64) -> Result<(), StoreFailure> {
        if self.builder.rebuild_room(room, from).await? == RoomRebuildOutcome::Lives {
            // A block is reserved at once, so that the next join does not wait for it.
            if let Some(life) = self.lives.lease().last_known_life(room) {
                let upto = life.first + AHEAD_MIN;
                self.blocks.reserve(room, &life, upto).await?;
            }
        }
        self.lives.read().await
    }
}
