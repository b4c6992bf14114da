//! Replaces the codes of a room that nobody has joined. The ledger changes first and Redis second,
//! and joins are refused in between. Otherwise a visitor could join with a code that only Redis
//! has, and the ledger would then void the number.

use std::sync::Arc;

use fairgate_base::clock::Clock;
use fairgate_pass::Digest;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::scripts::{PauseJoinsScript, PutCodesScript};
use crate::ledger::{RoomAuditEntry, RoomChangeOutcome, RoomLedger, RoomLife};
use crate::store::StoreFailure;

/// At most this many codes are passed to one script.
const BATCH: usize = 1000;
/// After joins have been paused for this long (ms), a round on any node writes the ledger's codes
/// to Redis and ends the pause. Even a long list of codes takes less time. So the node that paused
/// the joins must have died.
pub const PAUSE_MAX_MS: i64 = 60_000;

/// Replaces the codes of a room.
pub struct RoomCodes {
    pub ledger: RoomLedger,
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
    pub clock: Clock,
}

impl RoomCodes {
    /// Replaces the codes in the ledger and in Redis, unless somebody has joined.
    pub async fn replace(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        let now_ms = self.clock.now_ms();
        let paused = self
            .scripts
            .run(room, &life, PauseJoinsScript { now_ms })
            .await?;
        if paused.as_integer()? == 0 {
            return Ok(RoomChangeOutcome::Joined);
        }
        // Redis must get the codes that the ledger now has. If the ledger did not confirm the new
        // codes, its codes are read and written to Redis.
        let written = self.ledger.put_codes(room, codes.clone(), entry).await;
        match written {
            Ok(RoomChangeOutcome::To(version)) => {
                self.write_to_redis(room, &life, &codes).await?;
                Ok(RoomChangeOutcome::To(version))
            }
            other => {
                self.copy_from_ledger(room, &life).await?;
                Ok(other?)
            }
        }
    }

    /// Writes the ledger's codes to Redis and ends the pause of the joins.
    pub async fn copy_from_ledger(&self, room: &str, life: &RoomLife) -> Result<(), StoreFailure> {
        let line = self.ledger.bare_line(room).await?;
        let codes: Vec<Digest> = line.codes.into_iter().map(|(code, _)| code).collect();
        self.write_to_redis(room, life, &codes).await
    }

    async fn write_to_redis(
        &self,
        room: &str,
        life: &RoomLife,
        codes: &[Digest],
    ) -> Result<(), StoreFailure> {
        let count = codes.len().div_ceil(BATCH).max(1);
        let mut batches = codes.chunks(BATCH);
        for n in 1..=count {
            let batch = batches.next().unwrap_or_default();
            let put = PutCodesScript {
                is_first: n == 1,
                is_last: n == count,
                codes: batch.iter().map(|code| code.0).collect(),
            };
            if self.scripts.run(room, life, put).await?.as_integer()? == 0 {
                return Err(StoreFailure::NotReady(
                    "another call has already written the room's codes".into(),
                ));
            }
        }
        Ok(())
    }
}
