//! Stops what a closed room or a cleared line left over: the passes of a closed room, and the
//! places that ended because the promoter ended all places of the room.

use std::time::Duration;

use fairgate_rules::phase::RoomPhase;
use tokio::time::Instant;

use crate::ledger::PassStopCause;
use crate::room::{Room, RoomRegistry};
use crate::store::{StoreFailure, StoreLeaveRequest};

/// How long after the end of a room its passes are looked for. A node that has not heard of the end
/// may give passes for a moment.
const CLOSING_FOR: Duration = Duration::from_secs(5);
/// The most places that one transaction ends.
const PLACES_MAX: u32 = 1_000;
/// The most transactions in one step.
const STEPS_MAX: u32 = 10;

/// How far this node has come with the endings of one room.
#[derive(Default)]
pub(super) struct RoomStopper {
    /// When this node first stopped the passes of the closed room.
    closed: Option<Instant>,
    /// All places below this have ended.
    cleared_below: u64,
    /// The number from which on living places are looked for.
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
            let is_done = self.closed.is_some_and(|at| at.elapsed() > CLOSING_FOR);
            if !is_done {
                let ledger = rooms.ledger();
                let cause = (PassStopCause::Closed, String::new());
                ledger
                    .stop_open_passes(room.id(), u64::MAX, cause, now)
                    .await?;
                self.closed.get_or_insert_with(Instant::now);
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
        // If the ledger fails after the store, the next step finds the same places again.
        rooms.store().end_places(id, &ended).await?;
        ledger.revoke_places(id, living, cause, now, None).await?;
        self.next = last + 1;
        Ok(true)
    }
}
