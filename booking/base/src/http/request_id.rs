//! Gives every request an id. The answer has the id in a header, a problem shows it, and a gateway
//! passes it on to booking. If a handler panics or the ledger fails, the log line has the id.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use rand::RngExt;

tokio::task_local! {
    static CURRENT: String;
}

/// The name of the header that carries the id in both directions.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the request, as an extension of the request.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

/// Returns the id of the request that this task answers, or an empty string outside a request.
pub(super) fn current() -> String {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

/// A middleware that keeps a valid incoming id or makes a new one, and returns the id with the
/// answer.
pub async fn request_id(mut request: Request, next: Next) -> Response {
    let id = request
        .headers()
        .get(&HEADER)
        .and_then(|value| value.to_str().ok())
        .filter(|value| is_sane(value))
        .map_or_else(fresh, ToOwned::to_owned);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = CURRENT.scope(id.clone(), next.run(request)).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

fn is_sane(id: &str) -> bool {
    (8..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn fresh() -> String {
    format!("req_{:016x}", rand::rng().random::<u64>())
}
