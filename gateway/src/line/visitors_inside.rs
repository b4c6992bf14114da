//! Notes what the visitors inside each room do: how long they take from their call to their seats,
//! which baskets they make, and whether they were told that there are no seats.

use async_trait::async_trait;
use fairgate_base::log_failed_try;
use fairgate_pass::{PassClaims, VisitEndCause};

use super::hold_signals::give_back;
use crate::room::{PassTimes, RoomRegistry};
use crate::store::NotedBasket;
use crate::upstream::VisitorsHold;
use crate::upstream::door::VisitorsInside;

/// A visitor who takes seats later than this after the call (ms) had seats before, or did something
/// else.
const FIRST_WITHIN_MS: i64 = 300_000;

/// Notes what visitors do in the rooms of this node.
pub struct LineVisitorsInside {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
}

#[async_trait]
impl VisitorsInside for LineVisitorsInside {
    fn visit_end(&self, room: &str, pass: &PassClaims) -> Option<VisitEndCause> {
        let room = self.rooms.get(room).ok()?;
        room.stops().visit_end(pass)
    }

    fn note_call(&self, room: &str, pass: &PassClaims) {
        if let Ok(room) = self.rooms.get(room) {
            room.presence().note_visitor(pass.number);
            let now_s = self.rooms.now_ms().div_euclid(1_000);
            room.activity().note(pass.number, now_s);
        }
    }

    async fn note_no_seats(&self, room: &str, pass: &PassClaims) {
        let Ok(room) = self.rooms.get(room) else {
            return;
        };
        let times = PassTimes {
            entered_s: pass.iat,
            ends_s: pass.exp,
        };
        let is_new = room.told_none().note_told(pass.number, times);
        if is_new
            && let Err(error) = self
                .rooms
                .store()
                .excuse_visit(room.id(), pass.number)
                .await
        {
            log_failed_try!(
                error,
                room = room.id(),
                "the store did not note that there were no seats for a visitor, so the visit counts"
            );
        }
    }

    async fn note_hold(&self, room: &str, pass: &PassClaims, hold: &str) -> Option<VisitEndCause> {
        let room = self.rooms.get(room).ok()?;
        room.told_none().note_held(pass.number);
        let now = self.rooms.now_ms();
        // The call of a late comer is no longer known. The time of its pass is used instead.
        let called_at = room.last_tick().called_at(pass.rank);
        let took_ms = now - called_at.unwrap_or(pass.iat.saturating_mul(1_000));
        if (0..=FIRST_WITHIN_MS).contains(&took_ms) {
            room.note_choosing_time(took_ms);
        }
        let basket = NotedBasket {
            hold: hold.to_owned(),
            at: now,
            in_checkout: false,
        };
        let noted = self
            .rooms
            .store()
            .note_basket(room.id(), pass.number, basket);
        if let Err(error) = noted.await {
            log_failed_try!(
                error,
                room = room.id(),
                "the store did not note a basket, so it lasts until its deadline even if its visitor is gone"
            );
        }
        let cause = room.stops().visit_end(pass)?;
        // A repeated call only repeats its answer: the basket was made while the visit lasted.
        let baskets = self.rooms.store().baskets_of(room.id(), pass.number, now);
        let is_new = |basket: &NotedBasket| basket.hold == hold && basket.at == now;
        if !baskets.await.ok()?.iter().any(is_new) {
            return None;
        }
        let taken = VisitorsHold {
            hold: hold.to_owned(),
            holder: pass.sub,
        };
        give_back(&self.rooms, &room, vec![taken]).await;
        Some(cause)
    }

    fn note_deadline(&self, room: &str, pass: &PassClaims, until_s: i64) {
        if let Ok(room) = self.rooms.get(room) {
            room.activity().note(pass.number, until_s);
        }
    }

    fn away_s(&self, room: &str) -> Option<u64> {
        let room = self.rooms.get(room).ok()?;
        Some(room.row().document.away_s)
    }
}
