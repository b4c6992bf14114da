//! Makes the secrets of draws anew after the ledger went back to an older state. A line may have
//! been drawn after that state, and its secret published.

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::SqlTransaction;
use fairgate_rules::draw::commitment;
use futures_util::FutureExt;
use serde_json::json;

use super::RoomLedger;
use super::columns::Result;
use super::draw_secrets::seal_draw_secret;
use super::lives::is_long_over;
use super::notes::append_entry;
use super::rooms::OWES_SECRETS;
use crate::ledger::{DrawSecret, RoomAuditEntry};

impl RoomLedger {
    /// Gives every room whose line is not frozen yet a new secret, if the ledger went back since
    /// this was last done. The line may have been drawn after the state that the ledger has now,
    /// and the old secret may therefore be public. `at` is the time (ms) of the audit's entry.
    /// `new_secret` makes a secret.
    pub async fn renew_draw_secrets(&self, at: i64, new_secret: fn() -> DrawSecret) -> Result<()> {
        self.installation
            .write(self.secret.clone(), move |tx, secret| {
                renew_secrets(tx, secret, at, new_secret).boxed()
            })
            .await
    }
}

async fn renew_secrets(
    tx: &SqlTransaction,
    secret: &InstallationSecret,
    at: i64,
    new_secret: fn() -> DrawSecret,
) -> Result<()> {
    let sql = format!(
        "UPDATE gw_renewed_secrets SET counter = (SELECT MAX(counter) FROM ledger_set_backs) \
         WHERE {OWES_SECRETS}"
    );
    if tx.execute(&sql, &[]).await? == 0 {
        return Ok(());
    }
    let sql = "SELECT r.room, r.document, r.facts FROM gw_rooms r \
         LEFT JOIN gw_draws d ON d.room = r.room WHERE d.root IS NULL ORDER BY r.room";
    for row in tx.query(sql, &[]).await? {
        let room: &str = row.get(0)?;
        if is_long_over(row.get(1)?, row.get(2)?, at)? {
            continue;
        }
        let new = new_secret();
        let sealed = seal_draw_secret(secret, room, &new.0);
        let sql = "UPDATE gw_rooms SET secret = $1, version = version + 1 WHERE room = $2";
        tx.execute(sql, &[&sealed, &room]).await?;
        let entry = RoomAuditEntry {
            at,
            role: "fairgate",
            action: "commitment_replaced",
            detail: json!({"commitment": commitment(&new.0), "why": "the ledger went back"}),
        };
        append_entry(tx, room, &entry).await?;
    }
    Ok(())
}
