//! The door between the line and booking: nobody holds a seat without a live pass of the show's room. A browser's
//! cookie becomes the Bearer pass that booking reads, and booking checks it again by itself.

use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use booking::door::keys::bearer;
use booking::door::visitor::{pass_invalid, waiting_room};
use booking::http::Problem;

use crate::room::Rooms;
use crate::web::{Web, cookie, pass_cookie};

#[derive(Clone)]
struct Door {
    rooms: Rooms,
    web: Web,
}

/// Puts the door in front of booking's routes.
pub fn layer(booking: Router, rooms: &Rooms, web: &Web) -> Router {
    let door = Door {
        rooms: rooms.clone(),
        web: web.clone(),
    };
    booking.layer(from_fn_with_state(door, guard))
}

async fn guard(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let room = show_of(request.uri().path()).and_then(|show| door.rooms.core().room_of(show));
    if let Some(room) = room
        && let Err(problem) = door.admit(&mut request, &room)
    {
        return problem.into_response();
    }
    let changes = !request.method().is_safe();
    let asked = Instant::now();
    let answer = next.run(request).await;
    // Reads are answered from memory and would hide what booking needs for a hold or an order.
    if changes {
        let failed = answer.status().is_server_error();
        door.rooms.health().record(asked.elapsed(), failed);
    }
    answer
}

impl Door {
    /// Turns away who has no pass, or none of ours; booking looks at room and time, again by itself.
    fn admit(&self, request: &mut Request, room: &str) -> Result<(), Problem> {
        if bearer(request.headers()).is_none() {
            self.lift_cookie(request, room)?;
        }
        if takes_seats(request) {
            self.check_pass(request.headers(), room)?;
        }
        Ok(())
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

    fn check_pass(&self, headers: &HeaderMap, room: &str) -> Result<(), Problem> {
        let pass = bearer(headers).ok_or_else(|| waiting_room(room))?;
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
