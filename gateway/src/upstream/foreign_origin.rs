//! Sends visitors' requests to an HTTP server that is not Fairgate's. Both bodies are streamed. A
//! request is sent once, because nothing is known of what it does.

use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use reqwest::{Url, redirect};

use super::hops::forwarded_answer;
use super::remote::pool::failure_reason;
use super::settings::parse_base_url;

/// How long to wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long the server may send nothing: before its answer, and between two parts of it. An upload
/// must be complete within this time.
const SILENT_MAX: Duration = Duration::from_secs(55);
/// How long an idle connection is kept. Few servers close theirs earlier, so hardly a request uses
/// a connection that is being closed.
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

/// Why there is no answer of the server.
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
}

impl ForeignOrigin {
    /// Makes a client of the server.
    ///
    /// # Errors
    /// Fails if the system gives no entropy or no certificates for TLS.
    pub fn new(OriginUrl(base): &OriginUrl) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_MAX)
            .read_timeout(SILENT_MAX)
            .pool_idle_timeout(IDLE_MAX)
            .tcp_nodelay(true)
            .build()?;
        Ok(Self {
            base: base.clone(),
            client,
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
        let mut url = self.base.clone();
        // All paths are guarded alike, so it does no harm if dots lead from one to another.
        url.set_path(parts.uri.path());
        url.set_query(parts.uri.query());
        let mut request = self
            .client
            .request(parts.method.clone(), url)
            .headers(headers);
        if let Some(body) = body {
            request = request.body(reqwest::Body::wrap_stream(body.into_data_stream()));
        }
        match request.send().await {
            Ok(answer) => Ok(forwarded_answer(answer)),
            Err(error) if error.is_connect() => {
                Err(OriginFailure::Unreachable(failure_reason(&error)))
            }
            Err(error) => Err(OriginFailure::Unanswered(failure_reason(&error))),
        }
    }
}
