//! Lets only one node at a time change room documents, so that no two rooms cover one show. Within
//! the process, a lock ensures this. Between nodes, a lease in the ledger ensures it.

use std::time::{Duration, Instant};

use fairgate_base::log_failed_try;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::RoomFollower;
use crate::ledger::LedgerError;

/// The name of the lease under which nodes change room documents.
const LEASE_NAME: &str = "rooms";
/// How long (ms) a lease lasts. The other nodes wait this long if a node dies in the middle of a
/// change.
const TTL_MS: i64 = 5_000;
/// How often the lease is renewed while a change is running.
const RENEWED_EVERY: Duration = Duration::from_millis(1_500);
const WAIT_MAX: Duration = Duration::from_secs(8);
const RETRY_EVERY: Duration = Duration::from_millis(40);
/// How long a wait for the lease may last before the log tells of it.
const TOLD_AFTER: Duration = Duration::from_secs(1);

/// The sole right to change room documents, among all nodes and tasks.
pub struct RoomChangeLease<'r> {
    follower: &'r RoomFollower,
    _process_lock: tokio::sync::MutexGuard<'r, ()>,
    /// Dropping this sender ends the renewals.
    stop_renewals: oneshot::Sender<()>,
    renewing: JoinHandle<()>,
}

impl RoomChangeLease<'_> {
    /// Gives the right back, so that others can change rooms. If this is not called, or if it
    /// fails, other nodes wait until the lease has run out.
    pub async fn release_lease(self) {
        drop(self.stop_renewals);
        // A renewal that is still running would take the lease again.
        if self.renewing.await.is_err() {
            tracing::error!("the task that renews the lease on room documents had failed");
        }
        let given_back = self
            .follower
            .rooms()
            .ledger()
            .end_lease(LEASE_NAME, &self.follower.inner.node);
        if let Err(error) = given_back.await {
            tracing::debug!(%error, "the lease on room documents runs out by itself");
        }
    }
}

impl RoomFollower {
    /// Waits for the sole right to change room documents, and then applies all changes that other
    /// nodes wrote.
    ///
    /// # Errors
    /// Fails if the ledger did not answer, or another node kept changing rooms for too long.
    pub async fn lease_changes(&self) -> Result<RoomChangeLease<'_>, LedgerError> {
        let changing = self.acquire_change_lease().await?;
        self.catch_up().await?;
        Ok(changing)
    }

    /// Waits for the sole right to change room documents. Unlike [`Self::lease_changes`], does not
    /// apply the changes of other nodes.
    pub(super) async fn acquire_change_lease(&self) -> Result<RoomChangeLease<'_>, LedgerError> {
        let process_lock = self.inner.changing.lock().await;
        let asked_at = Instant::now();
        let mut is_told = false;
        while !self.take_or_renew_lease().await? {
            if asked_at.elapsed() >= WAIT_MAX {
                return Err(LedgerError::Unavailable(
                    "another node is changing rooms".into(),
                ));
            }
            if asked_at.elapsed() >= TOLD_AFTER && !is_told {
                is_told = true;
                tracing::info!(
                    "waiting for a node that changes room documents, or that ended while it did"
                );
            }
            tokio::time::sleep(RETRY_EVERY).await;
        }
        let (stop_renewals, ended) = oneshot::channel();
        Ok(RoomChangeLease {
            follower: self,
            _process_lock: process_lock,
            stop_renewals,
            renewing: tokio::spawn(renew_lease(self.clone(), ended)),
        })
    }

    async fn take_or_renew_lease(&self) -> Result<bool, LedgerError> {
        let lease = self
            .rooms()
            .ledger()
            .lease(LEASE_NAME, &self.inner.node, TTL_MS);
        lease.await
    }
}

async fn renew_lease(follower: RoomFollower, mut ended: oneshot::Receiver<()>) {
    while timeout(RENEWED_EVERY, &mut ended).await.is_err() {
        match follower.take_or_renew_lease().await {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(
                    "another node took the lease on room documents while this node changes one"
                );
                return;
            }
            Err(error) => {
                log_failed_try!(error, "the lease on room documents was not renewed");
            }
        }
    }
}
