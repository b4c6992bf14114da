//! Asks the provider for the refunds of tickets and of price differences. Each request is repeated
//! until the provider reports that the refund is done. A refund never waits for captures and voids
//! of other payments. It is asked for only after its own payment was captured.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_model::orders::refund::OwedRefund;
use fairgate_model::payments::ProviderError;
use tokio::time::Instant;

use super::PaymentProvider;
use super::effects::{REFUND_PAUSE_MAX_MS, RENEW_EVERY, pause_ms, refund_pause_ms, renewing};
use super::lent_work::{Loan, do_lent_work};
use super::webhook::PaymentEventInbox;
use crate::ledger::{Ledger, LedgerError};
use crate::wake::WorkerNotifier;

/// How many refunds are asked for at the same time.
const AT_ONCE: usize = 16;

/// How long the worker sleeps when nothing wakes it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The worker that asks the provider for refunds.
#[derive(Clone)]
pub struct RefundWorker {
    /// The ledger that has the refunds.
    pub ledger: Ledger,
    /// The provider that carries them out.
    pub provider: Arc<dyn PaymentProvider>,
    /// The inbox, which reads a payment back after the provider refused its refund.
    pub inbox: PaymentEventInbox,
    /// The installation's clock.
    pub clock: Clock,
    /// Wakes this worker.
    pub notifier: WorkerNotifier,
}

impl RefundWorker {
    /// Asks for the due refunds, and returns how many it asked for. A failed refund does not delay
    /// other refunds.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next run tries again.
    pub async fn ask_due(&self) -> Result<usize, LedgerError> {
        let lend = |free_slots| {
            let (ledger, now_ms) = (self.ledger.clone(), self.clock.now_ms());
            async move { ledger.due_refunds(now_ms, free_slots).await }
        };
        let ask = |refund: OwedRefund, loan: Loan| {
            let refunding = self.clone();
            async move {
                // This process may have stood still, and another one may have its place by now.
                if loan.is_over(Instant::now()) {
                    tracing::debug!(refund = %refund.id, "the loan of a refund ran out before its call");
                    return;
                }
                if let Err(error) = refunding.request_refund(&refund).await {
                    tracing::warn!(refund = %refund.id, %error, "the result of a refund could not be written; the refund is lent again");
                }
            }
        };
        do_lent_work(AT_ONCE, lend, ask).await
    }

    async fn request_refund(&self, refund: &OwedRefund) -> Result<(), LedgerError> {
        let renew_lease = || {
            let (ledger, id, now_ms) =
                (self.ledger.clone(), refund.id.clone(), self.clock.now_ms());
            // The renewal runs in its own task, so that the call does not wait for it. If it fails,
            // another node may ask for the same refund too.
            tokio::spawn(async move {
                if let Err(error) = ledger.renew_refund_loan(&id, now_ms).await {
                    tracing::debug!(refund = %id, %error, "the loan of a refund could not be renewed");
                }
            });
        };
        let result = renewing(self.provider.refund_part(refund), RENEW_EVERY, renew_lease).await;
        let (id, now_ms) = (&refund.id, self.clock.now_ms());
        let (pause_ms, why, failed) = match result {
            Ok(()) => {
                self.ledger.refund_done(id, now_ms).await?;
                metrics::counter!("fairgate_refunds_total", "outcome" => "done").increment(1);
                return Ok(());
            }
            Err(ProviderError::Pending(why)) => (refund_pause_ms(refund.attempts), why, false),
            Err(ProviderError::Later(why)) => {
                tracing::warn!(refund = %id, why, "a refund is asked for again later");
                (pause_ms(refund.attempts), why, false)
            }
            // Somebody may have given money back at the provider, or the payment may be disputed.
            // Once the ledger knows of that, the refund is smaller or waits.
            Err(error @ ProviderError::Refused(_)) => {
                let why = error.to_string();
                tracing::error!(refund = %id, why, "a refund was refused; it is tried again at growing intervals, and somebody should look at it");
                (refund_pause_ms(refund.attempts), why, true)
            }
            Err(error) => {
                let why = error.to_string();
                tracing::error!(refund = %id, why, "a refund failed; it is tried again in an hour, and somebody should look at it");
                (REFUND_PAUSE_MAX_MS, why, true)
            }
        };
        let outcome = if failed { "failed" } else { "later" };
        metrics::counter!("fairgate_refunds_total", "outcome" => outcome).increment(1);
        self.ledger
            .put_off_refund(id, now_ms + pause_ms, why, failed, now_ms)
            .await?;
        if failed {
            // Somebody may have given money back at the provider, so that too little is left.
            self.inbox.read_payment_now(&refund.payment).await?;
        }
        Ok(())
    }

    /// Asks for refunds for as long as the process runs.
    pub async fn send_refunds_forever(self) {
        loop {
            if let Err(error) = self.ask_due().await {
                log_failed_try!(error, "refunds could not be asked for; trying again");
            }
            self.notifier.wait(LOOK_EVERY).await;
        }
    }
}
