//! If the store loses the data of a room, the room begins a new life there. This module then shows
//! the store the places of all visitors with open sockets. Without this, a visitor whose socket
//! sends nothing would lose the place without noticing. The places are shown by a task beside the
//! room's beats. If the task fails, a later beat starts it again.

use tokio::task::JoinHandle;

use crate::room::{Room, RoomRegistry};
use crate::store::StoreFailure;

/// How many times the places are shown to each life. They are shown at once, and again with the
/// next report, because a socket may have been opening when the first list was made.
const SHOWINGS: u8 = 2;

/// How many times the places of one room were shown, and to which life.
#[derive(Default)]
pub(super) struct ReturningPlaces {
    /// The life that has the places of all open sockets.
    complete_life: Option<u64>,
    /// The life that took the last report of who is here.
    last_report_life: Option<u64>,
    /// How often the places were shown to `last_report_life`.
    shown: u8,
    showing: Option<JoinHandle<Result<u64, StoreFailure>>>,
}

impl ReturningPlaces {
    /// Notes which life of the store took a report. The first life has lost nothing, so it needs
    /// no places. A later life must be shown the places, because it may have begun while this node
    /// accepted places by their signature alone.
    pub(super) fn note_life(&mut self, life: u64) {
        if life <= 1 {
            self.complete_life = Some(life);
        }
        if self.last_report_life.replace(life) != Some(life) {
            self.shown = 0;
        }
    }

    /// Starts to show the places if that is due. `reported` is true if the store has just taken a
    /// report.
    pub(super) async fn start_if_due(&mut self, rooms: &RoomRegistry, room: &Room, reported: bool) {
        if let Some(showing) = self.showing.take_if(|showing| showing.is_finished()) {
            // A task that panicked is treated as failed, because it may have shown only some of the
            // places.
            match showing.await {
                Ok(Ok(life)) => self.note_shown(life),
                Ok(Err(error)) => warn_not_brought_back(room, &error),
                Err(error) => warn_not_brought_back(room, &error),
            }
        }
        let due = self.complete_life != self.last_report_life && (self.shown == 0 || reported);
        if due && self.showing.is_none() {
            let (rooms, room) = (rooms.clone(), room.clone());
            let places = room.presence().open_places();
            self.showing = Some(tokio::spawn(async move {
                rooms.store().bring_back(room.id(), &places).await
            }));
        }
    }

    fn note_shown(&mut self, life: u64) {
        if self.last_report_life != Some(life) {
            return;
        }
        self.shown += 1;
        if self.shown >= SHOWINGS {
            self.complete_life = Some(life);
        }
    }
}

fn warn_not_brought_back(room: &Room, error: &dyn std::fmt::Display) {
    metrics::counter!("fairgate_places_not_brought_back_total", "room" => room.id().to_owned())
        .increment(1);
    tracing::warn!(room = room.id(), %error, "the places of the open sockets could not all be shown to the new store; they are shown again");
}
