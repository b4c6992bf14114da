//! The ledger in one SQLite file: one writer groups what waits into one commit, readers see every commit.

mod audit;
mod catalogue;
mod claims;
pub mod dump;
mod exchanges;
mod keyed;
mod late;
mod orders;
mod outbox;
mod payments;
mod programme;
mod refunds;
mod retention;
mod rows;
mod settle;
mod terms;
mod tickets;
mod timetables;
mod waitlist;

use async_trait::async_trait;
use fairgate_databases::{LedgerError, Writer};

use super::CommonLedger;

/// What has once been released is never edited; changes are appended.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("rows_by_show.sql"),
    include_str!("money.sql"),
    include_str!("given_up.sql"),
    include_str!("work.sql"),
    include_str!("refunds.sql"),
    include_str!("lives.sql"),
    include_str!("departures.sql"),
    include_str!("waitlist.sql"),
    include_str!("rail.sql"),
    include_str!("refunding.sql"),
    include_str!("cinema.sql"),
    include_str!("exchanging.sql"),
    include_str!("terms.sql"),
    include_str!("keyed_calls.sql"),
    include_str!("retention.sql"),
    include_str!("cards.sql"),
];

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

#[async_trait]
impl CommonLedger for SqliteLedger {
    async fn id(&self) -> Result<[u8; 32], LedgerError> {
        self.writer.id().await
    }

    async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.writer.now_ms().await
    }

    async fn check(&self) -> Result<(), LedgerError> {
        self.writer.check().await
    }

    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError> {
        self.writer.lease(name, owner, ttl_ms).await
    }

    async fn let_go(&self, name: &str, owner: &str) -> Result<(), LedgerError> {
        self.writer.let_go(name, owner).await
    }
}
