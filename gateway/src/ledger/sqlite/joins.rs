//! The line itself: joins, leavings, and what a restart reads back.

use fairgate_databases::rusqlite::{Connection, Row, params};
use fairgate_pass::{Digest, Holder};

use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::{Failure, JoinRecorded, JoinRow, StoredLine, StoredPlace};

pub(super) fn record(c: &Connection, room: &str, join: &JoinRow) -> Result<JoinRecorded, Failure> {
    if let Some(code) = join.code {
        let taken = c
            .prepare_cached("UPDATE gw_codes SET used_by = ?1 WHERE room = ?2 AND code = ?3 AND used_by IS NULL")?
            .execute(params![signed(join.number), room, code.0])?;
        if taken == 0 {
            return Ok(JoinRecorded::CodeRefused);
        }
    }
    c.prepare_cached(
        "INSERT INTO gw_joins (room, number, holder, code, joined_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        room,
        signed(join.number),
        join.holder.0,
        join.code.map(|code| code.0),
        join.at
    ])?;
    Ok(JoinRecorded::Done)
}

pub(super) fn leave(
    c: &Connection,
    room: &str,
    number: u64,
    at: i64,
    void: bool,
) -> Result<(), Failure> {
    c.prepare_cached(
        "UPDATE gw_joins SET left_at = ?1, void = ?2 WHERE room = ?3 AND number = ?4 AND left_at IS NULL",
    )?
    .execute(params![at, void, room, signed(number)])?;
    Ok(())
}

pub(super) fn line(c: &Connection, room: &str) -> Result<StoredLine, Failure> {
    Ok(StoredLine {
        places: places(c, room, 0, -1)?,
        ..bare_line(c, room)?
    })
}

pub(super) fn bare_line(c: &Connection, room: &str) -> Result<StoredLine, Failure> {
    Ok(StoredLine {
        places: Vec::new(),
        codes: codes(c, room)?,
        frozen: super::draws::read(c, room)?.freeze.map(|freeze| freeze.n),
        passes: passes(c, room)?,
        finished: super::passes::cursor(c, room)?,
        life: super::lives::read(c, room)?,
    })
}

const PLACE: &str =
    "number, holder, code, joined_at, left_at IS NOT NULL, void, done_at IS NOT NULL";

/// At most `max` places; all of them where that is negative.
pub(super) fn places(
    c: &Connection,
    room: &str,
    from: u64,
    max: i64,
) -> Result<Vec<StoredPlace>, Failure> {
    let sql = format!(
        "SELECT {PLACE} FROM gw_joins WHERE room = ?1 AND number >= ?2 ORDER BY number LIMIT ?3"
    );
    let mut statement = c.prepare_cached(&sql)?;
    let mut rows = statement.query(params![room, signed(from), max])?;
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        places.push(place(row)?);
    }
    Ok(places)
}

pub(super) fn place_of(
    c: &Connection,
    room: &str,
    holder: Holder,
) -> Result<Option<StoredPlace>, Failure> {
    let sql =
        format!("SELECT {PLACE} FROM gw_joins WHERE room = ?1 AND holder = ?2 AND left_at IS NULL");
    let mut statement = c.prepare_cached(&sql)?;
    let mut rows = statement.query(params![room, holder.0])?;
    rows.next()?.map(place).transpose()
}

fn place(row: &Row<'_>) -> Result<StoredPlace, Failure> {
    let code: Option<Vec<u8>> = row.get(2)?;
    Ok(StoredPlace {
        join: JoinRow {
            number: unsigned(row.get(0)?)?,
            holder: Holder(bytes32(&row.get::<_, Vec<u8>>(1)?)?),
            code: code.map(|code| bytes32(&code).map(Digest)).transpose()?,
            at: row.get(3)?,
        },
        left: row.get(4)?,
        void: row.get(5)?,
        done: row.get(6)?,
    })
}

fn codes(c: &Connection, room: &str) -> Result<Vec<(Digest, Option<u64>)>, Failure> {
    let mut statement = c.prepare_cached("SELECT code, used_by FROM gw_codes WHERE room = ?1")?;
    let mut rows = statement.query([room])?;
    let mut codes = Vec::new();
    while let Some(row) = rows.next()? {
        let used_by: Option<i64> = row.get(1)?;
        codes.push((
            Digest(bytes32(&row.get::<_, Vec<u8>>(0)?)?),
            used_by.map(unsigned).transpose()?,
        ));
    }
    Ok(codes)
}

fn passes(c: &Connection, room: &str) -> Result<Vec<(u64, i64)>, Failure> {
    let mut statement = c.prepare_cached("SELECT number, exp FROM gw_passes WHERE room = ?1")?;
    let mut rows = statement.query([room])?;
    let mut passes = Vec::new();
    while let Some(row) = rows.next()? {
        passes.push((unsigned(row.get(0)?)?, row.get(1)?));
    }
    Ok(passes)
}

pub(super) fn leaves(c: &Connection, room: &str, n: u64) -> Result<Vec<u8>, Failure> {
    let count = usize::try_from(n).map_err(|_| Failure::Corrupt("a line beyond memory".into()))?;
    let mut leaves = vec![0; count * 32];
    let mut statement = c.prepare_cached(
        "SELECT number, holder FROM gw_joins WHERE room = ?1 AND number < ?2 AND void = 0",
    )?;
    let mut rows = statement.query(params![room, signed(n)])?;
    while let Some(row) = rows.next()? {
        let number: usize = row
            .get::<_, i64>(0)?
            .try_into()
            .map_err(|_| Failure::Corrupt("a negative number".into()))?;
        let holder = bytes32(row.get_ref(1)?.as_blob().unwrap_or_default())?;
        leaves[number * 32..][..32].copy_from_slice(&holder);
    }
    Ok(leaves)
}
