//! Leaving for good.

use fairgate_base::http::Problem;

use super::Lobby;
use crate::personal::Word;
use crate::room::Room;
use crate::store::{Leaving, Place};

impl Lobby {
    /// Gives a place up at `now` (ms).
    ///
    /// # Errors
    /// 503 where it was not taken; the place is then still there after a restart, and leaving can be
    /// asked again.
    pub async fn leave(&self, room: &Room, place: &Place, now: i64) -> Result<(), Problem> {
        let leaving = Leaving {
            number: place.number,
            rank: room.rank(place.number),
            now,
        };
        self.rooms
            .store()
            .leave(room.id(), leaving)
            .await
            .map_err(|error| error.problem())?;
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
