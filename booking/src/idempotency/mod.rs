//! `Idempotency-Key`: the same call again gets the same answer, even an error answer; another call under the
//! same key is refused; while the first one runs, the second one waits outside.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::clock::Clock;
use crate::http::Problem;
use crate::ledger::{KeptAnswer, Ledger, LedgerError};

/// Longest key accepted, in characters.
const KEY_MAX: usize = 255;

/// How long answers are kept.
const KEPT_MS: i64 = 24 * 3_600 * 1_000;

/// A JSON answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The body.
    pub body: serde_json::Value,
}

impl Answer {
    /// An answer with a body.
    ///
    /// # Errors
    /// 500 where the body cannot be JSON.
    pub fn json(status: u16, body: &impl serde::Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_value(body).map_err(|error| {
            tracing::error!(%error, "an answer could not be written as JSON");
            Problem::new(
                500,
                "internal",
                "Something broke here",
                "The answer could not be written. Ask again to see what was done.",
            )
        })?;
        Ok(Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            body,
        })
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        (self.status, headers, self.body.to_string()).into_response()
    }
}

/// The answers kept for retries.
#[derive(Clone)]
pub struct Answers {
    ledger: Arc<dyn Ledger>,
    clock: Clock,
    running: Arc<Mutex<HashSet<(Scope, String)>>>,
}

type Scope = [u8; 32];

/// A key in use; given back when dropped.
struct Running {
    running: Arc<Mutex<HashSet<(Scope, String)>>>,
    slot: (Scope, String),
}

impl Drop for Running {
    fn drop(&mut self) {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.slot);
    }
}

/// Reads the `Idempotency-Key` of a request.
///
/// # Errors
/// 400 `idempotency_key_invalid` for an empty, unprintable or too long one.
pub fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if (1..=KEY_MAX).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(Problem::new(
            400,
            "idempotency_key_invalid",
            "The Idempotency-Key is not valid",
            format!(
                "An Idempotency-Key has 1 to {KEY_MAX} printable ASCII characters. Nothing was changed."
            ),
        )),
    }
}

impl Answers {
    /// Over a ledger.
    #[must_use]
    pub fn new(ledger: Arc<dyn Ledger>, clock: Clock) -> Self {
        Self {
            ledger,
            clock,
            running: Arc::default(),
        }
    }

    /// Answers a call once: `act` runs unless an answer is kept under this caller's key.
    ///
    /// `caller` scopes the key; `call` names method and path; `body` is what was sent.
    pub async fn once(
        &self,
        caller: &[u8],
        call: &str,
        key: Option<String>,
        body: &[u8],
        act: impl Future<Output = Result<Answer, Problem>>,
    ) -> Response {
        let Some(key) = key else {
            return respond(act.await);
        };
        let scope: Scope = Sha256::digest(caller).into();
        let asked = digest(call, body);
        let slot = (scope, key.clone());
        if !self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(slot.clone())
        {
            return Problem::new(
                409,
                "idempotency_in_flight",
                "The same call is still running",
                "The first call with this Idempotency-Key has not been answered yet. This one did nothing. Ask again in a second.",
            )
            .retry_after(1)
            .into_response();
        }
        let _running = Running {
            running: Arc::clone(&self.running),
            slot,
        };
        match self.ledger.kept(scope, key.clone()).await {
            Ok(Some(kept)) => return replay(&kept, asked),
            Ok(None) => {}
            Err(error) => return Problem::from(error).into_response(),
        }
        let result = act.await;
        let (status, body) = match &result {
            Ok(answer) => (answer.status, answer.body.to_string()),
            Err(problem) => (problem.status, problem.document().to_string()),
        };
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            return respond(result);
        }
        let answer = KeptAnswer {
            asked,
            status: status.as_u16(),
            body,
        };
        // The call is done and its ids derive from the key, so a retry finds its work even if this is lost.
        if let Err(error) = self
            .ledger
            .keep(scope, key, answer, self.clock.now_ms())
            .await
        {
            tracing::warn!(%error, "an answer could not be kept for retries");
        }
        respond(result)
    }

    /// Forgets what was kept for long enough.
    ///
    /// # Errors
    /// Where the ledger did not take it.
    pub async fn forget_old(&self) -> Result<(), LedgerError> {
        self.ledger
            .forget_answers(self.clock.now_ms() - KEPT_MS)
            .await
    }
}

fn respond(result: Result<Answer, Problem>) -> Response {
    match result {
        Ok(answer) => answer.into_response(),
        Err(problem) => problem.into_response(),
    }
}

fn digest(call: &str, body: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update((call.len() as u64).to_be_bytes());
    hasher.update(call.as_bytes());
    hasher.update(body);
    hasher.finalize().into()
}

fn replay(kept: &KeptAnswer, asked: [u8; 32]) -> Response {
    if kept.asked != asked {
        return Problem::new(
            422,
            "idempotency_mismatch",
            "The Idempotency-Key was used for another call",
            "This key belongs to an earlier call with another body or address. Nothing was changed. Use a new key for a new call.",
        )
        .into_response();
    }
    let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let media = if status.is_success() {
        "application/json"
    } else {
        "application/problem+json"
    };
    let headers = [
        (header::CONTENT_TYPE.as_str(), media),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        ("idempotency-replayed", "true"),
    ];
    (status, headers, kept.body.clone()).into_response()
}
