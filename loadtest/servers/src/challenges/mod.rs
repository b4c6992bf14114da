//! Runs a server that imitates the interfaces of Turnstile and hCaptcha. The server serves the
//! script of the check. When a visitor passes the check, the server gives the page an answer. It
//! confirms each answer once.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Form, Json};
use serde_json::json;

mod router;

/// The public key that pages contain.
pub const CHALLENGE_SITE_KEY: &str = "scripted-site-key";
/// The secret that a call of `siteverify` must send.
pub const CHALLENGE_SECRET: &str = "scripted-secret";

/// A check that was passed.
struct PassedCheck {
    cdata: Option<String>,
    is_used: bool,
}

#[derive(Default)]
struct FakeChallengeState {
    passed: HashMap<String, PassedCheck>,
    is_away: bool,
    /// How many of the next calls of `siteverify` fail.
    failing: u64,
    calls: u64,
}

/// A handle to the running server. The server ends with the runtime in which it was started.
#[derive(Clone)]
pub struct FakeChallengeServer {
    url: String,
    inner: Arc<Mutex<FakeChallengeState>>,
}

impl FakeChallengeServer {
    /// Starts the server on a free port.
    ///
    /// # Errors
    /// Where no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("no port for the server in the shape of Turnstile")?;
        let server = Self {
            url: format!("http://{}", listener.local_addr()?),
            inner: Arc::default(),
        };
        let router = router::router(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(server)
    }

    /// Returns the server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets whether the server answers calls of `siteverify` and requests for the script with 503.
    pub fn set_away(&self, is_away: bool) {
        self.inner.lock().is_away = is_away;
    }

    /// Answers this many of the next calls of `siteverify` with 503.
    pub fn fail_next(&self, calls: u64) {
        self.inner.lock().failing = calls;
    }

    /// Returns how often `siteverify` was called.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.inner.lock().calls
    }

    /// Passes a check as a person does, and returns the answer. `cdata` is the value to which the
    /// page bound the check.
    #[must_use]
    pub fn pass(&self, cdata: Option<&str>) -> String {
        let mut inner = self.inner.lock();
        let answer = format!("0.scripted-{}", inner.passed.len());
        let passed = PassedCheck {
            cdata: cdata.map(str::to_owned),
            is_used: false,
        };
        inner.passed.insert(answer.clone(), passed);
        answer
    }
}

/// Reports whether an answer is valid, as both providers do. An answer is valid only once.
async fn siteverify(
    State(server): State<FakeChallengeServer>,
    Form(fields): Form<HashMap<String, String>>,
) -> Response {
    let mut inner = server.inner.lock();
    inner.calls += 1;
    let fails = inner.failing > 0;
    inner.failing = inner.failing.saturating_sub(1);
    if inner.is_away || fails {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let field = |name: &str| fields.get(name).map_or("", String::as_str);
    let refused =
        |code: &str| Json(json!({"success": false, "error-codes": [code]})).into_response();
    if field("secret") != CHALLENGE_SECRET {
        return refused("invalid-input-secret");
    }
    match inner.passed.get_mut(field("response")) {
        None => refused("invalid-input-response"),
        Some(passed) if passed.is_used => refused("timeout-or-duplicate"),
        Some(passed) => {
            passed.is_used = true;
            let cdata = passed.cdata.as_deref();
            Json(json!({"success": true, "error-codes": [], "cdata": cdata})).into_response()
        }
    }
}

/// Passes a check for the script in a page.
async fn pass(
    State(server): State<FakeChallengeServer>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let answer = server.pass(query.get("cdata").map(String::as_str));
    ([(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")], answer).into_response()
}

/// Serves the script of the check.
async fn script(State(server): State<FakeChallengeServer>) -> Response {
    if server.inner.lock().is_away {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let kind = [(header::CONTENT_TYPE, "text/javascript")];
    (kind, include_str!("check.js")).into_response()
}
