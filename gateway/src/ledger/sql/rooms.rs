//! Rooms and their codes: documents by compare-and-set, each change with its audit row in the same transaction.

use fairgate_databases::Tx;
use fairgate_databases::tokio_postgres::Row;
use fairgate_pass::Digest;

use super::notes;
use crate::ledger::columns::{bytes32, json, signed, to_json, unsigned};
use crate::ledger::{Changed, Entry, Failure, RoomRow, RoomVersion, Secret, Stage};
use crate::room::{Document, Facts};

/// Codes sent in one statement.
const CODES_MAX: usize = 50_000;

const COLUMNS: &str = "room, document, facts, version, secret, created_at";

pub(super) async fn all(tx: &Tx) -> Result<Vec<RoomRow>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM gw_rooms ORDER BY created_at, room");
    tx.query(&sql, &[]).await?.iter().map(read).collect()
}

pub(super) async fn one(tx: &Tx, room: &str) -> Result<Option<RoomRow>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM gw_rooms WHERE room = $1");
    tx.first(&sql, &[&room])
        .await?
        .as_ref()
        .map(read)
        .transpose()
}

fn read(row: &Row) -> Result<RoomRow, Failure> {
    Ok(RoomRow {
        room: row.get(0),
        document: json(row.get(1))?,
        facts: json(row.get(2))?,
        version: unsigned(row.get(3))?,
        secret: Secret(bytes32(row.get(4))?),
        created_at: row.get(5),
    })
}

pub(super) async fn versions(tx: &Tx) -> Result<Vec<RoomVersion>, Failure> {
    let sql = "SELECT r.room, r.version, d.n IS NOT NULL, d.root IS NOT NULL, d.seed IS NOT NULL
         FROM gw_rooms AS r LEFT JOIN gw_draws AS d ON d.room = r.room ORDER BY r.room";
    let rows = tx.query(sql, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(RoomVersion {
                room: row.get(0),
                version: unsigned(row.get(1))?,
                stage: Stage::of(row.get(2), row.get(3), row.get(4)),
            })
        })
        .collect()
}

pub(super) async fn create(tx: &Tx, row: &RoomRow, entry: &Entry) -> Result<bool, Failure> {
    let made = tx
        .execute(
            "INSERT INTO gw_rooms (room, document, facts, version, secret, created_at) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (room) DO NOTHING",
            &[
                &row.room,
                &to_json(&row.document)?,
                &to_json(&row.facts)?,
                &signed(row.version),
                &row.secret.0.as_slice(),
                &row.created_at,
            ],
        )
        .await?;
    if made == 1 {
        notes::append(tx, &row.room, entry).await?;
    }
    Ok(made == 1)
}

pub(super) async fn change(
    tx: &Tx,
    room: &str,
    version: u64,
    (document, facts): (&Document, &Facts),
    before_joins: bool,
    entry: Option<&Entry>,
) -> Result<Changed, Failure> {
    if before_joins && anybody_joined(tx, room).await? {
        return Ok(Changed::Joined);
    }
    let next = version + 1;
    let written = tx
        .execute(
            "UPDATE gw_rooms SET document = $1, facts = $2, version = $3 WHERE room = $4 AND version = $5",
            &[
                &to_json(document)?,
                &to_json(facts)?,
                &signed(next),
                &room,
                &signed(version),
            ],
        )
        .await?;
    if written == 0 {
        return Ok(Changed::Conflict);
    }
    if let Some(entry) = entry {
        notes::append(tx, room, entry).await?;
    }
    Ok(Changed::To(next))
}

pub(super) async fn put_codes(
    tx: &Tx,
    room: &str,
    codes: &[Digest],
    entry: &Entry,
) -> Result<Changed, Failure> {
    if anybody_joined(tx, room).await? {
        return Ok(Changed::Joined);
    }
    tx.execute("DELETE FROM gw_codes WHERE room = $1", &[&room])
        .await?;
    for part in codes.chunks(CODES_MAX) {
        let part: Vec<&[u8]> = part.iter().map(|code| code.0.as_slice()).collect();
        tx.execute(
            "INSERT INTO gw_codes (room, code) SELECT $1, unnest($2::bytea[]) ON CONFLICT DO NOTHING",
            &[&room, &part],
        )
        .await?;
    }
    notes::append(tx, room, entry).await?;
    let sql = "SELECT version FROM gw_rooms WHERE room = $1";
    Ok(Changed::To(unsigned(tx.one(sql, &[&room]).await?.get(0))?))
}

/// Looks, and holds further joins up until this transaction ends.
async fn anybody_joined(tx: &Tx, room: &str) -> Result<bool, Failure> {
    tx.first(
        "SELECT 1 FROM gw_rooms WHERE room = $1 FOR UPDATE",
        &[&room],
    )
    .await?;
    let sql = "SELECT EXISTS (SELECT 1 FROM gw_joins WHERE room = $1)";
    Ok(tx.one(sql, &[&room]).await?.get(0))
}

/// Waits for whoever changes what may only change before the first join. Joins do not wait for one another.
pub(super) async fn about_to_join(tx: &Tx, room: &str) -> Result<(), Failure> {
    tx.first(
        "SELECT 1 FROM gw_rooms WHERE room = $1 FOR KEY SHARE",
        &[&room],
    )
    .await?;
    Ok(())
}
