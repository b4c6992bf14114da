//! Prolongs the locks of orders whose claims stay in the ledger after their deadlines. Such an
//! order waits until an event about its payment can be settled. The event itself came in time. The
//! seats stay locked for as long as the ledger keeps the claim.

use std::time::Duration;

use fairgate_base::log_failed_try;
use fairgate_model::holds::lock_until_ms;
use tokio::time::MissedTickBehavior;

use super::SeatInventory;
use crate::ledger::{LedgerError, OverdueClaim};
use crate::store::InventoryRefusal;

/// How often overdue claims are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The most claims that are read at a time.
const BATCH_MAX: u32 = 200;
/// The name of the prolonging worker's lease.
const LEASE: &str = "overdue-locks";
/// How long the lease lasts without a renewal, in milliseconds.
const LEASE_MS: i64 = 3_000;

impl SeatInventory {
    /// Prolongs the locks of claims that stay after their deadlines. If such a lock has run out,
    /// its cells are locked again. If another visitor has held the cells in the meantime, that hold
    /// stays, but the ledger will refuse to sell its cells.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read. The next run tries again.
    pub async fn prolong_overdue(&self) -> Result<(), LedgerError> {
        let now_ms = self.clock.now_ms();
        let mut after = None;
        loop {
            let claims = self.ledger.overdue_claims(now_ms, after, BATCH_MAX).await?;
            let Some(last) = claims.last() else {
                return Ok(());
            };
            if self.store.is_shared() && !self.ledger.lease(LEASE, &self.owner, LEASE_MS).await? {
                return Ok(());
            }
            after = Some((last.claim_until_ms, last.order.clone()));
            for claim in claims {
                self.prolong(claim, now_ms).await;
            }
        }
    }

    async fn prolong(&self, claim: OverdueClaim, now_ms: i64) {
        let OverdueClaim {
            order,
            mut hold,
            cursor,
            ..
        } = claim;
        hold.lock_until_ms = hold.lock_until_ms.max(lock_until_ms(now_ms));
        match self.store.prolong(hold, cursor).await {
            // A show that is not open locks these cells when it is opened. The refusal can also
            // mean that a later decision was carried out. The next run reads the claims again.
            Ok(()) | Err(InventoryRefusal::NotReady) => {}
            Err(refused) => {
                tracing::debug!(%order, %refused, "seats of an order cannot be locked again yet");
            }
        }
    }
}

/// Prolongs overdue locks for as long as the process runs.
pub async fn prolong_forever(seats: SeatInventory) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        if let Err(error) = seats.prolong_overdue().await {
            log_failed_try!(
                error,
                "the locks of overdue orders could not be prolonged; trying again"
            );
        }
    }
}
