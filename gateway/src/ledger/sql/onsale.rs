//! Writes the rooms of an on-sale file in one transaction, and keeps their documents as they were
//! applied, so that the next apply can tell what the file changed since.

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::SqlTransaction;
use futures_util::FutureExt;

use super::RoomLedger;
use super::columns::Result;
use super::rooms::{change_room, create_room};
use crate::ledger::{AppliedRoom, AppliedRoomChange, RoomChangeOutcome, RoomsRefused};

impl RoomLedger {
    /// Writes all rooms of an on-sale file, or nothing.
    ///
    /// # Errors
    /// Fails if a room was changed since it was compared, or if somebody has joined a room that may
    /// then no longer change in this way.
    pub async fn apply_rooms(
        &self,
        rooms: Vec<AppliedRoom>,
    ) -> std::result::Result<(), RoomsRefused> {
        self.installation
            .write((rooms, self.secret.clone()), |tx, (rooms, secret)| {
                apply_rooms(tx, rooms, secret).boxed()
            })
            .await
    }

    /// Reads the documents of rooms, as on-sale files last applied them, as JSON.
    pub async fn applied_rooms(&self) -> Result<Vec<(String, String)>> {
        self.installation
            .read((), |tx, ()| applied_rooms(tx).boxed())
            .await
    }
}

async fn applied_rooms(tx: &SqlTransaction) -> Result<Vec<(String, String)>> {
    let sql = "SELECT room, document FROM gw_applied_rooms";
    let rows = tx.query(sql, &[]).await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

async fn apply_rooms(
    tx: &SqlTransaction,
    rooms: &[AppliedRoom],
    secret: &InstallationSecret,
) -> std::result::Result<(), RoomsRefused> {
    for room in rooms {
        let row = &room.row;
        match &room.change {
            AppliedRoomChange::None => {}
            AppliedRoomChange::Create(entry) => {
                if !create_room(tx, row, entry, secret).await? {
                    return Err(RoomsRefused::ChangedMeanwhile);
                }
            }
            AppliedRoomChange::Replace {
                entry,
                before_joins,
            } => {
                let to = (&row.document, &row.facts);
                let version = row.version - 1;
                let outcome =
                    change_room(tx, &row.room, version, to, *before_joins, Some(entry)).await?;
                match outcome {
                    RoomChangeOutcome::To(_) => {}
                    RoomChangeOutcome::Conflict | RoomChangeOutcome::Joined => {
                        return Err(RoomsRefused::ChangedMeanwhile);
                    }
                }
            }
        }
        let sql = "INSERT INTO gw_applied_rooms (room, document) VALUES ($1, $2)
             ON CONFLICT (room) DO UPDATE SET document = excluded.document";
        tx.execute(sql, &[&row.room, &room.applied]).await?;
    }
    Ok(())
}
