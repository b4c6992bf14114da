//! Runs the statements of one transaction or one reading. Each statement is prepared once per
//! connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use deadpool_postgres::Object;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream, Statement};

use crate::LedgerError;
use crate::error::{is_connection_lost, was_rolled_back_for_another};

/// The parameters of a statement.
type PostgresParameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Runs the statements of one transaction, or of one reading. The handle is valid only while the
/// closure that got it runs, and must not be stored.
pub struct PostgresTransaction {
    pooled: Arc<PooledConnection>,
}

/// A connection from the pool, and the state of the transaction on it.
pub(super) struct PooledConnection {
    connection: Option<Object>,
    /// A statement failed, so the transaction can only be rolled back.
    failed: AtomicBool,
    /// The server rolled the transaction back in favour of another one, or the connection broke. So
    /// the transaction may be run again.
    may_run_again: AtomicBool,
    /// No transaction is open on the connection, so it may go back to the pool.
    clean: AtomicBool,
    /// How many orders without a provider the transaction has counted.
    orders_without_provider: AtomicU64,
}

impl PooledConnection {
    pub(super) fn new(connection: Object) -> Arc<Self> {
        Arc::new(Self {
            connection: Some(connection),
            failed: AtomicBool::new(false),
            may_run_again: AtomicBool::new(false),
            clean: AtomicBool::new(false),
            orders_without_provider: AtomicU64::new(0),
        })
    }

    pub(super) fn transaction(self: &Arc<Self>) -> PostgresTransaction {
        PostgresTransaction {
            pooled: Arc::clone(self),
        }
    }

    pub(super) fn connection(&self) -> Result<&Object, LedgerError> {
        self.connection
            .as_ref()
            .ok_or_else(|| LedgerError::Unavailable("the connection was given back".to_owned()))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    pub(super) fn may_run_again(&self) -> bool {
        self.may_run_again.load(Ordering::Acquire)
    }

    /// Returns how many orders without a provider the transaction has counted.
    pub(super) fn orders_without_provider(&self) -> u64 {
        self.orders_without_provider.load(Ordering::Acquire)
    }

    /// Notes that no transaction is open on the connection.
    pub(super) fn mark_clean(&self) {
        self.clean.store(true, Ordering::Release);
    }

    /// Notes what an error means for the transaction, and returns the error as a [`LedgerError`].
    pub(super) fn note_failure(&self, error: tokio_postgres::Error) -> LedgerError {
        self.failed.store(true, Ordering::Release);
        if was_rolled_back_for_another(&error) || is_connection_lost(&error) {
            self.may_run_again.store(true, Ordering::Release);
        }
        error.into()
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        // A panic or a shutdown in the middle leaves a transaction open. Closing the connection
        // rolls it back.
        if let Some(connection) = self.connection.take()
            && !self.clean.load(Ordering::Acquire)
        {
            drop(Object::take(connection));
        }
    }
}

impl PostgresTransaction {
    /// Counts an order without a provider, for the case that the transaction is committed.
    pub(crate) fn count_order_without_provider(&self) {
        let counted = &self.pooled.orders_without_provider;
        counted.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes what an error means for the transaction, and returns the error as a [`LedgerError`].
    pub(crate) fn note_failure(&self, error: tokio_postgres::Error) -> LedgerError {
        self.pooled.note_failure(error)
    }

    async fn prepared(&self, sql: &str) -> Result<(&Object, Statement), LedgerError> {
        let connection = self.pooled.connection()?;
        let statement = connection.prepare_cached(sql).await;
        Ok((
            connection,
            statement.map_err(|error| self.pooled.note_failure(error))?,
        ))
    }

    /// Returns all rows of a query.
    ///
    /// # Errors
    /// Returns a [`LedgerError`]. The transaction will be rolled back, even if the closure ignores
    /// the error.
    pub async fn query(
        &self,
        sql: &str,
        parameters: PostgresParameters<'_>,
    ) -> Result<Vec<Row>, LedgerError> {
        let (connection, statement) = self.prepared(sql).await?;
        let rows = connection.query(&statement, parameters).await;
        rows.map_err(|error| self.pooled.note_failure(error))
    }

    /// Runs a query that has at most one row, and returns that row.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn first(
        &self,
        sql: &str,
        parameters: PostgresParameters<'_>,
    ) -> Result<Option<Row>, LedgerError> {
        Ok(self.query(sql, parameters).await?.into_iter().next())
    }

    /// Runs a query that always has a row, and returns that row.
    ///
    /// # Errors
    /// As [`Self::query`]. Also returns [`LedgerError::Corrupt`] where there is no row.
    pub async fn query_one(
        &self,
        sql: &str,
        parameters: PostgresParameters<'_>,
    ) -> Result<Row, LedgerError> {
        let row = self.first(sql, parameters).await?;
        row.ok_or_else(|| LedgerError::Corrupt(format!("no row for {sql}")))
    }

    /// Runs a statement and returns how many rows it changed.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn execute(
        &self,
        sql: &str,
        parameters: PostgresParameters<'_>,
    ) -> Result<u64, LedgerError> {
        let (connection, statement) = self.prepared(sql).await?;
        let changed_rows = connection.execute(&statement, parameters).await;
        changed_rows.map_err(|error| self.pooled.note_failure(error))
    }

    /// Returns the rows of a query as a stream, for results that are too large for memory.
    ///
    /// # Errors
    /// As [`Self::query`]. An error in the stream is a `tokio_postgres` error.
    pub async fn stream(
        &self,
        sql: &str,
        parameters: PostgresParameters<'_>,
    ) -> Result<RowStream, LedgerError> {
        let (connection, statement) = self.prepared(sql).await?;
        let rows = connection
            .query_raw(&statement, parameters.iter().copied())
            .await;
        rows.map_err(|error| self.pooled.note_failure(error))
    }

    /// Runs several statements without parameters.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub async fn batch(&self, sql: &str) -> Result<(), LedgerError> {
        let done = self.pooled.connection()?.batch_execute(sql).await;
        done.map_err(|error| self.pooled.note_failure(error))
    }
}
