//! The database of one installation, whichever kind it is.

mod own;

use std::sync::Arc;

use crate::sql::{Migration, SqlDialect, SqlFuture};
use crate::{LedgerError, PostgresDatabase, SqlTransaction, SqliteDatabase};

/// Where an installation keeps what must survive.
#[derive(Clone)]
pub enum Installation {
    /// One SQLite file, and one process.
    File(SqliteDatabase),
    /// One PostgreSQL database, and any number of processes.
    Server(PostgresDatabase),
}

impl Installation {
    /// Brings one crate's tables up to date: applies the steps of `owner` that the database lacks,
    /// in order. Nodes that start at once wait for one another.
    ///
    /// # Errors
    /// Where a step fails; nothing of it stays. [`LedgerError::Corrupt`] where the database has
    /// more steps than this program knows.
    pub async fn migrate(
        &self,
        owner: &'static str,
        steps: &[Migration],
    ) -> Result<(), LedgerError> {
        match self {
            Self::File(writer) => {
                let steps = Migration::steps(SqlDialect::Sqlite, steps);
                writer.migrate(owner, steps).await
            }
            Self::Server(database) => {
                let steps = Migration::steps(SqlDialect::Postgres, steps);
                database.migrate(owner, steps).await
            }
        }
    }

    /// Runs one transaction over what was `given`, and returns once it is durable, or was rolled
    /// back whole. It runs to its end even if the caller goes away.
    ///
    /// On PostgreSQL it is run again, from its beginning, where it gave way to another one or lost
    /// its connection before the commit: it decides anew each time from what it reads.
    ///
    /// # Errors
    /// Whatever the transaction returns, or [`LedgerError`]: with [`LedgerError::Unknown`] it was
    /// written whole or not at all, with any other nothing was written.
    pub async fn write<A, T, E, F>(&self, given: A, transaction: F) -> Result<T, E>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> Fn(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + Sync + 'static,
    {
        match self {
            Self::File(writer) => writer.enqueue_sql(given, transaction).await,
            Self::Server(database) => {
                let with = Arc::new((given, transaction));
                database
                    .write(move |tx| {
                        let with = Arc::clone(&with);
                        async move { with.1(&SqlTransaction::on_postgres(tx), &with.0).await }
                    })
                    .await
            }
        }
    }

    /// Reads what is committed; each statement sees what is committed when it begins.
    ///
    /// # Errors
    /// Whatever the function returns, or [`LedgerError`].
    pub async fn read<A, T, E, F>(&self, given: A, query: F) -> Result<T, E>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
    {
        match self {
            Self::File(writer) => writer.read_sql(false, given, query).await,
            Self::Server(database) => database
                .read(
                    move |tx| async move { query(&SqlTransaction::on_postgres(tx), &given).await },
                )
                .await,
        }
    }

    /// Reads in one snapshot: all statements see the same moment, however long the reading takes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_snapshot<A, T, E, F>(&self, given: A, query: F) -> Result<T, E>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
    {
        match self {
            Self::File(writer) => writer.read_sql(true, given, query).await,
            Self::Server(database) => {
                database
                    .read_snapshot(move |tx| async move {
                        query(&SqlTransaction::on_postgres(tx), &given).await
                    })
                    .await
            }
        }
    }

    /// Which database this is.
    #[must_use]
    pub fn dialect(&self) -> SqlDialect {
        match self {
            Self::File(_) => SqlDialect::Sqlite,
            Self::Server(_) => SqlDialect::Postgres,
        }
    }

    /// Writes what is queued and closes a file, so that it is whole by itself. A server's database
    /// needs nothing of the kind.
    ///
    /// # Errors
    /// Where the file's log could not be folded in; file and log are whole together then.
    pub async fn close(&self) -> Result<(), LedgerError> {
        match self {
            Self::File(writer) => writer.close().await,
            Self::Server(_) => Ok(()),
        }
    }
}
