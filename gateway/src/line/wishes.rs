//! The seats that a waiting visitor would like. The store keeps these wishes until the visitor
//! claims the pass. Wishes change the odds that visitors see, and never a number or a rank.

use fairgate_rules::phase::RoomPhase;
use fairgate_rules::room_document::LineMethod;
use fairgate_rules::wishes::{SeatWish, faults};

use super::WaitingLine;
use super::place_view::{PlaceState, PlaceView, WishView, describe};
use crate::guard::GuardRefusal;
use crate::room::{LineAtTick, Room, supply_of};
use crate::store::{Place, StoreFailure, WishList};

/// Why wishes were not kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WishRefusal {
    /// The room is closed.
    #[error("the room is closed")]
    RoomClosed,
    /// The visitor has claimed the pass, and chooses seats with it.
    #[error("the pass has been claimed")]
    Claimed,
    /// The room has no line, or sells no seats by category.
    #[error("this room takes no wishes: {0}")]
    NotTaken(&'static str),
    /// Booking has not told this node yet what is on sale.
    #[error("it is not known yet what is on sale")]
    NotKnown,
    /// The visitor changes the wishes too often.
    #[error(transparent)]
    Guard(#[from] GuardRefusal),
    /// The wrong fields, each with its fault.
    #[error("{} fields are wrong", .0.len())]
    Faults(Vec<(String, String)>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFailure),
}

impl WaitingLine {
    /// Replaces the wishes of a place at `now` (ms), and returns the view of the place.
    ///
    /// # Errors
    /// Returns a [`WishRefusal`] if the wishes were not kept.
    pub async fn wish(
        &self,
        room: &Room,
        place: &Place,
        wishes: Vec<SeatWish>,
        now: i64,
    ) -> Result<PlaceView, WishRefusal> {
        match describe(room, place, now).state {
            PlaceState::Waiting | PlaceState::Called => {}
            PlaceState::Admitted | PlaceState::Done => return Err(WishRefusal::Claimed),
            PlaceState::Closed => return Err(WishRefusal::RoomClosed),
        }
        if room.row().document.method == LineMethod::Open {
            return Err(WishRefusal::NotTaken("nobody waits in it"));
        }
        self.wish_guard.admit(place.holder)?;
        let tick = room.last_tick();
        if !tick.known {
            return Err(WishRefusal::NotKnown);
        }
        let shows = &tick.pulse.shows;
        if shows.is_empty() && !wishes.is_empty() {
            let why = "it sells no seats by category at the moment";
            return Err(WishRefusal::NotTaken(why));
        }
        let seats_max = |slug: &str| {
            let show = shows.iter().find(|show| show.show == slug)?;
            Some(show.seats_per_visitor)
        };
        let faults = faults(&wishes, &supply_of(shows), seats_max);
        if !faults.is_empty() {
            return Err(WishRefusal::Faults(faults));
        }
        let wishes = WishList::from(wishes);
        let store = self.rooms.store();
        store
            .set_wishes(room.id(), place.number, wishes.clone())
            .await?;
        Ok(self.with_odds(room, place, Some(&wishes), now).await)
    }

    /// Describes a place with its wishes at `now` (ms). If the store does not answer, describes the
    /// place without wishes, because the place matters more. If the room is closed, also describes
    /// the place without wishes, and forgets all wishes of the room on this node.
    pub async fn describe_with_wishes(&self, room: &Room, place: &Place, now: i64) -> PlaceView {
        if room.phase(now) == RoomPhase::Closed {
            room.wishes().clear();
            return describe(room, place, now);
        }
        if room.row().document.method == LineMethod::Open {
            return describe(room, place, now);
        }
        let store = self.rooms.store();
        let wishes = store.wishes_of(room.id(), place.number).await;
        let wishes = wishes.ok().flatten();
        self.with_odds(room, place, wishes.as_deref(), now).await
    }

    async fn with_odds(
        &self,
        room: &Room,
        place: &Place,
        wishes: Option<&[SeatWish]>,
        now: i64,
    ) -> PlaceView {
        let mut view = describe(room, place, now);
        let Some(wishes) = wishes else {
            return view;
        };
        let odds = if wishes.is_empty() || view.state != PlaceState::Waiting {
            None
        } else {
            let line = LineAtTick {
                room: room.id().to_owned(),
                tick: room.last_tick(),
                ranked: room.draw_state().ranked,
                is_ordered: view.rank.is_some(),
            };
            room.wishes().odds(line, self.rooms.shared_store()).await
        };
        let views = wishes.iter().map(|wish| WishView {
            wish: wish.clone(),
            odds: odds.as_ref().map(|odds| odds.told_odds(wish, view.rank)),
        });
        view.wishes = Some(views.collect());
        view
    }
}
