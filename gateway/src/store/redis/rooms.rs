//! The rooms that are open on this node, and for how long Redis has not answered about each room.

use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::store::StoreFailure;

/// If Redis has been silent about a room for this long, calls for the room fail without asking
/// Redis. Only the rounds still ask Redis about the room. When Redis answers a round, calls work
/// again.
const SILENT: Duration = Duration::from_secs(1);

/// The rooms that are open on this node.
#[derive(Default)]
pub struct OpenRooms {
    rooms: RwLock<HashMap<String, Arc<OpenRoom>>>,
}

/// The state of one open room.
#[derive(Default)]
pub struct OpenRoom {
    /// Locked while a round inspects the room or fills it in, or while a join reserves numbers.
    pub tending: tokio::sync::Mutex<PreviousRoomRound>,
    /// The time since which Redis has not answered the room's rounds.
    silent_since: Mutex<Option<Instant>>,
}

/// What the last round found in Redis.
#[derive(Default)]
pub struct PreviousRoomRound {
    /// The next number at that time.
    pub next: Option<u64>,
    /// When Redis was last found to have the room's life.
    pub life_seen_at: Option<Instant>,
}

impl OpenRooms {
    /// Opens a room. Returns whether it was not open before.
    pub fn open(&self, room: &str) -> bool {
        let mut rooms = self.rooms.write();
        let count_before = rooms.len();
        rooms.entry(room.to_owned()).or_default();
        rooms.len() > count_before
    }

    /// Returns the names of all open rooms.
    pub fn names(&self) -> Vec<String> {
        let rooms = self.rooms.read();
        rooms.keys().cloned().collect()
    }

    /// Returns an open room. Fails with [`StoreFailure::NotReady`] if the room is not open.
    pub fn find(&self, room: &str) -> Result<Arc<OpenRoom>, StoreFailure> {
        let rooms = self.rooms.read();
        rooms.get(room).cloned().ok_or_else(|| {
            StoreFailure::NotReady(format!("the room \"{room}\" is not open on this node"))
        })
    }

    /// Fails at once if Redis has been silent about the room for a second. Otherwise the caller
    /// would wait for one more timeout.
    pub fn refuse_silent(&self, room: &str) -> Result<(), StoreFailure> {
        match self.find(room)?.silent_for() {
            Some(silent) if silent >= SILENT => Err(StoreFailure::Unreachable(format!(
                "it has not answered for {} s",
                silent.as_secs()
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

impl OpenRoom {
    /// Notes whether Redis answered the room's round.
    pub fn note_answer(&self, answered: bool) {
        let mut since = self.silent_since.lock();
        *since = match *since {
            _ if answered => None,
            None => Some(Instant::now()),
            lasting => lasting,
        };
    }

    fn silent_for(&self) -> Option<Duration> {
        self.silent_since.lock().map(|since| since.elapsed())
    }
}
