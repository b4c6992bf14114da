//! Runs transactions on the one SQLite file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use super::{
    ErasedFailure, ErasedReading, ErasedTransaction, ErasedValue, SqlTransaction, answer_of, erase,
    erase_reading,
};
use crate::LedgerError;
use crate::sql::{SqlFuture, SqlRow, SqlValues};
use crate::sqlite::{ReadingLength, SqliteConnection, SqliteDatabase, open_to_read};

/// The statements of one transaction or reading on the file. After a failed statement, no other one
/// is run, as in PostgreSQL.
pub(super) struct SqliteTransaction {
    connection: Arc<SqliteConnection>,
    has_failed: AtomicBool,
}

impl SqliteTransaction {
    pub(super) fn query_each<E: From<LedgerError>>(
        &self,
        sql: &str,
        values: SqlValues<'_>,
        mut each: impl FnMut(SqlRow) -> Result<(), E>,
    ) -> Result<(), E> {
        // An error of `each` is no failure of the statement.
        let mut stopped = Ok(());
        self.run(|connection| {
            connection.query_each(sql, values, |row| match each(row) {
                Ok(()) => true,
                Err(error) => {
                    stopped = Err(error);
                    false
                }
            })
        })?;
        stopped
    }

    pub(super) fn execute(&self, sql: &str, values: SqlValues<'_>) -> Result<u64, LedgerError> {
        self.run(|connection| connection.execute(sql, values))
    }

    pub(super) fn batch(&self, sql: &str) -> Result<(), LedgerError> {
        self.run(|connection| connection.batch(sql))
    }

    pub(super) fn count_order_without_provider(&self) {
        let counted = self.connection.orders_without_provider();
        self.connection.set_orders_without_provider(counted + 1);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn run<T>(
        &self,
        statement: impl FnOnce(&SqliteConnection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if self.has_failed() {
            return Err(after_failure());
        }
        let result = statement(&self.connection);
        if result.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        result
    }
}

/// The error of a transaction that goes on after a failed statement.
fn after_failure() -> LedgerError {
    LedgerError::Sql("a statement of this transaction has failed before".to_owned())
}

impl SqliteDatabase {
    /// Queues a transaction that is written for both databases, as [`SqliteDatabase::enqueue`]
    /// queues one for SQLite only.
    pub fn enqueue_sql<A, T, E, F>(
        &self,
        input: A,
        transaction: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<A, T, E, F>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> Fn(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + Sync + 'static,
    {
        let written = self.enqueue_erased(erase(input, transaction));
        async move { answer_of(written.await) }
    }

    /// Queues a transaction of hidden types. The transaction is queued before this function
    /// returns.
    pub(crate) fn enqueue_erased(
        &self,
        transaction: ErasedTransaction,
    ) -> impl Future<Output = Result<ErasedValue, ErasedFailure>> + Send + use<> {
        self.enqueue_on(move |connection| run_on_file(connection, &transaction))
    }

    /// Runs a reading of hidden types. If `in_snapshot` is true, all its statements read the same
    /// snapshot.
    pub(crate) async fn read_erased(
        &self,
        in_snapshot: bool,
        query: ErasedReading,
    ) -> Result<ErasedValue, ErasedFailure> {
        let length = match in_snapshot {
            true => ReadingLength::Long,
            false => ReadingLength::Short,
        };
        self.read_on(length, move |connection| {
            if in_snapshot {
                run_in_snapshot(connection, query)
            } else {
                run_on_file(connection, query)
            }
        })
        .await
    }
}

/// Reads the ledger file at `path` in one snapshot, while another process may write it.
///
/// # Errors
/// Returns an error where there is no such file or it cannot be read. Also returns any error of
/// `query`.
pub fn snapshot_of_file<A, T, E, F>(path: &Path, input: A, query: F) -> Result<T, E>
where
    A: Send + Sync + 'static,
    T: Send + 'static,
    E: From<LedgerError> + Send + 'static,
    F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
{
    let connection = open_to_read(path).map_err(LedgerError::from)?;
    answer_of(run_in_snapshot(&connection, erase_reading(input, query)))
}

/// Runs a reading in which all statements see the data of the same moment.
fn run_in_snapshot(
    connection: &Arc<SqliteConnection>,
    query: ErasedReading,
) -> Result<ErasedValue, ErasedFailure> {
    connection.batch("BEGIN DEFERRED")?;
    let result = run_on_file(connection, query);
    connection.batch("ROLLBACK")?;
    result
}

/// Runs a transaction by polling its future once. This is enough, because on SQLite the future must
/// not wait. If it waits, returns an error.
pub(super) fn run_on_file<T, E: From<LedgerError>>(
    connection: &Arc<SqliteConnection>,
    transaction: impl for<'a> FnOnce(&'a SqlTransaction) -> SqlFuture<'a, T, E>,
) -> Result<T, E> {
    let tx = SqlTransaction::on_sqlite(SqliteTransaction {
        connection: Arc::clone(connection),
        has_failed: AtomicBool::new(false),
    });
    let polled = transaction(&tx)
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    match polled {
        Poll::Ready(Ok(_)) if tx.has_failed_on_sqlite() => Err(after_failure().into()),
        Poll::Ready(result) => result,
        Poll::Pending => {
            let waits = "a SQLite transaction waited for something other than the file";
            Err(LedgerError::Sql(waits.to_owned()).into())
        }
    }
}
