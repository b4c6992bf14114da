//! Measures in each room how long visitors take from their call to their seats.

use fairgate_pass::PassClaims;

use crate::room::RoomRegistry;
use crate::upstream::door::HoldTimes;

/// A visitor who takes seats later than this after the call (ms) had seats before, or did something
/// else.
const FIRST_WITHIN_MS: i64 = 300_000;

/// Measures the times in the rooms of this node.
pub struct LineHoldTimes {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
}

impl HoldTimes for LineHoldTimes {
    fn note_hold(&self, room: &str, pass: &PassClaims) {
        let Ok(room) = self.rooms.get(room) else {
            return;
        };
        // The call of a late comer is no longer known. The time of its pass is used instead.
        let called_at = room.last_tick().called_at(pass.rank);
        let took_ms = self.rooms.now_ms() - called_at.unwrap_or(pass.iat.saturating_mul(1_000));
        if (0..=FIRST_WITHIN_MS).contains(&took_ms) {
            room.note_choosing_time(took_ms);
        }
    }
}
