//! A pool of connections that only read. They see every commit. They do not wait for the writer,
//! because SQLite writes to its write-ahead log. Only a few readings run at once: each needs a
//! thread and a connection, and a thousand rooms read at the same time.

use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::SqliteConnection;
use super::place::FilePlace;
use crate::LedgerError;

/// The most idle connections in the pool. The number is small because each connection has its own
/// page cache.
const IDLE_MAX: usize = 4;

/// How many readings of one length run at once.
const READINGS_MAX: usize = 4;

/// How long a reading takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadingLength {
    /// A few statements, or one.
    Short,
    /// Perhaps the whole ledger. Short readings do not wait for these.
    Long,
}

pub(crate) struct SqliteReaderPool {
    place: Arc<FilePlace>,
    idle: Mutex<IdleConnections>,
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

#[derive(Default)]
struct IdleConnections {
    connections: Vec<Arc<SqliteConnection>>,
    /// Whether the file is being closed. Then no new reading begins.
    closed: bool,
}

impl SqliteReaderPool {
    pub(crate) fn new(place: Arc<FilePlace>) -> Self {
        Self {
            place,
            idle: Mutex::default(),
            short: Arc::new(Semaphore::new(READINGS_MAX)),
            long: Arc::new(Semaphore::new(READINGS_MAX)),
        }
    }

    /// Waits until a reading of this length may begin. The reading holds the permit to its end.
    pub(crate) async fn permit(&self, length: ReadingLength) -> OwnedSemaphorePermit {
        let permits = match length {
            ReadingLength::Short => &self.short,
            ReadingLength::Long => &self.long,
        };
        let permit = Arc::clone(permits).acquire_owned().await;
        permit.expect("it is never closed")
    }

    pub(crate) fn with_reader<T, E, F>(&self, query: F) -> Result<T, E>
    where
        E: From<LedgerError>,
        F: FnOnce(&Arc<SqliteConnection>) -> Result<T, E>,
    {
        let connection = match self.take_idle_connection()? {
            Some(connection) => connection,
            None => {
                // Another file in its place would be another ledger.
                self.place.require()?;
                open(self.place.path()).map_err(LedgerError::from)?
            }
        };
        let result = query(&connection);
        let mut idle = self.idle.lock();
        if idle.connections.len() < IDLE_MAX && !idle.closed {
            idle.connections.push(connection);
        }
        result
    }

    fn take_idle_connection(&self) -> Result<Option<Arc<SqliteConnection>>, LedgerError> {
        let mut idle = self.idle.lock();
        if idle.closed {
            return Err(LedgerError::Unavailable("the ledger is closed".to_owned()));
        }
        Ok(idle.connections.pop())
    }

    /// Closes the idle connections. Each of the others is closed when its reading ends.
    pub(crate) fn close(&self) {
        let mut idle = self.idle.lock();
        idle.closed = true;
        idle.connections.clear();
    }
}

/// Opens an existing file for reading only.
pub(crate) fn open(path: &Path) -> Result<Arc<SqliteConnection>, rusqlite::Error> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(SqliteConnection::new(connection))
}
