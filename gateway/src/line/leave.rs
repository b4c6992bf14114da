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
        // If the visitor hangs up in the middle, the store and the visitor's other pages must still
        // learn what the ledger has.
        let (rooms, personal) = (self.rooms.clone(), self.personal.clone());
        let (id, holder) = (room.id().to_owned(), place.holder);
        let task = tokio::spawn(async move {
            rooms.store().leave(&id, leaving).await?;
            let event = PersonalEvent::Left {
                room: id.as_str().into(),
                number: leaving.number,
            };
            personal.notify_holder(holder, &event);
            metrics::counter!("fairgate_places_left_total", "room" => id).increment(1);
            Ok(())
        });
        task.await
            .unwrap_or_else(|error| Err(StoreFailure::NotReady(error.to_string())))
    }
}
