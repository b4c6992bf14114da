//! Rooms and their codes: documents by compare-and-set, each change with its audit row in the same transaction.

use fairgate_databases::rusqlite::{Connection, OptionalExtension, Row, params};
use fairgate_pass::Digest;

use super::notes;
use crate::ledger::columns::{bytes32, json, signed, to_json, unsigned};
use crate::ledger::{Changed, Entry, Failure, RoomRow, RoomVersion, Secret, Stage};
use crate::room::{Document, Facts};

const COLUMNS: &str = "room, document, facts, version, secret, created_at";

pub(super) fn all(c: &Connection) -> Result<Vec<RoomRow>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM gw_rooms ORDER BY created_at, room");
    let mut statement = c.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut rooms = Vec::new();
    while let Some(row) = rows.next()? {
        rooms.push(read(row)?);
    }
    Ok(rooms)
}

pub(super) fn one(c: &Connection, room: &str) -> Result<Option<RoomRow>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM gw_rooms WHERE room = ?1");
    let mut statement = c.prepare_cached(&sql)?;
    let mut rows = statement.query([room])?;
    rows.next()?.map(read).transpose()
}

fn read(row: &Row<'_>) -> Result<RoomRow, Failure> {
    Ok(RoomRow {
        room: row.get(0)?,
        document: json(&row.get::<_, String>(1)?)?,
        facts: json(&row.get::<_, String>(2)?)?,
        version: unsigned(row.get(3)?)?,
        secret: Secret(bytes32(&row.get::<_, Vec<u8>>(4)?)?),
        created_at: row.get(5)?,
    })
}

pub(super) fn versions(c: &Connection) -> Result<Vec<RoomVersion>, Failure> {
    let mut statement = c.prepare_cached(
        "SELECT r.room, r.version, d.n IS NOT NULL, d.root IS NOT NULL, d.seed IS NOT NULL
         FROM gw_rooms AS r LEFT JOIN gw_draws AS d ON d.room = r.room ORDER BY r.room",
    )?;
    let mut rows = statement.query([])?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next()? {
        versions.push(RoomVersion {
            room: row.get(0)?,
            version: unsigned(row.get(1)?)?,
            stage: Stage::of(row.get(2)?, row.get(3)?, row.get(4)?),
        });
    }
    Ok(versions)
}

pub(super) fn create(c: &Connection, row: &RoomRow, entry: &Entry) -> Result<bool, Failure> {
    let made = c.execute(
        "INSERT INTO gw_rooms (room, document, facts, version, secret, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (room) DO NOTHING",
        params![
            row.room,
            to_json(&row.document)?,
            to_json(&row.facts)?,
            signed(row.version),
            row.secret.0,
            row.created_at
        ],
    )?;
    if made == 1 {
        notes::append(c, &row.room, entry)?;
    }
    Ok(made == 1)
}

pub(super) fn change(
    c: &Connection,
    room: &str,
    version: u64,
    (document, facts): (&Document, &Facts),
    before_joins: bool,
    entry: Option<&Entry>,
) -> Result<Changed, Failure> {
    if before_joins && anybody_joined(c, room)? {
        return Ok(Changed::Joined);
    }
    let next = version + 1;
    let written = c.execute(
        "UPDATE gw_rooms SET document = ?1, facts = ?2, version = ?3 WHERE room = ?4 AND version = ?5",
        params![to_json(document)?, to_json(facts)?, signed(next), room, signed(version)],
    )?;
    if written == 0 {
        return Ok(Changed::Conflict);
    }
    if let Some(entry) = entry {
        notes::append(c, room, entry)?;
    }
    Ok(Changed::To(next))
}

pub(super) fn put_codes(
    c: &Connection,
    room: &str,
    codes: &[Digest],
    entry: &Entry,
) -> Result<Changed, Failure> {
    if anybody_joined(c, room)? {
        return Ok(Changed::Joined);
    }
    c.execute("DELETE FROM gw_codes WHERE room = ?1", [room])?;
    let mut insert =
        c.prepare_cached("INSERT OR IGNORE INTO gw_codes (room, code) VALUES (?1, ?2)")?;
    for code in codes {
        insert.execute(params![room, code.0])?;
    }
    notes::append(c, room, entry)?;
    let version: i64 = c.query_row(
        "SELECT version FROM gw_rooms WHERE room = ?1",
        [room],
        |row| row.get(0),
    )?;
    Ok(Changed::To(unsigned(version)?))
}

fn anybody_joined(c: &Connection, room: &str) -> Result<bool, Failure> {
    let found = c
        .query_row(
            "SELECT 1 FROM gw_joins WHERE room = ?1 LIMIT 1",
            [room],
            |_| Ok(()),
        )
        .optional()?;
    Ok(found.is_some())
}
