//! Reserves blocks of numbers in the ledger ahead of the joins. Redis gives only reserved numbers.

use std::sync::Arc;
use std::time::Instant;

use fairgate_base::clock::Clock;

use super::caller::RoomScriptRunner;
use super::condition::StoreCondition;
use super::lives::RoomLifeReader;
use super::rooms::OpenRooms;
use super::scripts::{CheckLifeScript, RaiseCeilingScript};
use crate::ledger::{RoomLedger, RoomLife};
use crate::store::StoreFailure;

/// At least this many numbers are reserved ahead.
pub const AHEAD_MIN: u64 = 1000;
/// At most this many numbers are reserved ahead. If Redis loses its data, the numbers that were
/// reserved but not given are void.
const AHEAD_MAX: u64 = 200_000;
/// The reserved numbers should last for this many rounds, if every round gives as many as the last.
const ROUNDS_AHEAD: u64 = 8;

/// Reserves numbers ahead of the joins.
pub struct NumberBlocks {
    pub ledger: RoomLedger,
    pub scripts: Arc<RoomScriptRunner>,
    pub rooms: Arc<OpenRooms>,
    pub lives: Arc<RoomLifeReader>,
    pub condition: Arc<StoreCondition>,
    pub clock: Clock,
}

impl NumberBlocks {
    /// Reserves the numbers below `upto` in the ledger, and then allows Redis to give them.
    pub async fn reserve(
        &self,
        room: &str,
        life: &RoomLife,
        upto: u64,
    ) -> Result<(), StoreFailure> {
        let reserved = self.ledger.reserve(room, life.incarnation, upto).await?;
        let life =
            reserved.ok_or_else(|| StoreFailure::NotReady("another life has begun".into()))?;
        self.lives.lease().learn(room, life, Instant::now());
        let ceiling = life.ceiling;
        self.scripts
            .run(room, &life, RaiseCeilingScript { ceiling })
            .await?;
        Ok(())
    }

    /// Reserves numbers if they run short. `numbers_given` is how many numbers were given since the
    /// last round. Redis may give the numbers from `next` to just below `ceiling`.
    pub async fn reserve_ahead(
        &self,
        room: &str,
        life: &RoomLife,
        numbers_given: u64,
        (next, ceiling): (u64, u64),
    ) -> Result<(), StoreFailure> {
        let ahead = numbers_given
            .saturating_mul(ROUNDS_AHEAD)
            .clamp(AHEAD_MIN, AHEAD_MAX);
        let is_short = next.saturating_add(ahead / 2) >= ceiling;
        // If the ledger is an older copy, all numbers that Redis may have given must be reserved in
        // it again. Otherwise the next life could give them again.
        if life.ceiling < ceiling {
            self.compare_ceilings(room, life, ceiling).await?;
        }
        if is_short || life.ceiling < ceiling {
            let upto = if is_short {
                next.saturating_add(ahead)
            } else {
                ceiling
            };
            self.reserve(room, life, upto.max(ceiling)).await?;
        }
        Ok(())
    }

    /// Reserves a block at once, because a join found that all reserved numbers had been given.
    /// Does nothing if another call has just reserved a block.
    pub async fn reserve_now(&self, room: &str, life: &RoomLife) -> Result<(), StoreFailure> {
        let open = self.rooms.find(room)?;
        let _tending = open.tending.lock().await;
        let checked = self.scripts.run(room, life, CheckLifeScript {}).await?;
        let next = checked.field("next")?.as_count()?;
        if next < checked.field("ceiling")?.as_count()? {
            return Ok(());
        }
        self.reserve(room, life, next + AHEAD_MIN.max(AHEAD_MAX / 20))
            .await
    }

    /// Reads the lives again, because another node may have reserved numbers in the meantime. If no
    /// node has, notes that the ledger has lost a block.
    async fn compare_ceilings(
        &self,
        room: &str,
        life: &RoomLife,
        ceiling: u64,
    ) -> Result<(), StoreFailure> {
        self.lives.read().await?;
        let newest = self.lives.lease().last_known_life(room);
        let is_less =
            |newest: &RoomLife| newest.incarnation == life.incarnation && newest.ceiling < ceiling;
        if newest.as_ref().is_some_and(is_less) {
            let rooms = [room.to_owned()];
            self.condition.note_lost_blocks(&rooms, self.clock.now_ms());
        }
        Ok(())
    }
}
