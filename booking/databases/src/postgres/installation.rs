//! What belongs to the installation and not to one crate: the ledger's id, values made once, named leases, the time.

use super::{Database, fate};
use crate::LedgerError;

/// What has once been released is never edited; changes are appended.
pub(super) const MIGRATIONS: &[&str] = &[TABLES, fate::LIFE_TABLE];

const TABLES: &str = "
CREATE TABLE installation (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);
INSERT INTO installation (name, value)
    VALUES ('ledger_id', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until BIGINT NOT NULL
);
";

/// The server's time; unlike `now()` it goes on within a transaction.
const NOW_MS: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

impl Database {
    /// The ledger's id: 32 random bytes, made once with the first tables.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn id(&self) -> Result<[u8; 32], LedgerError> {
        self.read(|tx| async move {
            let sql = "SELECT value FROM installation WHERE name = 'ledger_id'";
            let id: Vec<u8> = tx.one(sql, &[]).await?.get(0);
            id.try_into()
                .map_err(|_| LedgerError::Corrupt("the ledger's id".to_owned()))
        })
        .await
    }

    /// A named value of the installation: the stored one, or `fresh`, which is then stored.
    ///
    /// # Errors
    /// Where the database did not take it.
    pub async fn installation_value(
        &self,
        name: &'static str,
        fresh: Vec<u8>,
    ) -> Result<Vec<u8>, LedgerError> {
        self.write(move |tx| {
            let fresh = fresh.clone();
            async move {
                tx.execute(
                    "INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                    &[&name, &fresh],
                )
                .await?;
                let sql = "SELECT value FROM installation WHERE name = $1";
                Ok(tx.one(sql, &[&name]).await?.get(0))
            }
        })
        .await
    }

    /// The ledger's time, in milliseconds since the epoch.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn now_ms(&self) -> Result<i64, LedgerError> {
        self.read(|tx| async move { Ok(tx.one(&format!("SELECT {NOW_MS}"), &[]).await?.get(0)) })
            .await
    }

    /// Whether the database takes writes just now: a lease that nobody has is written to find out.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn check(&self) -> Result<(), LedgerError> {
        let look = async { self.lease("condition", "condition", 0).await.map(drop) };
        self.finding.or_look(look).await
    }

    /// Takes or renews the lease `name` for `owner` until `ttl_ms` from now by the ledger's time; false while another
    /// owner has it. Whoever works under it counts from before this call.
    ///
    /// # Errors
    /// Where the database did not take it.
    pub async fn lease(&self, name: &str, owner: &str, ttl_ms: i64) -> Result<bool, LedgerError> {
        let (name, owner) = (name.to_owned(), owner.to_owned());
        self.write(move |tx| {
            let (name, owner) = (name.clone(), owner.clone());
            async move {
                let taken = tx
                    .execute(
                        &format!(
                            "INSERT INTO leases (name, owner, until) VALUES ($1, $2, {NOW_MS} + $3) \
                             ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = {NOW_MS} + $3 \
                             WHERE leases.owner = excluded.owner OR leases.until <= {NOW_MS}"
                        ),
                        &[&name, &owner, &ttl_ms],
                    )
                    .await?;
                Ok(taken == 1)
            }
        })
        .await
    }

    /// Gives a lease back, so that nobody has to wait for its end; that of another owner stays.
    ///
    /// # Errors
    /// Where the database did not take it.
    pub async fn let_go(&self, name: &str, owner: &str) -> Result<(), LedgerError> {
        let (name, owner) = (name.to_owned(), owner.to_owned());
        self.write(move |tx| {
            let (name, owner) = (name.clone(), owner.clone());
            async move {
                let sql = "DELETE FROM leases WHERE name = $1 AND owner = $2";
                tx.execute(sql, &[&name, &owner]).await?;
                Ok(())
            }
        })
        .await
    }
}
