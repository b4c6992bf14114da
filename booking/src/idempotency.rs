//! `Idempotency-Key`: repeating a call returns the same answer, even if the answer is an error.
//! Another call with the same key is refused. While the first call runs, a repeated call is
//! told so and is not carried out.
//!
//! The ledger records a call before anything is done for it, so this holds for all nodes. A node
//! that carries out a call holds it for a few seconds and renews that while it works. If the node
//! dies, another one carries the call out, and finds what was already done by the ids that derive
//! from the key.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairgate_base::clock::Clock;
use rand::RngExt;
use sha2::{Digest, Sha256};

use crate::ledger::{BeginCallOutcome, CALL_LENT_MS, KeptAnswer, KeyedCall, Ledger, LedgerError};

/// How often a node renews its hold on a call that takes long.
const LEND_EVERY: Duration = Duration::from_millis(CALL_LENT_MS.unsigned_abs() / 3);

/// The answers that are kept for retries. A cheap handle.
#[derive(Clone)]
pub struct IdempotencyAnswers {
    ledger: Arc<dyn Ledger>,
    clock: Clock,
    /// This process's number among all that write into the ledger.
    node: i64,
    /// The calls that this process is carrying out. It may begin any other call of its own anew at
    /// once.
    running: RunningCalls,
}

type CallerScope = [u8; 32];

type RunningCalls = Arc<Mutex<HashSet<(CallerScope, String)>>>;

/// What was found under a call's key.
pub enum IdempotencyCheck {
    /// The call is new, and this node must carry it out.
    Act(IdempotentCall),
    /// The call was answered before.
    Answered(KeptAnswer),
    /// The call is being carried out, by this process or another one.
    Running,
    /// The key belongs to a call with another body or address.
    OtherCall,
}

/// A call that this node carries out. Its key stays in use until this is dropped.
pub struct IdempotentCall {
    answers: IdempotencyAnswers,
    call: KeyedCall,
    _in_use: IdempotencyKeyGuard,
}

/// Marks a key as in use until it is dropped.
struct IdempotencyKeyGuard {
    running: RunningCalls,
    slot: (CallerScope, String),
}

impl Drop for IdempotencyKeyGuard {
    fn drop(&mut self) {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.slot);
    }
}

impl IdempotencyAnswers {
    /// Makes the handle over a ledger.
    #[must_use]
    pub fn new(ledger: Arc<dyn Ledger>, clock: Clock) -> Self {
        Self {
            ledger,
            clock,
            node: rand::rng().random(),
            running: Arc::default(),
        }
    }

    /// Begins a call with a key. `caller` is the scope of the key, `call` names method and path,
    /// and `body` is what was sent.
    ///
    /// # Errors
    /// Returns an error where the ledger does not answer.
    pub async fn begin(
        &self,
        caller: &[u8],
        call: &str,
        key: String,
        body: &[u8],
    ) -> Result<IdempotencyCheck, LedgerError> {
        let scope: CallerScope = Sha256::digest(caller).into();
        let Some(in_use) = self.use_key((scope, key.clone())) else {
            return Ok(IdempotencyCheck::Running);
        };
        let call = KeyedCall {
            scope,
            key,
            asked: call_digest(call, body),
            node: self.node,
        };
        let begun = self.ledger.begin_call(call.clone(), self.clock.now_ms());
        Ok(match begun.await? {
            BeginCallOutcome::Act => IdempotencyCheck::Act(IdempotentCall {
                answers: self.clone(),
                call,
                _in_use: in_use,
            }),
            BeginCallOutcome::Answered(kept) => IdempotencyCheck::Answered(kept),
            BeginCallOutcome::Running => IdempotencyCheck::Running,
            BeginCallOutcome::OtherCall => IdempotencyCheck::OtherCall,
        })
    }

    /// Marks a key as in use. Returns `None` if this process is already carrying the call out.
    fn use_key(&self, slot: (CallerScope, String)) -> Option<IdempotencyKeyGuard> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(slot.clone()).then(|| IdempotencyKeyGuard {
            running: Arc::clone(&self.running),
            slot,
        })
    }
}

impl IdempotentCall {
    /// Renews this node's hold on the call for as long as the future is polled.
    pub async fn lend_on(&self) -> Infallible {
        let IdempotencyAnswers { ledger, clock, .. } = &self.answers;
        loop {
            tokio::time::sleep(LEND_EVERY).await;
            let until_ms = clock.now_ms() + CALL_LENT_MS;
            if let Err(error) = ledger.lend_call(self.call.clone(), until_ms).await {
                tracing::warn!(%error, "a call that takes long could not be lent on; the same call may be begun elsewhere");
            }
        }
    }

    /// Keeps the call's answer for retries. If `passes` is true, the answer is temporary and is not
    /// kept: the call may be repeated at once, and finds what was already done under its key.
    ///
    /// If the ledger does not take this, a retry only has to wait until the node's hold on the call
    /// ends.
    pub async fn keep_answer(self, status: u16, body: String, passes: bool) {
        let IdempotencyAnswers { ledger, clock, .. } = &self.answers;
        let call = self.call;
        let noted = if passes {
            ledger.lend_call(call, 0).await
        } else {
            let answer = KeptAnswer {
                asked: call.asked,
                status,
                body,
            };
            ledger
                .keep(call.scope, call.key, answer, clock.now_ms())
                .await
        };
        if let Err(error) = noted {
            tracing::warn!(%error, "an answer could not be kept for retries");
        }
    }
}

fn call_digest(call: &str, body: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update((call.len() as u64).to_be_bytes());
    hasher.update(call.as_bytes());
    hasher.update(body);
    hasher.finalize().into()
}
