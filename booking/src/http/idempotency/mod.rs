//! `Idempotency-Key`: the same call again gets the same answer, even an error answer; another call under the
//! same key is refused; while the first one runs, the second one waits outside.
//!
//! The ledger knows a call before anything is done for it, so this holds over all nodes. A node that carries a call out has it
//! lent for a few seconds, again and again; after it died another one goes on, and the ids that derive from the key find
//! what was done.

mod answer;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use rand::RngExt;
use sha2::{Digest, Sha256};

pub use answer::Answer;
use answer::{in_flight, mismatch, replay, respond};

use crate::clock::Clock;
use crate::ledger::{CALL_LENT_MS, CallBegun, KeptAnswer, KeyedCall, Ledger};
use fairgate_base::http::Problem;

/// Longest key accepted, in characters.
const KEY_MAX: usize = 255;

/// How often a call that takes long is lent on.
const LEND_EVERY: Duration = Duration::from_millis(CALL_LENT_MS.unsigned_abs() / 3);

/// The answers kept for retries.
#[derive(Clone)]
pub struct Answers {
    ledger: Arc<dyn Ledger>,
    clock: Clock,
    /// This process, among all that write into the ledger.
    node: i64,
    /// The calls that this process is carrying out: what it does not, it may begin anew at once.
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
            node: rand::rng().random(),
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
        let Some(_running) = self.run((scope, key.clone())) else {
            return in_flight().into_response();
        };
        let call = KeyedCall {
            scope,
            key,
            asked: digest(call, body),
            node: self.node,
        };
        let begun = self.ledger.begin_call(call.clone(), self.clock.now_ms());
        match begun.await {
            Ok(CallBegun::Act) => {}
            Ok(CallBegun::Answered(kept)) => return replay(kept),
            Ok(CallBegun::Running) => return in_flight().into_response(),
            Ok(CallBegun::OtherCall) => return mismatch().into_response(),
            Err(error) => return Problem::from(error).into_response(),
        }
        let result = tokio::select! {
            result = act => result,
            never = self.lend_on(&call) => match never {},
        };
        self.note(call, &result).await;
        respond(result)
    }

    /// The slot of a call, unless this process is carrying it out.
    fn run(&self, slot: (Scope, String)) -> Option<Running> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(slot.clone()).then(|| Running {
            running: Arc::clone(&self.running),
            slot,
        })
    }

    /// Keeps a call this node's for as long as it is polled.
    async fn lend_on(&self, call: &KeyedCall) -> Infallible {
        loop {
            tokio::time::sleep(LEND_EVERY).await;
            let until_ms = self.clock.now_ms() + CALL_LENT_MS;
            if let Err(error) = self.ledger.lend_call(call.clone(), until_ms).await {
                tracing::warn!(%error, "a call that takes long could not be lent on; the same call may be begun elsewhere");
            }
        }
    }

    /// Keeps what a call was answered. 429 and 5xx are not kept: the same call may be made again at once, and finds what was
    /// done for this one; the key stays its own.
    ///
    /// Where the ledger does not take it nothing is lost but time: the call is lent until a moment that passes.
    async fn note(&self, call: KeyedCall, result: &Result<Answer, Problem>) {
        let (status, body) = match result {
            Ok(answer) => (answer.status, answer.body.to_string()),
            Err(problem) => (problem.status, problem.document().to_string()),
        };
        let passes = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let noted = if passes {
            self.ledger.lend_call(call, 0).await
        } else {
            let answer = KeptAnswer {
                asked: call.asked,
                status: status.as_u16(),
                body,
            };
            let now_ms = self.clock.now_ms();
            self.ledger.keep(call.scope, call.key, answer, now_ms).await
        };
        if let Err(error) = noted {
            tracing::warn!(%error, "an answer could not be kept for retries");
        }
    }
}

fn digest(call: &str, body: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update((call.len() as u64).to_be_bytes());
    hasher.update(call.as_bytes());
    hasher.update(body);
    hasher.finalize().into()
}
