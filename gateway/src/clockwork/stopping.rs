//! Stops the passes of a closed room. After the promoter has cleared a line, stops the passes of
//! its places and ends the places.

use std::time::Duration;

use fairgate_rules::phase::RoomPhase;
use tokio::time::Instant;

use crate::ledger::PassStopCause;
use crate::room::{Room, RoomRegistry};
use crate::store::{StoreFailure, StoreLeaveRequest};

/// After a node first stopped the passes of a closed room, it keeps stopping passes for this long.
/// Another node may not know yet that the room is closed, and may still give passes.
const CLOSING_FOR: Duration = Duration::from_secs(5);
/// How many places one transaction ends, at most.
const PLACES_MAX: u32 = 1_000;
/// How many transactions one step has, at most.
const STEPS_MAX: u32 = 10;

/// Which passes and places of one room this node has already ended.
#[derive(Default)]
pub(super) struct RoomStopper {
    /// When this node first stopped the passes of the closed room.
    passes_stopped_at: Option<Instant>,
    /// All places with numbers below this have ended.
    cleared_below: u64,
    /// The next transaction looks for living places from this number on.
    next: u64,
}

impl RoomStopper {
    /// Stops some passes and places, if any are due.
    pub(super) async fn stop_some(
        &mut self,
        rooms: &RoomRegistry,
        room: &Room,
        now: i64,
    ) -> Result<(), StoreFailure> {
        if room.phase(now) == RoomPhase::Closed {
            let is_done = self
                .passes_stopped_at
                .is_some_and(|at| at.elapsed() > CLOSING_FOR);
            if !is_done {
                let ledger = rooms.ledger();
                let cause = (PassStopCause::Closed, String::new());
                ledger
                    .stop_open_passes(room.id(), u64::MAX, cause, now)
                    .await?;
                self.passes_stopped_at.get_or_insert_with(Instant::now);
            }
            return Ok(());
        }
        let row = room.row();
        let below = row.facts.cleared_below;
        if below <= self.cleared_below {
            return Ok(());
        }
        if self.next == 0 {
            rooms.store().flush_to_ledger(room.id()).await?;
            let cause = (PassStopCause::Cleared, row.facts.cleared_note.clone());
            let ledger = rooms.ledger();
            ledger
                .stop_open_passes(room.id(), below, cause, now)
                .await?;
        }
        for _ in 0..STEPS_MAX {
            if !self.clear_some(rooms, room, below, now).await? {
                (self.cleared_below, self.next) = (below, 0);
                break;
            }
        }
        Ok(())
    }

    /// Ends at most [`PLACES_MAX`] places. Returns whether there may be more.
    async fn clear_some(
        &mut self,
        rooms: &RoomRegistry,
        room: &Room,
        below: u64,
        now: i64,
    ) -> Result<bool, StoreFailure> {
        let (ledger, id) = (rooms.ledger(), room.id());
        let living = ledger.living_places(id, self.next, below, PLACES_MAX);
        let living = living.await?;
        let Some(last) = living.last().copied() else {
            return Ok(false);
        };
        let ended: Vec<StoreLeaveRequest> = living
            .iter()
            .map(|number| StoreLeaveRequest {
                number: *number,
                rank: room.rank(*number),
                now,
            })
            .collect();
        let cause = (
            PassStopCause::Cleared,
            room.row().facts.cleared_note.clone(),
        );
        // If the ledger fails after the store ended the places, the next step finds them again.
        rooms.store().end_places(id, &ended).await?;
        ledger.revoke_places(id, living, cause, now, None).await?;
        self.next = last + 1;
        Ok(true)
    }
}
