//! The ledger over SQL: each transaction is written once, for a SQLite file and for PostgreSQL.
//!
//! In a file one writer makes all changes, one after the other. On a server many nodes write at
//! once, and what must not meet is kept apart by unique keys, row locks and the named locks of
//! `lock`. Whoever changes an order or its payment locks the order's row first, so that two nodes
//! never work on one order from different sides.
//!
//! Statements are written for PostgreSQL. Where a round trip to the server costs more than anything
//! else in a transaction, its statements are fused into one there; such a function ends with
//! `_fused` and says which round trips it saves.

mod audit;
mod card_limit;
mod catalogue;
mod claims;
pub mod dump;
mod exchange_rows;
mod exchanges;
mod fates;
mod keyed;
mod late;
mod late_rows;
mod migrations;
mod order_changes;
mod order_history;
mod order_step;
mod orders;
mod outbox;
mod payment_rows;
mod payments;
mod programme;
mod refunds;
mod retention;
mod rows;
mod sandbox;
mod settle;
mod terms;
#[cfg(test)]
mod tests;
mod tickets;
mod timetables;
mod waitlist;

use async_trait::async_trait;
use fairgate_databases::{Installation, LedgerError};

use super::CommonLedger;
#[cfg(test)]
pub(super) use migrations::MIGRATIONS;

/// The kinds of named locks; each ends with its transaction. The word or number beside the kind
/// says which one.
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

/// Booking's tables in the installation's database.
#[derive(Clone)]
pub struct SqlLedger {
    installation: Installation,
}

impl SqlLedger {
    /// Brings booking's tables up to date.
    ///
    /// # Errors
    /// Where the database cannot be migrated.
    pub async fn open(installation: Installation) -> Result<Self, LedgerError> {
        installation
            .migrate("booking", migrations::MIGRATIONS)
            .await?;
        Ok(Self { installation })
    }

    /// Whether a query by a moment finds anything, so that a transaction is begun only where it
    /// does. Every node looks, several times a second, and nearly always in vain.
    async fn is_due(&self, sql: &str, now_ms: i64) -> Result<bool, LedgerError> {
        let due = self.installation.read(sql.to_owned(), move |tx, sql| {
            Box::pin(async move { tx.first(sql, &[&now_ms]).await })
        });
        Ok(due.await?.is_some())
    }
}

#[async_trait]
impl CommonLedger for SqlLedger {
    async fn id(&self) -> Result<[u8; 32], LedgerError> {
        self.installation.ledger_id().await
    }

    async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.installation.now_ms().await
    }

    async fn check(&self) -> Result<(), LedgerError> {
        self.installation.check_writable().await
    }

    async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError> {
        self.installation.lease(name, owner, ttl_ms).await
    }

    async fn let_go(&self, name: &str, owner: &str) -> Result<(), LedgerError> {
        self.installation.release_lease(name, owner).await
    }
}
