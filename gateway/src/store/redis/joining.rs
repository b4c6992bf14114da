//! The transitions of the line: joining it, leaving it, and fixing its numbers.

use std::sync::Arc;
use std::time::Duration;

use super::blocks::NumberBlocks;
use super::caller::RoomScripts;
use super::copier::LineCopier;
use super::lease::LEASE;
use super::lives::RoomLives;
use super::presence::{SLOT_LIVES_MS, slot};
use super::read;
use super::scripts::{FreezeScript, JoinScript, LeaveScript};
use crate::ledger::{Freeze, FreezeRecorded, Ledger};
use crate::store::{Entrant, Freezing, JoinRefused, Leaving, Place, StoreFailure};

/// A join that finds its block used up waits for another so often.
const JOIN_TRIES: usize = 3;
/// Beyond the leases, for a clock's grain.
const LEASE_MARGIN: Duration = Duration::from_millis(50);

/// Lets people join and leave, and fixes the numbers.
pub struct LineTransitions {
    pub ledger: Arc<dyn Ledger>,
    pub scripts: Arc<RoomScripts>,
    pub lives: Arc<RoomLives>,
    pub blocks: Arc<NumberBlocks>,
    pub copier: Arc<LineCopier>,
}

impl LineTransitions {
    /// Gives the next number, or the one that this holder has.
    pub async fn join(&self, room: &str, entrant: Entrant) -> Result<Place, JoinRefused> {
        for _ in 0..JOIN_TRIES {
            if let Some(place) = self.join_once(room, &entrant).await? {
                return Ok(place);
            }
        }
        let used_up = "more joined at once than numbers were reserved";
        Err(StoreFailure::NotReady(used_up.into()).into())
    }

    /// One join, in the life that is held before it and after it: what is answered was given in
    /// time.
    async fn join_once(&self, room: &str, entrant: &Entrant) -> Result<Option<Place>, JoinRefused> {
        let life = self.lives.held(room)?;
        let join = JoinScript {
            holder: entrant.holder.0,
            written: entrant.now.to_be_bytes(),
            code: entrant.code.map(|code| code.0),
            needs_code: entrant.needs_code,
            slot: slot(entrant.now.div_euclid(1000)),
            now_ms: entrant.now,
            slot_lives_ms: SLOT_LIVES_MS,
        };
        let joined = self.scripts.run(room, &life, join).await?;
        match read::kind(&joined).map_err(StoreFailure::from)? {
            "code_invalid" => Err(JoinRefused::CodeInvalid),
            "code_used" => Err(JoinRefused::CodeUsed),
            "codes_due" => {
                let due = "the room's codes are being replaced";
                Err(StoreFailure::NotReady(due.into()).into())
            }
            "full" => {
                self.blocks.reserve_now(room, &life).await?;
                Ok(None)
            }
            _ if self.lives.held(room)?.incarnation != life.incarnation => {
                Err(StoreFailure::NotReady("another life has begun".into()).into())
            }
            _ => Ok(Some(read::place(&joined).map_err(StoreFailure::from)?)),
        }
    }

    /// Gives a place up.
    pub async fn leave(&self, room: &str, leaving: Leaving) -> Result<(), StoreFailure> {
        // The ledger first: whoever is told that they have left stays away, whatever Redis loses a
        // moment later.
        let life = self.lives.life(room)?;
        self.copier.record_leaving(room, &life, &leaving).await?;
        let leave = LeaveScript {
            number: leaving.number,
            rank: leaving.rank,
        };
        self.scripts.run(room, &life, leave).await?;
        Ok(())
    }

    /// Fixes the numbers so far.
    pub async fn freeze(&self, room: &str, now: i64) -> Result<Freezing, StoreFailure> {
        if let Some(freeze) = self.ledger.draw(room).await?.freeze {
            return Ok(Freezing::Done(freeze));
        }
        let life = self.lives.held(room)?;
        if now < life.freezes_from() {
            return Ok(Freezing::NotBefore(life.freezes_from()));
        }
        let n = self.scripts.run(room, &life, FreezeScript {}).await?;
        let freeze = Freeze {
            n: n.count()?,
            at: now,
        };
        // A node that read an older life may still give numbers of it, until it must read again.
        tokio::time::sleep(LEASE + LEASE_MARGIN).await;
        self.copier.copy(room, &life, false).await?;
        let recorded = self
            .ledger
            .record_freeze(room, freeze, Some(life.incarnation));
        match recorded.await? {
            FreezeRecorded::Stands(freeze) => Ok(Freezing::Done(freeze)),
            FreezeRecorded::NotBefore(at) => Ok(Freezing::NotBefore(at)),
            FreezeRecorded::OtherLife => {
                Err(StoreFailure::NotReady("another life has begun".into()))
            }
        }
    }

    /// Answers when the ledger has all that was answered before.
    pub async fn settle(&self, room: &str) -> Result<(), StoreFailure> {
        let life = self.lives.life(room)?;
        self.copier.copy(room, &life, false).await
    }
}
