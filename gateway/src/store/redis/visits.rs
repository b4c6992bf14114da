//! Notes in Redis what visitors inside do, and ends visits.

use std::sync::Arc;

use fairgate_pass::Holder;
use fairgate_redis::RedisReply;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::read;
use super::scripts::{
    ActiveVisitorRecord, EndVisitsScript, EndedVisitRecord, ExcuseVisitScript, FindIdleScript,
    NoteActiveScript, NoteLapseScript,
};
use crate::store::{BASKET_KNOWN_MS, EndedVisit, IdleVisitor, LapsedVisit, StoreFailure};

/// At most this many visitors are passed to one script.
const BATCH: usize = 1_000;

/// Runs the scripts about visits.
pub struct VisitScripts {
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl VisitScripts {
    /// Notes when visitors did something.
    pub async fn note_active(&self, room: &str, active: &[(u64, i64)]) -> Result<(), StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        for batch in active.chunks(BATCH) {
            let to_record = |(number, at_s): &(u64, i64)| ActiveVisitorRecord {
                number: *number,
                at_s: *at_s,
            };
            let active = batch.iter().map(to_record).collect();
            let script = NoteActiveScript { active };
            self.scripts.run(room, &life, script).await?;
        }
        Ok(())
    }

    /// Returns the visitors inside who have done nothing since `until_s`.
    pub async fn idle_visitors(
        &self,
        room: &str,
        until_s: i64,
        max: u32,
    ) -> Result<Vec<IdleVisitor>, StoreFailure> {
        let script = FindIdleScript { until_s, most: max };
        let life = self.lives.last_known_life(room)?;
        let reply = self.scripts.run(room, &life, script).await?;
        let idle = reply.read_list(|visitor| {
            Ok(IdleVisitor {
                number: visitor.field("number")?.as_count()?,
                holder: Holder(read::read_hash(visitor.field("holder")?)?),
                active_s: visitor.field("active_s")?.as_integer()?,
                pass_exp_s: visitor.field("pass_expires_s")?.as_integer()?,
            })
        });
        Ok(idle?)
    }

    /// Ends visits before their passes run out.
    pub async fn end_visits(&self, room: &str, ended: &[EndedVisit]) -> Result<(), StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        for batch in ended.chunks(BATCH) {
            let to_record = |ended: &EndedVisit| EndedVisitRecord {
                number: ended.number,
                pass_expires_s: ended.pass_exp_s,
                ended_s: ended.ended_s,
                stopped_s: ended.stopped_s(),
            };
            let visits = batch.iter().map(to_record).collect();
            let script = EndVisitsScript { visits };
            self.scripts.run(room, &life, script).await?;
        }
        Ok(())
    }

    /// Notes that the visit of a number does not count.
    pub async fn excuse_visit(&self, room: &str, number: u64) -> Result<(), StoreFailure> {
        let script = ExcuseVisitScript { number };
        let life = self.lives.last_known_life(room)?;
        self.scripts.run(room, &life, script).await?;
        Ok(())
    }

    /// Counts a basket that has lapsed.
    pub async fn note_lapse(
        &self,
        room: &str,
        holder: Holder,
        hold: &str,
    ) -> Result<Option<LapsedVisit>, StoreFailure> {
        let script = NoteLapseScript {
            holder: holder.0,
            hold: hold.to_owned(),
            known_ms: BASKET_KNOWN_MS,
        };
        let life = self.lives.last_known_life(room)?;
        let reply = self.scripts.run(room, &life, script).await?;
        let Some(visit) = reply.present() else {
            return Ok(None);
        };
        Ok(Some(LapsedVisit {
            number: visit.field("number")?.as_count()?,
            lapses: visit.field("lapses")?.as_count()?,
            pass_exp_s: visit
                .field("pass_expires_s")
                .and_then(RedisReply::as_integer)?,
        }))
    }
}
