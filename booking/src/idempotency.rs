//! `Idempotency-Key`: the same call again gets the same answer, even an error answer; another call
//! under the same key is refused; while the first one runs, the second one waits outside.
//!
//! The ledger knows a call before anything is done for it, so this holds over all nodes. A node
//! that carries a call out has it lent for a few seconds, again and again; after it died another
//! one goes on, and the ids that derive from the key find what was done.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairgate_base::clock::Clock;
use rand::RngExt;
use sha2::{Digest, Sha256};

use crate::ledger::{BeginCallOutcome, CALL_LENT_MS, KeptAnswer, KeyedCall, Ledger, LedgerError};

/// How often a call that takes long is lent on.
const LEND_EVERY: Duration = Duration::from_millis(CALL_LENT_MS.unsigned_abs() / 3);

/// The answers kept for retries.
#[derive(Clone)]
pub struct IdempotencyAnswers {
    ledger: Arc<dyn Ledger>,
    clock: Clock,
    /// This process, among all that write into the ledger.
    node: i64,
    /// The calls that this process is carrying out: what it does not, it may begin anew at once.
    running: RunningCalls,
}

type CallerScope = [u8; 32];

type RunningCalls = Arc<Mutex<HashSet<(CallerScope, String)>>>;

/// What a call under a key meets.
pub enum IdempotencyCheck {
    /// It is this node's to carry out.
    Act(IdempotentCall),
    /// It was answered before.
    Answered(KeptAnswer),
    /// It is being carried out, by this process or another one.
    Running,
    /// The key belongs to a call with another body or address.
    OtherCall,
}

/// A call that this node carries out. Its key is in use until this is dropped.
pub struct IdempotentCall {
    answers: IdempotencyAnswers,
    call: KeyedCall,
    _in_use: IdempotencyKeyGuard,
}

/// A key in use; given back when dropped.
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

    /// Begins a call under a key. `caller` scopes the key; `call` names method and path; `body` is
    /// what was sent.
    ///
    /// # Errors
    /// Where the ledger does not answer.
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

    /// The slot of a call, unless this process is carrying it out.
    fn use_key(&self, slot: (CallerScope, String)) -> Option<IdempotencyKeyGuard> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(slot.clone()).then(|| IdempotencyKeyGuard {
            running: Arc::clone(&self.running),
            slot,
        })
    }
}

impl IdempotentCall {
    /// Keeps the call this node's for as long as this is polled.
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

    /// Keeps what the call was answered, for retries. An answer that `passes` is not kept: the same
    /// call may be made again at once, and finds what was done for this one; the key stays its own.
    ///
    /// Where the ledger does not take it nothing is lost but time: the call is lent until a moment
    /// that passes.
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
