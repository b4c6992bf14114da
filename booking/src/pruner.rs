//! The worker that deletes old rows. A lease makes sure that only one node of a ledger deletes at a
//! time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_base::clock::Clock;
use fairgate_base::log_failed_try;
use rand::RngExt;

use crate::ledger::{Ledger, LedgerError};
use crate::retention::{BATCH_MAX, RetentionKind, rest_after};

/// How long the worker sleeps between two runs.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The name of the lease. Only the node that has the lease deletes rows.
pub const LEASE: &str = "retention";
/// How long the lease lasts without being renewed, in milliseconds. This is longer than the longest
/// rest between two batches.
const LEASE_MS: i64 = 30_000;
/// The lease is renewed before a batch if it is older than this.
const RENEW_AFTER: Duration = Duration::from_secs(5);

/// The worker that deletes old rows.
#[derive(Clone)]
pub struct Pruner {
    ledger: Ledger,
    clock: Clock,
    /// The name of this process in the lease.
    owner: Arc<str>,
}

impl Pruner {
    /// Makes the worker for a ledger.
    #[must_use]
    pub fn new(ledger: Ledger, clock: Clock) -> Self {
        let owner = hex::encode(rand::rng().random::<[u8; 8]>());
        Self {
            ledger,
            clock,
            owner: owner.into(),
        }
    }

    /// Deletes the old rows of all kinds once, with a rest between batches, and returns how many
    /// rows were deleted. Stops early where another node has the lease.
    ///
    /// # Errors
    /// Returns an error where the ledger does not answer; the next run deletes the rest.
    pub async fn prune_all(&self) -> Result<u64, LedgerError> {
        let mut leased_at = None;
        let deleted = self.prune_under(&mut leased_at).await;
        if leased_at.is_some()
            && let Err(error) = self.ledger.end_lease(LEASE, &self.owner).await
        {
            tracing::debug!(%error, "the lease could not be ended; it runs out by itself");
        }
        deleted
    }

    async fn prune_under(&self, leased_at: &mut Option<Instant>) -> Result<u64, LedgerError> {
        let mut deleted = 0;
        for kind in RetentionKind::ALL {
            let mut from = Some(0);
            while let Some(after) = from {
                if !self.take_or_renew_lease(leased_at).await? {
                    return Ok(deleted);
                }
                let began = Instant::now();
                let now_ms = self.clock.now_ms();
                let pruned = self.ledger.prune(kind, after, now_ms, BATCH_MAX).await?;
                metrics::counter!("fairgate_rows_pruned_total", "kind" => kind.as_str())
                    .increment(pruned.rows);
                deleted += pruned.rows;
                from = pruned.next;
                if from.is_some() {
                    tokio::time::sleep(rest_after(began.elapsed())).await;
                }
            }
        }
        Ok(deleted)
    }

    /// Deletes old rows for as long as the process runs.
    pub async fn prune_forever(self) {
        loop {
            match self.prune_all().await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "old rows were deleted"),
                Err(error) => {
                    log_failed_try!(error, "old rows could not be deleted; trying again");
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn take_or_renew_lease(
        &self,
        leased_at: &mut Option<Instant>,
    ) -> Result<bool, LedgerError> {
        if leased_at.is_some_and(|at| at.elapsed() < RENEW_AFTER) {
            return Ok(true);
        }
        let asked_at = Instant::now();
        let leased = self.ledger.lease(LEASE, &self.owner, LEASE_MS).await?;
        *leased_at = leased.then_some(asked_at);
        Ok(leased)
    }
}
