//! Forwards visitors' calls to booking. Short bodies are buffered, and longer ones are streamed.
//! Headers that belong to one connection are left out. A call that must not be made twice is never
//! sent twice.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use fairgate_base::http::RequestId;
use reqwest::Url;

use super::pool::{BookingNode, BookingNodePool};
use crate::upstream::BookingFailure;
use crate::upstream::hops::{forwarded_answer, without_hops};

/// The longest body (bytes) that is buffered, so that the call can be sent to another booking
/// process, too. A longer body is streamed, and can be sent only once.
const KEPT_BYTES_MAX: usize = 64 << 10;
/// How long one booking process may take to answer a read. Then the next process gets the call.
const READ_MAX: Duration = Duration::from_secs(5);
/// The read that may take as long as an upload, because it sends the whole ledger.
const LONG_READ: &str = "/v1/promoter/dump";
/// How long one booking process may take for any other call, which may wait for the ledger.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// How long [`LONG_READ`] or a call with a streamed body may take, such as the upload of a large
/// seating plan. A call whose body makes no progress is given up much earlier.
const LONG_MAX: Duration = Duration::from_secs(15 * 60);

/// The headers that the HTTP client or this gateway sets itself, and the headers that concern only
/// the browser and this gateway. `Accept-Encoding` is not among them, because booking keeps its
/// large answers compressed.
const NOT_FORWARDED: [HeaderName; 4] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::COOKIE,
    header::EXPECT,
];
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Why a call was not forwarded, or got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ForwardRefusal {
    /// Normalisation would change the path, so the call is not forwarded.
    #[error("there is no page \"{0}\"")]
    NoSuchPage(String),
    /// The body could not be read to its end.
    #[error("the body could not be read")]
    BodyUnreadable,
    /// Booking gave no answer.
    #[error(transparent)]
    Booking(#[from] BookingFailure),
}

/// Forwards a call and returns booking's answer.
///
/// # Errors
/// Fails if the call cannot be forwarded as it is, or no booking process answers it.
pub async fn forward(pool: BookingNodePool, request: Request) -> Result<Response, ForwardRefusal> {
    let (mut parts, body) = request.into_parts();
    let body = ForwardedBody::from_request(&parts.headers, body).await?;
    parts.headers = forwarded_headers(&parts);
    // Whether the call may be repeated depends on the headers that booking gets. An idempotency key
    // that the caller meant for this connection only is not among them.
    let may_repeat = may_be_repeated(&parts);
    let mark = idempotency_mark(&parts.headers);
    send_to_any(&pool, &parts, body, may_repeat, mark.as_deref()).await
}

async fn send_to_any(
    pool: &BookingNodePool,
    parts: &Parts,
    mut body: ForwardedBody,
    may_repeat: bool,
    mark: Option<&[u8]>,
) -> Result<Response, ForwardRefusal> {
    let mut was_sent = false;
    let mut failing = None;
    for node in pool.candidates(mark) {
        let Some(url) = node_url(&node, parts.uri.path_and_query()) else {
            return Err(ForwardRefusal::NoSuchPage(parts.uri.path().to_owned()));
        };
        let Some((body, at_most)) = body.next_attempt(parts) else {
            break;
        };
        let request = pool
            .client()
            .request(parts.method.clone(), url)
            .headers(parts.headers.clone())
            .timeout(at_most)
            .body(body);
        match request.send().await {
            // This booking process failed, and another one may succeed. All of them share one
            // ledger, so the next one finds what this one did. If the next one fails, too, its
            // answer is passed back.
            Ok(answer) if may_repeat && failing.is_none() && answer.status().is_server_error() => {
                tracing::debug!(booking = %node.base_url(), status = %answer.status(), "a booking process failed; the next one is asked if there is one");
                was_sent = true;
                failing = Some(answer);
            }
            Ok(answer) => return Ok(visitor_answer(answer)),
            Err(error) => {
                node.note_failure(&error);
                // If no connection was made, no byte was sent, so the next booking process may get
                // the call.
                was_sent |= !error.is_connect();
                if was_sent && !may_repeat {
                    break;
                }
            }
        }
    }
    if let Some(answer) = failing {
        return Ok(visitor_answer(answer));
    }
    let failure = if was_sent {
        BookingFailure::Unanswered
    } else {
        BookingFailure::Unreachable
    };
    Err(failure.into())
}

/// The body of a call that is being forwarded.
enum ForwardedBody {
    /// A body that can be sent any number of times.
    Kept(Bytes),
    /// A body that can be sent once.
    Stream(Option<Body>),
}

impl ForwardedBody {
    async fn from_request(headers: &HeaderMap, body: Body) -> Result<Self, ForwardRefusal> {
        let length = headers
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let bodiless = length.is_none() && !headers.contains_key(header::TRANSFER_ENCODING);
        if !bodiless && length.is_none_or(|length| length > KEPT_BYTES_MAX) {
            return Ok(Self::Stream(Some(body)));
        }
        let read = axum::body::to_bytes(body, KEPT_BYTES_MAX).await;
        read.map(Self::Kept)
            .map_err(|_| ForwardRefusal::BodyUnreadable)
    }

    /// Returns the body for the next try, and how long the try may take. Returns `None` if the body
    /// was streamed already.
    fn next_attempt(&mut self, parts: &Parts) -> Option<(reqwest::Body, Duration)> {
        match self {
            Self::Kept(bytes) => {
                let at_most = if parts.uri.path() == LONG_READ {
                    LONG_MAX
                } else if parts.method.is_safe() {
                    READ_MAX
                } else {
                    ANSWER_MAX
                };
                Some((bytes.clone().into(), at_most))
            }
            Self::Stream(body) => {
                let stream = body.take()?.into_data_stream();
                Some((reqwest::Body::wrap_stream(stream), LONG_MAX))
            }
        }
    }
}

/// Returns whether a call may be sent again after its answer was lost. It may if it changes
/// nothing, replaces a whole state, or has an idempotency key.
fn may_be_repeated(parts: &Parts) -> bool {
    parts.method.is_safe()
        || parts.method == axum::http::Method::PUT
        || parts.headers.contains_key(IDEMPOTENCY_KEY)
}

/// Returns the idempotency key as a mark, so that calls with the same key go to the same booking
/// process. If the first call is still running there, that process can say so to the second one.
fn idempotency_mark(headers: &HeaderMap) -> Option<Vec<u8>> {
    let key = headers.get(IDEMPOTENCY_KEY)?;
    Some(key.as_bytes().to_vec())
}

/// Builds the address of the call at one booking process. Returns `None` if normalisation would
/// change the path, because dots could lead from a public path to an internal one.
fn node_url(node: &BookingNode, path_and_query: Option<&PathAndQuery>) -> Option<Url> {
    let path_and_query = path_and_query?;
    let mut url = node.base_url().clone();
    url.set_path(path_and_query.path());
    url.set_query(path_and_query.query());
    (url.path() == path_and_query.path()).then_some(url)
}

/// Returns the headers that booking gets.
fn forwarded_headers(parts: &Parts) -> HeaderMap {
    let mut headers = without_hops(&parts.headers);
    for name in NOT_FORWARDED {
        headers.remove(name);
    }
    let mut set = |name: HeaderName, value: Option<HeaderValue>| {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    };
    let id = parts.extensions.get::<RequestId>();
    set(
        REQUEST_ID,
        id.and_then(|id| HeaderValue::from_str(&id.0).ok()),
    );
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let before = parts.headers.get_all(FORWARDED_FOR).iter();
    let hops = before
        .filter_map(|value| value.to_str().ok().map(ToOwned::to_owned))
        .chain([peer.map_or_else(|| "unknown".to_owned(), |peer| peer.0.ip().to_string())])
        .collect::<Vec<_>>()
        .join(", ");
    set(FORWARDED_FOR, HeaderValue::from_str(&hops).ok());
    set(FORWARDED_HOST, parts.headers.get(header::HOST).cloned());
    headers
}

/// Builds the visitor's answer from booking's answer, whose body is streamed.
fn visitor_answer(answer: reqwest::Response) -> Response {
    let mut answer = forwarded_answer(answer);
    // This gateway adds the request's id to its own answer.
    answer.headers_mut().remove(REQUEST_ID);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = axum::http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn headers_of_one_connection_and_cookies_are_not_forwarded() {
        let mut call = parts(
            "POST",
            "/v1/shows/a/holds",
            &[
                ("host", "sale.example"),
                ("connection", "close, X-Mine"),
                ("x-mine", "1"),
                ("transfer-encoding", "chunked"),
                ("cookie", "fairgate_pass_a=x"),
                ("authorization", "Bearer pass"),
                ("x-forwarded-for", "192.0.2.7"),
                ("content-type", "application/json"),
            ],
        );
        let peer: SocketAddr = "198.51.100.2:5".parse().expect("an address");
        call.extensions.insert(ConnectInfo(peer));
        call.extensions.insert(RequestId("req_0123".to_owned()));
        let sent = forwarded_headers(&call);
        let mut names: Vec<_> = sent
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "authorization: Bearer pass",
                "content-type: application/json",
                "x-forwarded-for: 192.0.2.7, 198.51.100.2",
                "x-forwarded-host: sale.example",
                "x-request-id: req_0123",
            ]
        );
    }

    #[test]
    fn only_safe_methods_put_and_calls_with_a_key_may_be_sent_again() {
        for (method, key, expected) in [
            ("GET", false, true),
            ("PUT", false, true),
            ("POST", false, false),
            ("POST", true, true),
            ("PATCH", false, false),
            ("DELETE", false, false),
        ] {
            let headers: &[_] = if key {
                &[("idempotency-key", "k")]
            } else {
                &[]
            };
            let call = parts(method, "/v1/shows/a/holds", headers);
            assert_eq!(may_be_repeated(&call), expected, "{method}, key {key}");
        }
    }

    #[test]
    fn an_idempotency_key_that_is_not_forwarded_allows_no_second_try() {
        let headers = [
            ("idempotency-key", "k"),
            ("connection", "close, Idempotency-Key"),
        ];
        let mut call = parts("POST", "/v1/shows/a/holds", &headers);
        call.headers = forwarded_headers(&call);
        assert!(!may_be_repeated(&call));
        assert_eq!(idempotency_mark(&call.headers), None);
    }

    #[test]
    fn a_path_that_normalisation_would_change_has_no_address() {
        let bases = ["http://127.0.0.1:1/".parse().expect("an address")];
        let pool = BookingNodePool::new(&bases, None).expect("a pool");
        let at = |path: &str| {
            let call = parts("GET", path, &[]);
            node_url(&pool.nodes()[0], call.uri.path_and_query()).map(String::from)
        };
        assert_eq!(
            at("/v1/shows?q=a%20b&page=2").as_deref(),
            Some("http://127.0.0.1:1/v1/shows?q=a%20b&page=2")
        );
        for path in [
            "/v1/rail/%2e%2e/%2e%2e/internal/v1/coverage",
            "/v1/rail/../../internal/v1/state",
            "/v1/tickets/%2E%2E",
            "/v1/tickets/.%2e",
        ] {
            assert_eq!(at(path), None, "{path}");
        }
    }
}
