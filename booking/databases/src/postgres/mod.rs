//! The ledger in PostgreSQL: a pool of connections, and domain transactions that are never
//! cancelled half-way.

mod commit_status;
mod connect;
mod fence;
mod start_check;
mod tx;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio_postgres::SimpleQueryMessage;

use crate::LedgerError;
use crate::counter_file::CounterFile;
use crate::error::is_connection_lost;
use crate::write_check::LastWriteCheck;
use commit_status::{CommitStatus, TransactionIdentity};
use fence::{LEASES_HELD, WriteFence};
pub use start_check::DatabaseOpenError;
use tx::PooledConnection;
pub use tx::PostgresTransaction;

/// How often one transaction is run, at most. It is run again if the server rolled it back in
/// favour of another one, or if its connection broke and nothing was committed.
const TRIES_MAX: u32 = 6;

/// How long a caller waits for its answer, at most. The transaction runs to its end even then.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// The number of the advisory lock under which tables are made. The number is arbitrary, but must
/// never change.
const MIGRATION_LOCK: i64 = 0x6661_6972;

/// A handle on one PostgreSQL database.
#[derive(Clone)]
pub struct PostgresDatabase {
    pool: Pool,
    write_check: Arc<LastWriteCheck>,
    counter_file: Arc<OnceLock<CounterFile>>,
    uncounted_orders: Arc<AtomicU64>,
    fence: Arc<WriteFence>,
}

impl PostgresDatabase {
    /// Returns a handle for a caller that only reads. Makes no tables, and sends nothing to the
    /// database before the handle is used.
    ///
    /// # Errors
    /// Returns an error where the address cannot be read, or where it asks for TLS and this machine
    /// has no root certificates.
    pub fn reading(url: &str) -> Result<Self, LedgerError> {
        Ok(Self {
            pool: connect::pool_for_url(url)?,
            write_check: Arc::default(),
            counter_file: Arc::default(),
            uncounted_orders: Arc::default(),
            fence: Arc::default(),
        })
    }

    /// Returns the place of the file outside the ledger that remembers how far it got.
    pub(crate) fn counter_file(&self) -> &OnceLock<CounterFile> {
        &self.counter_file
    }

    /// Returns how many committed orders without a provider the ledger's counter does not have yet.
    /// Whoever raises the counter takes them.
    pub(crate) fn uncounted_orders(&self) -> &AtomicU64 {
        &self.uncounted_orders
    }

    /// Returns the cached result of the check whether the database takes writes.
    pub(crate) fn write_check(&self) -> &LastWriteCheck {
        &self.write_check
    }

    /// Lets this process write only while it has these leases. Each is given as its name and its
    /// owner, without quotes. A transaction that begins without one of them is refused. The leases
    /// must have been taken with
    /// [`Installation::take_over_lease`](crate::Installation::take_over_lease).
    pub fn require_leases(&self, leases: &[(&str, &str)]) {
        self.fence.require(leases);
    }

    /// Returns once a transaction was refused because this process no longer has the leases of
    /// [`Self::require_leases`].
    pub async fn wait_until_leases_lost(&self) {
        self.fence.wait_until_lost().await;
    }

    /// Runs one domain transaction (`READ COMMITTED`) and returns once it is durable, or was rolled
    /// back whole.
    ///
    /// The transaction runs on a task of its own, so that a caller who goes away never cancels it
    /// half-way. It is run again from its beginning if the server rolled it back in favour of
    /// another one, or if its connection broke and nothing was committed. So the closure must do
    /// the same each time. If the answer to the commit got lost, the server is asked how the
    /// transaction ended.
    ///
    /// # Errors
    /// Returns the transaction's own error, or [`LedgerError`]. With [`LedgerError::Unknown`] the
    /// transaction was written whole or not at all; with any other error nothing was written.
    pub async fn write<T, E, F, R>(&self, transaction: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: Fn(PostgresTransaction) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (pool, fence) = (self.pool.clone(), Arc::clone(&self.fence));
        let uncounted = Arc::clone(&self.uncounted_orders);
        let to_the_end =
            tokio::spawn(
                async move { run_with_retries(&pool, &fence, &uncounted, &transaction).await },
            );
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

    /// Reads committed data. Each statement sees what is committed when the statement begins.
    ///
    /// # Errors
    /// Returns the closure's own error, or [`LedgerError`].
    pub async fn read<T, E, F, R>(&self, query: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(PostgresTransaction) -> R + Send + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let pool = self.pool.clone();
        let reading = tokio::spawn(async move {
            let pooled = take_connection(&pool).await?;
            // A reading opens no transaction, so the connection is clean even if the reader panics.
            pooled.mark_clean();
            query(pooled.transaction()).await
        });
        answer_of(reading).await
    }

    /// Reads in one snapshot. All statements see the data of the same moment, however long the
    /// reading takes.
    ///
    /// # Errors
    /// Returns the closure's own error, or [`LedgerError`].
    pub async fn read_snapshot<T, E, F, R>(&self, query: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(PostgresTransaction) -> R + Send + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let pool = self.pool.clone();
        let reading = tokio::spawn(async move {
            let pooled = take_connection(&pool).await?;
            pooled.transaction()
                .batch(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
                     SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0",
                )
                .await?;
            let result = query(pooled.transaction()).await;
            if pooled.connection()?.batch_execute("ROLLBACK").await.is_ok() {
                pooled.mark_clean();
            }
            result
        });
        reading
            .await
            .map_err(|ended| LedgerError::Unavailable(ended.to_string()))?
    }

    /// Runs `work`, which makes or changes tables, without a time limit. Only one node at a time
    /// runs such work. The other nodes wait.
    ///
    /// # Errors
    /// Returns the error of `work`, or [`LedgerError`]. Then `work` has changed nothing, unless the
    /// connection broke at the commit.
    pub(crate) async fn run_migration_alone<R>(
        &self,
        work: impl FnOnce(PostgresTransaction) -> R + Send + 'static,
    ) -> Result<(), LedgerError>
    where
        R: Future<Output = Result<(), LedgerError>> + Send + 'static,
    {
        let pool = self.pool.clone();
        // [`Self::write`] cannot be used here, because it reads a table that may not exist yet.
        let migrating = tokio::spawn(async move {
            let pooled = take_connection(&pool).await?;
            let tx = pooled.transaction();
            tx.batch(&format!(
                "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
                 SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"
            ))
            .await?;
            work(pooled.transaction()).await?;
            tx.batch("COMMIT").await?;
            pooled.mark_clean();
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

/// Returns how long to pause before a transaction is run again. During the pause the other
/// transaction, in whose favour it was rolled back, can take its locks. The pause grows with each
/// try. It is partly random, so that two transactions rarely pause equally long.
fn retry_pause(tries: u32) -> Duration {
    let dice = RandomState::new().build_hasher().finish();
    let longest_us = 10_000_u64 << tries.min(5);
    Duration::from_micros(longest_us / 2 + dice % longest_us)
}

/// How one try of a transaction ended.
enum TransactionOutcome<T, E> {
    Committed(T),
    /// Nothing of the try was written. The flag says whether the transaction may be run again.
    Undone(E, bool),
    /// The connection broke at the commit, so it is not known whether the try was written.
    Lost(T, TransactionIdentity, tokio_postgres::Error),
}

/// Runs a transaction until it is committed, fails with an error of its own, or was tried
/// [`TRIES_MAX`] times. Adds the orders without a provider that it counted to `uncounted` once it
/// is committed.
async fn run_with_retries<T, E, F, R>(
    pool: &Pool,
    fence: &WriteFence,
    uncounted: &AtomicU64,
    transaction: &F,
) -> Result<T, E>
where
    E: From<LedgerError>,
    F: Fn(PostgresTransaction) -> R,
    R: Future<Output = Result<T, E>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        let pooled = take_connection(pool).await?;
        let outcome = try_once(&pooled, fence, transaction).await;
        let orders = pooled.orders_without_provider();
        let (error, may_run_again) = match outcome {
            TransactionOutcome::Committed(value) => {
                uncounted.fetch_add(orders, Ordering::AcqRel);
                return Ok(value);
            }
            TransactionOutcome::Undone(error, may_run_again) => {
                if pooled.connection()?.batch_execute("ROLLBACK").await.is_ok() {
                    pooled.mark_clean();
                }
                (error, may_run_again)
            }
            TransactionOutcome::Lost(value, identity, commit_error) => {
                // The broken connection is dropped first, because the next line needs a connection
                // from the same pool. If all transactions kept their broken connections, none would
                // get a new one.
                drop(pooled);
                let fate = commit_status::commit_status(pool, &identity).await;
                tracing::warn!(error = %commit_error, xid = identity.xid, ?fate, "the answer to a ledger commit was lost");
                match fate {
                    CommitStatus::Committed => {
                        uncounted.fetch_add(orders, Ordering::AcqRel);
                        return Ok(value);
                    }
                    CommitStatus::Aborted => (
                        LedgerError::Unavailable(commit_error.to_string()).into(),
                        true,
                    ),
                    CommitStatus::Unknown => {
                        return Err(LedgerError::Unknown(commit_error.to_string()).into());
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
    pooled: &Arc<PooledConnection>,
    fence: &WriteFence,
    transaction: &F,
) -> TransactionOutcome<T, E>
where
    E: From<LedgerError>,
    F: Fn(PostgresTransaction) -> R,
    R: Future<Output = Result<T, E>>,
{
    let identity = match begin_transaction(pooled, fence).await {
        Ok(identity) => identity,
        Err(error) => return TransactionOutcome::Undone(error.into(), pooled.may_run_again()),
    };
    let value = match transaction(pooled.transaction()).await {
        Ok(value) if !pooled.has_failed() => value,
        // A statement failed, and the closure ignored the error. PostgreSQL would roll back such a
        // transaction at its commit.
        Ok(_) => {
            let spoilt = LedgerError::Sql("a statement of the transaction failed".to_owned());
            return TransactionOutcome::Undone(spoilt.into(), pooled.may_run_again());
        }
        Err(error) => return TransactionOutcome::Undone(error, pooled.may_run_again()),
    };
    let committed = match pooled.connection() {
        Ok(connection) => connection.batch_execute("COMMIT").await,
        Err(error) => return TransactionOutcome::Undone(error.into(), false),
    };
    match committed {
        Ok(()) => {
            pooled.mark_clean();
            TransactionOutcome::Committed(value)
        }
        Err(error) if is_connection_lost(&error) => {
            TransactionOutcome::Lost(value, identity, error)
        }
        Err(error) => {
            let error = pooled.note_failure(error);
            TransactionOutcome::Undone(error.into(), pooled.may_run_again())
        }
    }
}

/// Begins a transaction. Checks the process's leases and reads the transaction's identity in the
/// same round trip.
async fn begin_transaction(
    pooled: &Arc<PooledConnection>,
    fence: &WriteFence,
) -> Result<TransactionIdentity, LedgerError> {
    let connection = pooled.connection()?;
    let check = fence.check();
    let check_sql = check.as_ref().map_or("", |check| check.sql.as_str());
    loop {
        let begun = connection
            .simple_query(&format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; {check_sql} {}",
                commit_status::READ_IDENTITY
            ))
            .await
            .map_err(|error| pooled.note_failure(error))?;
        let rows = || {
            begun.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            })
        };
        if let Some(check) = &check {
            let held = rows().find_map(|row| row.try_get(LEASES_HELD).ok().flatten());
            if held != Some(&*check.required) {
                fence.note_lost();
                return Err(LedgerError::Unavailable(
                    "another process has taken this one's place on the database".to_owned(),
                ));
            }
        }
        let identity = rows().find_map(TransactionIdentity::of_row);
        let identity = identity
            .ok_or_else(|| LedgerError::Corrupt("a transaction without a number".into()))?;
        if identity.life.is_some() {
            return Ok(identity);
        }
        let sql = format!("ROLLBACK; {}", commit_status::BEGIN_LIFE);
        let result = connection.batch_execute(&sql).await;
        result.map_err(|error| pooled.note_failure(error))?;
    }
}
