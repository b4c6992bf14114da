//! Tells booking from when on each room is over, so that its passes open nothing new from then on.
//! Every gateway does this for every room. A change that a gateway wrote to the ledger and did not
//! report, because it died, is therefore reported by the others.

use parking_lot::Mutex;
use std::collections::HashMap;

use fairgate_base::log_failed_try;
use fairgate_rules::phase::over_from_ms;

use super::RoomFollower;
use crate::room::Room;
use crate::upstream::{BookingFailure, RoomEndNotice};

/// What this gateway has told booking.
#[derive(Default)]
pub(super) struct ToldRoomEnds {
    /// The end of each room, by the room's slug.
    ends: Mutex<HashMap<String, Option<i64>>>,
    /// Locked while booking is being told.
    telling: tokio::sync::Mutex<()>,
}

fn end_of(room: &Room) -> RoomEndNotice {
    let row = room.row();
    RoomEndNotice {
        room: room.id().to_owned(),
        version: row.version,
        over_from_ms: over_from_ms(&row.document, &row.facts),
    }
}

impl RoomFollower {
    /// Tells booking the ends of rooms that it does not know yet. When this returns, the passes of
    /// rooms that are over open nothing new at booking.
    ///
    /// # Errors
    /// Fails if booking did not take the ends. Later readings tell it again.
    pub async fn publish_ends(&self) -> Result<(), BookingFailure> {
        let _one_at_a_time = self.inner.told_ends.telling.lock().await;
        let owed = self.owed_ends();
        if owed.is_empty() {
            return Ok(());
        }
        self.rooms().core().end_rooms(owed.clone()).await?;
        let mut told = self.inner.told_ends.ends.lock();
        told.extend(owed.into_iter().map(|end| (end.room, end.over_from_ms)));
        Ok(())
    }

    /// Tells booking the ends that it does not know yet, without waiting for it.
    pub(super) fn publish_owed_ends(&self) {
        let is_telling = self.inner.told_ends.telling.try_lock().is_err();
        if is_telling || self.owed_ends().is_empty() {
            return;
        }
        let follower = self.clone();
        tokio::spawn(async move {
            if let Err(error) = follower.publish_ends().await {
                log_failed_try!(error, "booking is to be told again which rooms are over");
            }
        });
    }

    fn owed_ends(&self) -> Vec<RoomEndNotice> {
        let rooms = self.rooms().all();
        let told = self.inner.told_ends.ends.lock();
        let ends = rooms.iter().map(end_of);
        ends.filter(|end| told.get(&end.room) != Some(&end.over_from_ms))
            .collect()
    }
}
