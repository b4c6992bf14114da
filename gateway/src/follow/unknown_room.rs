//! Looks for a room that this node does not know, because another node may have just created it.
//! The ledger is read once more before a caller gets the answer that there is no such room. Callers
//! who wait at the same time share one reading.

use std::time::{Duration, Instant};

use super::RoomFollower;

/// The shortest time between two such readings. People also ask for rooms that never existed, and
/// the ledger must not be read for each request.
const APART: Duration = Duration::from_millis(100);

/// When the ledger was last read because of a room that this node did not know.
#[derive(Debug, Default)]
pub(super) struct UnknownRoomRead(tokio::sync::Mutex<Option<Instant>>);

impl RoomFollower {
    /// Reads what other nodes created, unless this node knows the room. Concurrent callers share
    /// one reading. If the ledger does not answer, the room stays unknown until the next reading.
    pub async fn look_for(&self, room: &str) {
        if self.rooms().get(room).is_ok() {
            return;
        }
        let asked_at = Instant::now();
        let mut last_read = self.inner.unknown_room_read.0.lock().await;
        if last_read.is_some_and(|at| at >= asked_at) {
            return;
        }
        if let Some(at) = *last_read {
            tokio::time::sleep_until((at + APART).into()).await;
        }
        *last_read = Some(Instant::now());
        if let Err(error) = self.catch_up().await {
            self.inner.last_reading.lock().note_failed_reading(&error);
        }
    }
}
