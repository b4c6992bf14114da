//! Wraps every route of gateway and booking. A request that takes too long is given up. A panic of
//! a handler is answered with a 500 `internal`.

use std::any::Any;
use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use tower::{Layer, Service};
use tower_http::catch_panic::CatchPanicLayer;

use super::slow_body::{BodyProgress, TimedBody};
use super::{Problem, ProblemCode, request_id};

/// How long a request may take after its body last made progress.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// Puts the time limit and the panic handler around a router. Callers put further layers around the
/// service, and serve it as the fallback of an empty router. Callers do not use [`Router::layer`],
/// because it would put each layer around every route. For every request, each layer would then
/// copy all layers below it, with their states.
pub fn wrapped(
    router: Router,
) -> impl Service<Request, Response = Response, Error = Infallible, Future: Send>
+ Clone
+ Send
+ Sync
+ 'static {
    let layers = (
        from_fn(limit_request_time),
        CatchPanicLayer::custom(panicked),
    );
    layers.layer(router)
}

/// Turns a HEAD request into a GET for the layers below. A router empties the answer to a HEAD
/// request at once. The layers around that router, for example one that compresses, would then
/// describe the empty body. In the end, the outer router empties the answer.
pub async fn head_as_get(mut request: Request) -> Request {
    if request.method() == Method::HEAD {
        *request.method_mut() = Method::GET;
    }
    request
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
    let request_id = request_id::current();
    tracing::error!(what, request_id, "a handler panicked");
    metrics::counter!("fairgate_panics_total").increment(1);
    Problem::new(
        ProblemCode::Internal,
        "The fault is ours. Your place and your orders are kept. Try again; if it stays, tell the operator the request id.",
    )
    .into_response()
}

async fn limit_request_time(request: Request, next: Next) -> Response {
    let progress = BodyProgress::begin();
    let mut request = if request.body().is_end_stream() {
        request
    } else {
        request.map(|body| Body::new(TimedBody::new(body, progress.clone())))
    };
    request.extensions_mut().insert(progress.clone());
    tokio::select! {
        answer = next.run(request) => answer,
        () = progress.stopped_for(REQUEST_MAX) => Problem::new(
            ProblemCode::TooSlow,
            "It did not come to an end within a minute and was given up. What it was to change may or may not have been changed: read it again before you send it again.",
        )
        .into_response(),
    }
}

/// Makes the 405 answer for an address that takes another method.
#[must_use]
pub fn wrong_method() -> Problem {
    Problem::new(
        ProblemCode::MethodNotAllowed,
        "The address exists, but not for this method. Nothing was changed. See /openapi.json for what it takes.",
    )
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use std::io::{self, Write};
    use std::sync::Arc;

    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use tower::ServiceExt;
    use tracing::instrument::WithSubscriber;

    use super::*;

    #[derive(Clone, Default)]
    struct LogText(Arc<Mutex<Vec<u8>>>);

    impl Write for LogText {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    async fn broken() -> &'static str {
        panic!("a fault of this test")
    }

    #[tokio::test]
    async fn a_panic_is_logged_with_the_request_id_that_its_answer_shows() {
        let log = LogText::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let app =
            from_fn(crate::http::request_id).layer(wrapped(Router::new().route("/", get(broken))));
        let request = Request::get("/")
            .header("x-request-id", "req-of-test")
            .body(Body::empty());
        let call = app
            .oneshot(request.expect("a request"))
            .with_subscriber(subscriber);
        let answer = call.await.expect("an answer");
        assert_eq!(answer.status(), 500);
        assert_eq!(answer.headers()["x-request-id"], "req-of-test");
        let log = log.0.lock().clone();
        let log = String::from_utf8(log).expect("text");
        let line = log.lines().find(|line| line.contains("a handler panicked"));
        let line = line.expect("the panic is logged");
        assert!(
            line.contains("req-of-test") && line.contains("a fault of this test"),
            "{line}"
        );
    }
}
