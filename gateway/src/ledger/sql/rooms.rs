//! Stores rooms and their codes. Documents change by compare-and-set. A change and its audit row
//! are written in one transaction.

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{SqlRow, SqlTransaction};
use fairgate_pass::Digest;
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;
use futures_util::FutureExt;

use super::columns::{Result, from_json, to_json};
use super::draw_secrets::{open_draw_secret, seal_draw_secret};
use super::{RoomLedger, notes};
use crate::ledger::{DrawStage, RoomAuditEntry, RoomChangeOutcome, RoomRow, RoomVersion};

/// At most this many codes are in one statement.
const CODES_MAX: usize = 50_000;

const COLUMNS: &str = "room, document, facts, version, secret, created_at";

impl RoomLedger {
    /// Reads every room.
    pub async fn rooms(&self) -> Result<Vec<RoomRow>> {
        self.installation
            .read(self.secret.clone(), |tx, secret| {
                all_rooms(tx, secret).boxed()
            })
            .await
    }

    /// Reads one room.
    pub async fn room(&self, room: &str) -> Result<Option<RoomRow>> {
        self.installation
            .read(
                (room.to_owned(), self.secret.clone()),
                |tx, (room, secret)| one_room(tx, room, secret).boxed(),
            )
            .await
    }

    /// Reads the version and draw stage of every room. The answer is small, so a node can ask
    /// several times a second what other nodes changed.
    pub async fn versions(&self) -> Result<Vec<RoomVersion>> {
        self.installation
            .read((), |tx, ()| room_versions(tx).boxed())
            .await
    }

    /// Creates a room with its draw secret. Returns `false` and changes nothing if the room exists
    /// already.
    pub async fn create_room(&self, row: RoomRow, entry: RoomAuditEntry) -> Result<bool> {
        self.installation
            .write(
                (row, entry, self.secret.clone()),
                |tx, (row, entry, secret)| create_room(tx, row, entry, secret).boxed(),
            )
            .await
    }

    /// Replaces document and facts if the row still has `version`. If `before_joins` is set, the
    /// same transaction also checks that nobody has joined yet.
    pub async fn change_room(
        &self,
        room: &str,
        version: u64,
        document: RoomDocument,
        facts: RoomFacts,
        before_joins: bool,
        entry: Option<RoomAuditEntry>,
    ) -> Result<RoomChangeOutcome> {
        let arguments = (room.to_owned(), document, facts, entry);
        self.installation
            .write(arguments, move |tx, (room, document, facts, entry)| {
                let to = (document, facts);
                change_room(tx, room, version, to, before_joins, entry.as_ref()).boxed()
            })
            .await
    }

    /// Replaces the codes of a room, if nobody has joined yet.
    pub async fn put_codes(
        &self,
        room: &str,
        codes: Vec<Digest>,
        entry: RoomAuditEntry,
    ) -> Result<RoomChangeOutcome> {
        let arguments = (room.to_owned(), codes, entry);
        self.installation
            .write(arguments, |tx, (room, codes, entry)| {
                put_codes(tx, room, codes, entry).boxed()
            })
            .await
    }
}

pub(super) async fn all_rooms(
    tx: &SqlTransaction,
    secret: &InstallationSecret,
) -> Result<Vec<RoomRow>> {
    let sql = format!("SELECT {COLUMNS} FROM gw_rooms ORDER BY created_at, room");
    let rows = tx.query(&sql, &[]).await?;
    rows.iter().map(|row| room_of_row(row, secret)).collect()
}

pub(super) async fn one_room(
    tx: &SqlTransaction,
    room: &str,
    secret: &InstallationSecret,
) -> Result<Option<RoomRow>> {
    let sql = format!("SELECT {COLUMNS} FROM gw_rooms WHERE room = $1");
    let row = tx.first(&sql, &[&room]).await?;
    row.map(|row| room_of_row(&row, secret)).transpose()
}

fn room_of_row(row: &SqlRow, secret: &InstallationSecret) -> Result<RoomRow> {
    let room: String = row.get(0)?;
    let draw_secret = open_draw_secret(secret, &room, row.get(4)?)?;
    Ok(RoomRow {
        room,
        document: from_json(row.get(1)?)?,
        facts: from_json(row.get(2)?)?,
        version: row.get(3)?,
        secret: draw_secret,
        created_at: row.get(5)?,
    })
}

/// Whether the ledger went back, and the secrets of draws were not made anew since.
pub(super) const OWES_SECRETS: &str =
    "EXISTS (SELECT 1 FROM ledger_set_backs b, gw_renewed_secrets w WHERE b.counter > w.counter)";

pub(super) async fn room_versions(tx: &SqlTransaction) -> Result<Vec<RoomVersion>> {
    let sql = format!(
        "SELECT r.room, r.version, d.n IS NOT NULL, d.root IS NOT NULL, d.seed IS NOT NULL,
             r.stop_seq, r.revoked, {OWES_SECRETS}
         FROM gw_rooms AS r LEFT JOIN gw_draws AS d ON d.room = r.room ORDER BY r.room"
    );
    let rows = tx.query(&sql, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(RoomVersion {
                room: row.get(0)?,
                version: row.get(1)?,
                stage: DrawStage::from_columns(row.get(2)?, row.get(3)?, row.get(4)?),
                stops: row.get(5)?,
                revoked: row.get(6)?,
                owes_secrets: row.get(7)?,
            })
        })
        .collect()
}

pub(super) async fn create_room(
    tx: &SqlTransaction,
    row: &RoomRow,
    entry: &RoomAuditEntry,
    secret: &InstallationSecret,
) -> Result<bool> {
    let sql = "INSERT INTO gw_rooms (room, document, facts, version, secret, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (room) DO NOTHING";
    let (document, facts) = (to_json(&row.document)?, to_json(&row.facts)?);
    let sealed = seal_draw_secret(secret, &row.room, &row.secret.0);
    let made = tx
        .execute(
            sql,
            &[
                &row.room,
                &document,
                &facts,
                &row.version,
                &sealed,
                &row.created_at,
            ],
        )
        .await?;
    if made == 1 {
        notes::append_entry(tx, &row.room, entry).await?;
    }
    Ok(made == 1)
}

pub(super) async fn change_room(
    tx: &SqlTransaction,
    room: &str,
    version: u64,
    (document, facts): (&RoomDocument, &RoomFacts),
    before_joins: bool,
    entry: Option<&RoomAuditEntry>,
) -> Result<RoomChangeOutcome> {
    if before_joins && anybody_joined(tx, room).await? {
        return Ok(RoomChangeOutcome::Joined);
    }
    let next = version + 1;
    let sql = "UPDATE gw_rooms SET document = $1, facts = $2, version = $3
         WHERE room = $4 AND version = $5";
    let (document, facts) = (to_json(document)?, to_json(facts)?);
    let written = tx
        .execute(sql, &[&document, &facts, &next, &room, &version])
        .await?;
    if written == 0 {
        return Ok(RoomChangeOutcome::Conflict);
    }
    if let Some(entry) = entry {
        notes::append_entry(tx, room, entry).await?;
    }
    Ok(RoomChangeOutcome::To(next))
}

pub(super) async fn put_codes(
    tx: &SqlTransaction,
    room: &str,
    codes: &[Digest],
    entry: &RoomAuditEntry,
) -> Result<RoomChangeOutcome> {
    if anybody_joined(tx, room).await? {
        return Ok(RoomChangeOutcome::Joined);
    }
    tx.execute("DELETE FROM gw_codes WHERE room = $1", &[&room])
        .await?;
    if tx.is_postgres() {
        insert_codes_fused(tx, room, codes).await?;
    } else {
        let sql = "INSERT INTO gw_codes (room, code) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        for code in codes {
            tx.execute(sql, &[&room, &code.0]).await?;
        }
    }
    notes::append_entry(tx, room, entry).await?;
    let sql = "SELECT version FROM gw_rooms WHERE room = $1";
    Ok(RoomChangeOutcome::To(
        tx.query_one(sql, &[&room]).await?.get(0)?,
    ))
}

/// Writes up to [`CODES_MAX`] codes with each statement. A room may have a million codes, and a
/// statement for each code would cost a million round trips.
async fn insert_codes_fused(tx: &SqlTransaction, room: &str, codes: &[Digest]) -> Result<()> {
    let sql = "INSERT INTO gw_codes (room, code) SELECT $1, unnest($2::bytea[])
         ON CONFLICT DO NOTHING";
    for part in codes.chunks(CODES_MAX) {
        let part: Vec<[u8; 32]> = part.iter().map(|code| code.0).collect();
        tx.execute(sql, &[&room, &part]).await?;
    }
    Ok(())
}

/// Returns whether anybody has joined. Further joins wait until this transaction ends.
async fn anybody_joined(tx: &SqlTransaction, room: &str) -> Result<bool> {
    lock_room_row(tx, room, "FOR UPDATE").await?;
    let sql = "SELECT EXISTS (SELECT 1 FROM gw_joins WHERE room = $1)";
    tx.query_one(sql, &[&room]).await?.get(0)
}

/// Locks the room for a join. A change that is allowed only before the first join locks the room
/// with [`anybody_joined`]. The join waits for such a change if it is running, and later changes
/// wait for the join. Joins do not wait for each other.
pub(super) async fn lock_for_join(tx: &SqlTransaction, room: &str) -> Result<()> {
    lock_room_row(tx, room, "FOR KEY SHARE").await
}

/// Locks a room's row with the given strength until the transaction ends. A SQLite file has one
/// writer, so it needs no lock.
pub(super) async fn lock_room_row(tx: &SqlTransaction, room: &str, strength: &str) -> Result<()> {
    if tx.is_postgres() {
        let sql = format!("SELECT 1 FROM gw_rooms WHERE room = $1 {strength}");
        tx.first(&sql, &[&room]).await?;
    }
    Ok(())
}
