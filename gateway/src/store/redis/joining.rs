//! The transitions of the line: joining, leaving and freezing.

use std::sync::Arc;
use std::time::Duration;

use super::blocks::NumberBlocks;
use super::caller::RoomScriptRunner;
use super::copier::LineCopier;
use super::lease::LEASE;
use super::lives::RoomLifeReader;
use super::networks::limited_networks;
use super::presence::{SLOT_LIVES_MS, seen_slot};
use super::read;
use super::scripts::{
    EndPlacesScript, EndedPlaceRecord, FreezeLineScript, JoinLineScript, LeaveLineScript,
};
use crate::ledger::{LedgerFreezeOutcome, LineFreeze, RoomLedger};
use crate::store::{
    Place, StoreFailure, StoreFreezeOutcome, StoreJoinRefusal, StoreJoinRequest, StoreLeaveRequest,
};

/// A join is tried this many times, if each time all reserved numbers have already been given.
const JOIN_TRIES: usize = 3;
/// At most this many places are ended by one script.
const ENDED_MAX: usize = 500;
/// A freeze waits for this much longer than a lease lasts, because clocks are not exact.
const LEASE_MARGIN: Duration = Duration::from_millis(50);

/// Runs the joins and departures of visitors, and freezes lines.
pub struct LineTransitions {
    pub ledger: RoomLedger,
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
    pub blocks: Arc<NumberBlocks>,
    pub copier: Arc<LineCopier>,
}

impl LineTransitions {
    /// Gives the holder the next number, or returns the place that the holder already has.
    pub async fn join(
        &self,
        room: &str,
        entrant: StoreJoinRequest,
    ) -> Result<Place, StoreJoinRefusal> {
        for _ in 0..JOIN_TRIES {
            if let Some(place) = self.join_once(room, &entrant).await? {
                return Ok(place);
            }
        }
        let used_up = "more visitors joined at once than there were reserved numbers";
        Err(StoreFailure::NotReady(used_up.into()).into())
    }

    /// Tries one join. If all reserved numbers were given, reserves more and returns `None`. This
    /// node must hold the lease of the same life before and after the script runs. Otherwise
    /// another life may have begun before the number was given.
    async fn join_once(
        &self,
        room: &str,
        entrant: &StoreJoinRequest,
    ) -> Result<Option<Place>, StoreJoinRefusal> {
        let life = self.lives.leased_life(room)?;
        let join = JoinLineScript {
            holder: entrant.holder.0,
            written: entrant.now.to_be_bytes(),
            code: entrant.code.map(|shown| shown.digest.0),
            is_counted: entrant.code.is_some_and(|shown| shown.is_counted),
            kept: entrant.code.map_or(0, |shown| shown.kept),
            needs_code: entrant.needs_code,
            slot: seen_slot(entrant.now.div_euclid(1000)),
            now_ms: entrant.now,
            slot_lives_ms: SLOT_LIVES_MS,
            solution: entrant.toll.solved.map(|solved| solved.id),
            solution_ends_ms: entrant.toll.solved.map_or(0, |solved| solved.expires_at),
            networks: limited_networks(&entrant.toll),
        };
        let joined = self.scripts.run(room, &life, join).await?;
        let refusal = read::toll_refusal(&joined, entrant.toll.keys).map_err(StoreFailure::from)?;
        if let Some(refusal) = refusal {
            return Err(refusal.into());
        }
        match read::kind(&joined).map_err(StoreFailure::from)? {
            "code_invalid" => Err(StoreJoinRefusal::CodeInvalid {
                recent: read::recent_wrong_codes(&joined).map_err(StoreFailure::from)?,
            }),
            "codes_paused" => Err(StoreJoinRefusal::CodesPaused(
                read::codes_paused(&joined).map_err(StoreFailure::from)?,
            )),
            "code_used" => Err(StoreJoinRefusal::CodeUsed),
            "codes_due" => {
                let due = "the room's codes are being replaced";
                Err(StoreFailure::NotReady(due.into()).into())
            }
            "full" => {
                self.blocks.reserve_now(room, &life).await?;
                Ok(None)
            }
            _ if self.lives.leased_life(room)?.incarnation != life.incarnation => {
                Err(StoreFailure::NotReady("another life has begun".into()).into())
            }
            _ => Ok(Some(read::place(&joined).map_err(StoreFailure::from)?)),
        }
    }

    /// Gives a place up.
    pub async fn leave(&self, room: &str, leaving: StoreLeaveRequest) -> Result<(), StoreFailure> {
        // The ledger is written first. The place then stays left, even if Redis loses its data a
        // moment after the answer.
        let life = self.lives.last_known_life(room)?;
        self.copier.record_leaving(room, &life, &leaving).await?;
        let leave = LeaveLineScript {
            number: leaving.number,
            rank: leaving.rank,
            stopped_s: leaving.stopped_s(),
        };
        self.scripts.run(room, &life, leave).await?;
        Ok(())
    }

    /// Takes numbers from their visitors, a batch at a time.
    pub async fn end_places(
        &self,
        room: &str,
        ended: &[StoreLeaveRequest],
    ) -> Result<(), StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        for batch in ended.chunks(ENDED_MAX) {
            let places = batch
                .iter()
                .map(|ending| EndedPlaceRecord {
                    number: ending.number,
                    rank: ending.rank,
                    stopped_s: ending.stopped_s(),
                })
                .collect();
            self.scripts
                .run(room, &life, EndPlacesScript { places })
                .await?;
        }
        Ok(())
    }

    /// Freezes the line and records the freeze in the ledger. Freezes nothing if the line is frozen
    /// already or the life is too young. Otherwise first waits for more than a second, until every
    /// lease of an older life has ended.
    pub async fn freeze(&self, room: &str, now: i64) -> Result<StoreFreezeOutcome, StoreFailure> {
        if let Some(freeze) = self.ledger.draw(room).await?.freeze {
            return Ok(StoreFreezeOutcome::Done(freeze));
        }
        let life = self.lives.leased_life(room)?;
        if now < life.freezes_from() {
            return Ok(StoreFreezeOutcome::NotBefore(life.freezes_from()));
        }
        let n = self.scripts.run(room, &life, FreezeLineScript {}).await?;
        let freeze = LineFreeze {
            n: n.as_count()?,
            at: now,
        };
        // A node with a lease of an older life may still give numbers of that life, until the lease
        // ends.
        tokio::time::sleep(LEASE + LEASE_MARGIN).await;
        self.copier.copy_line(room, &life, false).await?;
        let recorded = self
            .ledger
            .record_freeze(room, freeze, Some(life.incarnation));
        match recorded.await? {
            LedgerFreezeOutcome::Stands(freeze) => Ok(StoreFreezeOutcome::Done(freeze)),
            LedgerFreezeOutcome::NotBefore(at) => Ok(StoreFreezeOutcome::NotBefore(at)),
            LedgerFreezeOutcome::OtherLife => {
                Err(StoreFailure::NotReady("another life has begun".into()))
            }
        }
    }

    /// Copies the line to the ledger. Afterwards the ledger has every join that was answered before
    /// this call.
    pub async fn flush_to_ledger(&self, room: &str) -> Result<(), StoreFailure> {
        let life = self.lives.last_known_life(room)?;
        self.copier.copy_line(room, &life, false).await
    }
}
