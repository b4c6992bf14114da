//! The headers that belong to one connection and not to the call (RFC 9110, 7.6.1). A forwarded
//! call or answer leaves them out.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::Response;

const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Returns the headers without those that belong to one connection.
#[must_use]
pub fn without_hops(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    let connection_headers = headers.get_all(header::CONNECTION).iter();
    let connection_headers: Vec<String> = connection_headers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    for name in connection_headers {
        // If a client could have `Host` removed, the next server might answer for another host.
        if name != header::HOST.as_str() {
            kept.remove(name);
        }
    }
    for name in HOP_BY_HOP {
        kept.remove(name);
    }
    kept
}

/// Builds the visitor's answer from another server's answer, whose body is streamed.
#[must_use]
pub fn forwarded_answer(answer: reqwest::Response) -> Response {
    let answer: axum::http::Response<reqwest::Body> = answer.into();
    let (mut parts, body) = answer.into_parts();
    parts.headers = without_hops(&parts.headers);
    parts.extensions.clear();
    Response::from_parts(parts, Body::new(body))
}
