//! Works out when a visitor who came to booking's door without a pass should come back. A visitor
//! with a place should come back when the place's turn is expected. A visitor without a place gets
//! the wait of somebody who joins now.

use async_trait::async_trait;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::room_document::LineMethod;

use super::place_view::{PlaceState, PlaceView, describe};
use super::rejoin::{PlaceCredential, recognise};
use crate::room::{Room, RoomRegistry};
use crate::upstream::door::ComeBackTimes;

/// The longest time (seconds) after which a visitor is told to come back. It is limited because the
/// wait may change.
const BACK_MAX_S: u64 = 3600;
/// When to look again (seconds) if the wait is not known.
const BACK_UNKNOWN_S: u64 = 60;

/// Works out, from the rooms of this node, when visitors should come back.
pub struct LineComeBackTimes {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
}

#[async_trait]
impl ComeBackTimes for LineComeBackTimes {
    async fn back_in_s(&self, room: &str, place: Option<&str>) -> u64 {
        let Ok(room) = self.rooms.get(room) else {
            return BACK_UNKNOWN_S;
        };
        let now = self.rooms.now_ms();
        let place = match place {
            Some(value) => {
                let credential = PlaceCredential::Cookie(value);
                recognise(&self.rooms, &room, credential, now).await.ok()
            }
            None => None,
        };
        let back_s = match place {
            Some(place) => own_wait_s(&describe(&room, &place, now)),
            None => newcomers_wait_s(&room, now),
        };
        back_s.clamp(1, BACK_MAX_S)
    }
}

/// Returns how long (seconds) a place waits for its turn.
fn own_wait_s(place: &PlaceView) -> u64 {
    match (place.state, place.wait.p50_s) {
        (PlaceState::Waiting, Some(wait_s)) => wait_s.ceil() as u64,
        (PlaceState::Waiting, None) => BACK_UNKNOWN_S.min(place.refresh_s.max(5)),
        // The pass can be claimed now, or has been claimed.
        (PlaceState::Called | PlaceState::Admitted | PlaceState::Done, _) => 1,
        (PlaceState::Closed, _) => BACK_MAX_S,
    }
}

/// Returns how long (seconds) a visitor who joins now would wait.
fn newcomers_wait_s(room: &Room, now: i64) -> u64 {
    let (row, tick) = (room.row(), room.last_tick());
    let document = &row.document;
    let until = |at: i64| u64::try_from(at.saturating_sub(now).div_euclid(1000) + 1).unwrap_or(1);
    match room.phase(now) {
        RoomPhase::Scheduled => until(document.opens_at),
        RoomPhase::Prequeue | RoomPhase::Drawing => {
            let called_at = row.facts.draw_called_at.unwrap_or(document.draw_at);
            until(document.draw_at.min(called_at))
        }
        RoomPhase::Selling if room.lets_nobody_in() => BACK_UNKNOWN_S,
        RoomPhase::Selling
            if document.method == LineMethod::Open && tick.counts.inside < tick.inside_max =>
        {
            1
        }
        RoomPhase::Selling => {
            let wait = tick.waits.wait(tick.waiting);
            wait.p50_s
                .map_or(BACK_UNKNOWN_S, |wait_s| wait_s.ceil() as u64)
        }
        RoomPhase::SoldOut => BACK_UNKNOWN_S,
        RoomPhase::Closed => BACK_MAX_S,
    }
}
