//! Wraps every route of gateway and booking: a request that takes too long is given up, and a panic
//! of a handler is answered with a 500 `internal`.

use std::any::Any;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;

use super::{Problem, ProblemCode};

/// How long a request may take, including its body. So a client that sends one byte a minute does
/// not occupy the server.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// Puts the time limit and the panic handler around a router.
pub fn wrapped(router: Router) -> Router {
    router
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(limit_request_time))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that tower-http asks for"
)]
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(what, "a handler panicked");
    metrics::counter!("fairgate_panics_total").increment(1);
    Problem::new(
        ProblemCode::Internal,
        "The fault is ours. Your place and your orders are kept. Try again; if it stays, tell the operator the request id.",
    )
    .into_response()
}

async fn limit_request_time(request: Request, next: Next) -> Response {
    tokio::time::timeout(REQUEST_MAX, next.run(request)).await.unwrap_or_else(|_| {
        Problem::new(
            ProblemCode::TooSlow,
            "It did not come to an end within a minute and was given up. What it was to change may or may not have been changed: read it again before you send it again.",
        )
        .into_response()
    })
}

/// Makes the 405 answer for an address that takes another method.
#[must_use]
pub fn wrong_method() -> Problem {
    Problem::new(
        ProblemCode::MethodNotAllowed,
        "The address exists, but not for this method. Nothing was changed. See /openapi.json for what it takes.",
    )
}
