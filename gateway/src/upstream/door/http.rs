//! The door in front of booking. A call that takes seats needs a pass that this installation
//! signed. The door turns a browser's cookie into the Bearer pass that booking reads. Booking
//! checks the pass again, and also its room and its expiry.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use booking::http::route_kinds::{RouteKind, route_kind, takes_seats};
use booking::http::visitor::{pass_invalid, waiting_room};
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_pass::PassClaims;
use jiff::Timestamp;
use serde_json::Value;

use super::{BookingDoor, VisitorsInside, show_of};
use crate::cookies::{self, CookieKind};
use crate::upstream::pass_ended;

/// Puts the door in front of booking's routes.
pub fn layer(booking: Router, door: BookingDoor) -> Router {
    booking.layer(from_fn_with_state(Arc::new(door), guard))
}

async fn guard(State(door): State<Arc<BookingDoor>>, mut request: Request, next: Next) -> Response {
    let room = show_of(request.uri().path()).and_then(|show| door.core.room_of(show));
    let takes_seats = takes_seats(request.method(), request.uri().path());
    let has_deadline = has_deadline(request.method(), request.uri().path());
    let (mut waiting, mut caller) = (None, None);
    if let Some(room) = &room {
        match door.admit(&mut request, room, takes_seats).await {
            Ok(Admission::Admitted(pass)) => caller = pass,
            Ok(Admission::BookingDecides(problem)) => waiting = Some(problem),
            Err(problem) => return problem.into_response(),
        }
    }
    // Only purchases count for booking's health.
    let kind = route_kind(request.method(), request.uri().path());
    let call = (kind == RouteKind::Purchase).then(|| door.health.begin_call());
    let answer = next.run(request).await;
    if let Some(call) = call {
        // A call that was refused for its contents took none of booking's time, so it is not
        // measured.
        let status = answer.status();
        let took_time =
            status.is_success() || status.is_server_error() || status == StatusCode::CONFLICT;
        if took_time && !says_nothing_about_health(&answer) {
            call.mark_answered(status.is_server_error());
        } else {
            call.mark_refused();
        }
    }
    let answer = match (&room, &caller) {
        (Some(room), Some(pass)) => {
            door.visitors.note_call(room, pass);
            if takes_seats {
                note_seats(door.visitors.as_ref(), room, pass, answer).await
            } else if has_deadline && answer.status().is_success() {
                note_deadline(door.visitors.as_ref(), room, pass, answer).await
            } else {
                answer
            }
        }
        _ => answer,
    };
    match waiting {
        // The gateway's refusal has the better time to come back.
        Some(problem) if answer.status() == StatusCode::TOO_MANY_REQUESTS => {
            problem.into_response()
        }
        _ => answer,
    }
}

/// What the door decides about a call that it does not refuse itself.
enum Admission {
    /// The call goes on to booking. It has this pass, or none that is valid.
    Admitted(Option<PassClaims>),
    /// The call takes seats without a pass, of a show that no room names. Booking knows whether the
    /// show is sold at all. If it is, the answer is this problem.
    BookingDecides(Problem),
}

impl BookingDoor {
    /// Adds the pass from the cookie to a call without a Bearer. Refuses a call that takes seats if
    /// its pass is missing or not valid, or while this process sheds holds. Booking checks the
    /// pass's room and expiry.
    async fn admit(
        &self,
        request: &mut Request,
        room: &str,
        takes_seats: bool,
    ) -> Result<Admission, Problem> {
        let pass = match bearer(request.headers()) {
            Some(pass) if takes_seats => Some(self.check_pass(pass, room)?),
            // The key of an order is no pass.
            Some(pass) => self.check_pass(pass, room).ok(),
            None => {
                let added = self.add_pass_from_cookie(request, room, takes_seats)?;
                if takes_seats && added.is_none() {
                    let place = cookies::value(request.headers(), CookieKind::Place, room);
                    let back_s = self.come_back_times.back_in_s(room, place).await;
                    let problem = waiting_room(room).retry_after(back_s);
                    if room == EVERYDAY {
                        return Ok(Admission::BookingDecides(problem));
                    }
                    return Err(problem);
                }
                added
            }
        };
        if let Some(pass) = pass.as_ref().filter(|_| takes_seats)
            && let Some(cause) = self.visitors.visit_end(room, pass)
        {
            return Err(pass_ended(room, cause));
        }
        if takes_seats {
            // The load is checked last, so that a visitor without a pass is always sent to the
            // waiting room.
            self.load.admit_hold()?;
        }
        Ok(Admission::Admitted(pass))
    }

    /// Turns the pass in the cookie into the Bearer pass that booking verifies. Returns the pass
    /// that the call now has. Browsers send cookies with every call. A pass that is not valid is
    /// therefore ignored if the call needs no pass. Browsers also send cookies with the calls of
    /// foreign pages. Such a call is therefore refused if it changes something.
    fn add_pass_from_cookie(
        &self,
        request: &mut Request,
        room: &str,
        needs_pass: bool,
    ) -> Result<Option<PassClaims>, Problem> {
        let Some(value) = cookies::value(request.headers(), CookieKind::Pass, room) else {
            return Ok(None);
        };
        let verified = self.keyring.verify_pass_cookie(value, room, self.now_s());
        let verified = match verified {
            Ok(verified) => verified,
            Err(error) if needs_pass => return Err(pass_invalid(&error, room)),
            Err(_) => return Ok(None),
        };
        let pass = self.keyring.sign_pass(verified.claims());
        let Ok(value) = HeaderValue::from_str(&format!("Bearer {pass}")) else {
            return Ok(None);
        };
        if !request.method().is_safe() {
            self.web.check_origin(request.headers())?;
        }
        request.headers_mut().insert(header::AUTHORIZATION, value);
        Ok(Some(verified.claims().clone()))
    }

    fn check_pass(&self, pass: &str, room: &str) -> Result<PassClaims, Problem> {
        let verified = self.keyring.verifier().verify_pass(pass, self.now_s());
        verified
            .map(|verified| verified.claims().clone())
            .map_err(|error| pass_invalid(&error, room))
    }

    fn now_s(&self) -> i64 {
        self.clock.now_ms().div_euclid(1_000)
    }
}

/// The longest answer with a basket that the door reads, in bytes.
const BASKET_BYTES_MAX: usize = 1 << 20;

/// Notes how a call that takes seats ended. Adds to a new basket after how long it lapses if its
/// visitor is known to be gone.
async fn note_seats(
    visitors: &dyn VisitorsInside,
    room: &str,
    pass: &PassClaims,
    answer: Response,
) -> Response {
    let code = answer.headers().get(fairgate_base::http::CODE);
    if code.is_some_and(|code| code == ProblemCode::BestAvailableNotFound.as_str()) {
        visitors.note_no_seats(room, pass).await;
    }
    if answer.status() != StatusCode::CREATED {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    let Ok(bytes) = to_bytes(body, BASKET_BYTES_MAX).await else {
        // The seats are held, but booking's answer broke off.
        return Problem::new(
            ProblemCode::SeatsUnreachable,
            "The answer about your seats was lost. They may be held for you: send the same call again with the same Idempotency-Key, or read your baskets.",
        )
        .into_response();
    };
    let Ok(mut basket) = serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes) else {
        return Response::from_parts(head, bytes.into());
    };
    if let Some(hold) = basket.get("hold").and_then(Value::as_str)
        && let Some(cause) = visitors.note_hold(room, pass, hold).await
    {
        return pass_ended(room, cause).into_response();
    }
    if let Some(away_s) = visitors.away_s(room) {
        basket.insert("away_s".to_owned(), away_s.into());
    }
    head.headers.remove(header::CONTENT_LENGTH);
    let text = Value::Object(basket).to_string();
    Response::from_parts(head, text.into())
}

/// Returns whether the answer to a call tells until when its visitor has a basket or can pay an
/// order.
fn has_deadline(method: &Method, path: &str) -> bool {
    let calls = ["/accept", "/extend", "/order", "/try-again", "/exchange"];
    *method == Method::POST && calls.iter().any(|call| path.ends_with(call))
}

/// The members of answers that tell a deadline.
const DEADLINES: [&str; 2] = ["pay_until", "expires_at"];

/// Notes until when the visitor has a basket or can pay an order, so that the pass does not end
/// before.
async fn note_deadline(
    visitors: &dyn VisitorsInside,
    room: &str,
    pass: &PassClaims,
    answer: Response,
) -> Response {
    let (head, body) = answer.into_parts();
    let Ok(bytes) = to_bytes(body, BASKET_BYTES_MAX).await else {
        return Problem::new(
            ProblemCode::SeatsUnreachable,
            "The answer about your seats was lost. What you asked for may be done: send the same call again with the same Idempotency-Key, or read your order.",
        )
        .into_response();
    };
    if let Ok(told) = serde_json::from_slice::<Value>(&bytes) {
        let deadlines = DEADLINES
            .iter()
            .filter_map(|name| told.get(*name)?.as_str());
        let times = deadlines.filter_map(|text| text.parse::<Timestamp>().ok());
        if let Some(latest) = times.max() {
            visitors.note_deadline(room, pass, latest.as_second());
        }
    }
    Response::from_parts(head, bytes.into())
}

/// Returns whether an answer with a server's status says nothing about booking's health: payments
/// are not configured, the call met a change, such as a new timetable, and succeeds a second later,
/// or too many visitors have their seats chosen at once, which keeps nobody from buying.
fn says_nothing_about_health(answer: &Response) -> bool {
    let code = answer.headers().get(fairgate_base::http::CODE);
    let mut harmless = [
        ProblemCode::Busy,
        ProblemCode::PaymentsNotConfigured,
        ProblemCode::SeatsNotReady,
    ]
    .into_iter();
    harmless.any(|known| code.is_some_and(|code| code == known.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_exchanges_and_kept_baskets_have_deadlines() {
        for (method, path, expected) in [
            (Method::POST, "/v1/holds/hold_n_1/order", true),
            (Method::POST, "/v1/holds/hold_n_1/accept", true),
            (Method::POST, "/v1/orders/order_n_1/exchange", true),
            (Method::GET, "/v1/holds/hold_n_1/order", false),
            (Method::POST, "/v1/orders/order_n_1/cancel", false),
            (Method::POST, "/v1/shows/n/holds", false),
        ] {
            assert_eq!(has_deadline(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn settings_and_changes_say_nothing_about_health_and_outages_do() {
        let answer = |code| Problem::new(code, "d").into_response();
        for (code, expected) in [
            (ProblemCode::PaymentsNotConfigured, true),
            (ProblemCode::SeatsNotReady, true),
            (ProblemCode::Busy, true),
            (ProblemCode::SeatsUnreachable, false),
            (ProblemCode::LedgerUnavailable, false),
        ] {
            assert_eq!(
                says_nothing_about_health(&answer(code)),
                expected,
                "{code:?}"
            );
        }
    }
}
