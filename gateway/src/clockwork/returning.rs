//! Whoever is here shows their place again where the store began a new life, so that it has what
//! the last one lost. That goes on beside the room's beats, and is begun anew until it is through:
//! a socket that says nothing would lose its place unawares.

use tokio::task::JoinHandle;

use crate::room::{Room, RoomRegistry};
use crate::store::StoreFailure;

/// Shown at once, and again with the next report: a socket may have been on its way in when the
/// first list was made.
const TIMES: u8 = 2;

/// How far that has come, in one room of this node.
#[derive(Default)]
pub(super) struct ReturningPlaces {
    /// The life that knows everybody here.
    stands: Option<u64>,
    /// The life that last heard who is here.
    heard: Option<u64>,
    /// How often all were shown to it.
    shown: u8,
    showing: Option<JoinHandle<Result<u64, StoreFailure>>>,
}

impl ReturningPlaces {
    /// That life of the store heard who is here. The first one has lost nothing; any other may have
    /// begun while this node took places at their word.
    pub(super) fn heard(&mut self, life: u64) {
        if life <= 1 {
            self.stands = Some(life);
        }
        if self.heard.replace(life) != Some(life) {
            self.shown = 0;
        }
    }

    /// Begins what is due; `reported` where the life was heard just now.
    pub(super) async fn go_on(&mut self, rooms: &RoomRegistry, room: &Room, reported: bool) {
        if let Some(showing) = self.showing.take_if(|showing| showing.is_finished()) {
            // Where the task panicked nothing is through either.
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
