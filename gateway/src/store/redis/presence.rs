//! Who is here and who is not: what all nodes saw of late, and the numbers at which nobody stands.

use std::sync::Arc;

use super::scripts::{AbsentScript, AwayScript, SeenScript};
use super::{Absent, RedisStore, lock, read};
use crate::store::{AWAY_AFTER_S, Numbers, StoreFailure};

/// Who was seen is kept by so many seconds,
const SLOT_S: i64 = 5;
/// and for so long, milliseconds.
pub const SLOT_LIVES_MS: u64 = 90_000;
/// Numbers that one script marks as seen.
const SEEN_BATCH: usize = 2000;

/// The slot of a second.
pub fn slot(now_s: i64) -> i64 {
    now_s.div_euclid(SLOT_S)
}

impl RedisStore {
    pub(super) async fn absent_now(&self, room: &str) -> Result<Numbers, StoreFailure> {
        let (state, life) = (self.state(room)?, self.life(room)?);
        let known = lock(&state.absent).clone();
        let known_version = if known.incarnation == life.incarnation {
            known.version
        } else {
            0
        };
        let absent = AbsentScript { known_version };
        let reply = self.run(room, &life, absent).await?;
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

    pub(super) async fn note_seen(
        &self,
        room: &str,
        numbers: &[u64],
        now_s: i64,
    ) -> Result<u64, StoreFailure> {
        let life = self.life(room)?;
        for batch in numbers.chunks(SEEN_BATCH) {
            let seen = SeenScript {
                slot: slot(now_s),
                slot_lives_ms: SLOT_LIVES_MS,
                numbers: batch.to_vec(),
            };
            self.run(room, &life, seen).await?;
        }
        Ok(life.incarnation)
    }

    pub(super) async fn away_at(&self, room: &str, now_s: i64) -> Result<Numbers, StoreFailure> {
        let absent = self.absent_now(room).await?;
        // A slot counts until its last second is long enough ago.
        let slots = slot(now_s - AWAY_AFTER_S)..=slot(now_s) + 1;
        let away = AwayScript {
            now_s,
            away_after_s: AWAY_AFTER_S,
            slots: slots.collect(),
        };
        let reply = self.run(room, &self.life(room)?, away).await?;
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
