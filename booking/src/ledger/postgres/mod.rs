//! The ledger in PostgreSQL: many nodes write at once, and what must not meet is kept apart by unique keys, row locks
//! and a few named locks that touch no row.
//!
//! Whoever changes an order or its payment locks the order's row first, so that two nodes never work on one order from
//! different sides.

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
#[cfg(test)]
mod tests;
mod tickets;
mod timetables;
mod waitlist;

use async_trait::async_trait;
use fairgate_databases::{Database, LedgerError};

use super::CommonLedger;

/// What has once been released is never edited; changes are appended.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
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

/// The kinds of named locks; each ends with its transaction. The number beside the kind says which one.
mod lock {
    /// The show's plan: shared by whoever claims, alone for whoever changes it.
    pub const PLAN: i32 = 1;
    /// One visitor's claims, so that its count holds until its claims are written.
    pub const VISITOR: i32 = 2;
    /// Giving numbers to committed seat rows.
    pub const SEAT_NUMBERS: i32 = 3;
    /// Giving numbers to those who have finished.
    pub const FINISHED_NUMBERS: i32 = 4;
    /// One card's purchases of one show, so that their count holds until they are written.
    pub const CARD: i32 = 5;
    /// The making of one order, so that whoever gives it up finds it there or keeps it away.
    pub const ORDER: i32 = 6;
}

/// Booking's tables in a PostgreSQL database.
#[derive(Clone)]
pub struct PostgresLedger {
    database: Database,
}

impl PostgresLedger {
    /// Brings booking's tables up to date.
    ///
    /// # Errors
    /// Where the database cannot be migrated.
    pub async fn open(database: Database) -> Result<Self, LedgerError> {
        database.migrate("booking", MIGRATIONS).await?;
        Ok(Self { database })
    }
}

#[async_trait]
impl CommonLedger for PostgresLedger {
    async fn id(&self) -> Result<[u8; 32], LedgerError> {
        self.database.id().await
    }

    async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.database.now_ms().await
    }

    async fn check(&self) -> Result<(), LedgerError> {
        self.database.check().await
    }

    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError> {
        self.database.lease(name, owner, ttl_ms).await
    }

    async fn let_go(&self, name: &str, owner: &str) -> Result<(), LedgerError> {
        self.database.let_go(name, owner).await
    }
}
