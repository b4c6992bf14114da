//! Rebuilds a room in Redis if Redis is new, lost its data, went back to older data or was
//! replaced. A new life begins in the ledger. Its numbers are higher than every number that was
//! reserved before. The room is then filled in from the ledger, in batches. An earlier number that
//! is not in the ledger is void until its holder shows the signed place again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_base::clock::Clock;
use fairgate_pass::{Holder, VOID};
use fairgate_redis::{RedisReply, ScriptCall};
use tokio::time::timeout;

use super::caller::RoomScriptRunner;
use super::condition::StoreCondition;
use super::copier::LineCopier;
use super::lives::RoomLifeReader;
use super::scripts::{
    AnyRoomFamily, BeginRoomScript, BuilderAliveScript, FillCodesScript, FillPassesScript,
    FillPlacesScript, FilledCode, FilledPass, FilledPlace, FindBuilderScript, FinishRoomScript,
    RoomBuildFamily,
};
use crate::ledger::{LedgerError, RoomLedger, RoomLife, StoredLine, StoredPlace};
use crate::store::StoreFailure;
use crate::store::join_times::JoinTimes;

/// At most this many places, codes or passes are passed to one script.
const BATCH: u32 = 500;
/// If a builder has been silent for this long (ms), another node may replace it.
const SILENT_MS: i64 = 5000;
/// While a builder reads the ledger, it reports this often that it is still working.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// How a rebuild ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomRebuildOutcome {
    /// The room is ready. This node has filled it in, or found that it was filled in.
    Lives,
    /// Another node is filling the room in.
    ByOther,
}

/// What [`RoomBuilder`] remembers of the places that it fills in.
#[derive(Default)]
struct LineFillSummary {
    /// A bit for each number with a visitor, in the bit order of Redis.
    living: Vec<u8>,
    /// The recorded numbers without a visitor, with their holders. Only these holders can have left
    /// with a pass.
    left: HashMap<u64, Holder>,
    /// How many numbers the ledger has recorded.
    known: u64,
    join_times: JoinTimes,
}

/// Fills rooms in from the ledger.
pub struct RoomBuilder {
    pub ledger: RoomLedger,
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
    pub copier: Arc<LineCopier>,
    pub condition: Arc<StoreCondition>,
    pub clock: Clock,
    /// This process's name among the nodes.
    pub node: String,
}

impl RoomBuilder {
    /// Begins the life after `from`, unless another node has begun it. Fills the room in for that
    /// life.
    pub async fn rebuild_room(
        &self,
        room: &str,
        from: u64,
    ) -> Result<RoomRebuildOutcome, StoreFailure> {
        let now = self.clock.now_ms();
        let builds = FindBuilderScript {
            incarnation: from,
            builder: self.node.clone(),
            now_ms: now,
            silent_ms: SILENT_MS,
        };
        let builds = self.scripts.run_as(room, AnyRoomFamily {}, builds).await?;
        if builds.field("busy")?.as_integer()? == 1 {
            return Ok(RoomRebuildOutcome::ByOther);
        }
        // If the ledger is an older copy, Redis may still have higher numbers than the ledger.
        let above = builds
            .field("given_below")?
            .as_count()?
            .max(self.lives.lease().issued(room));
        let life = self.ledger.begin_life(room, from, above, now).await?;
        if builds.field("incarnation")?.as_count()? > life.incarnation {
            // Redis has a life that this ledger never had, so the ledger is an older copy.
            self.condition.note_lost_blocks(&[room.to_owned()], now);
        }
        self.lives.lease().learn(room, life, Instant::now());
        if life.ceiling > life.first {
            // Another node began this life and has filled the room in. Numbers of this life may
            // have been given already, and a second filling would lose them.
            return Ok(RoomRebuildOutcome::ByOther);
        }
        self.copier.salvage(room, &life).await?;
        let begin = BeginRoomScript {
            incarnation: life.incarnation,
            builder: self.node.clone(),
            now_ms: now,
            silent_ms: SILENT_MS,
        };
        let begun = self.scripts.run_as(room, AnyRoomFamily {}, begin).await?;
        match begun.as_text()? {
            "begun" => {}
            "lives" => return Ok(RoomRebuildOutcome::Lives),
            _ => return Ok(RoomRebuildOutcome::ByOther),
        }
        self.condition.note_new_life(room, &life, now);
        metrics::counter!("fairgate_room_lives_begun_total", "room" => room.to_owned())
            .increment(1);
        let line = self
            .read_while_building(room, self.ledger.bare_line(room))
            .await?;
        let filled = self.fill_places(room, &life).await?;
        self.fill_codes(room, &line).await?;
        self.fill_passes(room, &line, &filled).await?;
        self.finish_room(room, &life, &line, &filled).await?;
        Ok(RoomRebuildOutcome::Lives)
    }

    /// Runs a script that fills a room in.
    async fn run_build_script(
        &self,
        room: &str,
        script: impl ScriptCall<Family = RoomBuildFamily>,
    ) -> Result<RedisReply, StoreFailure> {
        let building = RoomBuildFamily {
            builder: self.node.clone(),
            now_ms: self.clock.now_ms(),
        };
        self.scripts.run_as(room, building, script).await
    }

    /// Waits for a read of the ledger while the room is filled in. During a long read, reports once
    /// a second that the builder is alive.
    pub async fn read_while_building<T>(
        &self,
        room: &str,
        read: impl Future<Output = Result<T, LedgerError>>,
    ) -> Result<T, StoreFailure> {
        let mut read = std::pin::pin!(read);
        loop {
            match timeout(REPORT_EVERY, &mut read).await {
                Ok(read) => return Ok(read?),
                Err(_) => self.run_build_script(room, BuilderAliveScript {}).await?,
            };
        }
    }

    async fn fill_places(
        &self,
        room: &str,
        life: &RoomLife,
    ) -> Result<LineFillSummary, StoreFailure> {
        let mut filled = LineFillSummary {
            living: vec![0; usize::try_from(life.first.div_ceil(8)).unwrap_or(0)],
            ..LineFillSummary::default()
        };
        let mut from = 0;
        loop {
            let places = self.ledger.places(room, from, BATCH);
            let places = self.read_while_building(room, places).await?;
            let Some(last) = places.last() else {
                return Ok(filled);
            };
            from = last.join.number + 1;
            let places = places.iter().map(|place| filled.add_place(place)).collect();
            self.run_build_script(room, FillPlacesScript { places })
                .await?;
        }
    }

    async fn fill_codes(&self, room: &str, line: &StoredLine) -> Result<(), StoreFailure> {
        for batch in line.codes.chunks(BATCH as usize) {
            let codes = batch.iter().map(|(code, number)| FilledCode {
                code: code.0,
                number: *number,
            });
            let codes = codes.collect();
            self.run_build_script(room, FillCodesScript { codes })
                .await?;
        }
        Ok(())
    }

    async fn fill_passes(
        &self,
        room: &str,
        line: &StoredLine,
        filled: &LineFillSummary,
    ) -> Result<(), StoreFailure> {
        for batch in line.passes.chunks(BATCH as usize) {
            let passes = batch.iter().map(|(number, exp)| FilledPass {
                number: *number,
                expires_s: *exp,
                left_by: filled.left.get(number).map(|holder| holder.0),
                called_behind: filled.join_times.first_after(*exp),
            });
            let passes = passes.collect();
            self.run_build_script(room, FillPassesScript { passes })
                .await?;
        }
        Ok(())
    }

    async fn finish_room(
        &self,
        room: &str,
        life: &RoomLife,
        line: &StoredLine,
        filled: &LineFillSummary,
    ) -> Result<(), StoreFailure> {
        let released = self
            .read_while_building(room, self.ledger.read_release_counter(room))
            .await?;
        let finish = FinishRoomScript {
            incarnation: life.incarnation,
            first: life.first,
            ceiling: life.ceiling,
            frozen: line.frozen,
            finished: line.finished,
            released: released.released,
            absent: filled.absent(life.first),
            void: life.first.saturating_sub(filled.known),
        };
        self.run_build_script(room, finish).await?;
        Ok(())
    }
}

impl LineFillSummary {
    /// Adds a place to this summary, and returns the place's record for the script.
    fn add_place(&mut self, place: &StoredPlace) -> FilledPlace {
        let StoredPlace {
            join,
            left,
            void,
            done,
        } = *place;
        let living = !left && !void;
        self.known += 1;
        self.join_times.note(join.number, join.at);
        if living {
            if let Some(byte) = usize::try_from(join.number / 8)
                .ok()
                .and_then(|at| self.living.get_mut(at))
            {
                *byte |= 0x80 >> (join.number % 8);
            }
        } else {
            self.left.insert(join.number, join.holder);
        }
        let holder = if void { VOID } else { join.holder };
        FilledPlace {
            number: join.number,
            holder: holder.0,
            written: join.at.to_be_bytes(),
            living,
            done,
            code: join.code.map(|code| code.0),
            at_ms: join.at,
            networks: join.networks.lasting().as_flattened().to_vec(),
            recent_networks: join.networks.recent().as_flattened().to_vec(),
        }
    }

    /// Returns one bit for each number below `first`. The bit is set if the number has no visitor.
    fn absent(&self, first: u64) -> Vec<u8> {
        let mut bits: Vec<u8> = self.living.iter().map(|living| !living).collect();
        if let Some(last) = bits.last_mut()
            && !first.is_multiple_of(8)
        {
            *last &= !(0xff >> (first % 8));
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_first_without_a_visitor_are_absent_and_no_number_from_first_on_is() {
        let filled = LineFillSummary {
            living: vec![0b1010_0000, 0b0100_0000],
            ..LineFillSummary::default()
        };
        let absent = super::super::read::numbers_from_bits(&filled.absent(11));
        assert_eq!(absent.iter().collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7, 8, 10]);
    }
}
