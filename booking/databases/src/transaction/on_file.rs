//! Runs transactions on the one SQLite file.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::SqlTransaction;
use crate::LedgerError;
use crate::sql::SqlFuture;
use crate::sqlite::{SqliteConnection, SqliteDatabase, open_to_read};

impl SqliteDatabase {
    /// Queues a transaction like [`SqliteDatabase::enqueue`], but takes a transaction that is
    /// written for both databases.
    pub fn enqueue_sql<A, T, E, F>(
        &self,
        given: A,
        transaction: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<A, T, E, F>
    where
        A: Send + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
    {
        self.enqueue_on(move |connection| run_on_file(connection, &given, transaction))
    }

    /// Reads with a function that is written for both databases. If `in_snapshot` is true, all
    /// statements read the same snapshot.
    pub(crate) async fn read_sql<A, T, E, F>(
        &self,
        in_snapshot: bool,
        given: A,
        query: F,
    ) -> Result<T, E>
    where
        A: Send + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
    {
        self.read_on(move |connection| {
            if in_snapshot {
                run_in_snapshot(connection, &given, query)
            } else {
                run_on_file(connection, &given, query)
            }
        })
        .await
    }
}

/// Reads the ledger file at `path` in one snapshot, while another process may write it.
///
/// # Errors
/// Returns an error where there is no such file, or it cannot be read, and any error of the
/// function.
pub fn snapshot_of_file<A, T, E, F>(path: &Path, given: &A, query: F) -> Result<T, E>
where
    E: From<LedgerError>,
    F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E>,
{
    let connection = open_to_read(path).map_err(LedgerError::from)?;
    run_in_snapshot(&connection, given, query)
}

/// Runs the future of a reading in which all statements see the same moment.
fn run_in_snapshot<A, T, E, F>(
    connection: &Arc<SqliteConnection>,
    given: &A,
    query: F,
) -> Result<T, E>
where
    E: From<LedgerError>,
    F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E>,
{
    connection.batch("BEGIN DEFERRED")?;
    let result = run_on_file(connection, given, query);
    connection.batch("ROLLBACK")?;
    result
}

/// Runs a transaction's future to its end by polling it once, because on SQLite the future never
/// waits. If it waits, returns an error.
pub(super) fn run_on_file<A, T, E, F>(
    connection: &Arc<SqliteConnection>,
    given: &A,
    transaction: F,
) -> Result<T, E>
where
    E: From<LedgerError>,
    F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E>,
{
    let tx = SqlTransaction::on_sqlite(Arc::clone(connection));
    let future = pin!(transaction(&tx, given));
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => {
            let waits = "a transaction of the file waited for something else than the file";
            Err(LedgerError::Sql(waits.to_owned()).into())
        }
    }
}
