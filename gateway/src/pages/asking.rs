//! Calls booking's routes in process. Reads the documents that pages need. Makes calls for visitors
//! whose browsers run no scripts.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use fairgate_base::http::Problem;
use serde_json::Value;
use tower::ServiceExt;

use super::{PageRoutes, address};
use crate::upstream::BookingFailure;

/// The longest document (bytes) that a page reads from booking.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;

/// Which searches booking offers.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfferedSearches {
    /// The second in which booking said so.
    second: i64,
    /// Whether there is a cinema programme.
    pub(super) cinema: bool,
    /// Whether there is a timetable.
    pub(super) rail: bool,
}

/// A problem that booking answered instead of a document.
#[derive(Debug, Clone)]
pub(super) struct DocumentRefusal {
    /// The answer's status.
    pub status: StatusCode,
    /// The problem document that booking answered with.
    pub document: Value,
}

impl From<Problem> for DocumentRefusal {
    fn from(problem: Problem) -> Self {
        Self {
            status: problem.status,
            document: problem.json_document(),
        }
    }
}

/// A call to booking for a visitor whose browser sent a form.
#[derive(Debug, Clone)]
pub(super) struct VisitorCall<'c> {
    pub method: Method,
    pub path: &'c str,
    /// The headers of the browser's request. Its cookies have the visitor's pass.
    pub headers: &'c HeaderMap,
    /// The idempotency key.
    pub key: Option<&'c str>,
    /// The key of an order, if the call is about one.
    pub bearer: Option<&'c str>,
    pub body: Option<Value>,
}

impl<'c> VisitorCall<'c> {
    /// Describes a call without keys and without a body. Does not make the call.
    pub fn new(method: Method, path: &'c str, headers: &'c HeaderMap) -> Self {
        Self {
            method,
            path,
            headers,
            key: None,
            bearer: None,
            body: None,
        }
    }

    /// Builds the request. Returns `None` if a part of it is not valid in a header or an address.
    fn request(self) -> Option<Request<Body>> {
        let body = self
            .body
            .map_or(Body::empty(), |body| body.to_string().into());
        let mut request = Request::builder().method(self.method).uri(self.path);
        let headers = request.headers_mut()?;
        // The door checks from which site the form came, and finds the pass in the cookies.
        for name in [header::HOST, header::ORIGIN, header::COOKIE] {
            for value in self.headers.get_all(&name) {
                headers.append(&name, value.clone());
            }
        }
        // The door's check also reads `sec-fetch-site`. With `x-request-id`, booking logs the
        // request under the id that the browser gets.
        for name in ["sec-fetch-site", "x-request-id"] {
            if let Some(value) = self.headers.get(name) {
                headers.insert(name, value.clone());
            }
        }
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if let Some(key) = self.key {
            headers.insert("idempotency-key", HeaderValue::from_str(key).ok()?);
        }
        if let Some(bearer) = self.bearer {
            let bearer = HeaderValue::from_str(&format!("Bearer {bearer}"));
            headers.insert(header::AUTHORIZATION, bearer.ok()?);
        }
        request.body(body).ok()
    }
}

/// Calls routes in process. Returns `None` if the answer cannot be read or is too long.
async fn call_in_process(routes: &Router, request: Request<Body>) -> Option<(StatusCode, Bytes)> {
    let response = match routes.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), DOCUMENT_BYTES_MAX).await;
    Some((status, bytes.ok()?))
}

/// Reads a document or a problem from an answer. The document is null if the call succeeded without
/// a body.
fn document_of((status, bytes): (StatusCode, Bytes)) -> Option<Result<Value, DocumentRefusal>> {
    let document = if bytes.is_empty() && status.is_success() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes).ok()?
    };
    Some(if status.is_success() {
        Ok(document)
    } else {
        Err(DocumentRefusal { status, document })
    })
}

/// Reads the document of an answer. An answer that cannot be read gives `missing` if the path has
/// nothing, and otherwise `failure`.
fn read_answer(
    answer: Option<(StatusCode, Bytes)>,
    missing: DocumentRefusal,
    failure: BookingFailure,
) -> Result<Value, DocumentRefusal> {
    let has_nothing = matches!(&answer, Some((status, _)) if status.is_client_error());
    let unreadable = || {
        if has_nothing {
            missing
        } else {
            Problem::from(failure).into()
        }
    };
    answer.and_then(document_of).ok_or_else(unreadable)?
}

impl PageRoutes {
    /// Reads a public document of booking.
    pub(super) async fn fetch_document(&self, path: &str) -> Result<Value, DocumentRefusal> {
        let missing = || DocumentRefusal::from(Problem::not_found("page", path));
        let request = Request::get(path)
            .body(Body::empty())
            .map_err(|_| missing())?;
        let answer = call_in_process(&self.booking, request).await;
        read_answer(answer, missing(), BookingFailure::Unreachable)
    }

    /// Makes a call to booking through the door, as the visitor's browser would. Returns the
    /// document of the answer.
    pub(super) async fn call_as_visitor(
        &self,
        call: VisitorCall<'_>,
    ) -> Result<Value, DocumentRefusal> {
        let missing = Problem::not_found("page", call.path);
        // If the answer to a call is lost, the call may have been carried out.
        let failure = if call.method.is_safe() {
            BookingFailure::Unreachable
        } else {
            BookingFailure::Unanswered
        };
        let Some(request) = call.request() else {
            return Err(missing.into());
        };
        let answer = call_in_process(&self.door, request).await;
        read_answer(answer, missing.into(), failure)
    }

    /// Reads a show for the visitor who opened its page. The visitor's pass then does not end
    /// because nobody does anything. A browser without scripts tells in no other way that somebody
    /// is there.
    pub(super) async fn read_show(
        &self,
        show: &str,
        headers: &HeaderMap,
    ) -> Result<Value, DocumentRefusal> {
        let path = address::path(&["v1", "shows", show]);
        let call = VisitorCall::new(Method::GET, &path, headers);
        self.call_as_visitor(call).await
    }

    /// Makes a call as [`Self::call_as_visitor`] does, and returns the text of the answer.
    pub(super) async fn text_as_visitor(
        &self,
        call: VisitorCall<'_>,
    ) -> Result<String, DocumentRefusal> {
        let missing = DocumentRefusal::from(Problem::not_found("page", call.path));
        let Some(request) = call.request() else {
            return Err(missing);
        };
        match call_in_process(&self.door, request).await {
            Some((StatusCode::OK, bytes)) => String::from_utf8(bytes.into()).map_err(|_| missing),
            _ => Err(missing),
        }
    }

    /// Returns which searches booking offers. The answer is at most a second old.
    pub(super) async fn offered_searches(&self) -> OfferedSearches {
        let now = self.waiting_line.rooms.now_ms().div_euclid(1_000);
        let make = || {
            let pages = self.clone();
            async move { Some(pages.read_offered_searches(now).await) }
        };
        let offered = self.offered.get(|known| known.second >= now, make).await;
        offered.map_or_else(OfferedSearches::default, |offered| *offered)
    }

    async fn read_offered_searches(&self, second: i64) -> OfferedSearches {
        let (cities, timetable) = tokio::join!(
            self.fetch_document("/v1/cinema/cities"),
            self.fetch_document("/v1/rail/timetable")
        );
        let has_cities = |cities: Value| cities["cities"].as_array().map(|all| !all.is_empty());
        OfferedSearches {
            second,
            cinema: cities.ok().and_then(has_cities).unwrap_or(false),
            rail: timetable.is_ok(),
        }
    }

    /// Reads a public document of booking, with a query.
    pub(super) async fn fetch_with_query(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Value, DocumentRefusal> {
        self.fetch_document(&address::with_query(path, query)).await
    }
}
