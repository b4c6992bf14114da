//! HTTP as visitors speak it: keep-alive connections from many source addresses, one answer read whole.
//! hyper's client is named only here. Connections are shared between visitors: a browser's own connection would cost
//! the swarm as much as the call, on the cores it shares with the gateway.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, header};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;

/// An answer that takes longer than this is an unknown outcome.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// Source addresses on loopback.
const SOURCES: u8 = 16;

/// Where to call, and with which connections; cheap to clone.
#[derive(Clone)]
pub struct Http {
    base: String,
    clients: Vec<Client<HttpConnector, Full<Bytes>>>,
}

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Verb.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// What is shown as Bearer.
    pub bearer: Option<String>,
    /// `Idempotency-Key`.
    pub key: Option<String>,
    /// A JSON body.
    pub body: Option<Value>,
    /// `Accept`, where it matters.
    pub accept: Option<&'static str>,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body, whole.
    pub body: Bytes,
    /// `Retry-After`, seconds.
    pub retry_after_s: Option<f64>,
}

impl Call {
    /// A call without anything but its address.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            bearer: None,
            key: None,
            body: None,
            accept: None,
        }
    }

    /// A read.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// A POST with a body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self {
            body: Some(body),
            ..Self::new(Method::POST, path)
        }
    }

    /// Shows this as Bearer.
    pub fn bearer(mut self, bearer: &str) -> Self {
        self.bearer = Some(bearer.to_owned());
        self
    }

    /// Sends this `Idempotency-Key`.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl Answer {
    /// Whether it is a success.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The problem's stable code; none for a success.
    pub fn code(&self) -> Option<String> {
        if self.is_ok() {
            return None;
        }
        self.json()["code"].as_str().map(str::to_owned)
    }
}

impl Http {
    /// Calls `base`, such as `http://127.0.0.1:8080`; over several source addresses where that is loopback.
    pub fn new(base: &str) -> Self {
        let base = base.trim_end_matches('/').to_owned();
        let is_loopback = base.starts_with("http://127.") || base.starts_with("http://localhost");
        let sources = if is_loopback { SOURCES } else { 1 };
        let client = |source: u8| {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            connector.set_connect_timeout(Some(Duration::from_secs(5)));
            if is_loopback {
                connector.set_local_address(Some(IpAddr::V4(Ipv4Addr::new(127, 0, 1, source + 1))));
            }
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(Duration::from_secs(30))
                .build(connector)
        };
        Self {
            base,
            clients: (0..sources).map(client).collect(),
        }
    }

    /// Where it calls.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Makes the call; `who` chooses the source address.
    ///
    /// # Errors
    /// Why there was no whole answer: what the call did is unknown.
    pub async fn send(&self, call: &Call, who: usize) -> Result<Answer, String> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.base, call.path));
        if let Some(bearer) = &call.bearer {
            request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
        }
        if let Some(key) = &call.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(accept) = call.accept {
            request = request.header(header::ACCEPT, accept);
        }
        let body = match &call.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let request = request
            .body(Full::new(body))
            .map_err(|error| format!("the request could not be built: {error}"))?;
        let client = &self.clients[who % self.clients.len()];
        let exchange = async {
            let answer = client
                .request(request)
                .await
                .map_err(|error| told(&error))?;
            let status = answer.status().as_u16();
            let retry_after_s = answer
                .headers()
                .get(header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.parse().ok());
            let body = answer.into_body().collect().await;
            let body = body.map_err(|error| told(&error))?.to_bytes();
            Ok(Answer {
                status,
                body,
                retry_after_s,
            })
        };
        match tokio::time::timeout(ANSWER_MAX, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", ANSWER_MAX.as_secs())),
        }
    }
}

/// An error with what caused it.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
