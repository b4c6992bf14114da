//! The transitions of the way in: entering, claiming, and having done.

use std::sync::Arc;

use fairgate_pass::Holder;
use fairgate_rules::cohort::WAY_IN_LAPSES_MS;

use super::caller::RoomScripts;
use super::lives::RoomLives;
use super::read;
use super::scripts::{ClaimedScript, DoneScript, EnterScript, TurnedBackScript};
use crate::store::{Claimant, Claimed, Entered, StoreFailure};

/// Lets people claim passes.
pub struct ClaimTransitions {
    pub scripts: Arc<RoomScripts>,
    pub lives: Arc<RoomLives>,
}

impl ClaimTransitions {
    /// Decides whether somebody may claim, and reserves the room inside.
    pub async fn enter(&self, room: &str, claimant: Claimant) -> Result<Entered, StoreFailure> {
        let enter = EnterScript {
            number: claimant.number,
            rank: claimant.rank,
            released: claimant.released,
            max_inside: claimant.max_inside,
            has_line: claimant.line,
            now_ms: claimant.now,
            lapses_ms: claimant.now.saturating_add(WAY_IN_LAPSES_MS),
        };
        let reply = self
            .scripts
            .run(room, &self.lives.life(room)?, enter)
            .await?;
        Ok(match read::kind(&reply)? {
            "lives" => Entered::Lives,
            "let" => Entered::Let {
                first: reply.at(1)?.int()? == 1,
            },
            _ => Entered::Wait,
        })
    }

    /// Notes that a claim was written; gives whether it is this number's first.
    pub async fn claimed(&self, room: &str, claimed: Claimed) -> Result<bool, StoreFailure> {
        let claimed = ClaimedScript {
            number: claimed.number,
            reserved_rank: claimed.reserved,
            expires_s: claimed.exp_s,
        };
        let reply = self
            .scripts
            .run(room, &self.lives.life(room)?, claimed)
            .await?;
        Ok(reply.int()? == 1)
    }

    /// Notes that a claim could not be written.
    pub async fn turned_back(
        &self,
        room: &str,
        rank: u64,
        first: bool,
    ) -> Result<(), StoreFailure> {
        let turned_back = TurnedBackScript {
            rank,
            is_first: first,
        };
        self.scripts
            .run(room, &self.lives.life(room)?, turned_back)
            .await?;
        Ok(())
    }

    /// Notes orders that were ticketed.
    pub async fn done(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
    ) -> Result<(), StoreFailure> {
        let done = DoneScript {
            cursor,
            holders: holders.iter().map(|holder| holder.0).collect(),
        };
        self.scripts
            .run(room, &self.lives.life(room)?, done)
            .await?;
        Ok(())
    }
}
