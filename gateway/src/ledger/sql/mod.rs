//! The rooms' ledger over SQL. The same code of each transaction serves a SQLite file and
//! PostgreSQL.
//!
//! Every method runs one transaction. The transaction runs to its end even if the caller goes away.
//! Only queued writes can share a transaction. On PostgreSQL a transaction is sometimes run again
//! from its beginning. Each run reads the data again and decides from that. Many nodes write to
//! PostgreSQL at once, so unique keys and row locks prevent conflicting writes. A SQLite file has
//! one writer.
//!
//! Statements are written for PostgreSQL, and `fairgate-databases` translates them for SQLite. A
//! function whose name ends with `_fused` sends a whole batch in one statement. It runs only on
//! PostgreSQL, where every statement costs a round trip.

mod columns;
mod copies;
mod draw_secrets;
mod draws;
mod joins;
mod lives;
mod migrations;
mod notes;
mod onsale;
mod passes;
mod queue;
mod renewed_secrets;
mod rooms;
mod stops;
#[cfg(test)]
mod tests;
mod visits;

use std::sync::Arc;

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::Installation;

use columns::Result;
use queue::LineWriteQueue;

/// The handle to the gateway's tables in the installation's database. Times are milliseconds since
/// the epoch. A clone is cheap.
#[derive(Clone)]
pub struct RoomLedger {
    installation: Arc<Installation>,
    /// Seals the secrets of draws.
    secret: InstallationSecret,
    queue: LineWriteQueue,
}

impl RoomLedger {
    /// Brings the gateway's tables up to date and opens the ledger over them. The secrets of draws
    /// are sealed with `secret`, also those that an earlier version stored plain.
    ///
    /// # Errors
    /// Fails if a migration fails, or if the database is newer than this program.
    pub async fn open(installation: Installation, secret: InstallationSecret) -> Result<Self> {
        installation
            .migrate("gateway", migrations::MIGRATIONS)
            .await?;
        let ledger = Self {
            queue: LineWriteQueue::start(&installation),
            installation: Arc::new(installation),
            secret,
        };
        ledger.seal_plain_draw_secrets().await?;
        Ok(ledger)
    }

    /// Checks that the database accepts writes at the moment, by writing something.
    pub async fn check(&self) -> Result<()> {
        self.installation.check_writable().await
    }

    /// Returns whether the ledger is a file on this node's own disk, and not a server that several
    /// nodes use.
    #[must_use]
    pub fn is_own_file(&self) -> bool {
        matches!(*self.installation, Installation::File(_))
    }

    /// Takes or renews the lease `name` for `owner` until `ttl_ms` from now by the ledger's clock.
    /// Returns `false` while another owner has the lease. The owner must count `ttl_ms` from a
    /// moment before this call.
    pub async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool> {
        self.installation.lease(name, owner, ttl_ms).await
    }

    /// Ends the owner's lease early. A lease of another owner stays.
    pub async fn end_lease(&self, name: &str, owner: &str) -> Result<()> {
        self.installation.release_lease(name, owner).await
    }

    /// Reads the ledger's clock, milliseconds since the epoch.
    pub async fn now_ms(&self) -> Result<i64> {
        self.installation.now_ms().await
    }

    /// Returns the id of this ledger: 32 random bytes that were made with the ledger. Redis stores
    /// it, so that a node with another ledger is noticed.
    pub async fn id(&self) -> Result<[u8; 32]> {
        self.installation.ledger_id().await
    }
}
