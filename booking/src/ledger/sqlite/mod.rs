//! The ledger in one SQLite file: one writer groups what waits into one commit, readers see every commit.

mod catalogue;
pub mod dump;
mod orders;
mod payments;
mod rows;
mod tickets;

use fairgate_writer::{LedgerError, Writer};

/// What has once been released is never edited; changes are appended.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// Booking's tables in a ledger file.
#[derive(Clone)]
pub struct SqliteLedger {
    writer: Writer,
}

impl SqliteLedger {
    /// Brings booking's tables up to date.
    ///
    /// # Errors
    /// Where the file cannot be migrated.
    pub async fn open(writer: Writer) -> Result<Self, LedgerError> {
        writer.migrate("booking", MIGRATIONS).await?;
        Ok(Self { writer })
    }
}
