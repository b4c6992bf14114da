//! The database of one installation, whichever kind it is: what its processes share beside each crate's own tables.

use crate::{Database, LedgerError, Writer};

/// Where an installation keeps what must survive.
#[derive(Clone)]
pub enum Installation {
    /// One SQLite file, and one process.
    File(Writer),
    /// One PostgreSQL database, and any number of processes.
    Server(Database),
}

impl Installation {
    /// The ledger's id: 32 random bytes of its first day.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn id(&self) -> Result<[u8; 32], LedgerError> {
        match self {
            Self::File(writer) => writer.id().await,
            Self::Server(database) => database.id().await,
        }
    }

    /// The ledger's time, in milliseconds since the epoch.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn now_ms(&self) -> Result<i64, LedgerError> {
        match self {
            Self::File(writer) => writer.now_ms().await,
            Self::Server(database) => database.now_ms().await,
        }
    }

    /// Writes what is queued and closes a file, so that it is whole by itself; a server's database needs nothing of the kind.
    ///
    /// # Errors
    /// Where the file's log could not be folded in; file and log are whole together then.
    pub async fn close(&self) -> Result<(), LedgerError> {
        match self {
            Self::File(writer) => writer.close().await,
            Self::Server(_) => Ok(()),
        }
    }

    /// Whether the database takes writes just now: one is made to find out.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn check(&self) -> Result<(), LedgerError> {
        match self {
            Self::File(writer) => writer.check().await,
            Self::Server(database) => database.check().await,
        }
    }

    /// A named value: the stored one, or `fresh`, which is then stored.
    ///
    /// # Errors
    /// Where the database did not take it.
    pub async fn value(&self, name: &'static str, fresh: Vec<u8>) -> Result<Vec<u8>, LedgerError> {
        match self {
            Self::File(writer) => writer.installation_value(name, fresh).await,
            Self::Server(database) => database.installation_value(name, fresh).await,
        }
    }
}
