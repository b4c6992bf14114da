//! Finds out whether a transaction was committed when the answer to its commit was lost.
//!
//! Every transaction has a number, and PostgreSQL tells the status of a recent number. But if a
//! crash loses a number before it was durably recorded, PostgreSQL may use the number a second
//! time. Then "committed" could mean another transaction. So a transaction also reads the *life* of
//! the server. This is a random value in an unlogged table, which every crash and every promotion
//! of a replica empties. The answer "committed" is trusted only in the same life. "Aborted" is
//! always trusted, because a committed transaction is durable.

use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use tokio_postgres::SimpleQueryRow;

/// How long the server is asked again and again. It may be restarting.
const ASK_FOR: Duration = Duration::from_secs(10);

/// The pause between two questions.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Stores a random value for a new life of the server, unless a value is stored already.
pub(super) const BEGIN_LIFE: &str = "INSERT INTO server_life DEFAULT VALUES ON CONFLICT DO NOTHING";

/// Reads the number of the current transaction, and the life it runs in.
pub(super) const READ_IDENTITY: &str =
    "SELECT pg_current_xact_id()::text AS xid, (SELECT life FROM server_life) AS life";

/// A transaction's number and the life in which it ran. Both are needed to find out how it ended.
#[derive(Debug, Clone)]
pub(super) struct TransactionIdentity {
    pub(super) xid: String,
    pub(super) life: Option<String>,
}

impl TransactionIdentity {
    /// Reads the row of [`READ_IDENTITY`]. Returns `None` for the row of another statement.
    pub(super) fn of_row(row: &SimpleQueryRow) -> Option<Self> {
        Some(Self {
            xid: row.try_get("xid").ok()??.to_owned(),
            life: row.try_get("life").ok()?.map(str::to_owned),
        })
    }
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitStatus {
    Committed,
    Aborted,
    Unknown,
}

/// Asks on other connections until there is an answer or the time is over. The answer is
/// [`CommitStatus::Unknown`] if the server cannot tell any more.
pub(super) async fn commit_status(pool: &Pool, transaction: &TransactionIdentity) -> CommitStatus {
    let until = Instant::now() + ASK_FOR;
    while Instant::now() < until {
        match query_commit_status(pool, transaction).await {
            Some(status) => return status,
            None => tokio::time::sleep(ASK_EVERY).await,
        }
    }
    CommitStatus::Unknown
}

/// Asks the server once. Returns `None` if it does not answer or the transaction still runs.
async fn query_commit_status(
    pool: &Pool,
    transaction: &TransactionIdentity,
) -> Option<CommitStatus> {
    let connection = pool.get().await.ok()?;
    let sql = "SELECT pg_xact_status($1::text::xid8), (SELECT life FROM server_life)";
    let row = connection.query_one(sql, &[&transaction.xid]).await.ok()?;
    let (status, life): (Option<String>, Option<String>) = (row.get(0), row.get(1));
    status_from_server(
        status.as_deref(),
        transaction.life.is_some() && life == transaction.life,
    )
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
