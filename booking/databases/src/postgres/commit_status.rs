//! Finds out whether a transaction was committed when the answer to its commit was lost.
//!
//! PostgreSQL returns the status of a recent transaction for the transaction's number. But if a
//! crash loses a number before it was durably recorded, PostgreSQL may use the number a second
//! time. Then "committed" could mean another transaction. So a transaction also reads the *life* of
//! the server, a random value in an unlogged table, which is emptied by every crash and every
//! promotion of a replica. The answer "committed" is trusted only in the same life. "Aborted" is
//! always trusted, because a committed transaction is durable.

use std::time::{Duration, Instant};

use deadpool_postgres::Pool;

/// How long to keep asking the server, which may be restarting.
const ASK_FOR: Duration = Duration::from_secs(10);

/// The pause between two questions.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Stores the random value of a new life of the server.
pub(super) const BEGIN_LIFE: &str = "INSERT INTO server_life DEFAULT VALUES ON CONFLICT DO NOTHING";

/// Reads the number of the current transaction, and the life it runs in.
pub(super) const WHO_AM_I: &str =
    "SELECT pg_current_xact_id()::text, (SELECT life FROM server_life)";

/// A transaction's number and life, by which the server can be asked about the transaction.
#[derive(Debug, Clone)]
pub(super) struct TransactionIdentity {
    pub(super) xid: String,
    pub(super) life: Option<String>,
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitStatus {
    Committed,
    Aborted,
    Unknown,
}

/// Asks on other connections until the answer is definite or the time is over.
pub(super) async fn commit_status(pool: &Pool, who: &TransactionIdentity) -> CommitStatus {
    let until = Instant::now() + ASK_FOR;
    while Instant::now() < until {
        match query_commit_status(pool, who).await {
            Some(status) => return status,
            None => tokio::time::sleep(ASK_EVERY).await,
        }
    }
    CommitStatus::Unknown
}

/// Asks the server once. Returns `None` where it does not answer, or the transaction is not over.
async fn query_commit_status(pool: &Pool, who: &TransactionIdentity) -> Option<CommitStatus> {
    let connection = pool.get().await.ok()?;
    let question = "SELECT pg_xact_status($1::text::xid8), (SELECT life FROM server_life)";
    let row = connection.query_one(question, &[&who.xid]).await.ok()?;
    let (status, life): (Option<String>, Option<String>) = (row.get(0), row.get(1));
    status_from_server(status.as_deref(), who.life.is_some() && life == who.life)
}

fn status_from_server(status: Option<&str>, same_life: bool) -> Option<CommitStatus> {
    match status {
        Some("committed") if same_life => Some(CommitStatus::Committed),
        Some("aborted") => Some(CommitStatus::Aborted),
        Some("in progress") => None,
        _ => Some(CommitStatus::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_is_trusted_only_in_the_same_life() {
        assert_eq!(
            status_from_server(Some("committed"), true),
            Some(CommitStatus::Committed)
        );
        assert_eq!(
            status_from_server(Some("committed"), false),
            Some(CommitStatus::Unknown)
        );
    }

    #[test]
    fn aborted_is_trusted_in_any_life() {
        assert_eq!(
            status_from_server(Some("aborted"), true),
            Some(CommitStatus::Aborted)
        );
        assert_eq!(
            status_from_server(Some("aborted"), false),
            Some(CommitStatus::Aborted)
        );
    }

    #[test]
    fn a_running_transaction_is_asked_about_again_and_a_forgotten_one_is_not() {
        assert_eq!(status_from_server(Some("in progress"), true), None);
        assert_eq!(
            status_from_server(None, true),
            Some(CommitStatus::Unknown),
            "too old to be known"
        );
    }
}
