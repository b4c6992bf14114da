//! Carries out the payment effects in the ledger: captures, voids and refunds. Each effect is
//! repeated until it is done, except a capture or a void that the provider refuses. After a
//! capture, the order gets its tickets.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_model::orders::transition::EffectKind;
use fairgate_model::payments::{PaymentState, ProviderError};
use tokio::time::Instant;

use super::PaymentProvider;
use super::lent_work::{Loan, do_lent_work};
use crate::ledger::{DuePaymentEffect, Ledger, LedgerError};
use crate::wake::WorkerNotifier;

/// How many effects are carried out at the same time.
const AT_ONCE: usize = 32;

/// How often the loan of an effect is renewed while its call runs. The loan lasts longer than this.
pub(super) const RENEW_EVERY: Duration = Duration::from_secs(2);

/// How long the worker sleeps when nothing wakes it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The longest pause that [`pause_ms`] returns.
const PAUSE_MAX_MS: i64 = 60_000;

/// The longest pause before the provider is asked again about a refund.
pub(super) const REFUND_PAUSE_MAX_MS: i64 = 3_600_000;

/// The worker that carries out effects.
#[derive(Clone)]
pub struct PaymentEffectWorker {
    /// The ledger that has the effects.
    pub ledger: Ledger,
    /// The provider that carries them out.
    pub provider: Arc<dyn PaymentProvider>,
    /// The installation's clock.
    pub clock: Clock,
    /// Wakes this worker.
    pub notifier: WorkerNotifier,
    /// Wakes the seat outbox.
    pub seats: WorkerNotifier,
}

/// The result of a finished call.
enum EffectCallOutcome {
    /// The effect is done, by this call or by an earlier one, or there is no money to void.
    Done,
    /// The provider refused the effect, and the payment's state at the provider shows that the
    /// effect is not done.
    Refused(String),
}

/// Returns how long to wait before the next try, in milliseconds. The pause doubles each time, up
/// to a minute.
#[must_use]
pub fn pause_ms(attempts: u32) -> i64 {
    (500_i64 << attempts.min(10)).min(PAUSE_MAX_MS)
}

/// Returns how long to wait before asking again whether a refund is done. The provider may take
/// days for it.
#[must_use]
pub fn refund_pause_ms(attempts: u32) -> i64 {
    (2_000_i64 << attempts.min(16)).min(REFUND_PAUSE_MAX_MS)
}

/// Waits for a call. Until the call ends, runs `renew` after each interval of `every`.
pub(super) async fn renewing<T>(
    call: impl Future<Output = T>,
    every: Duration,
    renew: impl Fn(),
) -> T {
    let mut call = std::pin::pin!(call);
    loop {
        match tokio::time::timeout(every, &mut call).await {
            Ok(done) => return done,
            Err(_) => renew(),
        }
    }
}

impl PaymentEffectWorker {
    /// Carries out the due effects, and returns how many it tried. A failed effect does not delay
    /// other effects.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next run tries again.
    pub async fn carry_out_due(&self) -> Result<usize, LedgerError> {
        let lend = |free_slots| {
            let (ledger, now_ms) = (self.ledger.clone(), self.clock.now_ms());
            async move { ledger.due_effects(now_ms, free_slots).await }
        };
        let carry_out = |effect: DuePaymentEffect, loan: Loan| {
            let effects = self.clone();
            async move {
                // This process may have stood still, and another one may have its place by now.
                if loan.is_over(Instant::now()) {
                    let payment = &effect.payment.id;
                    tracing::debug!(%payment, "the loan of an effect ran out before its call");
                    return;
                }
                if let Err(error) = effects.carry_out(&effect).await {
                    let payment = &effect.payment.id;
                    tracing::warn!(%payment, %error, "the result of an effect could not be written; the effect is lent again");
                }
                effects.seats.notify_worker();
            }
        };
        do_lent_work(AT_ONCE, lend, carry_out).await
    }

    async fn carry_out(&self, effect: &DuePaymentEffect) -> Result<(), LedgerError> {
        let renew_lease = || {
            let (ledger, effect, now_ms) = (self.ledger.clone(), effect.id, self.clock.now_ms());
            // The renewal runs in its own task, so that the call does not wait for it. If it fails,
            // another node may make the same call under the same key.
            tokio::spawn(async move {
                if let Err(error) = ledger.renew_lease(effect, now_ms).await {
                    tracing::debug!(effect, %error, "the loan of an effect could not be renewed");
                }
            });
        };
        let result = renewing(self.call_provider(effect), RENEW_EVERY, renew_lease).await;
        self.record_result(effect, result).await
    }

    /// Makes the call to the provider that the effect needs.
    async fn call_provider(
        &self,
        effect: &DuePaymentEffect,
    ) -> Result<EffectCallOutcome, ProviderError> {
        let (payment, attempt) = (&effect.payment, effect.attempts);
        let result = match effect.kind {
            EffectKind::Capture => self.provider.capture(payment, attempt).await,
            EffectKind::Void => self.provider.void(payment, attempt).await,
            EffectKind::Refund => self.provider.refund(payment, attempt).await,
        };
        // A refusal counts only after the provider was asked for the state of the payment, because
        // an earlier try may have succeeded.
        match result {
            Err(ProviderError::Refused(why)) => self.after_refusal(effect, why).await,
            Err(error) => Err(error),
            Ok(()) => Ok(EffectCallOutcome::Done),
        }
    }

    /// Writes the result of the call to the ledger.
    async fn record_result(
        &self,
        effect: &DuePaymentEffect,
        result: Result<EffectCallOutcome, ProviderError>,
    ) -> Result<(), LedgerError> {
        let payment = &effect.payment;
        let now_ms = self.clock.now_ms();
        let word = effect.kind.as_str();
        match (effect.kind, result) {
            (EffectKind::Capture, Ok(EffectCallOutcome::Done)) => {
                self.ledger.captured(effect.id, now_ms).await?
            }
            (EffectKind::Capture, Ok(EffectCallOutcome::Refused(why))) => {
                tracing::error!(payment = %payment.id, why, "the provider refused a capture; the seats are freed");
                self.ledger.capture_refused(effect.id, why, now_ms).await?;
            }
            (EffectKind::Void, Ok(EffectCallOutcome::Done)) => {
                self.ledger.voided(effect.id, now_ms).await?
            }
            (EffectKind::Void, Ok(EffectCallOutcome::Refused(why))) => {
                tracing::error!(payment = %payment.id, why, "a payment that should be voided was captured; it is refunded");
                self.ledger.refund_instead(effect.id, now_ms).await?;
            }
            (EffectKind::Refund, Ok(EffectCallOutcome::Done)) => {
                self.ledger.refunded(effect.id, now_ms).await?
            }
            (EffectKind::Refund, Ok(EffectCallOutcome::Refused(why))) => {
                tracing::error!(payment = %payment.id, why, "a refund was refused; it is tried again at growing intervals, and somebody should look at it");
                let due_at_ms = now_ms + refund_pause_ms(effect.attempts);
                self.ledger
                    .refund_failed(effect.id, due_at_ms, why, now_ms)
                    .await?;
            }
            (EffectKind::Refund, Err(ProviderError::Failed(why))) => {
                tracing::error!(payment = %payment.id, why, "a refund failed; it is tried again in an hour, and somebody should look at it");
                let due_at_ms = now_ms + REFUND_PAUSE_MAX_MS;
                self.ledger
                    .refund_failed(effect.id, due_at_ms, why, now_ms)
                    .await?;
            }
            (EffectKind::Refund, Err(ProviderError::Pending(why))) => {
                let due_at_ms = now_ms + refund_pause_ms(effect.attempts);
                self.ledger
                    .put_off(effect.id, due_at_ms, why, now_ms)
                    .await?;
            }
            (_, Err(error)) => {
                tracing::warn!(payment = %payment.id, %error, word, "an effect is tried again later");
                self.try_effect_later(effect, error.to_string()).await?;
            }
        }
        metrics::counter!("fairgate_effects_total", "kind" => word).increment(1);
        Ok(())
    }

    async fn after_refusal(
        &self,
        effect: &DuePaymentEffect,
        why: String,
    ) -> Result<EffectCallOutcome, ProviderError> {
        let state = self.provider.read_back(&effect.payment).await?.state;
        Ok(match (effect.kind, state) {
            (EffectKind::Capture, PaymentState::Captured)
            | (EffectKind::Refund, PaymentState::Refunded)
            | (
                EffectKind::Void,
                PaymentState::Created | PaymentState::Declined | PaymentState::Voided,
            ) => EffectCallOutcome::Done,
            (EffectKind::Void, PaymentState::Authorised) => {
                return Err(ProviderError::Later(format!("still authorised: {why}")));
            }
            _ => EffectCallOutcome::Refused(why),
        })
    }

    async fn try_effect_later(
        &self,
        effect: &DuePaymentEffect,
        why: String,
    ) -> Result<(), LedgerError> {
        let now_ms = self.clock.now_ms();
        let due_at_ms = now_ms + pause_ms(effect.attempts);
        self.ledger.put_off(effect.id, due_at_ms, why, now_ms).await
    }

    /// Carries out effects for as long as the process runs.
    pub async fn carry_out_forever(self) {
        loop {
            if let Err(error) = self.carry_out_due().await {
                log_failed_try!(error, "effects could not be carried out; trying again");
            }
            self.notifier.wait(LOOK_EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    #[tokio::test]
    async fn a_long_call_renews_its_loan_until_it_ends() {
        let (renewals, enough) = (AtomicU32::new(0), tokio::sync::Notify::new());
        let renew = || {
            if renewals.fetch_add(1, SeqCst) == 2 {
                enough.notify_one();
            }
        };
        let call = async {
            enough.notified().await;
            7
        };
        assert_eq!(renewing(call, Duration::from_millis(1), renew).await, 7);
        assert_eq!(renewals.load(SeqCst), 3);
        let renew = || panic!("a quick call renews nothing");
        assert_eq!(
            renewing(async { 8 }, Duration::from_secs(60), renew).await,
            8
        );
    }

    #[test]
    fn pauses_double_and_stay_bounded() {
        assert_eq!(pause_ms(0), 500);
        assert_eq!(pause_ms(1), 1_000);
        assert_eq!(pause_ms(60), PAUSE_MAX_MS);
        assert_eq!(refund_pause_ms(0), 2_000);
        assert_eq!(refund_pause_ms(u32::MAX), REFUND_PAUSE_MAX_MS);
    }
}
