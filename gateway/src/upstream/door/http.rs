//! The door in front of booking: a call that takes seats needs a pass that this installation
//! signed. The door turns a browser's cookie into the Bearer pass that booking reads. Booking
//! checks the pass again, with its room and its expiry.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use booking::http::route_kinds::{RouteKind, route_kind, takes_seats};
use booking::http::visitor::{pass_invalid, waiting_room};
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{Problem, ProblemCode};

use super::{BookingDoor, show_of};
use crate::web::{cookie, pass_cookie, place_cookie};

/// Puts the door in front of booking's routes.
pub fn layer(booking: Router, door: BookingDoor) -> Router {
    booking.layer(from_fn_with_state(door, guard))
}

async fn guard(State(door): State<BookingDoor>, mut request: Request, next: Next) -> Response {
    let room = show_of(request.uri().path()).and_then(|show| door.core.room_of(show));
    if let Some(room) = room
        && let Err(problem) = door.admit(&mut request, &room).await
    {
        return problem.into_response();
    }
    // Only purchases measure booking's health.
    let kind = route_kind(request.method(), request.uri().path());
    let call = (kind == RouteKind::Purchase).then(|| door.health.begin_call());
    let answer = next.run(request).await;
    if let Some(call) = call {
        // A call that was refused for its contents took none of booking's time, so it is not
        // measured.
        let status = answer.status();
        let took_time =
            status.is_success() || status.is_server_error() || status == StatusCode::CONFLICT;
        if took_time && !is_payments_not_configured(&answer) {
            call.mark_answered(status.is_server_error());
        } else {
            call.mark_refused();
        }
    }
    answer
}

impl BookingDoor {
    /// Adds the pass from the cookie to a call without a Bearer. Refuses a call that takes seats if
    /// its pass is missing or not valid, or while this process sheds holds. Booking checks the
    /// pass's room and expiry.
    async fn admit(&self, request: &mut Request, room: &str) -> Result<(), Problem> {
        if bearer(request.headers()).is_none() {
            self.lift_cookie(request, room)?;
        }
        if !takes_seats(request.method(), request.uri().path()) {
            return Ok(());
        }
        let Some(pass) = bearer(request.headers()) else {
            let place = cookie(request.headers(), &place_cookie(room));
            let back_s = self.waits.back_in_s(room, place).await;
            return Err(waiting_room(room).retry_after(back_s));
        };
        self.check_pass(pass, room)?;
        // The load is checked last, so that a visitor without a pass is always sent to the waiting
        // room.
        Ok(self.load.admit_hold()?)
    }

    /// Turns the pass in the cookie into a Bearer pass. Browsers send cookies for foreign pages,
    /// too, so a call that changes something is refused if a foreign page made it.
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
            .keyring
            .verifier()
            .verify_pass(pass, self.clock.now_ms() / 1_000);
        verified
            .map(drop)
            .map_err(|error| pass_invalid(&error, room))
    }
}

/// Returns whether booking answered that payments are not configured. Such an answer says nothing
/// about its health.
fn is_payments_not_configured(answer: &Response) -> bool {
    let code = answer.headers().get(fairgate_base::http::CODE);
    code.is_some_and(|code| code == ProblemCode::PaymentsNotConfigured.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payments_not_configured_is_about_settings_and_ledger_unavailable_is_not() {
        let answer = |code| Problem::new(code, "d").into_response();
        assert!(is_payments_not_configured(&answer(
            ProblemCode::PaymentsNotConfigured
        )));
        assert!(!is_payments_not_configured(&answer(
            ProblemCode::LedgerUnavailable
        )));
    }
}
