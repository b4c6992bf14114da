//! Collects the troubles of rooms and of their ledger. Operators see them at `/readyz` and in the
//! metrics. Rooms without troubles keep working.

use parking_lot::Mutex;
use std::collections::BTreeMap;

use fairgate_base::clock::rfc3339;

use crate::ledger::LedgerError;

/// How long (ms) operators are warned that the ledger was replaced by an older copy.
const SET_BACK_WARNED_MS: i64 = 3_600_000;

/// The troubles that this node found, by room.
#[derive(Debug, Default)]
pub struct RoomTroubles {
    inner: Mutex<RoomTroublesState>,
}

#[derive(Debug, Default)]
struct RoomTroublesState {
    /// Rooms that cannot be read, and why.
    unreadable: BTreeMap<String, String>,
    /// When this node last found that the ledger had lost data of a room, ms.
    set_back: BTreeMap<String, i64>,
}

impl RoomTroubles {
    /// Notes that the room was read.
    pub fn note_readable(&self, room: &str) {
        self.inner.lock().unreadable.remove(room);
    }

    /// Notes that the room cannot be read. Logs this once, however often the read fails.
    pub fn note_unreadable(&self, room: &str, error: &LedgerError) {
        metrics::counter!("fairgate_room_unread_total", "room" => room.to_owned()).increment(1);
        let why = error.to_string();
        let earlier_reason = self.inner.lock().unreadable.insert(room.to_owned(), why);
        if earlier_reason.is_none() {
            tracing::error!(room, %error, "a room cannot be read; the other rooms keep working");
        }
    }

    /// Notes that the ledger has less data of the room than before, because an older copy replaced
    /// the ledger.
    pub fn note_ledger_set_back(&self, room: &str, now: i64) {
        metrics::counter!("fairgate_ledger_set_back_total", "room" => room.to_owned()).increment(1);
        self.inner.lock().set_back.insert(room.to_owned(), now);
    }

    /// Returns what is wrong at `now` (ms), one text for each trouble.
    pub(super) fn warnings(&self, now: i64) -> Vec<String> {
        let RoomTroublesState {
            unreadable,
            set_back,
        } = &*self.inner.lock();
        let unreadable = unreadable.iter().map(|(room, why)| {
            format!(
                "the room \"{room}\" cannot be read ({why}). This process uses what it last read of the room"
            )
        });
        let recent = set_back
            .iter()
            .filter(|(_, at)| now - **at < SET_BACK_WARNED_MS);
        let set_back = recent.map(|(room, at)| {
            let at = rfc3339(*at);
            format!("the ledger was set back: at {at} it had less data of the room \"{room}\" than before. Everybody who was called stays called, and no number is given twice. All other data that the ledger lost is gone")
        });
        unreadable.chain(set_back).collect()
    }
}
