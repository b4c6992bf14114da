//! What belongs to the installation and not to one crate: the ledger's id, values made once, named leases, the time.

use rusqlite::OptionalExtension;

use super::Writer;
use crate::LedgerError;

/// What has once been released is never edited; changes are appended.
pub(super) const MIGRATIONS: &[&str] = &["
CREATE TABLE installation (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO installation (name, value) VALUES ('ledger_id', randomblob(32));
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"];

/// SQLite has no clock of its own: this is the system's.
const NOW_MS: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

impl Writer {
    /// The ledger's id: 32 random bytes, made once with the file.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub async fn id(&self) -> Result<[u8; 32], LedgerError> {
        self.read(|connection| {
            let id: Vec<u8> = connection.query_row(
                "SELECT value FROM installation WHERE name = 'ledger_id'",
                [],
                |row| row.get(0),
            )?;
            id.try_into()
                .map_err(|_| LedgerError::Corrupt("the ledger's id".to_owned()))
        })
        .await
    }

    /// A named value of the installation: the stored one, or `fresh`, which is then stored.
    ///
    /// # Errors
    /// Where the file did not take it.
    pub async fn installation_value(
        &self,
        name: &'static str,
        fresh: Vec<u8>,
    ) -> Result<Vec<u8>, LedgerError> {
        self.write(move |tx| {
            tx.execute(
                "INSERT OR IGNORE INTO installation (name, value) VALUES (?1, ?2)",
                (name, &fresh),
            )?;
            Ok(tx.query_row(
                "SELECT value FROM installation WHERE name = ?1",
                [name],
                |row| row.get(0),
            )?)
        })
        .await
    }

    /// The ledger's time, in milliseconds since the epoch.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.read(|connection| {
            Ok(connection.query_row(&format!("SELECT {NOW_MS}"), [], |row| row.get(0))?)
        })
        .await
    }

    /// Takes or renews the lease `name` for `owner` until `ttl_ms` from now by the ledger's time; false while another
    /// owner has it. Whoever works under it counts from before this call.
    ///
    /// # Errors
    /// Where the file did not take it.
    pub async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError> {
        let (name, owner) = (name.to_owned(), owner.to_owned());
        self.write(move |tx| {
            let now_ms: i64 = tx.query_row(&format!("SELECT {NOW_MS}"), [], |row| row.get(0))?;
            let taken: Option<i64> = tx
                .prepare_cached(
                    "INSERT INTO leases (name, owner, until) VALUES (?1, ?2, ?3 + ?4) \
                     ON CONFLICT (name) DO UPDATE SET owner = ?2, until = ?3 + ?4 \
                     WHERE leases.owner = ?2 OR leases.until <= ?3 RETURNING until",
                )?
                .query_row((&name, &owner, now_ms, ttl_ms), |row| row.get(0))
                .optional()?;
            Ok(taken.is_some())
        })
        .await
    }

    /// Gives a lease back, so that nobody has to wait for its end; that of another owner stays.
    ///
    /// # Errors
    /// Where the file did not take it.
    pub async fn let_go(&self, name: &str, owner: &str) -> Result<(), LedgerError> {
        let (name, owner) = (name.to_owned(), owner.to_owned());
        self.write(move |tx| {
            tx.execute(
                "DELETE FROM leases WHERE name = ?1 AND owner = ?2",
                (&name, &owner),
            )?;
            Ok(())
        })
        .await
    }
}
