//! JSON answers, and stored answers that are sent again. Also the problems for a call with the
//! `Idempotency-Key` of a call that is still running, or of a different call.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::ledger::KeptAnswer;
use fairgate_base::http::{Problem, ProblemCode};

/// A JSON answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonAnswer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The JSON body.
    pub body: serde_json::Value,
}

impl JsonAnswer {
    /// Builds an answer from a status and a body. A number that is not an HTTP status becomes 200.
    ///
    /// # Errors
    /// 500 if the body cannot be written as JSON.
    pub fn json(status: u16, body: &impl serde::Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_value(body).map_err(|error| {
            tracing::error!(%error, "an answer could not be written as JSON");
            Problem::new(
                ProblemCode::Internal,
                "The answer could not be written. Ask again to see what was done.",
            )
            .with_title("Something broke here")
        })?;
        Ok(Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            body,
        })
    }
}

impl IntoResponse for JsonAnswer {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        (self.status, headers, self.body.to_string()).into_response()
    }
}

pub(super) fn respond(result: Result<JsonAnswer, Problem>) -> Response {
    match result {
        Ok(answer) => answer.into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// Builds the response from a stored answer: the same status and body, and the header
/// `idempotency-replayed: true`.
pub(super) fn replay(kept: KeptAnswer) -> Response {
    let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let media = if status.is_success() {
        "application/json"
    } else {
        "application/problem+json"
    };
    let headers = [
        (header::CONTENT_TYPE.as_str(), media),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        ("idempotency-replayed", "true"),
    ];
    (status, headers, kept.body).into_response()
}

pub(super) fn in_flight() -> Problem {
    Problem::new(
        ProblemCode::IdempotencyInFlight,
        "The first call with this Idempotency-Key has not been answered yet. This one did nothing. Ask again in a second.",
    )
    .retry_after(1)
}

pub(super) fn mismatch() -> Problem {
    Problem::new(
        ProblemCode::IdempotencyMismatch,
        "This key belongs to an earlier call with another body or address. Nothing was changed. Use a new key for a new call.",
    )
}
