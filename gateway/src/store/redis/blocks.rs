//! Reserves blocks of numbers in the ledger ahead of the joins. Only then may Redis give them.

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

/// The fewest numbers that are reserved ahead.
pub const AHEAD_MIN: u64 = 1000;
/// The most numbers that are reserved ahead. A lost store leaves the rest of its block void.
const AHEAD_MAX: u64 = 200_000;
/// For how many rounds numbers are reserved, if each round gives as many as the last one did.
const ROUNDS_AHEAD: u64 = 8;

/// Reserves numbers ahead of the joins.
pub struct NumberBlocks {
    pub ledger: Arc<dyn RoomLedger>,
    pub scripts: Arc<RoomScriptRunner>,
    pub rooms: Arc<OpenRooms>,
    pub lives: Arc<RoomLifeReader>,
    pub condition: Arc<StoreCondition>,
    pub clock: Clock,
}

impl NumberBlocks {
    /// Reserves numbers in the ledger, and only then lets Redis give them.
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

    /// Reserves numbers if they run short. Since the last round `given` numbers were given, and
    /// Redis may give the numbers from `next` up to `ceiling`.
    pub async fn reserve_ahead(
        &self,
        room: &str,
        life: &RoomLife,
        given: u64,
        (next, ceiling): (u64, u64),
    ) -> Result<(), StoreFailure> {
        let ahead = given
            .saturating_mul(ROUNDS_AHEAD)
            .clamp(AHEAD_MIN, AHEAD_MAX);
        let short = next.saturating_add(ahead / 2) >= ceiling;
        // A ledger that was set back is told again how far numbers may have been given, so that the
        // next life begins above them.
        if life.ceiling < ceiling {
            self.compare_ceilings(room, life, ceiling).await?;
        }
        if short || life.ceiling < ceiling {
            let upto = if short {
                next.saturating_add(ahead)
            } else {
                ceiling
            };
            self.reserve(room, life, upto.max(ceiling)).await?;
        }
        Ok(())
    }

    /// Reserves a block at once, because the joins were faster than the rounds.
    pub async fn reserve_now(&self, room: &str, life: &RoomLife) -> Result<(), StoreFailure> {
        let open = self.rooms.find(room)?;
        let _tending = open.tending.lock().await;
        let stands = self.scripts.run(room, life, CheckLifeScript {}).await?;
        let (next, ceiling) = (
            stands.item_at(0)?.as_count()?,
            stands.item_at(1)?.as_count()?,
        );
        if next < ceiling {
            return Ok(());
        }
        self.reserve(room, life, next + AHEAD_MIN.max(AHEAD_MAX / 20))
            .await
    }

    /// Reads the lives again, because another node may have reserved numbers in the meantime. If
    /// none has, notes that the ledger has lost a block.
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
            self.condition.note_set_back(&rooms, self.clock.now_ms());
        }
        Ok(())
    }
}
