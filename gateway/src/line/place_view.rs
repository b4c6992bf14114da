//! The view that a visitor gets of their place. The poll, the socket and the page all use it.

use fairgate_base::clock::rfc3339;
use fairgate_pass::VisitEndCause;
use fairgate_rules::estimate::{UnknownWait, WaitEstimate, refresh_s};
use fairgate_rules::faults::micros_per_s;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::wishes::SeatWish;
use serde::Serialize;

use crate::room::{Room, RoomTick};
use crate::store::Place;

/// The longest time (seconds) until a visitor looks at the place again.
const LOOK_MAX_S: u64 = 45;
/// The longest time (seconds) until a visitor looks again if all unsold seats are in baskets.
const NEAR_THE_END_S: u64 = 5;

/// How far a visitor has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaceState {
    /// In the line.
    Waiting,
    /// May claim a pass.
    Called,
    /// Has a pass that is still valid.
    Admitted,
    /// An order was ticketed.
    Done,
    /// The room is over.
    Closed,
}

/// Why a pass ended without an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassEnd {
    /// The visitor did nothing for the room's `pass_idle_s`.
    Idle,
    /// As many baskets lapsed as the room's `lapses_max` allows.
    Lapses,
    /// The pass ran out.
    Expired,
}

/// A wish, and how likely it is that it can be met.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct WishView {
    /// The wish.
    #[serde(flatten)]
    pub wish: SeatWish,
    /// How likely it is that these seats are left when the turn comes: 0 to 1, in steps of 0.1.
    /// Before the draw this is the mean over all ranks. Null from the turn on, and if it is not
    /// known.
    pub odds: Option<f64>,
}

/// `GET /v1/rooms/{room}/place`.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct PlaceView {
    /// The join number.
    pub number: u64,
    /// The rank; null before the draw.
    pub rank: Option<u64>,
    /// The rank whose release calls this place; null before the draw. Before the first pass that is
    /// its own rank.
    pub turn: Option<u64>,
    /// People between the counter and this place's turn; null before the draw.
    pub ahead: Option<u64>,
    /// Where the visitor stands.
    pub state: PlaceState,
    /// How long the visitor will probably wait for the turn.
    pub wait: WaitEstimate,
    /// How likely it is that a seat is left when the turn comes: 0 to 1, in steps of 0.1. Null
    /// before the draw, without a line, and from the turn on.
    pub odds: Option<f64>,
    /// The time by which a called visitor is expected to claim, RFC 3339. Null once it has passed.
    /// A visitor who claims later loses nothing.
    pub claim_before: Option<String>,
    /// In how many seconds to look again.
    pub refresh_s: u64,
    /// Why the visitor's last pass ended without an order, if it did. The place is in the line
    /// again, behind those who stood there when it ended.
    pub pass_ended: Option<PassEnd>,
    /// The seats that the visitor would like, in order of preference. Null if the visitor has never
    /// sent any, or if the store cannot return them at the moment.
    pub wishes: Option<Vec<WishView>>,
}

/// Describes a place at `now` (ms), as its visitor sees it, without its wishes.
#[must_use]
pub fn describe(room: &Room, place: &Place, now: i64) -> PlaceView {
    let (tick, phase) = (room.last_tick(), room.phase(now));
    let per_s_u = micros_per_s(room.pace_per_s());
    let rank = room.rank(place.number);
    let turn = room.turn(place, now);
    let ahead = turn.map(|turn| tick.ahead(turn));
    let called = turn.is_some_and(|turn| turn < tick.released);
    let state = state_of(place, phase, called, now);
    let wait = match (state, ahead) {
        (PlaceState::Waiting, _) if phase == RoomPhase::Selling && room.lets_nobody_in() => {
            WaitEstimate::unknown(UnknownWait::Paused)
        }
        (PlaceState::Waiting, Some(ahead)) if phase == RoomPhase::Selling => tick.waits.wait(ahead),
        (PlaceState::Waiting, _) if phase == RoomPhase::SoldOut => {
            WaitEstimate::unknown(UnknownWait::FewSeats)
        }
        (PlaceState::Waiting | PlaceState::Closed, _) => {
            WaitEstimate::unknown(UnknownWait::NoFigures)
        }
        (PlaceState::Called, _) if room.lets_nobody_in() => {
            WaitEstimate::unknown(UnknownWait::Paused)
        }
        (PlaceState::Called | PlaceState::Admitted | PlaceState::Done, _) => WaitEstimate::NONE,
    };
    let odds = match (state, phase) {
        (PlaceState::Waiting, RoomPhase::SoldOut) => Some(0.0),
        (PlaceState::Waiting, _) => ahead
            .zip(tick.demand.as_ref())
            .map(|(ahead, demand)| demand.told_odds(ahead)),
        _ => None,
    };
    let claim_before = (state == PlaceState::Called)
        .then(|| turn.and_then(|turn| claim_before(room, turn)))
        .flatten();
    PlaceView {
        number: place.number,
        rank,
        turn,
        ahead,
        state,
        wait,
        odds,
        claim_before,
        refresh_s: match state {
            PlaceState::Waiting => look_again_s(&tick, ahead, per_s_u),
            PlaceState::Called => 2,
            PlaceState::Admitted | PlaceState::Done => 10,
            PlaceState::Closed => 60,
        },
        pass_ended: matches!(state, PlaceState::Waiting | PlaceState::Called)
            .then(|| pass_end(room, place))
            .flatten(),
        wishes: None,
    }
}

/// Returns why the last pass of a place without a live pass ended, if it had one.
fn pass_end(room: &Room, place: &Place) -> Option<PassEnd> {
    let exp = place.pass_exp?;
    let cause = room.stops().last_visit_end(place.number, exp);
    Some(cause.map_or(PassEnd::Expired, |cause| match cause {
        VisitEndCause::Idle => PassEnd::Idle,
        VisitEndCause::Lapses => PassEnd::Lapses,
    }))
}

fn state_of(place: &Place, phase: RoomPhase, is_called: bool, now: i64) -> PlaceState {
    if phase == RoomPhase::Closed {
        PlaceState::Closed
    } else if place.done {
        PlaceState::Done
    } else if place.pass_exp.is_some_and(|exp| exp > now.div_euclid(1000)) {
        PlaceState::Admitted
    } else if is_called {
        PlaceState::Called
    } else {
        PlaceState::Waiting
    }
}

/// Returns in how many seconds to look again. If all unsold seats are in baskets, the line may end
/// or go on at any moment, so even visitors far back look soon. The longest time is short enough
/// that a visitor who waits does not count as away.
fn look_again_s(tick: &RoomTick, ahead: Option<u64>, per_s_u: u64) -> u64 {
    let near_the_end = tick.known && tick.pulse.free == 0 && tick.pulse.held > 0;
    let refresh_max_s = if near_the_end {
        NEAR_THE_END_S
    } else {
        LOOK_MAX_S
    };
    refresh_s(ahead, per_s_u).min(refresh_max_s)
}

/// Returns the time by which a called rank is expected to claim, RFC 3339. Returns `None` if the
/// window of its call has passed.
#[must_use]
pub fn claim_before(room: &Room, rank: u64) -> Option<String> {
    let claim_ms = i64::try_from(room.row().document.claim_s)
        .ok()?
        .checked_mul(1000)?;
    let called_at = room.last_tick().called_at(rank)?;
    Some(rfc3339(called_at.saturating_add(claim_ms)))
}
