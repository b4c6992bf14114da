//! The mass refund of cancelled shows. All paid tickets that were not scanned at the door are
//! refunded, order by order. The list of the remaining orders is stored only in the ledger. After a
//! crash, the node that has the lease continues with these orders.

use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use fairgate_model::orders::refund::TicketSelection;
use fairgate_model::orders::transition::OrderEvent;

use crate::ledger::{Ledger, LedgerError, RefundRefused};
use crate::wake::{LedgerNotifiers, WorkerNotifier};

/// The name of the lease. Only the node that has the lease refunds orders.
const LEASE: &str = "mass_refund";
/// How long the lease lasts. If the node with the lease dies, the refund pauses until the lease
/// ends.
const LEASE_MS: i64 = 10_000;

/// How many orders are read at once.
const BATCH_MAX: u32 = 100;

/// How often the worker looks for orders of cancelled shows if nothing wakes it. An order may be
/// paid after its show was cancelled.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The worker that refunds the orders of cancelled shows.
#[derive(Clone)]
pub struct MassRefundWorker {
    /// The ledger that stores the orders.
    pub ledger: Ledger,
    /// The installation's clock.
    pub clock: Clock,
    /// Wakes this worker.
    pub notifier: WorkerNotifier,
    /// Wakes the workers that free the seats and send the money back.
    pub notifiers: LedgerNotifiers,
}

impl MassRefundWorker {
    /// Ends the orders of cancelled shows that are not paid. Nobody can pay for them any more.
    /// Returns how many were ended. Any node may do this, and also several at once.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next run then continues.
    pub async fn end_unpaid_orders(&self) -> Result<usize, LedgerError> {
        let mut ended = 0;
        loop {
            let waiting = self.ledger.orders_to_end(BATCH_MAX).await?;
            let mut changed = 0;
            for order in &waiting {
                let event = OrderEvent::ShowCancelled;
                let applied = self.ledger.apply_event(order, event, self.clock.now_ms());
                changed += usize::from(applied.await?.is_some_and(|applied| applied.changed));
            }
            if changed == 0 {
                return Ok(ended);
            }
            ended += changed;
            self.notifiers.notify_all();
        }
    }

    /// Refunds the remaining orders of cancelled shows while `owner` has the lease, and returns how
    /// many orders were refunded. If the ledger refuses an order, the rest of the batch is still
    /// refunded, and the next run tries that order again.
    ///
    /// # Errors
    /// Returns an error if the ledger does not answer. The next run then continues.
    pub async fn refund_cancelled_shows(&self, owner: &str) -> Result<usize, LedgerError> {
        let mut refunded_orders = 0;
        loop {
            let remaining = self.ledger.orders_to_refund(BATCH_MAX).await?;
            if remaining.is_empty() || !self.ledger.lease(LEASE, owner, LEASE_MS).await? {
                return Ok(refunded_orders);
            }
            let mut changed = 0;
            for order in &remaining {
                let refunded =
                    self.ledger
                        .refund(order, TicketSelection::Unscanned, self.clock.now_ms());
                match refunded.await {
                    Ok(Some(applied)) if applied.changed => changed += 1,
                    Ok(_) => {}
                    Err(RefundRefused::Ledger(error)) => return Err(error),
                    Err(refused) => {
                        tracing::warn!(%order, %refused, "an order of a cancelled show was not refunded");
                    }
                }
            }
            self.notifiers.notify_all();
            refunded_orders += changed;
            metrics::counter!("fairgate_mass_refunds_total").increment(changed as u64);
            if changed == 0 {
                return Ok(refunded_orders);
            }
        }
    }

    /// Ends and refunds orders of cancelled shows for as long as the process runs.
    pub async fn refund_forever(self, owner: String) {
        loop {
            if let Err(error) = self.end_unpaid_orders().await {
                log_failed_try!(
                    error,
                    "unpaid orders of cancelled shows could not be ended; trying again"
                );
            }
            if let Err(error) = self.refund_cancelled_shows(&owner).await {
                log_failed_try!(
                    error,
                    "orders of cancelled shows could not be refunded; trying again"
                );
            }
            self.notifier.wait(LOOK_EVERY).await;
        }
    }
}
