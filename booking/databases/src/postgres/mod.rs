//! The ledger in PostgreSQL: a pool, and domain transactions that are never cancelled half-way.

mod connect;
mod fate;
mod tx;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio_postgres::SimpleQueryMessage;

use crate::LedgerError;
use crate::error::cut_off;
use crate::finding::LastWriteCheck;
use fate::{CommitStatus, TransactionIdentity};
use tx::PooledConnection;
pub use tx::PostgresTransaction;

/// How often one transaction is begun at most: it may give way to others, or lose its connection
/// before the commit.
const TRIES_MAX: u32 = 6;

/// How long a caller waits for its answer. The transaction goes on to its end all the same.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// The advisory lock under which tables are made. Any number will do, as long as it stays.
const MIGRATION_LOCK: i64 = 0x6661_6972;

/// A handle on one PostgreSQL database.
#[derive(Clone)]
pub struct PostgresDatabase {
    pool: Pool,
    finding: Arc<LastWriteCheck>,
}

impl PostgresDatabase {
    /// A handle for reading only, over the same kind of address: it makes no tables, and asks
    /// nothing of the database before it is used.
    ///
    /// # Errors
    /// Where the address cannot be read.
    pub fn reading(url: &str) -> Result<Self, LedgerError> {
        Ok(Self {
            pool: connect::pool_for_url(url)?,
            finding: Arc::default(),
        })
    }

    /// What was found when somebody asked last whether the database takes writes.
    pub(crate) fn finding(&self) -> &LastWriteCheck {
        &self.finding
    }

    /// Runs one domain transaction (`READ COMMITTED`) and returns once it is durable, or was rolled
    /// back whole.
    ///
    /// It runs on a task of its own: a caller that goes away never cancels it half-way. It is run
    /// again, from its beginning, where it gave way to another one or lost its connection before
    /// the commit, so the closure must do the same each time. An answer that got lost at the commit
    /// is read back from the server.
    ///
    /// # Errors
    /// Whatever the transaction returns, or [`LedgerError`]: with [`LedgerError::Unknown`] it was
    /// written whole or not at all, with any other nothing was written.
    pub async fn write<T, E, F, R>(&self, transaction: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: Fn(PostgresTransaction) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let pool = self.pool.clone();
        let to_the_end = tokio::spawn(async move { carry_through(&pool, &transaction).await });
        match tokio::time::timeout(ANSWER_WITHIN, to_the_end).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(ended)) => Err(LedgerError::Unknown(ended.to_string()).into()),
            Err(_) => Err(LedgerError::Unknown(format!(
                "the database did not answer within {} s",
                ANSWER_WITHIN.as_secs()
            ))
            .into()),
        }
    }

    /// Reads what is committed; each statement sees what is committed when it begins.
    ///
    /// # Errors
    /// Whatever the closure returns, or [`LedgerError`].
    pub async fn read<T, E, F, R>(&self, query: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(PostgresTransaction) -> R + Send + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let pool = self.pool.clone();
        let reading = tokio::spawn(async move {
            let lent = take_connection(&pool).await?;
            // Nothing is ever open on it, so a reader that panics does no harm.
            lent.is_clean();
            query(lent.transaction()).await
        });
        answer_of(reading).await
    }

    /// Reads in one snapshot: all statements see the same moment, however long the reading takes.
    ///
    /// # Errors
    /// Whatever the closure returns, or [`LedgerError`].
    pub async fn read_snapshot<T, E, F, R>(&self, query: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(PostgresTransaction) -> R + Send + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let pool = self.pool.clone();
        let reading = tokio::spawn(async move {
            let lent = take_connection(&pool).await?;
            lent.transaction()
                .batch(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
                     SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0",
                )
                .await?;
            let result = query(lent.transaction()).await;
            if lent.connection()?.batch_execute("ROLLBACK").await.is_ok() {
                lent.is_clean();
            }
            result
        });
        reading
            .await
            .map_err(|ended| LedgerError::Unavailable(ended.to_string()))?
    }

    /// Does a step of making tables, alone among all nodes: those that start at once wait for one
    /// another. It may take its time.
    ///
    /// # Errors
    /// Whatever `work` returns; nothing of it stays then.
    pub(crate) async fn alone<R>(
        &self,
        work: impl FnOnce(PostgresTransaction) -> R + Send + 'static,
    ) -> Result<(), LedgerError>
    where
        R: Future<Output = Result<(), LedgerError>> + Send + 'static,
    {
        let pool = self.pool.clone();
        // Not by `write`: the table that it looks into may not be there yet.
        let migrating = tokio::spawn(async move {
            let lent = take_connection(&pool).await?;
            let tx = lent.transaction();
            tx.batch(&format!(
                "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
                 SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"
            ))
            .await?;
            work(lent.transaction()).await?;
            tx.batch("COMMIT").await?;
            lent.is_clean();
            Ok(())
        });
        migrating
            .await
            .map_err(|ended| LedgerError::Unavailable(ended.to_string()))?
    }
}

async fn answer_of<T, E: From<LedgerError>>(
    reading: tokio::task::JoinHandle<Result<T, E>>,
) -> Result<T, E> {
    match tokio::time::timeout(ANSWER_WITHIN, reading).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(ended)) => Err(LedgerError::Unavailable(ended.to_string()).into()),
        Err(_) => Err(LedgerError::Unavailable(format!(
            "the database did not answer within {} s",
            ANSWER_WITHIN.as_secs()
        ))
        .into()),
    }
}

async fn take_connection(pool: &Pool) -> Result<Arc<PooledConnection>, LedgerError> {
    match pool.get().await {
        Ok(connection) => Ok(PooledConnection::new(connection)),
        Err(deadpool_postgres::PoolError::Backend(error)) => Err(error.into()),
        Err(error) => Err(LedgerError::Unavailable(error.to_string())),
    }
}

/// How long a transaction that gave way stays back: whoever it gave way to takes what it let go.
/// Longer each time, and never quite as long as another's.
fn retry_pause(tries: u32) -> Duration {
    let dice = RandomState::new().build_hasher().finish();
    let longest_us = 10_000_u64 << tries.min(5);
    Duration::from_micros(longest_us / 2 + dice % longest_us)
}

/// How one try of a transaction ended.
enum TransactionOutcome<T, E> {
    Committed(T),
    /// Nothing of it stays; whether it may be run again.
    Undone(E, bool),
    /// The connection broke at the commit.
    Lost(T, TransactionIdentity, tokio_postgres::Error),
}

/// Runs a transaction until it is committed, refused by itself, or out of tries.
async fn carry_through<T, E, F, R>(pool: &Pool, transaction: &F) -> Result<T, E>
where
    E: From<LedgerError>,
    F: Fn(PostgresTransaction) -> R,
    R: Future<Output = Result<T, E>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        let lent = take_connection(pool).await?;
        let (error, may_run_again) = match try_once(&lent, transaction).await {
            TransactionOutcome::Committed(value) => return Ok(value),
            TransactionOutcome::Undone(error, may_run_again) => {
                if lent.connection()?.batch_execute("ROLLBACK").await.is_ok() {
                    lent.is_clean();
                }
                (error, may_run_again)
            }
            TransactionOutcome::Lost(value, who, lost) => {
                // The broken connection leaves the pool first: many that ask at once would wait for
                // one another.
                drop(lent);
                let fate = fate::commit_status(pool, &who).await;
                tracing::warn!(error = %lost, xid = who.xid, ?fate, "the answer to a ledger commit was lost");
                match fate {
                    CommitStatus::Committed => return Ok(value),
                    CommitStatus::Aborted => {
                        (LedgerError::Unavailable(lost.to_string()).into(), true)
                    }
                    CommitStatus::Unknown => {
                        return Err(LedgerError::Unknown(lost.to_string()).into());
                    }
                }
            }
        };
        if !may_run_again || tries == TRIES_MAX {
            return Err(error);
        }
        tracing::debug!(tries, "a ledger transaction is run again");
        tokio::time::sleep(retry_pause(tries)).await;
    }
}

async fn try_once<T, E, F, R>(
    lent: &Arc<PooledConnection>,
    transaction: &F,
) -> TransactionOutcome<T, E>
where
    E: From<LedgerError>,
    F: Fn(PostgresTransaction) -> R,
    R: Future<Output = Result<T, E>>,
{
    let who = match begin_transaction(lent).await {
        Ok(who) => who,
        Err(error) => return TransactionOutcome::Undone(error.into(), lent.may_run_again()),
    };
    let value = match transaction(lent.transaction()).await {
        Ok(value) if !lent.has_failed() => value,
        // An error that the closure swallowed has spoilt the transaction: its commit would be a
        // rollback.
        Ok(_) => {
            let spoilt = LedgerError::Sql("a statement of the transaction failed".to_owned());
            return TransactionOutcome::Undone(spoilt.into(), lent.may_run_again());
        }
        Err(error) => return TransactionOutcome::Undone(error, lent.may_run_again()),
    };
    let committed = match lent.connection() {
        Ok(connection) => connection.batch_execute("COMMIT").await,
        Err(error) => return TransactionOutcome::Undone(error.into(), false),
    };
    match committed {
        Ok(()) => {
            lent.is_clean();
            TransactionOutcome::Committed(value)
        }
        Err(error) if cut_off(&error) => TransactionOutcome::Lost(value, who, error),
        Err(error) => {
            let error = lent.note_failure(error);
            TransactionOutcome::Undone(error.into(), lent.may_run_again())
        }
    }
}

/// Begins, and learns in the same round trip who the transaction is.
async fn begin_transaction(
    lent: &Arc<PooledConnection>,
) -> Result<TransactionIdentity, LedgerError> {
    let connection = lent.connection()?;
    loop {
        let begun = connection
            .simple_query(&format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; {}",
                fate::WHO_AM_I
            ))
            .await
            .map_err(|error| lent.note_failure(error))?;
        let row = begun.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let row =
            row.ok_or_else(|| LedgerError::Corrupt("a transaction without a number".into()))?;
        let who = TransactionIdentity {
            xid: row.get(0).unwrap_or_default().to_owned(),
            life: row.get(1).map(str::to_owned),
        };
        if who.life.is_some() {
            return Ok(who);
        }
        let anew = format!("ROLLBACK; {}", fate::BEGIN_LIFE);
        let told = connection.batch_execute(&anew).await;
        told.map_err(|error| lent.note_failure(error))?;
    }
}
