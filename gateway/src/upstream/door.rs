//! The door between the line and booking: nobody holds a seat without a live pass of the show's room. A browser's
//! cookie becomes the Bearer pass that booking reads, and booking checks it again by itself.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use booking::door::keys::bearer;
use booking::http::visitor::{pass_invalid, waiting_room};
use fairgate_base::http::Problem;

use crate::line::place_view::{PlaceState, PlaceView, describe};
use crate::line::recognise;
use crate::load::Load;
use crate::room::{self, Phase, Room, Rooms};
use crate::web::{Web, cookie, pass_cookie, place_cookie};
use fairgate_rules::estimate::Wait;

/// Nobody is told to come back later than this: things change.
const BACK_MAX_S: u64 = 3600;
/// When to look again where nothing is known of the wait.
const BACK_UNKNOWN_S: u64 = 60;

#[derive(Clone)]
struct Door {
    rooms: Rooms,
    web: Web,
    load: Load,
}

/// Puts the door in front of booking's routes.
pub fn layer(booking: Router, rooms: &Rooms, web: &Web, load: &Load) -> Router {
    let door = Door {
        rooms: rooms.clone(),
        web: web.clone(),
        load: load.clone(),
    };
    booking.layer(from_fn_with_state(door, guard))
}

async fn guard(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let room = show_of(request.uri().path()).and_then(|show| door.rooms.core().room_of(show));
    if let Some(room) = room
        && let Err(problem) = door.admit(&mut request, &room).await
    {
        return problem.into_response();
    }
    let call = is_a_purchase(&request).then(|| door.rooms.health().call());
    let answer = next.run(request).await;
    if let Some(call) = call {
        // Whoever was turned away for what they sent took none of booking's time.
        let status = answer.status();
        let took_time =
            status.is_success() || status.is_server_error() || status == StatusCode::CONFLICT;
        if took_time && !is_a_setting(&answer) {
            call.answered(status.is_server_error());
        } else {
            call.refused();
        }
    }
    answer
}

impl Door {
    /// Turns away who has no pass, or none of ours; booking looks at room and time, again by itself.
    async fn admit(&self, request: &mut Request, room: &str) -> Result<(), Problem> {
        if bearer(request.headers()).is_none() {
            self.lift_cookie(request, room)?;
        }
        if !takes_seats(request) {
            return Ok(());
        }
        let Some(pass) = bearer(request.headers()) else {
            let back_s = self.back_in_s(request.headers(), room).await;
            return Err(waiting_room(room).retry_after(back_s));
        };
        self.check_pass(pass, room)?;
        // Last: who has no pass is told of the room, and not of the load.
        self.load.admit_hold()
    }

    /// Seconds until whoever sends this is likely to be let in.
    async fn back_in_s(&self, headers: &HeaderMap, room: &str) -> u64 {
        let Ok(room) = self.rooms.get(room) else {
            return BACK_UNKNOWN_S;
        };
        let now = self.rooms.now();
        let place = match cookie(headers, &place_cookie(room.id())) {
            Some(jwt) => recognise(&self.rooms, &room, jwt, now).await.ok(),
            None => None,
        };
        let back_s = match place {
            Some(place) => own_wait_s(&describe(&room, &place, now)),
            None => newcomers_wait_s(&room, now),
        };
        back_s.clamp(1, BACK_MAX_S)
    }

    /// A cookie travels by itself, so on a call that changes something it counts only from our own pages.
    fn lift_cookie(&self, request: &mut Request, room: &str) -> Result<(), Problem> {
        let Some(pass) = cookie(request.headers(), &pass_cookie(room)) else {
            return Ok(());
        };
        let Ok(value) = HeaderValue::from_str(&format!("Bearer {pass}")) else {
            return Ok(());
        };
        if !request.method().is_safe() {
            self.web.check_origin(request.headers())?;
        }
        request.headers_mut().insert(header::AUTHORIZATION, value);
        Ok(())
    }

    fn check_pass(&self, pass: &str, room: &str) -> Result<(), Problem> {
        let verified = self
            .rooms
            .keyring()
            .verifier()
            .verify_pass(pass, self.rooms.now() / 1_000);
        verified
            .map(drop)
            .map_err(|error| pass_invalid(&error, room))
    }
}

/// How long a place waits for its turn.
fn own_wait_s(place: &PlaceView) -> u64 {
    match (place.state, place.wait.p50_s) {
        (PlaceState::Waiting, Some(wait_s)) => wait_s.ceil() as u64,
        (PlaceState::Waiting, None) => BACK_UNKNOWN_S.min(place.refresh_s.max(5)),
        // The pass is there to be claimed, or was.
        (PlaceState::Called | PlaceState::Admitted | PlaceState::Done, _) => 1,
        (PlaceState::Closed, _) => BACK_MAX_S,
    }
}

/// How long somebody waits who joins now.
fn newcomers_wait_s(room: &Room, now: i64) -> u64 {
    let (row, tick) = (room.row(), room.tick());
    let document = &row.document;
    let until = |at: i64| u64::try_from(at.saturating_sub(now).div_euclid(1000) + 1).unwrap_or(1);
    match room.phase(now) {
        Phase::Scheduled => until(document.opens_at),
        Phase::Prequeue | Phase::Drawing => until(document.draw_at),
        Phase::Selling if row.facts.paused => BACK_UNKNOWN_S,
        Phase::Selling
            if document.method == room::Method::Open && tick.counts.inside < tick.inside_max =>
        {
            1
        }
        Phase::Selling => {
            let wait = Wait::at_rates((tick.waiting + 1) as f64, tick.rates);
            wait.p50_s
                .map_or(BACK_UNKNOWN_S, |wait_s| wait_s.ceil() as u64)
        }
        Phase::SoldOut => BACK_UNKNOWN_S,
        Phase::Closed => BACK_MAX_S,
    }
}

/// Holds, orders and the sandbox's payments: what booking's health is measured by. Reads are answered from memory and would hide
/// it; webhooks, plans and documents come from others and take their own time.
fn is_a_purchase(request: &Request) -> bool {
    let path = request.uri().path();
    let of_purchases = ["/v1/holds/", "/v1/orders/", "/v1/sandbox/payments/"];
    let is_one = takes_seats(request) || of_purchases.iter().any(|of| path.starts_with(of));
    !request.method().is_safe() && is_one
}

/// Whether an answer is about how booking was set up, and not about how it is.
fn is_a_setting(answer: &Response) -> bool {
    let code = answer.headers().get(fairgate_base::http::CODE);
    code.is_some_and(|code| code == "payments_not_configured")
}

fn takes_seats(request: &Request) -> bool {
    let path = request.uri().path();
    request.method() == Method::POST && path.starts_with("/v1/shows/") && path.ends_with("/holds")
}

/// The show that a path of booking is about: named in it, or carried by the id in it.
fn show_of(path: &str) -> Option<&str> {
    let mut parts = path.strip_prefix("/v1/")?.split('/');
    match (parts.next()?, parts.next()?) {
        ("shows", show) => Some(show),
        ("holds" | "orders" | "tickets", id) => id.split('_').nth(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_nobody_set_up_is_no_illness() {
        let answer = |code| Problem::new(503, code, "t", "d").into_response();
        assert!(is_a_setting(&answer("payments_not_configured")));
        assert!(!is_a_setting(&answer("ledger_unavailable")));
    }

    #[test]
    fn every_booking_path_tells_its_show() {
        for (path, show) in [
            ("/v1/shows/night-1/holds", Some("night-1")),
            ("/v1/holds/hold_night-1_00ff", Some("night-1")),
            ("/v1/orders/order_night-1_00ff/cancel", Some("night-1")),
            ("/v1/tickets/ticket_night-1_00ff.svg", Some("night-1")),
            ("/v1/orders/lookup", None),
            ("/v1/shows", None),
            ("/r/demo", None),
        ] {
            assert_eq!(show_of(path), show, "{path}");
        }
    }
}
