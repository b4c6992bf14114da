//! Lets pages on the listed origins (`FAIRGATE_ORIGINS`) make calls and read the answers (CORS).
//! Answers to pages on other origins get no CORS headers, so browsers do not let these pages read
//! them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use tower::{Layer, ServiceExt};
use tower_http::cors::CorsLayer;

use super::wrapping::is_call;

/// How long a browser may cache the answer to a preflight. Chromium caches it for at most two
/// hours.
const PREFLIGHT_KEPT: Duration = Duration::from_secs(600);

/// The request headers that a page must be allowed to send.
const REQUEST_HEADERS: [HeaderName; 9] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::IF_NONE_MATCH,
    HeaderName::from_static("dpop"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("order-key"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-request-id"),
    header::CACHE_CONTROL,
];
/// The response headers that a page must be allowed to read.
const RESPONSE_HEADERS: [HeaderName; 5] = [
    header::ETAG,
    header::LOCATION,
    header::RETRY_AFTER,
    HeaderName::from_static("x-fairgate-problem"),
    HeaderName::from_static("x-request-id"),
];
const METHODS: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Which origins may make calls; a cheap handle.
#[derive(Clone)]
pub struct CrossOriginPolicy {
    origins: Vec<HeaderValue>,
    layer: CorsLayer,
}

impl CrossOriginPolicy {
    /// Makes the policy of the listed origins, such as `https://app.example`.
    #[must_use]
    pub fn new(origins: &[String]) -> Self {
        let valid = |origin: &String| HeaderValue::from_str(origin).ok();
        let origins: Vec<HeaderValue> = origins.iter().filter_map(valid).collect();
        let layer = CorsLayer::new()
            .allow_origin(origins.clone())
            .allow_credentials(true)
            .allow_methods(METHODS)
            .allow_headers(REQUEST_HEADERS)
            .expose_headers(RESPONSE_HEADERS)
            .max_age(PREFLIGHT_KEPT);
        Self { origins, layer }
    }

    /// Returns whether the policy applies to a request. It applies to a call by a page on a listed
    /// origin. It does not apply to a check of a pass, which a proxy makes, because the answer must
    /// depend on the pass alone.
    fn applies(&self, request: &Request) -> bool {
        let origin = request.headers().get(header::ORIGIN);
        origin.is_some_and(|origin| self.origins.contains(origin))
            && is_call(request.uri())
            && !request.uri().path().starts_with("/v1/verify")
            && !is_plain_options(request)
    }
}

/// Returns whether this is an ordinary `OPTIONS` call, and not a browser's preflight.
fn is_plain_options(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && !request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers preflights, and lets pages on listed origins read answers.
pub async fn listed_origins_may_call(
    State(policy): State<Arc<CrossOriginPolicy>>,
    request: Request,
    next: Next,
) -> Response {
    if policy.origins.is_empty() {
        return next.run(request).await;
    }
    if policy.applies(&request) {
        let answer: Result<Response, Infallible> = policy.layer.layer(next).oneshot(request).await;
        return answer.unwrap_or_else(|never| match never {});
    }
    let mut answer = next.run(request).await;
    // A cache must not give this answer to a page on a listed origin.
    let headers = answer.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    answer
}
