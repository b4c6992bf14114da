//! A transaction is written once for both databases, as an `async fn` over [`SqlTransaction`].
//! Where only one database can do something in one statement, the code branches by
//! [`SqlTransaction::dialect`].
//!
//! **Architecture invariant:** the future of a SQLite transaction must not wait. If it waits, the
//! transaction is rolled back, and its caller gets an error.

mod erased;
mod locks;
mod migrate;
mod on_file;

use std::pin::pin;

use futures_util::TryStreamExt;
use tokio_postgres::types::ToSql;

use crate::LedgerError;
use crate::postgres::PostgresTransaction;
use crate::sql::{SqlDialect, SqlRow, SqlValue, SqlValues, now_ms};
pub(crate) use erased::{
    ErasedFailure, ErasedReading, ErasedResult, ErasedTransaction, ErasedValue, answer_of, erase,
    erase_reading,
};
pub use locks::NamedLock;
use on_file::SqliteTransaction;
pub use on_file::snapshot_of_file;

/// Runs the statements of one transaction, or of one reading. The handle is valid only while the
/// function that got it runs, and must not be stored.
pub struct SqlTransaction(TransactionBackend);

enum TransactionBackend {
    Sqlite(SqliteTransaction),
    Postgres(PostgresTransaction),
}

impl SqlTransaction {
    fn on_sqlite(tx: SqliteTransaction) -> Self {
        Self(TransactionBackend::Sqlite(tx))
    }

    /// Returns whether a statement has failed in SQLite.
    fn has_failed_on_sqlite(&self) -> bool {
        matches!(&self.0, TransactionBackend::Sqlite(tx) if tx.has_failed())
    }

    pub(crate) fn on_postgres(tx: PostgresTransaction) -> Self {
        Self(TransactionBackend::Postgres(tx))
    }

    /// Returns the SQL dialect of this database.
    #[must_use]
    pub fn dialect(&self) -> SqlDialect {
        match self.0 {
            TransactionBackend::Sqlite(_) => SqlDialect::Sqlite,
            TransactionBackend::Postgres(_) => SqlDialect::Postgres,
        }
    }

    /// Returns whether this is PostgreSQL, where each statement costs a round trip. There, the code
    /// fuses several statements into one if many callers wait for the transaction.
    #[must_use]
    pub fn is_postgres(&self) -> bool {
        self.dialect() == SqlDialect::Postgres
    }

    /// Returns all rows of a query.
    ///
    /// # Errors
    /// Returns a [`LedgerError`]. The transaction is then rolled back, even if it ignores the
    /// error.
    pub async fn query(
        &self,
        sql: &str,
        values: SqlValues<'_>,
    ) -> Result<Vec<SqlRow>, LedgerError> {
        let mut rows = Vec::new();
        let keep = |row| {
            rows.push(row);
            Ok::<_, LedgerError>(())
        };
        self.query_each(sql, values, keep).await?;
        Ok(rows)
    }

    /// Passes the rows of a query to `each` one by one, for results that are too large for memory.
    /// Stops at the first error that `each` returns.
    ///
    /// # Errors
    /// As [`Self::query`], and any error of `each`.
    pub async fn query_each<E: From<LedgerError>>(
        &self,
        sql: &str,
        values: SqlValues<'_>,
        mut each: impl FnMut(SqlRow) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        match &self.0 {
            TransactionBackend::Sqlite(tx) => tx.query_each(sql, values, each),
            TransactionBackend::Postgres(tx) => {
                let values = sql_values(values);
                let values: Vec<&(dyn ToSql + Sync)> = parameters(&values);
                let mut rows = pin!(tx.stream(sql, &values).await?);
                while let Some(row) = rows
                    .try_next()
                    .await
                    .map_err(|error| tx.note_failure(error))?
                {
                    each(SqlRow::of_postgres(row))?;
                }
                Ok(())
            }
        }
    }

    /// Runs a query that has at most one row, and returns that row.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn first(
        &self,
        sql: &str,
        values: SqlValues<'_>,
    ) -> Result<Option<SqlRow>, LedgerError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// Runs a query that always has a row, and returns that row.
    ///
    /// # Errors
    /// As [`Self::query`]. Also returns [`LedgerError::Corrupt`] where there is no row.
    pub async fn query_one(&self, sql: &str, values: SqlValues<'_>) -> Result<SqlRow, LedgerError> {
        let row = self.first(sql, values).await?;
        row.ok_or_else(|| LedgerError::Corrupt(format!("no row for {sql}")))
    }

    /// Runs a statement and returns how many rows it changed.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn execute(&self, sql: &str, values: SqlValues<'_>) -> Result<u64, LedgerError> {
        match &self.0 {
            TransactionBackend::Sqlite(tx) => tx.execute(sql, values),
            TransactionBackend::Postgres(tx) => {
                let values = sql_values(values);
                tx.execute(sql, &parameters(&values)).await
            }
        }
    }

    /// Runs several statements without values.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn batch(&self, sql: &str) -> Result<(), LedgerError> {
        match &self.0 {
            TransactionBackend::Sqlite(tx) => tx.batch(sql),
            TransactionBackend::Postgres(tx) => tx.batch(sql).await,
        }
    }

    /// Counts an order that gets its tickets in this transaction and of which no payment provider
    /// knows. If the ledger goes back, the counter outside it then tells how many such orders are
    /// lost. Runs no statement: the count is written with the ledger's counter once this
    /// transaction is committed. If the transaction is not committed, nothing is counted.
    pub fn count_order_without_provider(&self) {
        match &self.0 {
            TransactionBackend::Sqlite(tx) => tx.count_order_without_provider(),
            TransactionBackend::Postgres(tx) => tx.count_order_without_provider(),
        }
    }

    /// Returns the current time of the ledger, in milliseconds since the epoch.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.query_one(concat!("SELECT ", now_ms!()), &[])
            .await?
            .get(0)
    }
}

fn sql_values<'a>(values: SqlValues<'a>) -> Vec<SqlValue<'a>> {
    values.iter().map(|value| value.to_sql_value()).collect()
}

fn parameters<'a>(values: &'a [SqlValue<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}
