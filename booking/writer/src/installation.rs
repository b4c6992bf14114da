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
