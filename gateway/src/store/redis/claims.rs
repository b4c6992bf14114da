//! The transitions of a pass: admission, claim, and the ticketed order.

use std::sync::Arc;

use fairgate_pass::Holder;
use fairgate_rules::release_cohorts::ENTRY_LAPSES_MS;

use super::caller::RoomScriptRunner;
use super::lives::RoomLifeReader;
use super::networks::limited_networks;
use super::read;
use super::scripts::{
    AdmitClaimantScript, MarkTicketedScript, NotePassClaimScript, UndoAdmissionScript,
};
use crate::store::{AdmissionDecision, Claimant, FailedPassClaim, RecordedPassClaim, StoreFailure};

/// Runs the scripts of admissions, claims and ticketed orders.
pub struct ClaimTransitions {
    pub scripts: Arc<RoomScriptRunner>,
    pub lives: Arc<RoomLifeReader>,
}

impl ClaimTransitions {
    /// Decides whether a visitor may claim a pass now. If so, reserves one of the `max_inside`
    /// entries.
    pub async fn admit_claimant(
        &self,
        room: &str,
        claimant: Claimant,
    ) -> Result<AdmissionDecision, StoreFailure> {
        let script = AdmitClaimantScript {
            number: claimant.number,
            rank: claimant.rank,
            released: claimant.released,
            max_inside: claimant.max_inside,
            has_line: claimant.line,
            idle_ms: claimant.idle_ms,
            now_ms: claimant.now,
            lapses_ms: claimant.now.saturating_add(ENTRY_LAPSES_MS),
            solution: claimant.toll.solved.map(|solved| solved.id),
            solution_ends_ms: claimant.toll.solved.map_or(0, |solved| solved.expires_at),
            networks: limited_networks(&claimant.toll),
        };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, script)
            .await?;
        if let Some(refusal) = read::toll_refusal(&reply, claimant.toll.keys)? {
            return Ok(AdmissionDecision::Toll(refusal));
        }
        Ok(match read::kind(&reply)? {
            "lives" => AdmissionDecision::HasLivePass,
            "let" => AdmissionDecision::Let {
                first: reply.field("first")?.as_integer()? == 1,
            },
            _ => AdmissionDecision::Wait {
                entry_in_ms: read::entry_in_ms(&reply)?,
            },
        })
    }

    /// Notes that a claim was written. Returns whether it was the first claim of the number.
    pub async fn note_claim(
        &self,
        room: &str,
        claimed: RecordedPassClaim,
    ) -> Result<bool, StoreFailure> {
        let claimed = NotePassClaimScript {
            number: claimed.number,
            reserved_rank: claimed.reserved,
            expires_s: claimed.exp_s,
            at_s: claimed.at_s,
        };
        let reply = self
            .scripts
            .run(room, &self.lives.last_known_life(room)?, claimed)
            .await?;
        Ok(reply.as_integer()? == 1)
    }

    /// Undoes an admission whose claim could not be written.
    pub async fn undo_admission(
        &self,
        room: &str,
        failed: FailedPassClaim,
    ) -> Result<(), StoreFailure> {
        let script = UndoAdmissionScript {
            number: failed.number,
            rank: failed.rank,
            is_first: failed.first,
        };
        self.scripts
            .run(room, &self.lives.last_known_life(room)?, script)
            .await?;
        Ok(())
    }

    /// Notes that these holders have ticketed orders.
    pub async fn mark_ticketed(
        &self,
        room: &str,
        cursor: u64,
        holders: &[Holder],
    ) -> Result<(), StoreFailure> {
        let script = MarkTicketedScript {
            cursor,
            holders: holders.iter().map(|holder| holder.0).collect(),
        };
        self.scripts
            .run(room, &self.lives.last_known_life(room)?, script)
            .await?;
        Ok(())
    }
}
