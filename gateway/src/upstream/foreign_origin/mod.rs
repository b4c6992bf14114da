//! Sends visitors' requests to an HTTP server that is not Fairgate's. Both bodies are streamed. A
//! request is sent only once, because this gateway does not know what the request does.

mod health;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use fairgate_base::http::BodyProgress;
use futures_util::TryStreamExt;
use reqwest::{RequestBuilder, Url, redirect};
use tower_http::timeout::TimeoutBody;

pub use health::OriginHealth;

use super::hops::forwarded_answer;
use super::remote::pool::failure_reason;
use super::settings::parse_base_url;

/// How long to wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long the server may send nothing. Before the answer, this time counts from the last progress
/// of the request's body. After that, it counts from the last part of the answer.
const SILENT_MAX: Duration = Duration::from_secs(55);
/// How long an idle connection is kept. Few servers close an idle connection earlier, so few
/// requests use a connection that is being closed.
const IDLE_MAX: Duration = Duration::from_secs(2);

/// The address of a server: a scheme, a host and a port, without a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginUrl(Url);

impl OriginUrl {
    /// Reads an address such as `http://10.0.0.9:8000`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        parse_base_url(text).map(Self)
    }

    /// Returns the host, without the port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.0.scheme()
    }
}

impl fmt::Display for OriginUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// Why the server gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum OriginFailure {
    /// No connection was made, so the server got nothing.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The request was sent, and its answer did not come or was broken.
    #[error("no answer: {0}")]
    Unanswered(String),
}

/// A client of one server; a cheap handle.
#[derive(Debug, Clone)]
pub struct ForeignOrigin {
    base: Url,
    client: reqwest::Client,
    silent_max: Duration,
    health: OriginHealth,
}

/// The bytes of a connection on which the server speaks WebSocket.
pub type OriginStream = reqwest::Upgraded;

/// The answer to a request for a WebSocket.
pub enum WebSocketAnswer {
    /// The server has switched to WebSocket: its answer (101), and the bytes of the WebSocket.
    Open(Response, OriginStream),
    /// The server has answered in another way.
    Refused(Response),
}

impl ForeignOrigin {
    /// Makes a client of the server.
    ///
    /// # Errors
    /// Fails if the system gives no entropy or no certificates for TLS.
    pub fn new(OriginUrl(base): &OriginUrl, health: OriginHealth) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_MAX)
            .pool_idle_timeout(IDLE_MAX)
            .tcp_nodelay(true)
            .build()?;
        Ok(Self {
            base: base.clone(),
            client,
            silent_max: SILENT_MAX,
            health,
        })
    }

    /// Sends a request with these headers, and returns the answer. `body` is `None` for a request
    /// without one.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or gives no answer.
    pub async fn send(
        &self,
        parts: &Parts,
        headers: HeaderMap,
        body: Option<Body>,
    ) -> Result<Response, OriginFailure> {
        let mut request = self.request(parts, headers);
        let is_broken_off = Arc::new(AtomicBool::new(false));
        if let Some(body) = body {
            let flag = Arc::clone(&is_broken_off);
            let body = body.into_data_stream();
            let body = body.inspect_err(move |_| flag.store(true, Ordering::Relaxed));
            request = request.body(reqwest::Body::wrap_stream(body));
        }
        let answer = self.answer(parts, request).await;
        // If a visitor breaks off an upload, the failure says nothing about the server.
        if !is_broken_off.load(Ordering::Relaxed) {
            self.health.note(&self.base, &answer);
        }
        let answer = answer?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let reason = "it switched to another protocol without being asked";
            return Err(OriginFailure::Unanswered(reason.to_owned()));
        }
        Ok(self.visitor_answer(answer))
    }

    /// Sends a request for a WebSocket, which has no body.
    ///
    /// # Errors
    /// Fails as [`ForeignOrigin::send`] does, and if the server breaks the connection while it
    /// switches to WebSocket.
    pub async fn open_web_socket(
        &self,
        parts: &Parts,
        headers: HeaderMap,
    ) -> Result<WebSocketAnswer, OriginFailure> {
        let answer = self.answer(parts, self.request(parts, headers)).await;
        self.health.note(&self.base, &answer);
        let answer = answer?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(WebSocketAnswer::Refused(self.visitor_answer(answer)));
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = answer.status();
        response.headers_mut().clone_from(answer.headers());
        let upgraded = answer.upgrade().await;
        let upgraded = upgraded.map_err(|error| OriginFailure::Unanswered(failure_reason(&error)));
        Ok(WebSocketAnswer::Open(response, upgraded?))
    }

    fn request(&self, parts: &Parts, headers: HeaderMap) -> RequestBuilder {
        let mut url = self.base.clone();
        // All paths are guarded alike, so dots that lead to another path do no harm.
        url.set_path(parts.uri.path());
        url.set_query(parts.uri.query());
        self.client
            .request(parts.method.clone(), url)
            .headers(headers)
    }

    /// Sends a request and waits for the head of its answer.
    async fn answer(
        &self,
        parts: &Parts,
        request: RequestBuilder,
    ) -> Result<reqwest::Response, OriginFailure> {
        let progress = parts.extensions.get::<BodyProgress>().cloned();
        let progress = progress.unwrap_or_else(BodyProgress::begin);
        tokio::select! {
            answer = request.send() => answer.map_err(|error| {
                let reason = failure_reason(&error);
                if error.is_connect() {
                    OriginFailure::Unreachable(reason)
                } else {
                    OriginFailure::Unanswered(reason)
                }
            }),
            () = progress.stopped_for(self.silent_max) => {
                let waited = self.silent_max.as_secs();
                Err(OriginFailure::Unanswered(format!("it was silent for {waited} s")))
            }
        }
    }

    /// Builds the visitor's answer. It breaks off if the server sends nothing more for too long.
    fn visitor_answer(&self, answer: reqwest::Response) -> Response {
        forwarded_answer(answer).map(|body| Body::new(TimeoutBody::new(self.silent_max, body)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use axum::Router;
    use axum::body::to_bytes;
    use axum::http::Request;
    use axum::response::IntoResponse;
    use futures_util::StreamExt;
    use tokio::net::TcpListener;

    use super::*;

    const SILENT: Duration = Duration::from_millis(200);

    async fn origin(router: Router) -> ForeignOrigin {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let url = OriginUrl::parse(&url).expect("an address");
        let mut origin = ForeignOrigin::new(&url, OriginHealth::default()).expect("a client");
        origin.silent_max = SILENT;
        origin
    }

    #[tokio::test]
    async fn uploads_that_visitors_break_off_are_no_outage_of_the_server() {
        let origin = origin(Router::new().fallback(async |body: Body| {
            let _ = to_bytes(body, usize::MAX).await;
        }));
        let origin = origin.await;
        let parts = parts(&BodyProgress::begin());
        for _ in 0..5 {
            let broken = std::io::Error::other("the visitor hung up");
            let parts_of_body = [Ok(vec![0_u8; 64]), Err(broken)];
            let body = Body::from_stream(futures_util::stream::iter(parts_of_body));
            let answer = origin.send(&parts, HeaderMap::new(), Some(body)).await;
            assert!(matches!(answer, Err(OriginFailure::Unanswered(_))));
        }
        assert_eq!(origin.health.outage(), None);
    }

    fn parts(progress: &BodyProgress) -> Parts {
        let (mut parts, ()) = Request::post("/").body(()).expect("a request").into_parts();
        parts.extensions.insert(progress.clone());
        parts
    }

    #[tokio::test]
    async fn an_upload_that_goes_on_is_not_given_up_and_a_silent_server_is() {
        let router = Router::new().fallback(async |body: Body| {
            let parts = body.into_data_stream().count().await;
            parts.to_string()
        });
        let origin = origin(router).await;
        let progress = BodyProgress::begin();
        let (parts, begun) = (parts(&progress), Instant::now());
        let upload = futures_util::stream::repeat_with(move || {
            progress.mark();
            Ok::<_, std::io::Error>(vec![0_u8; 64])
        });
        let upload = upload.take_while(move |_| {
            let goes_on = begun.elapsed() < 3 * SILENT;
            async move {
                tokio::task::yield_now().await;
                goes_on
            }
        });
        let answer = origin.send(&parts, HeaderMap::new(), Some(Body::from_stream(upload)));
        assert_eq!(answer.await.expect("an answer").status(), 200);

        let stopped = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
        let answer = origin.send(&parts, HeaderMap::new(), Some(Body::from_stream(stopped)));
        let failure = answer.await.expect_err("it is silent");
        assert!(matches!(failure, OriginFailure::Unanswered(_)), "{failure}");
    }

    #[tokio::test]
    async fn an_answer_whose_rest_does_not_come_breaks_off() {
        let router = Router::new().fallback(async || {
            let first = futures_util::stream::iter([Ok::<_, std::io::Error>("first")]);
            Body::from_stream(first.chain(futures_util::stream::pending())).into_response()
        });
        let origin = origin(router).await;
        let parts = parts(&BodyProgress::begin());
        let answer = origin.send(&parts, HeaderMap::new(), None).await;
        let body = answer.expect("an answer").into_body();
        assert!(to_bytes(body, usize::MAX).await.is_err());
    }
}
