//! Gives up a place for good.

use super::WaitingLine;
use crate::personal::PersonalEvent;
use crate::room::Room;
use crate::store::{Place, StoreFailure, StoreLeaveRequest};

impl WaitingLine {
    /// Gives up a place at `now` (ms).
    ///
    /// # Errors
    /// Fails if the store did not take the change. After a restart the visitor may then have the
    /// place again, and can leave again.
    pub async fn leave(&self, room: &Room, place: &Place, now: i64) -> Result<(), StoreFailure> {
        let leaving = StoreLeaveRequest {
            number: place.number,
            rank: room.rank(place.number),
            now,
        };
        // If the visitor hangs up in the middle, the store must still learn what the ledger has.
        let (rooms, id) = (self.rooms.clone(), room.id().to_owned());
        tokio::spawn(async move { rooms.store().leave(&id, leaving).await })
            .await
            .unwrap_or_else(|error| Err(StoreFailure::NotReady(error.to_string())))?;
        self.personal.notify_holder(
            place.holder,
            &PersonalEvent::Left {
                room: room.id().into(),
                number: place.number,
            },
        );
        metrics::counter!("fairgate_places_left_total", "room" => room.id().to_owned())
            .increment(1);
        Ok(())
    }
}
