//! Runs work under a lease in the ledger. A slow worker keeps its lease, because the lease is
//! renewed while the worker works. The lease of a worker that died lapses.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::ledger::{Ledger, LedgerError};

/// How many times a lease is renewed within the time that it lasts.
const RENEWALS: u64 = 4;

/// Does the work under a lease of `owner`. Returns `None` without doing the work if another owner
/// has the lease.
///
/// # Errors
/// Returns an error if the ledger does not answer the request for the lease. If the lease cannot be
/// given back after the work, it lapses by itself.
pub(super) async fn run_under_lease<T>(
    ledger: &Ledger,
    name: &str,
    owner: &str,
    ttl_ms: i64,
    work: impl Future<Output = T>,
) -> Result<Option<T>, LedgerError> {
    if !ledger.lease(name, owner, ttl_ms).await? {
        return Ok(None);
    }
    // The sender is dropped with the work, however the work ends. The renewing task then ends by
    // itself, so no renewal is cut off.
    let (working, over) = oneshot::channel();
    let renewing = tokio::spawn(renew_lease(
        ledger.clone(),
        name.to_owned(),
        owner.to_owned(),
        ttl_ms,
        over,
    ));
    let done = work.await;
    drop(working);
    // A renewal that was already sent must not arrive after the lease is given back.
    let renewed = renewing.await;
    if let Err(error) = renewed {
        tracing::warn!(name, %error, "a lease was not renewed");
    }
    if let Err(error) = ledger.end_lease(name, owner).await {
        tracing::debug!(name, %error, "the lease could not be ended; it runs out by itself");
    }
    Ok(Some(done))
}

/// Renews the lease until the work is over or another owner has the lease. If the ledger does not
/// answer, the next renewal is tried at its usual time.
async fn renew_lease(
    ledger: Ledger,
    name: String,
    owner: String,
    ttl_ms: i64,
    mut over: oneshot::Receiver<()>,
) {
    let every = Duration::from_millis(ttl_ms.unsigned_abs() / RENEWALS);
    while tokio::time::timeout(every, &mut over).await.is_err() {
        match ledger.lease(&name, &owner, ttl_ms).await {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(name, "a lease ran out while its work was still running");
                return;
            }
            Err(error) => tracing::debug!(name, %error, "a lease could not be renewed yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use fairgate_databases::{Installation, SqliteDatabase};

    use super::*;
    use crate::ledger::Ledger;

    const TTL_MS: i64 = 400;

    async fn ledger(folder: &tempfile::TempDir) -> Ledger {
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a file");
        Ledger::open(Installation::File(writer))
            .await
            .expect("a ledger")
    }

    /// Tries to take the lease for another owner, and returns whether that owner got it.
    async fn take_for_another(ledger: &Ledger) -> bool {
        let taken = ledger.lease("work", "another", TTL_MS).await;
        taken.expect("it answers")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_lease_is_renewed_until_its_work_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = ledger(&folder).await;
        let outlast = async {
            let began_ms = ledger.now_ms().await.expect("it answers");
            while ledger.now_ms().await.expect("it answers") < began_ms + 3 * TTL_MS {
                assert!(!take_for_another(&ledger).await, "the work goes on");
            }
        };
        let done = run_under_lease(&ledger, "work", "one", TTL_MS, outlast).await;
        assert_eq!(done.expect("it answers"), Some(()));
        assert!(
            take_for_another(&ledger).await,
            "the lease was released after the work"
        );
        let refused = run_under_lease(&ledger, "work", "one", TTL_MS, async {}).await;
        assert_eq!(refused.expect("it answers"), None);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_lease_of_a_worker_that_died_lapses() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = ledger(&folder).await;
        let (began, begun) = oneshot::channel();
        let work = async {
            began.send(()).expect("somebody waits");
            std::future::pending::<()>().await;
        };
        let dying = run_under_lease(&ledger, "work", "one", TTL_MS, work);
        tokio::select! {
            _ = dying => unreachable!("it never ends"),
            heard = begun => heard.expect("it began"),
        }
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while !take_for_another(&ledger).await {
            assert!(
                std::time::Instant::now() < deadline,
                "the lease did not lapse"
            );
        }
    }
}
