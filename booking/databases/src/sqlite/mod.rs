//! The ledger in one SQLite file. One thread writes, and commits waiting transactions together. A
//! few other connections read.

mod condition;
mod connection;
mod copy;
mod group;
mod place;
mod reader;

use std::path::Path;
use std::sync::{Arc, OnceLock, mpsc};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use crate::LedgerError;
use crate::counter_file::CounterFile;
use condition::SqliteFileHealth;
pub(crate) use connection::SqliteConnection;
pub use copy::{LedgerCopy, check_ledger_file, copy_ledger_file, secret_check_of_file};
pub(crate) use group::checkpoint_and_close as close_whole;
use group::{WriterCommand, WriterSurroundings};
pub(crate) use place::FilePlace;
pub(crate) use reader::ReadingLength;
use reader::SqliteReaderPool;
pub(crate) use reader::open as open_to_read;

/// A handle on one ledger file.
#[derive(Clone)]
pub struct SqliteDatabase {
    jobs: mpsc::Sender<WriterCommand>,
    readers: Arc<SqliteReaderPool>,
    place: Arc<FilePlace>,
    health: Arc<SqliteFileHealth>,
    counter_file: Arc<OnceLock<CounterFile>>,
}

impl SqliteDatabase {
    /// Starts the writing thread of the file in this place. The connection comes from
    /// [`open_to_write`]. A guest writes beside another process, which has the file for itself.
    ///
    /// # Errors
    /// Returns an error where the thread cannot be started.
    pub(crate) fn start(
        place: FilePlace,
        connection: Arc<SqliteConnection>,
        is_guest: bool,
    ) -> Result<Self, LedgerError> {
        let (jobs, inbox) = mpsc::channel();
        let place = Arc::new(place);
        let health = Arc::<SqliteFileHealth>::default();
        let counter_file = Arc::<OnceLock<CounterFile>>::default();
        let writer = WriterSurroundings {
            health: Arc::clone(&health),
            counter_file: Arc::clone(&counter_file),
            place: Arc::clone(&place),
            is_guest,
        };
        std::thread::Builder::new()
            .name("ledger-writer".to_owned())
            .spawn(move || group::run(connection, &inbox, &writer))
            .map_err(|error| LedgerError::Unavailable(error.to_string()))?;
        Ok(Self {
            jobs,
            readers: Arc::new(SqliteReaderPool::new(Arc::clone(&place))),
            place,
            health,
            counter_file,
        })
    }

    /// Returns the place of the file outside the ledger that remembers how far it got.
    pub(crate) fn counter_file(&self) -> &OnceLock<CounterFile> {
        &self.counter_file
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Queues one domain transaction. The returned future is ready once the transaction is durable,
    /// or was rolled back whole.
    ///
    /// The transaction is queued *before* this function returns. So a caller that calls it under a
    /// lock fixes the order of the writes. The transaction runs to its end even if the future is
    /// dropped.
    pub fn enqueue<T, E, F>(
        &self,
        transaction: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.enqueue_on(move |connection| connection.with_connection(transaction))
    }

    /// Queues a transaction that gets the writing connection itself.
    pub(crate) fn enqueue_on<T, E, F>(
        &self,
        transaction: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(&Arc<SqliteConnection>) -> Result<T, E> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let sent = self
            .jobs
            .send(WriterCommand::Write(group::write_job(transaction, answer)));
        async move {
            sent.map_err(|_| LedgerError::Unavailable("the writer has stopped".to_owned()))?;
            answered
                .await
                .map_err(|_| LedgerError::Unavailable("the writer has stopped".to_owned()))?
        }
    }

    /// Runs one domain transaction and returns once it is durable, or was rolled back whole.
    ///
    /// # Errors
    /// Returns the transaction's own error, or [`LedgerError`] where it could not be written.
    pub async fn write<T, E, F>(&self, transaction: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.enqueue(transaction).await
    }

    /// Reads committed data, without waiting for the writer.
    ///
    /// # Errors
    /// Returns the closure's own error, or [`LedgerError`] where no connection could be opened.
    pub async fn read<T, E, F>(&self, query: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let query = move |connection: &Arc<SqliteConnection>| connection.with_connection(query);
        self.read_on(ReadingLength::Short, query).await
    }

    /// Runs a query on one of the reading connections.
    pub(crate) async fn read_on<T, E, F>(&self, length: ReadingLength, query: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LedgerError> + Send + 'static,
        F: FnOnce(&Arc<SqliteConnection>) -> Result<T, E> + Send + 'static,
    {
        let readers = Arc::clone(&self.readers);
        let permit = readers.permit(length).await;
        let read = move || {
            let result = readers.with_reader(query);
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| LedgerError::Unavailable(error.to_string()))?
    }

    /// Writes the file anew without its free pages, and empties its log, so that nothing that was
    /// deleted or replaced before is left in them. Takes as long as a copy of the file.
    ///
    /// # Errors
    /// Returns an error where the disk has no room for a copy, or where somebody is reading the
    /// file. The file then has all its data, and perhaps some that was deleted.
    pub(crate) async fn rewrite(&self) -> Result<(), LedgerError> {
        let (answer, rewritten) = oneshot::channel();
        let stopped = || LedgerError::Unavailable("the writer has stopped".to_owned());
        self.jobs
            .send(WriterCommand::Rewrite(answer))
            .map_err(|_| stopped())?;
        rewritten.await.map_err(|_| stopped())?
    }

    /// Writes what is queued, folds the log into the file, and closes the file. From then on the
    /// file is complete without its log, and every further call is refused.
    ///
    /// # Errors
    /// Returns an error where the log could not be folded in. Then the file is complete only
    /// together with its log. Also returns an error where the file was closed before.
    pub async fn close(&self) -> Result<(), LedgerError> {
        // An open reading connection would keep the log in use.
        self.readers.close();
        let (answer, closed) = oneshot::channel();
        let stopped = || LedgerError::Unavailable("the writer has stopped".to_owned());
        self.jobs
            .send(WriterCommand::Close(answer))
            .map_err(|_| stopped())?;
        closed.await.map_err(|_| stopped())?
    }
}

/// Opens (or creates) the file at `path` for writing.
///
/// # Errors
/// Returns an error where the file cannot be opened as a database.
pub(crate) fn open_to_write(path: &Path) -> Result<Arc<SqliteConnection>, LedgerError> {
    let connection = Connection::open(path)?;
    prepare(&connection)?;
    Ok(SqliteConnection::new(connection))
}

/// Opens the existing file at `path` for writing, while another process may be using it.
///
/// # Errors
/// Returns an error where there is no such file, or it cannot be opened as a database.
pub(crate) fn open_existing_to_write(path: &Path) -> Result<Arc<SqliteConnection>, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
    // The other process takes every change of the file that is not its own for damage.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(SqliteConnection::new(connection))
}

/// Applies the settings of the writing connection. `synchronous=FULL` makes sure that data is
/// durable before a caller gets its answer.
fn prepare(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "cache_size", -65_536)?;
    connection.set_prepared_statement_cache_capacity(256);
    connection.busy_timeout(std::time::Duration::from_secs(5))
}
