//! Notes and reads which visitors any node saw recently, and which numbers have no visitor.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::read;
use super::scripts::{FindSeenScript, NoteSeenScript, ReadAbsentScript, ReadAwayScript};
use crate::store::{AWAY_AFTER_S, AwayNumbers, NumberSet, SEEN_KNOWN_S, StoreFailure};

/// The length of a slot, seconds. A slot notes all visitors who were seen in these seconds.
const SLOT_S: i64 = 5;
/// How long Redis keeps a slot, milliseconds.
pub const SLOT_LIVES_MS: u64 = 90_000;
/// At most this many numbers are marked as seen by one script.
const SEEN_BATCH: usize = 2000;

/// Returns the slot in which this second lies.
pub fn seen_slot(now_s: i64) -> i64 {
    now_s.div_euclid(SLOT_S)
}

/// The numbers without a visitor, as last read.
#[derive(Default, Clone)]
struct AbsenceSnapshot {
    incarnation: u64,
    version: u64,
    numbers: NumberSet,
}

/// Notes in Redis which visitors are here, and reads which visitors are away.
pub struct RoomPresence {
    scripts: Arc<RoomScriptRunner>,
    lives: Arc<RoomLifeReader>,
    /// For each room, the numbers without a visitor as last read.
    absent: Mutex<HashMap<String, AbsenceSnapshot>>,
}

impl RoomPresence {
    pub fn new(scripts: Arc<RoomScriptRunner>, lives: Arc<RoomLifeReader>) -> Self {
        Self {
            scripts,
            lives,
            absent: Mutex::default(),
        }
    }

    /// Reads the numbers without a visitor. Redis sends them only if they changed since this node
    /// last read them.
    pub async fn absent_numbers(&self, room: &str) -> Result<NumberSet, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        let snapshot = self.absent.lock().get(room).cloned().unwrap_or_default();
        let known_version = if snapshot.incarnation == life.incarnation {
            snapshot.version
        } else {
            0
        };
        let absent = ReadAbsentScript { known_version };
        let reply = self.scripts.run(room, &life, absent).await?;
        let Some(bits) = reply.field("bits")?.present() else {
            return Ok(snapshot.numbers);
        };
        let new_snapshot = AbsenceSnapshot {
            incarnation: life.incarnation,
            version: reply.field("version")?.as_count()?,
            numbers: read::numbers_from_bits(bits.as_bytes()?),
        };
        self.absent
            .lock()
            .insert(room.to_owned(), new_snapshot.clone());
        Ok(new_snapshot.numbers)
    }

    /// Notes which visitors were here. Returns the room's incarnation.
    pub async fn note_seen(
        &self,
        room: &str,
        numbers: &[u64],
        now_s: i64,
    ) -> Result<u64, StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        for batch in numbers.chunks(SEEN_BATCH) {
            let seen = NoteSeenScript {
                slot: seen_slot(now_s),
                slot_lives_ms: SLOT_LIVES_MS,
                numbers: batch.to_vec(),
            };
            self.scripts.run(room, &life, seen).await?;
        }
        Ok(life.incarnation)
    }

    /// Returns those of the numbers whose visitors were seen at `since_s` or later.
    pub async fn seen_since(
        &self,
        room: &str,
        numbers: &[u64],
        since_s: i64,
        now_s: i64,
    ) -> Result<Vec<u64>, StoreFailure> {
        let find = FindSeenScript {
            first_slot: seen_slot(since_s.max(now_s - SEEN_KNOWN_S)),
            // The clock of another node may be ahead.
            last_slot: seen_slot(now_s) + 1,
            numbers: numbers.to_vec(),
        };
        let life = self.lives.last_known_life(room)?;
        let reply = self.scripts.run(room, &life, find).await?;
        Ok(reply.read_list(fairgate_redis::RedisReply::as_count)?)
    }

    /// Reads which visitors have not been seen for [`AWAY_AFTER_S`], now or ever.
    pub async fn away_numbers(
        &self,
        room: &str,
        now_s: i64,
        is_ordered: bool,
    ) -> Result<AwayNumbers, StoreFailure> {
        let absent = self.absent_numbers(room).await?;
        // A slot counts until its last second is old enough. So a visitor may count as here for a
        // few seconds too long.
        let slots = seen_slot(now_s - AWAY_AFTER_S)..=seen_slot(now_s) + 1;
        let away = ReadAwayScript {
            now_s,
            away_after_s: AWAY_AFTER_S,
            is_ordered,
            slots: slots.collect(),
        };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, away)
            .await?;
        let Some(seen) = reply.present() else {
            return Ok(AwayNumbers::default());
        };
        let present = read::numbers_from_bits(seen.field("here")?.as_bytes()?);
        Ok(AwayNumbers {
            now: neither(seen.field("next")?.as_count()?, &present, &absent),
            ever: read::numbers_from_bits(seen.field("ever_away")?.as_bytes()?),
        })
    }
}

/// Returns the numbers below `joined` that are in neither set.
fn neither(joined: u64, present: &NumberSet, absent: &NumberSet) -> NumberSet {
    let words = usize::try_from(joined.div_ceil(64)).unwrap_or(0);
    let word = |numbers: &NumberSet, at: usize| numbers.0.get(at).copied().unwrap_or(0);
    let mut bits: Vec<u64> = (0..words)
        .map(|at| !(word(present, at) | word(absent, at)))
        .collect();
    if let Some(last) = bits.last_mut()
        && !joined.is_multiple_of(64)
    {
        *last &= (1 << (joined % 64)) - 1;
    }
    NumberSet(Arc::new(bits))
}
