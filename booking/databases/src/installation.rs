//! The database of one installation, whether it is a SQLite file or a PostgreSQL server.

mod counter;
mod own;
mod sealed;

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;

pub use counter::{LedgerCounter, LedgerSetBack};

use crate::sql::{Migration, SqlDialect, SqlFuture};
use crate::transaction::{
    ErasedReading, ErasedResult, ErasedTransaction, answer_of, erase, erase_reading,
};
use crate::{LedgerError, PostgresDatabase, SqlTransaction, SqliteDatabase};

/// The database in which an installation stores what must survive a restart.
#[derive(Clone)]
pub enum Installation {
    /// One SQLite file, which one process uses.
    File(SqliteDatabase),
    /// One PostgreSQL database, which any number of processes use.
    Server(PostgresDatabase),
}

impl Installation {
    /// Brings the tables of one crate, the `owner`, up to date. Applies the steps that the database
    /// lacks, in order. Nodes that start at the same time wait for one another.
    ///
    /// # Errors
    /// Returns an error where a step fails. Then none of the steps was applied, unless the
    /// connection to a server broke at the commit. The error is [`LedgerError::Corrupt`] where the
    /// database has more steps than this program knows.
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

    /// Runs one transaction with the values in `input`, and returns once the transaction is durable
    /// or was rolled back whole. The transaction runs to its end even if the caller goes away.
    ///
    /// On PostgreSQL the transaction is run again from its beginning if the server rolled it back
    /// in favour of another one, or if its connection broke and nothing was committed. Each run
    /// reads the data again and decides anew.
    ///
    /// # Errors
    /// Returns the transaction's own error, or [`LedgerError`]. With [`LedgerError::Unknown`] the
    /// transaction was written whole or not at all; with any other error nothing was written.
    pub async fn write<A, T, E, F>(&self, input: A, transaction: F) -> Result<T, E>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> Fn(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + Sync + 'static,
    {
        answer_of(self.write_erased(erase(input, transaction)).await)
    }

    /// Returns a boxed future, which is compiled only in this crate. The future of an `async fn` is
    /// compiled again in each crate that awaits it.
    fn write_erased(&self, transaction: ErasedTransaction) -> ErasedResult<'_> {
        Box::pin(async move {
            match self {
                Self::File(writer) => writer.enqueue_erased(transaction).await,
                Self::Server(database) => {
                    let transaction = Arc::new(transaction);
                    database
                        .write(move |tx| {
                            let transaction = Arc::clone(&transaction);
                            async move { transaction(&SqlTransaction::on_postgres(tx)).await }
                        })
                        .await
                }
            }
        })
    }

    /// Reads committed data. Each statement sees what is committed when the statement begins.
    ///
    /// # Errors
    /// Returns the function's own error, or [`LedgerError`].
    pub async fn read<A, T, E, F>(&self, input: A, query: F) -> Result<T, E>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
    {
        answer_of(self.read_erased(false, erase_reading(input, query)).await)
    }

    /// Reads in one snapshot. All statements see the data of the same moment, however long the
    /// reading takes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_snapshot<A, T, E, F>(&self, input: A, query: F) -> Result<T, E>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
    {
        answer_of(self.read_erased(true, erase_reading(input, query)).await)
    }

    /// Returns a boxed future for the same reason as [`Self::write_erased`].
    fn read_erased(&self, in_snapshot: bool, query: ErasedReading) -> ErasedResult<'_> {
        Box::pin(async move {
            match self {
                Self::File(writer) => writer.read_erased(in_snapshot, query).await,
                Self::Server(database) => {
                    let query =
                        move |tx| async move { query(&SqlTransaction::on_postgres(tx)).await };
                    if in_snapshot {
                        database.read_snapshot(query).await
                    } else {
                        database.read(query).await
                    }
                }
            }
        })
    }

    /// Returns the SQL dialect of this database.
    #[must_use]
    pub fn dialect(&self) -> SqlDialect {
        match self {
            Self::File(_) => SqlDialect::Sqlite,
            Self::Server(_) => SqlDialect::Postgres,
        }
    }

    /// Returns the path of a SQLite file once it is no longer the file that was opened, because
    /// somebody moved, replaced, removed or overwrote it. From then on the file takes no write, and
    /// the process must end. Never returns for a PostgreSQL database.
    pub async fn wait_until_file_moved(&self) -> PathBuf {
        match self {
            Self::File(writer) => {
                writer.wait_until_moved().await;
                writer.path().to_owned()
            }
            Self::Server(_) => pending().await,
        }
    }

    /// Writes what is queued and closes a SQLite file, so that the file is complete without its
    /// log. Does nothing for a PostgreSQL database.
    ///
    /// # Errors
    /// Returns an error where the log could not be folded into the file. Then the file is complete
    /// only together with its log. Also returns an error where the file was closed before.
    pub async fn close(&self) -> Result<(), LedgerError> {
        match self {
            Self::File(writer) => writer.close().await,
            Self::Server(_) => Ok(()),
        }
    }
}
