//! Seals the secrets of draws, so that nobody who reads a copy of the ledger knows a line before it
//! is drawn. They stay sealed after the draw, which publishes them.

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::SqlTransaction;
use futures_util::FutureExt;

use super::RoomLedger;
use super::columns::Result;
use crate::ledger::{DrawSecret, LedgerError};

impl RoomLedger {
    /// Seals the secrets that an earlier version stored as they are: 32 bytes each.
    pub(super) async fn seal_plain_draw_secrets(&self) -> Result<()> {
        self.installation
            .write(self.secret.clone(), |tx, secret| {
                seal_plain_secrets(tx, secret).boxed()
            })
            .await
    }
}

async fn seal_plain_secrets(tx: &SqlTransaction, secret: &InstallationSecret) -> Result<()> {
    let sql = "SELECT room, secret FROM gw_rooms WHERE length(secret) = 32";
    let plain = tx.query(sql, &[]).await?;
    for row in &plain {
        let (room, plain): (&str, &[u8]) = (row.get(0)?, row.get(1)?);
        let sealed = seal_draw_secret(secret, room, plain);
        let sql = "UPDATE gw_rooms SET secret = $1 WHERE room = $2";
        tx.execute(sql, &[&sealed, &room]).await?;
    }
    if !plain.is_empty() {
        tx.note_plain_value().await?;
    }
    Ok(())
}

/// Returns the form in which the secret of a room's draw is stored.
pub(super) fn seal_draw_secret(secret: &InstallationSecret, room: &str, plain: &[u8]) -> Vec<u8> {
    secret.seal(&place(room), plain).into_bytes()
}

/// Reads the secret of a room's draw from its stored form.
pub(super) fn open_draw_secret(
    secret: &InstallationSecret,
    room: &str,
    sealed: &[u8],
) -> Result<DrawSecret> {
    let plain = secret.open(&place(room), sealed)?;
    let plain = plain.try_into().map_err(|_| {
        LedgerError::Corrupt(format!("the secret of room {room} has another length"))
    })?;
    Ok(DrawSecret(plain))
}

fn place(room: &str) -> String {
    format!("gw_rooms/{room}")
}
