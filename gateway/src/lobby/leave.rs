//! Leaving for good.

use booking::http::Problem;

use super::Lobby;
use crate::push::personal::Word;
use crate::room::Room;
use crate::store::Place;

impl Lobby {
    /// Gives a place up at `now` (ms).
    ///
    /// # Errors
    /// 503 where the ledger did not take it; the place is then still there after a restart, and leaving can be
    /// asked again.
    pub async fn leave(&self, room: &Room, place: &Place, now: i64) -> Result<(), Problem> {
        self.rooms
            .store()
            .leave(room.id(), place.number, now)
            .await
            .map_err(|error| Problem::ledger(&error))?;
        if let Some(rank) = room.rank(place.number) {
            room.cohorts().left(rank);
        }
        self.personal.tell(
            place.holder,
            &Word::Left {
                room: room.id().into(),
                number: place.number,
            },
        );
        metrics::counter!("fairgate_places_left_total", "room" => room.id().to_owned())
            .increment(1);
        Ok(())
    }
}
