//! A room that this node does not know may have been made at another a moment ago: before anybody
//! is told that there is none, the ledger is read once more, by one caller for all who wait.

use std::time::{Duration, Instant};

use super::RoomFollower;

/// Addresses that nobody made are asked for too, so the ledger is not read for each of them.
const APART: Duration = Duration::from_millis(100);

/// When the ledger was last read because of a room that nobody here knew.
#[derive(Debug, Default)]
pub(super) struct UnknownRoomRead(tokio::sync::Mutex<Option<Instant>>);

impl RoomFollower {
    /// Reads what other nodes made, unless this room is known. Whoever calls this at once shares
    /// one reading. Where the ledger does not answer the room stays unknown, until the next
    /// reading.
    pub async fn look_for(&self, room: &str) {
        if self.rooms().get(room).is_ok() {
            return;
        }
        let asked = Instant::now();
        let mut looked = self.inner.looked_at.0.lock().await;
        if looked.is_some_and(|at| at >= asked) {
            return;
        }
        if let Some(at) = *looked {
            tokio::time::sleep_until((at + APART).into()).await;
        }
        *looked = Some(Instant::now());
        if let Err(error) = self.catch_up().await {
            self.last_reading().mark_unread(&error);
        }
    }
}
