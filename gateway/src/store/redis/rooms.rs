//! The rooms that are open on this node, and since when Redis has kept silent about each of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::store::StoreFailure;

/// A room that Redis keeps silent about for so long is not asked for any more, until Redis answers
/// whoever looks after the room.
const SILENT: Duration = Duration::from_secs(1);

/// The rooms that are open on this node.
#[derive(Default)]
pub struct OpenRooms {
    rooms: RwLock<HashMap<String, Arc<OpenRoom>>>,
}

/// What this node keeps of one room.
#[derive(Default)]
pub struct OpenRoom {
    /// Held while the room is looked after.
    pub tending: tokio::sync::Mutex<PreviousRoomRound>,
    /// Since when Redis has not answered whoever looks after the room.
    silent_since: Mutex<Option<Instant>>,
}

/// How the room was found by the round before.
#[derive(Default)]
pub struct PreviousRoomRound {
    /// The next number then.
    pub next: Option<u64>,
    /// When the room's life was last found to stand.
    pub well_at: Option<Instant>,
}

impl OpenRooms {
    /// Opens a room; gives whether it was not open before.
    pub fn open(&self, room: &str) -> bool {
        let rooms = self.rooms.write();
        let mut rooms = rooms.unwrap_or_else(PoisonError::into_inner);
        let before = rooms.len();
        rooms.entry(room.to_owned()).or_default();
        rooms.len() > before
    }

    /// Names all of them.
    pub fn names(&self) -> Vec<String> {
        let rooms = self.rooms.read().unwrap_or_else(PoisonError::into_inner);
        rooms.keys().cloned().collect()
    }

    /// Finds one; one that is not open is not ready.
    pub fn find(&self, room: &str) -> Result<Arc<OpenRoom>, StoreFailure> {
        let rooms = self.rooms.read().unwrap_or_else(PoisonError::into_inner);
        rooms.get(room).cloned().ok_or_else(|| {
            StoreFailure::NotReady(format!("the room \"{room}\" is not open on this node"))
        })
    }

    /// Refuses at once where Redis has kept silent about the room for a while: nobody waits for one
    /// more silence.
    pub fn refuse_silent(&self, room: &str) -> Result<(), StoreFailure> {
        match self.find(room)?.silent_for() {
            Some(silent) if silent >= SILENT => Err(StoreFailure::Unreachable(format!(
                "it has kept silent for {} s",
                silent.as_secs()
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

impl OpenRoom {
    /// Notes whether whoever looks after the room heard from Redis.
    pub fn note_answer(&self, answered: bool) {
        let mut since = self.silent_since();
        *since = match *since {
            _ if answered => None,
            None => Some(Instant::now()),
            lasting => lasting,
        };
    }

    fn silent_for(&self) -> Option<Duration> {
        self.silent_since().map(|since| since.elapsed())
    }

    fn silent_since(&self) -> MutexGuard<'_, Option<Instant>> {
        // What is kept under it is replaced whole.
        let since = self.silent_since.lock();
        since.unwrap_or_else(PoisonError::into_inner)
    }
}
