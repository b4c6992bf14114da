//! Speaks HTTP as visitors do. It uses keep-alive connections from many source addresses, and reads
//! each answer whole. Only this file uses hyper's client. Visitors share connections, because a new
//! connection would cost the swarm as much processor time as the call itself, and the gateway under
//! test needs the same processors.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, header};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The network whose addresses the calls come from.
pub type SourceNetwork = ipnet::Ipv4Net;

/// A call without an answer after this time has an unknown outcome.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// The longest wait for an answer that contains a whole ledger.
const SLOW_ANSWER_MAX: Duration = Duration::from_secs(600);
/// The number of source addresses on loopback.
const SOURCES: u8 = 16;
/// How many source addresses of a network are used at most. Each address has its own connections.
const SOURCES_MAX: usize = 4_096;

/// How long a gateway is avoided after it did not answer, in milliseconds. A load balancer's health
/// check has the same effect.
const AVOIDED_MS: u64 = 2_000;
/// The instant from which times are counted in milliseconds.
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The gateways and the connections to them. It is cheap to clone.
#[derive(Clone)]
pub struct LoadHttpClient {
    bases: Arc<[HttpEndpoint]>,
    clients: Vec<Client<HttpConnector, Full<Bytes>>>,
    /// The source addresses that were asked for; empty if none were.
    sources: Arc<[Ipv4Addr]>,
}

/// One gateway.
struct HttpEndpoint {
    /// The address, `http://…` without a slash at its end.
    url: String,
    /// Until when the gateway is avoided.
    avoided_ms: AtomicU64,
}

/// One call to a gateway or the provider.
#[derive(Debug, Clone)]
pub struct LoadHttpCall {
    /// The HTTP method.
    pub method: Method,
    /// The path and query.
    pub path: String,
    /// The bearer token.
    pub bearer: Option<String>,
    /// The `Idempotency-Key`.
    pub key: Option<String>,
    /// The JSON body.
    pub body: Option<Value>,
    /// A form instead of a JSON body, as a card form sends it to the provider.
    pub form: Option<String>,
    /// The address that a proxy would report as the caller's, for gateways that trust a proxy.
    pub forwarded: Option<String>,
    /// The `Accept` header, if it matters.
    pub accept: Option<&'static str>,
    /// The call goes to the gateway that comes this many positions after the visitor's own in the
    /// list.
    pub turn: usize,
}

/// The answer to a call.
#[derive(Debug, Clone)]
pub struct LoadHttpAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Bytes,
    /// The `Retry-After` header, in seconds.
    pub retry_after_s: Option<f64>,
}

impl LoadHttpCall {
    /// Makes a call with only a method and a path.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            bearer: None,
            key: None,
            body: None,
            form: None,
            forwarded: None,
            accept: None,
            turn: 0,
        }
    }

    /// Makes a GET call.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Makes a POST call with a JSON body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self {
            body: Some(body),
            ..Self::new(Method::POST, path)
        }
    }

    /// Makes a POST call with a form for the payment provider, as a page's card form sends it.
    pub fn to_provider(path: impl Into<String>, form: String) -> Self {
        Self {
            form: Some(form),
            ..Self::new(Method::POST, path)
        }
    }

    /// Sets the address that a proxy would report as the caller's.
    pub fn forwarded(mut self, address: &str) -> Self {
        self.forwarded = Some(address.to_owned());
        self
    }

    /// Sets the bearer token.
    pub fn bearer(mut self, bearer: &str) -> Self {
        self.bearer = Some(bearer.to_owned());
        self
    }

    /// Sends the call to the gateway that comes `turn` positions after the visitor's own in the
    /// list.
    pub fn turned(mut self, turn: usize) -> Self {
        self.turn = turn;
        self
    }

    /// Returns a digest of method, path and JSON body for the judge. If two calls with one key have
    /// different digests, one key was used for two requests.
    pub fn digest(&self) -> String {
        let body = self.body.as_ref().map(Value::to_string);
        let request = format!("{} {} {}", self.method, self.path, body.unwrap_or_default());
        hex::encode(&Sha256::digest(request)[..8])
    }

    /// Sets the `Idempotency-Key`.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl LoadHttpAnswer {
    /// Returns whether the status is a success.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the body as JSON, or null if it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Returns the stable code of a problem, or `None` for a success.
    pub fn code(&self) -> Option<String> {
        if self.is_ok() {
            return None;
        }
        self.json()["code"].as_str().map(str::to_owned)
    }
}

impl LoadHttpClient {
    /// Makes a client for gateways such as `http://127.0.0.1:8080`. If all of them are on loopback,
    /// the client calls from several source addresses.
    pub fn new(urls: &[String]) -> Self {
        let base = |url: &String| HttpEndpoint {
            url: url.trim_end_matches('/').to_owned(),
            avoided_ms: AtomicU64::new(0),
        };
        let is_near =
            |url: &String| url.starts_with("http://127.") || url.starts_with("http://localhost");
        let is_loopback = urls.iter().all(is_near);
        let clients = if is_loopback {
            let near = |source| Ipv4Addr::new(127, 0, 1, source + 1);
            (0..SOURCES)
                .map(|source| client(Some(near(source))))
                .collect()
        } else {
            vec![client(None)]
        };
        Self {
            bases: urls.iter().map(base).collect(),
            clients,
            sources: Arc::default(),
        }
    }

    /// Makes a client that calls from the addresses of this network. It uses at most
    /// [`SOURCES_MAX`] of them.
    pub fn calling_from(urls: &[String], network: SourceNetwork) -> Self {
        let sources: Arc<[Ipv4Addr]> = network.hosts().take(SOURCES_MAX).collect();
        Self {
            clients: sources.iter().map(|source| client(Some(*source))).collect(),
            sources,
            ..Self::new(urls)
        }
    }

    /// Returns the first source address of `network` that this machine does not have, or `None` if
    /// it has all of them.
    pub fn missing_source(network: SourceNetwork) -> Option<Ipv4Addr> {
        let mut addresses = network.hosts().take(SOURCES_MAX);
        addresses.find(|address| std::net::TcpListener::bind((*address, 0)).is_err())
    }

    /// Returns the source address of `caller`, if source addresses were asked for.
    pub fn source_of(&self, caller: usize) -> Option<Ipv4Addr> {
        let index = caller.checked_rem(self.sources.len())?;
        Some(self.sources[index])
    }

    /// Returns how many gateways there are.
    pub fn gateways(&self) -> usize {
        self.bases.len()
    }

    /// Returns the index of the gateway for the calls of `caller`: always the same gateway while it
    /// answers, and otherwise the next one in the list that is not avoided. Any gateway can serve
    /// any visitor.
    pub fn base_of(&self, caller: usize) -> usize {
        let now_ms = now_ms();
        let count = self.bases.len();
        let well = |at: &usize| self.bases[*at].avoided_ms.load(Ordering::Relaxed) <= now_ms;
        let mut turns = (0..count).map(|turn| (caller + turn) % count);
        // If every gateway is avoided, the call goes to the visitor's own.
        turns.find(well).unwrap_or(caller % count)
    }

    /// Returns a gateway's address.
    pub fn url(&self, base: usize) -> &str {
        &self.bases[base].url
    }

    /// Avoids a gateway for [`AVOIDED_MS`], because it did not answer.
    pub fn avoid(&self, base: usize) {
        let until_ms = now_ms() + AVOIDED_MS;
        self.bases[base]
            .avoided_ms
            .store(until_ms, Ordering::Relaxed);
    }

    /// Makes the call. `caller` chooses the gateway and the source address.
    ///
    /// # Errors
    /// Why there was no complete answer. It is then unknown what the call did.
    pub async fn send(&self, call: &LoadHttpCall, caller: usize) -> Result<LoadHttpAnswer, String> {
        let base = self.base_of(caller + call.turn);
        let answer = self.send_to(base, call, caller).await;
        if answer.is_err() {
            self.avoid(base);
        }
        answer
    }

    /// Sends a call to the first gateway. The answer may take minutes, for example because it
    /// contains a whole ledger.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_slow(&self, call: &LoadHttpCall) -> Result<LoadHttpAnswer, String> {
        self.exchange(0, call, 0, SLOW_ANSWER_MAX).await
    }

    /// Makes the call as [`Self::send`] does, but to this gateway. If the gateway does not answer,
    /// later calls do not avoid it.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_to(
        &self,
        base: usize,
        call: &LoadHttpCall,
        caller: usize,
    ) -> Result<LoadHttpAnswer, String> {
        self.exchange(base, call, caller, ANSWER_MAX).await
    }

    async fn exchange(
        &self,
        base: usize,
        call: &LoadHttpCall,
        caller: usize,
        answer_max: Duration,
    ) -> Result<LoadHttpAnswer, String> {
        let mut request = Request::builder().method(call.method.clone()).uri(format!(
            "{}{}",
            self.url(base),
            call.path
        ));
        if let Some(bearer) = &call.bearer {
            request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
        }
        if let Some(key) = &call.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(address) = &call.forwarded {
            request = request.header("x-forwarded-for", address);
        }
        if let Some(accept) = call.accept {
            request = request.header(header::ACCEPT, accept);
        }
        let (kind, body) = match (&call.body, &call.form) {
            (Some(body), _) => (Some("application/json"), body.to_string()),
            (None, Some(form)) => (Some("application/x-www-form-urlencoded"), form.clone()),
            (None, None) => (None, String::new()),
        };
        if let Some(kind) = kind {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        let body = Bytes::from(body);
        let request = request
            .body(Full::new(body))
            .map_err(|error| format!("the request could not be built: {error}"))?;
        let client = &self.clients[caller % self.clients.len()];
        let exchange = async {
            let answer = client
                .request(request)
                .await
                .map_err(|error| error_chain(&error))?;
            let status = answer.status().as_u16();
            let retry_after_s = answer
                .headers()
                .get(header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.parse().ok());
            let body = answer.into_body().collect().await;
            let body = body.map_err(|error| error_chain(&error))?.to_bytes();
            Ok(LoadHttpAnswer {
                status,
                body,
                retry_after_s,
            })
        };
        match tokio::time::timeout(answer_max, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", answer_max.as_secs())),
        }
    }
}

/// Makes a client of hyper that calls from `source`, if there is one.
fn client(source: Option<Ipv4Addr>) -> Client<HttpConnector, Full<Bytes>> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(Duration::from_secs(5)));
    connector.set_local_address(source.map(IpAddr::V4));
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .build(connector)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "milliseconds of a run fit for ages"
)]
fn now_ms() -> u64 {
    BEGUN.elapsed().as_millis() as u64
}

/// Returns an error's message with the messages of its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitors_call_from_the_addresses_of_a_network_in_turn() {
        let urls = ["http://127.0.0.1:1".to_owned()];
        let network = "127.9.0.0/30".parse().expect("a network");
        let http = LoadHttpClient::calling_from(&urls, network);
        let from = |who| http.source_of(who).expect("an address").to_string();
        assert_eq!([0, 1, 2].map(from), ["127.9.0.1", "127.9.0.2", "127.9.0.1"]);
        assert_eq!(LoadHttpClient::new(&urls).source_of(0), None);
    }

    #[test]
    fn visitors_spread_over_the_gateways_and_avoid_one_that_does_not_answer() {
        let urls = [
            "http://127.0.0.1:1",
            "http://127.0.0.1:2/",
            "http://127.0.0.1:3",
        ];
        let http = LoadHttpClient::new(&urls.map(str::to_owned));
        assert_eq!(http.url(1), "http://127.0.0.1:2");
        let served = |who| http.base_of(who);
        assert_eq!([0, 1, 2, 3, 4].map(served), [0, 1, 2, 0, 1]);
        http.avoid(1);
        assert_eq!([0, 1, 2, 3, 4].map(served), [0, 2, 2, 0, 2]);
        http.avoid(0);
        http.avoid(2);
        assert_eq!([0, 1, 2].map(served), [0, 1, 2]);
    }
}
