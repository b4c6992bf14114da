//! Forwards calls to booking, and turns failed calls into problems.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fairgate_base::http::{Problem, ProblemCode};

use super::BookingFailure;
use super::remote::forward::{ForwardRefusal, forward};
use super::remote::pool::BookingNodePool;

/// The `Retry-After` (seconds) of problems that end by themselves.
const BACK_S: u64 = 2;

/// Forwards a call, and returns booking's answer or a problem that says why there is none.
pub async fn send_on(pool: BookingNodePool, request: Request) -> Response {
    forward(pool, request)
        .await
        .unwrap_or_else(|refusal| Problem::from(refusal).into_response())
}

impl From<ForwardRefusal> for Problem {
    fn from(refusal: ForwardRefusal) -> Self {
        match refusal {
            ForwardRefusal::NoSuchPage(path) => Self::not_found("page", &path),
            ForwardRefusal::BodyUnreadable => Self::new(
                ProblemCode::BodyUnreadable,
                "The connection broke or the body's framing is wrong. Nothing was changed. Send it again.",
            ),
            ForwardRefusal::Booking(failure) => failure.into(),
        }
    }
}

impl From<BookingFailure> for Problem {
    fn from(failure: BookingFailure) -> Self {
        match failure {
            BookingFailure::Ledger(error) => error.into(),
            BookingFailure::Unreachable => Self::new(
                ProblemCode::BookingUnreachable,
                "Seats and orders cannot be reached just now. Nothing was changed; your place in line, what you hold and what you ordered are kept. Try again in a few seconds.",
            )
            .retry_after(BACK_S),
            BookingFailure::Unanswered => Self::new(
                ProblemCode::BookingUnanswered,
                "The call was sent on and its answer was lost, so it may or may not have been carried out. Nothing is done twice: look at your hold or order, or send it again with the same Idempotency-Key.",
            )
            .retry_after(BACK_S),
            BookingFailure::Refused { status } => {
                let detail = if status == StatusCode::UNAUTHORIZED {
                    "Booking does not know this gateway. Nothing was changed. Operators: give both the same FAIRGATE_INTERNAL_KEY."
                } else {
                    "Booking could not answer this gateway. Nothing was changed. Try again in a few seconds."
                };
                Self::new(ProblemCode::BookingRefused, detail)
                    .retry_after(BACK_S)
            }
        }
    }
}
