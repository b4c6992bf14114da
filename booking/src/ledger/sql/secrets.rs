//! Stores booking's secrets, sealed with the installation's secret. An earlier version stored them,
//! and the answers that are kept for repeated calls, as they are.

use fairgate_base::secret::{InstallationSecret, is_sealed};
use fairgate_databases::SqlTransaction;

use super::Ledger;
use super::rows::{Result, bytes32};
use crate::ledger::answer_place;

/// How many answers of an earlier version one transaction seals.
const ANSWERS_AT_ONCE: usize = 1_000;

impl Ledger {
    /// Returns a named secret of booking. The first call stores `fresh`, sealed with the
    /// installation's secret. A plain secret of an earlier version is sealed.
    ///
    /// # Errors
    /// Returns an error if the installation's secret does not open the stored one, or the ledger
    /// did not take the write.
    pub async fn secret(
        &self,
        installation: &InstallationSecret,
        name: &'static str,
        fresh: [u8; 32],
    ) -> Result<[u8; 32]> {
        let given = (installation.clone(), fresh);
        self.installation
            .write(given, move |tx, (installation, fresh)| {
                Box::pin(sealed_secret(tx, installation, name, fresh))
            })
            .await
    }

    /// Seals the answers that an earlier version kept as they are, because an answer may have an
    /// order's key. Does nothing if booking's secrets are sealed already or are not made yet. So it
    /// must be called before [`Self::secret`].
    ///
    /// # Errors
    /// Returns an error if the ledger did not take the write. It is tried again at the next start.
    pub async fn seal_plain_answers(&self, installation: &InstallationSecret) -> Result<()> {
        let is_earlier = self
            .installation
            .read((), |tx, ()| Box::pin(has_plain_secret(tx)));
        if !is_earlier.await? {
            return Ok(());
        }
        loop {
            let sealed = self
                .installation
                .write(installation.clone(), |tx, installation| {
                    Box::pin(seal_some_answers(tx, installation))
                });
            if sealed.await? < ANSWERS_AT_ONCE {
                return Ok(());
            }
        }
    }
}

async fn sealed_secret(
    tx: &SqlTransaction,
    installation: &InstallationSecret,
    name: &str,
    fresh: &[u8; 32],
) -> Result<[u8; 32]> {
    let place = format!("secrets/{name}");
    let fresh = installation.seal(&place, fresh).into_bytes();
    let sql = "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    tx.execute(sql, &[&name, &fresh]).await?;
    let sql = "SELECT value FROM secrets WHERE name = $1 FOR UPDATE";
    let stored: Vec<u8> = tx.query_one(sql, &[&name]).await?.get(0)?;
    if is_sealed(&stored) {
        return bytes32(&installation.open(&place, &stored)?);
    }
    let sealed = installation.seal(&place, &stored).into_bytes();
    let sql = "UPDATE secrets SET value = $1 WHERE name = $2";
    tx.execute(sql, &[&sealed, &name]).await?;
    tx.note_plain_value().await?;
    bytes32(&stored)
}

async fn has_plain_secret(tx: &SqlTransaction) -> Result<bool> {
    let rows = tx.query("SELECT value FROM secrets", &[]).await?;
    for row in &rows {
        if !is_sealed(row.get(0)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Seals the oldest plain answers, and returns how many.
async fn seal_some_answers(
    tx: &SqlTransaction,
    installation: &InstallationSecret,
) -> Result<usize> {
    let sql = "SELECT scope, key, body FROM kept_answers WHERE body <> '' AND body NOT LIKE 'v1.%' \
         ORDER BY kept_at LIMIT $1";
    let rows = tx.query(sql, &[&(ANSWERS_AT_ONCE as i64)]).await?;
    for row in &rows {
        let scope = bytes32(row.get(0)?)?;
        let (key, body): (&str, &str) = (row.get(1)?, row.get(2)?);
        let sealed = installation.seal(&answer_place(&scope, key), body.as_bytes());
        let sql = "UPDATE kept_answers SET body = $1 WHERE scope = $2 AND key = $3";
        tx.execute(sql, &[&sealed, &scope, &key]).await?;
    }
    if !rows.is_empty() {
        tx.note_plain_value().await?;
    }
    Ok(rows.len())
}
