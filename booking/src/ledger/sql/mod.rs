//! The ledger over SQL: each transaction is written once, for a SQLite file and for PostgreSQL.
//!
//! In a file, one writer makes all changes one after the other. On a server, many nodes write at
//! once. Unique keys, row locks and the named locks of `lock` then keep conflicting transactions
//! apart. A transaction that changes the state of an order or of its payment locks the order's row
//! first. So two nodes never change one order at the same time.
//!
//! Statements are written for PostgreSQL. Some transactions spend most of their time on round trips
//! to the server, so on PostgreSQL one statement does the work of several. The name of a function
//! that sends such a statement ends with `_fused`, and its doc says which round trips it saves.

mod audit;
mod card_limit;
mod catalogue;
mod claims;
mod departures;
pub mod dump;
mod exchange_rows;
mod exchanges;
mod fates;
mod figures;
mod finding_rows;
mod keyed;
mod late;
mod late_rows;
mod leaving_showings;
mod lent_work;
mod migrations;
mod money_findings;
mod moved_tickets;
mod onsale;
mod order_changes;
mod order_history;
mod order_step;
mod orders;
mod outbox;
mod payment_rows;
mod payments;
mod plan_pins;
mod programme;
mod recut;
mod refunds;
mod restoring;
mod retention;
mod return_rows;
mod returns;
mod rows;
mod sandbox;
mod secrets;
mod set_backs;
mod settle;
mod showing_rows;
mod sold_shows;
mod stopped_passes;
mod terms;
#[cfg(test)]
mod tests;
mod tickets;
mod timetable_version;
mod timetables;
mod touched_departures;
mod waitlist;

use std::sync::Arc;

use fairgate_databases::{Installation, LedgerError, SqlDialect};
use lent_work::LentWork;

pub use figures::figures_of_file;
#[cfg(test)]
pub(super) use migrations::MIGRATIONS;

/// The kinds of named locks. A lock ends with its transaction. The name of a lock is its kind and a
/// word or a number, such as a show's id or the first bytes of a visitor's holder hash.
mod lock {
    /// A show's plan, terms and fate. Claims, refunds and exchanges share the lock. A change of the
    /// show takes the lock exclusively, and so does a read of the show's picture. A cinema
    /// programme takes the lock only for showings whose plan, currency, time or hall changes, and
    /// for those that it does not have.
    pub const PLAN: i32 = 1;
    /// One visitor's claims. No other transaction claims seats for the visitor between the check of
    /// the visitor's limit and the write.
    pub const VISITOR: i32 = 2;
    /// Numbering the committed seat rows.
    pub const SEAT_NUMBERS: i32 = 3;
    /// Numbering the visitors whose orders were ticketed.
    pub const FINISHED_NUMBERS: i32 = 4;
    /// One card's purchases of one show. No other transaction sells to the card between the check
    /// of the card's limit and the write.
    pub const CARD: i32 = 5;
    /// The writing of one order. A transaction that gives up the order's hold either waits until
    /// the order is written, or comes first and prevents the order.
    pub const ORDER: i32 = 6;
    /// The timetable. Departures that get a row share the lock. An import takes it alone.
    pub const TIMETABLE: i32 = 7;
}

/// The handle to booking's tables in the installation's database. A clone is cheap.
#[derive(Clone)]
pub struct Ledger {
    installation: Arc<Installation>,
}

impl Ledger {
    /// Brings booking's tables up to date, and returns the handle.
    ///
    /// # Errors
    /// Returns an error if the database cannot be migrated.
    pub async fn open(installation: Installation) -> Result<Self, LedgerError> {
        installation
            .migrate("booking", migrations::MIGRATIONS)
            .await?;
        Ok(Self {
            installation: Arc::new(installation),
        })
    }

    /// Returns whether several processes may use this ledger.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.installation.dialect() == SqlDialect::Postgres
    }

    /// Returns whether `sql`, which takes the time as `$1`, finds a row. Every node looks for due
    /// work several times a second and nearly always finds none. So on a server a writing
    /// transaction begins only if there is work. For a file this returns true without a read,
    /// because there a writing transaction that changes nothing costs less than the read.
    async fn is_due(&self, sql: &str, now_ms: i64) -> Result<bool, LedgerError> {
        if self.installation.dialect() == SqlDialect::Sqlite {
            return Ok(true);
        }
        let due = self.installation.read(sql.to_owned(), move |tx, sql| {
            Box::pin(async move { tx.first(sql, &[&now_ms]).await })
        });
        Ok(due.await?.is_some())
    }

    /// Returns whether lent work is due, as [`Self::is_due`] does.
    async fn is_work_due(&self, work: LentWork, now_ms: i64) -> Result<bool, LedgerError> {
        if self.installation.dialect() == SqlDialect::Sqlite {
            return Ok(true);
        }
        self.installation
            .read((), move |tx, ()| Box::pin(work.is_due(tx, now_ms)))
            .await
    }
}

/// The id, the time and the leases that all nodes of one ledger share.
impl Ledger {
    /// Returns the ledger's id, which is made once. No other ledger has the same id.
    pub async fn id(&self) -> Result<[u8; 32], LedgerError> {
        self.installation.ledger_id().await
    }

    /// Returns the ledger's time, in milliseconds since the epoch.
    pub async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.installation.now_ms().await
    }

    /// Writes something, to find out whether the database accepts writes now.
    pub async fn check(&self) -> Result<(), LedgerError> {
        self.installation.check_writable().await
    }

    /// Takes or renews a named lease for `owner`. The lease ends after `ttl_ms` by the ledger's
    /// time. Returns false while another owner has the lease. The owner must count `ttl_ms` from a
    /// moment before this call.
    pub async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError> {
        self.installation.lease(name, owner, ttl_ms).await
    }

    /// Ends a lease of `owner` early. A lease of another owner stays.
    pub async fn end_lease(&self, name: &str, owner: &str) -> Result<(), LedgerError> {
        self.installation.release_lease(name, owner).await
    }
}
