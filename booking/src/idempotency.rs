//! `Idempotency-Key`: a repeated call gets the stored answer of the first call, even if that answer
//! is an error. Temporary errors (429 and 5xx) are not stored. A different call with the same key
//! is refused. A call that is repeated while the first call runs is refused, too, and does nothing.
//!
//! The ledger records a call before the call does anything, so these rules hold across all nodes.
//! The node that runs a call has a lease on the call for a few seconds, and renews the lease while
//! the call runs. If the node dies, the caller may repeat the call at another node after the lease.
//! The ids of holds and orders derive from the key, so the repeated call finds what the first call
//! already did.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_base::secret::{InstallationSecret, is_sealed};
use rand::RngExt;
use sha2::{Digest, Sha256};

use crate::ledger::{
    BeginCallOutcome, CALL_LEASE_MS, KeptAnswer, KeyedCall, Ledger, LedgerError, answer_place,
};

/// How often a node renews its lease on a call that takes long.
const RENEW_LEASE_EVERY: Duration = Duration::from_millis(CALL_LEASE_MS.unsigned_abs() / 3);

/// A cheap handle to the answers that are stored for repeated calls.
#[derive(Clone)]
pub struct IdempotencyAnswers {
    ledger: Ledger,
    clock: Clock,
    /// Seals the answers, because an answer may have the key of an order.
    secret: InstallationSecret,
    /// A random number that identifies this process in the ledger.
    node: i64,
    /// The calls that run in this process now. The ledger would let a process begin its own call
    /// again at once, so this set prevents a second run.
    running: RunningCalls,
}

type CallerScope = [u8; 32];

type RunningCalls = Arc<Mutex<HashSet<(CallerScope, String)>>>;

/// The result of looking up a call's key.
pub enum IdempotencyCheck {
    /// The call has no stored answer and is not running: this node must run the call.
    Act(IdempotentCall),
    /// The call has a stored answer.
    Answered(KeptAnswer),
    /// The call is running in this process, or another node has a lease on the call.
    Running,
    /// The key belongs to a call with another body or address.
    OtherCall,
}

/// A call that this node runs. Until this value is dropped, no other call with the key can begin in
/// this process.
pub struct IdempotentCall {
    answers: IdempotencyAnswers,
    call: KeyedCall,
    _in_use: IdempotencyKeyGuard,
}

/// Keeps a key marked as in use until this value is dropped.
struct IdempotencyKeyGuard {
    running: RunningCalls,
    slot: (CallerScope, String),
}

impl Drop for IdempotencyKeyGuard {
    fn drop(&mut self) {
        self.running.lock().remove(&self.slot);
    }
}

impl IdempotencyAnswers {
    /// Makes a handle that stores its answers in `ledger`, sealed with `secret`.
    #[must_use]
    pub fn new(ledger: Ledger, clock: Clock, secret: InstallationSecret) -> Self {
        Self {
            ledger,
            clock,
            secret,
            node: rand::rng().random(),
            running: Arc::default(),
        }
    }

    /// Begins a call with a key, unless the call was answered or is running. Keys of different
    /// callers are independent. `caller` identifies the caller, `call` names method and path, and
    /// `body` is the body that was sent.
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
        let begun = begun.await?;
        Ok(match begun {
            BeginCallOutcome::Act => IdempotencyCheck::Act(IdempotentCall {
                answers: self.clone(),
                call,
                _in_use: in_use,
            }),
            BeginCallOutcome::Answered(kept) => {
                IdempotencyCheck::Answered(self.open_answer(&call, kept)?)
            }
            BeginCallOutcome::Running => IdempotencyCheck::Running,
            BeginCallOutcome::OtherCall => IdempotencyCheck::OtherCall,
        })
    }

    fn open_answer(&self, call: &KeyedCall, kept: KeptAnswer) -> Result<KeptAnswer, LedgerError> {
        if !is_sealed(kept.body.as_bytes()) {
            return Ok(kept);
        }
        let place = answer_place(&call.scope, &call.key);
        let body = self.secret.open(&place, kept.body.as_bytes())?;
        let body = String::from_utf8(body)
            .map_err(|_| LedgerError::Corrupt("a kept answer is not UTF-8".to_owned()))?;
        Ok(KeptAnswer { body, ..kept })
    }

    /// Marks a key as in use. Returns `None` if a call with this key already runs in this process.
    fn use_key(&self, slot: (CallerScope, String)) -> Option<IdempotencyKeyGuard> {
        let mut running = self.running.lock();
        running.insert(slot.clone()).then(|| IdempotencyKeyGuard {
            running: Arc::clone(&self.running),
            slot,
        })
    }
}

impl IdempotentCall {
    /// Renews this node's lease on the call until the future is dropped.
    pub async fn renew_lease(&self) -> Infallible {
        let IdempotencyAnswers { ledger, clock, .. } = &self.answers;
        loop {
            tokio::time::sleep(RENEW_LEASE_EVERY).await;
            let until_ms = clock.now_ms() + CALL_LEASE_MS;
            if let Err(error) = ledger.set_call_lease(self.call.clone(), until_ms).await {
                log_failed_try!(
                    error,
                    "the lease on a long call could not be renewed; another node may begin the same call"
                );
            }
        }
    }

    /// Stores the call's answer for repeated calls. If `is_temporary` is true, the answer is a
    /// temporary error and is not stored. The lease on the call is then ended, so the call may be
    /// repeated at once.
    ///
    /// If the ledger cannot record this, a repeated call runs again: at this node at once, and at
    /// another node after the lease.
    pub async fn keep_answer(self, status: u16, body: String, is_temporary: bool) {
        let IdempotencyAnswers {
            ledger,
            clock,
            secret,
            ..
        } = &self.answers;
        let call = self.call;
        let recorded = if is_temporary {
            ledger.set_call_lease(call, 0).await
        } else {
            let answer = KeptAnswer {
                asked: call.asked,
                status,
                body: secret.seal(&answer_place(&call.scope, &call.key), body.as_bytes()),
            };
            ledger
                .keep(call.scope, call.key, answer, clock.now_ms())
                .await
        };
        if let Err(error) = recorded {
            log_failed_try!(error, "an answer could not be kept for retries");
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
