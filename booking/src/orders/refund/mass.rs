//! The mass refund of cancelled shows. Everything that was paid for and not used at the door goes
//! back, order by order. The ledger alone says what is left, so after a crash the refund continues
//! where it was, on the node that has the lease.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_model::orders::refund::TicketSelection;

use crate::ledger::{Ledger, LedgerError, RefundRefused};
use crate::wake::{LedgerNotifiers, WorkerNotifier};

/// The lease under which one node at a time refunds. If that node dies, the refund pauses for the
/// length of the lease.
const LEASE: &str = "mass_refund";
const LEASE_MS: i64 = 10_000;

/// How many orders are read at once.
const BATCH_MAX: u32 = 100;

/// How often cancelled shows are looked for when nothing wakes the worker, since an order may be
/// paid after its show was cancelled.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The worker that gives back what was paid for cancelled shows.
#[derive(Clone)]
pub struct MassRefundWorker {
    /// The ledger that has the orders.
    pub ledger: Arc<dyn Ledger>,
    /// The installation's clock.
    pub clock: Clock,
    /// Wakes this worker.
    pub bell: WorkerNotifier,
    /// Wake the workers that free the seats and send the money back.
    pub bells: LedgerNotifiers,
}

impl MassRefundWorker {
    /// Gives back everything that is left, as `owner`, and returns how many orders. An order that
    /// fails now is left to the next run, and delays no other.
    ///
    /// # Errors
    /// Returns an error where the ledger does not answer; the next run goes on.
    pub async fn refund_cancelled_shows(&self, owner: &str) -> Result<usize, LedgerError> {
        let mut given = 0;
        loop {
            let left = self.ledger.orders_of_cancelled(BATCH_MAX).await?;
            if left.is_empty() || !self.ledger.lease(LEASE, owner, LEASE_MS).await? {
                return Ok(given);
            }
            let mut changed = 0;
            for order in &left {
                let refunded =
                    self.ledger
                        .refund(order, TicketSelection::Unscanned, self.clock.now_ms());
                match refunded.await {
                    Ok(Some(applied)) if applied.changed => changed += 1,
                    Ok(_) => {}
                    Err(RefundRefused::Ledger(error)) => return Err(error),
                    Err(refused) => {
                        tracing::warn!(%order, %refused, "an order of a cancelled show was not given back");
                    }
                }
            }
            self.bells.notify_all();
            given += changed;
            metrics::counter!("fairgate_mass_refunds_total").increment(changed as u64);
            if changed == 0 {
                return Ok(given);
            }
        }
    }

    /// Refunds cancelled shows for as long as the process runs.
    pub async fn give_back_forever(self, owner: String) {
        loop {
            if let Err(error) = self.refund_cancelled_shows(&owner).await {
                tracing::warn!(%error, "orders of cancelled shows could not be given back; trying again");
            }
            self.bell.wait(LOOK_EVERY).await;
        }
    }
}
