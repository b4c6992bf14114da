//! Forgets which networks the places of a room came from, once these networks no longer count.
//! After a room has ended, no networks of its places count. In a room without an end, the networks
//! of the places of earlier days no longer count.

use std::time::Duration;

use fairgate_rules::phase::RoomPhase;
use tokio::time::Instant;

use crate::guard::NETWORK_DAY_MS;
use crate::ledger::NetworkEpoch;
use crate::room::{Room, RoomRegistry};
use crate::store::StoreFailure;

/// How long (ms) after the end of a room its networks are forgotten. Until then, joins that were
/// answered before the end may still be copied to the ledger.
const AFTER_THE_END_MS: i64 = 60_000;
/// How many places one step reads, at most. This keeps other writes from waiting long.
const PLACES_MAX: u32 = 5_000;
/// How often a room without an end looks for places of earlier days.
const LOOK_EVERY: Duration = Duration::from_secs(600);

/// How far this node has forgotten the networks of one room.
#[derive(Default)]
pub(super) struct NetworkForgetter {
    /// The next step reads places from this number on.
    next: u64,
    /// When a search last found no more places.
    none_left_at: Option<Instant>,
    is_done: bool,
}

impl NetworkForgetter {
    /// Forgets the networks of a few places, if some are due.
    pub(super) async fn forget_some(
        &mut self,
        rooms: &RoomRegistry,
        room: &Room,
        now: i64,
    ) -> Result<(), StoreFailure> {
        let Some(before) = self.due_before(room, now) else {
            return Ok(());
        };
        let ledger = rooms.ledger();
        let next = ledger.forget_networks(room.id(), self.next, PLACES_MAX, before);
        match next.await? {
            Some(next) => self.next = next,
            None if before == i64::MAX => {
                rooms.store().forget_networks(room.id(), None).await?;
                self.is_done = true;
            }
            None => {
                let today = NetworkEpoch::of_day(now.div_euclid(NETWORK_DAY_MS));
                let store = rooms.store();
                store.forget_networks(room.id(), Some(today)).await?;
                self.none_left_at = Some(Instant::now());
            }
        }
        Ok(())
    }

    /// Returns a time (ms). The networks of all places that were given before this time should be
    /// forgotten. Returns `None` if it is not yet time to look for such places.
    fn due_before(&self, room: &Room, now: i64) -> Option<i64> {
        if room.phase(now) == RoomPhase::Closed {
            let row = room.row();
            let ends = [row.facts.closed_at, row.document.closes_at];
            let ended_at = ends.into_iter().flatten().min().unwrap_or(now);
            let is_due = now >= ended_at.saturating_add(AFTER_THE_END_MS);
            return (is_due && !self.is_done).then_some(i64::MAX);
        }
        let has_end = room.row().document.closes_at.is_some();
        let is_resting = self
            .none_left_at
            .is_some_and(|at| at.elapsed() < LOOK_EVERY);
        (!has_end && !is_resting).then_some(now - now.rem_euclid(NETWORK_DAY_MS))
    }
}
