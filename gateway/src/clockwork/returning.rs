//! When the store begins a new life, this shows it the places of all visitors who are here, so that
//! it gets back what the last life lost. It runs beside the room's beats, and starts again until it
//! succeeds, because a visitor whose socket is silent would lose the place without noticing.

use tokio::task::JoinHandle;

use crate::room::{Room, RoomRegistry};
use crate::store::StoreFailure;

/// How often the places are shown to a life: at once, and again with the next report, because a
/// socket may have been opening when the first list was made.
const TIMES: u8 = 2;

/// How far the showing has come, for one room of this node.
#[derive(Default)]
pub(super) struct ReturningPlaces {
    /// The life that has the places of all visitors here.
    stands: Option<u64>,
    /// The life that last noted who is here.
    heard: Option<u64>,
    /// How often the places were shown to that life.
    shown: u8,
    showing: Option<JoinHandle<Result<u64, StoreFailure>>>,
}

impl ReturningPlaces {
    /// Notes the life of the store that was told who is here. The first life has lost nothing; a
    /// later one may have begun while this node accepted places by their signature alone.
    pub(super) fn heard(&mut self, life: u64) {
        if life <= 1 {
            self.stands = Some(life);
        }
        if self.heard.replace(life) != Some(life) {
            self.shown = 0;
        }
    }

    /// Starts the showing if it is due. `reported` says that the store has just been told who is
    /// here.
    pub(super) async fn go_on(&mut self, rooms: &RoomRegistry, room: &Room, reported: bool) {
        if let Some(showing) = self.showing.take_if(|showing| showing.is_finished()) {
            // A task that panicked has not shown all places either.
            match showing.await {
                Ok(Ok(life)) => self.through(life),
                Ok(Err(error)) => warn_not_brought_back(room, &error),
                Err(error) => warn_not_brought_back(room, &error),
            }
        }
        let due = self.stands != self.heard && (self.shown == 0 || reported);
        if due && self.showing.is_none() {
            let (rooms, room) = (rooms.clone(), room.clone());
            let shown = room.presence().open_places();
            self.showing = Some(tokio::spawn(async move {
                rooms.store().bring_back(room.id(), &shown).await
            }));
        }
    }

    fn through(&mut self, life: u64) {
        if self.heard != Some(life) {
            return;
        }
        self.shown += 1;
        if self.shown >= TIMES {
            self.stands = Some(life);
        }
    }
}

fn warn_not_brought_back(room: &Room, error: &dyn std::fmt::Display) {
    metrics::counter!("fairgate_places_not_brought_back_total", "room" => room.id().to_owned())
        .increment(1);
    tracing::warn!(room = room.id(), %error, "not everybody here could show their place to the new store; they are shown again");
}
