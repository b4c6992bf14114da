//! The lives of room stores: blocks of numbers reserved ahead, and what the stores gave of them, copied after.

use fairgate_databases::rusqlite::{Connection, OptionalExtension, Row, params};
use fairgate_pass::{Digest, Holder};

use super::{draws, joins};
use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::copying::{self, Ended, Known, NewRow, Recorded, Writes};
use crate::ledger::{Copied, Failure, LineRow, RoomLife};

pub(super) fn read(c: &Connection, room: &str) -> Result<Option<RoomLife>, Failure> {
    let mut statement = c.prepare_cached(
        "SELECT room, incarnation, first, ceiling, begun_at FROM gw_lives WHERE room = ?1",
    )?;
    let mut rows = statement.query([room])?;
    let life = rows.next()?.map(life).transpose()?;
    Ok(life.map(|(_, life)| life))
}

pub(super) fn all(c: &Connection) -> Result<Vec<(String, RoomLife)>, Failure> {
    let mut statement =
        c.prepare_cached("SELECT room, incarnation, first, ceiling, begun_at FROM gw_lives")?;
    let mut rows = statement.query([])?;
    let mut lives = Vec::new();
    while let Some(row) = rows.next()? {
        lives.push(life(row)?);
    }
    Ok(lives)
}

fn life(row: &Row<'_>) -> Result<(String, RoomLife), Failure> {
    let life = RoomLife {
        incarnation: unsigned(row.get(1)?)?,
        first: unsigned(row.get(2)?)?,
        ceiling: unsigned(row.get(3)?)?,
        begun_at: row.get(4)?,
    };
    Ok((row.get(0)?, life))
}

pub(super) fn begin(
    c: &Connection,
    room: &str,
    from: u64,
    above: u64,
    at: i64,
) -> Result<RoomLife, Failure> {
    let standing = read(c, room)?;
    let incarnation = standing.map_or(0, |life| life.incarnation);
    RoomLife::check_from(room, from, incarnation)?;
    if let Some(life) = standing.filter(|life| life.incarnation > from) {
        return Ok(life);
    }
    let recorded: i64 = c.query_row(
        "SELECT COALESCE(MAX(number) + 1, 0) FROM gw_joins WHERE room = ?1",
        [room],
        |row| row.get(0),
    )?;
    let frozen = draws::read(c, room)?.freeze.map_or(0, |freeze| freeze.n);
    let reserved = standing.map_or(0, |life| life.ceiling);
    let first = unsigned(recorded)?.max(frozen).max(reserved).max(above);
    let life = RoomLife {
        incarnation: incarnation + 1,
        first,
        ceiling: first,
        begun_at: at,
    };
    c.execute(
        "INSERT INTO gw_lives (room, incarnation, first, ceiling, begun_at) VALUES (?1, ?2, ?3, ?3, ?4)
         ON CONFLICT (room) DO UPDATE SET incarnation = ?2, first = ?3, ceiling = ?3, begun_at = ?4",
        params![room, signed(life.incarnation), signed(first), at],
    )?;
    Ok(life)
}

pub(super) fn reserve(
    c: &Connection,
    room: &str,
    incarnation: u64,
    upto: u64,
) -> Result<Option<RoomLife>, Failure> {
    c.prepare_cached(
        "UPDATE gw_lives SET ceiling = MAX(ceiling, ?1) WHERE room = ?2 AND incarnation = ?3",
    )?
    .execute(params![signed(upto), room, signed(incarnation)])?;
    Ok(read(c, room)?.filter(|life| life.incarnation == incarnation))
}

pub(super) fn copy(
    c: &Connection,
    room: &str,
    incarnation: u64,
    rows: &[LineRow],
) -> Result<Option<Copied>, Failure> {
    let Some(life) = read(c, room)?.filter(|life| life.incarnation == incarnation) else {
        return Ok(None);
    };
    let Writes {
        ended,
        used,
        rows,
        copied,
    } = copying::decide(rows, known(c, room, life.ceiling, rows)?);
    for Ended { number, at, void } in ended {
        joins::leave(c, room, number, at, void)?;
    }
    let mut use_up =
        c.prepare_cached("UPDATE gw_codes SET used_by = ?1 WHERE room = ?2 AND code = ?3")?;
    for (code, number) in used {
        use_up.execute(params![signed(number), room, code.0])?;
    }
    let mut insert = c.prepare_cached(
        "INSERT INTO gw_joins (room, number, holder, code, joined_at, left_at, void) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for NewRow {
        join,
        left_at,
        void,
    } in rows.into_values()
    {
        insert.execute(params![
            room,
            signed(join.number),
            join.holder.0,
            join.code.map(|code| code.0),
            join.at,
            left_at,
            void
        ])?;
    }
    Ok(Some(copied))
}

fn known(c: &Connection, room: &str, ceiling: u64, rows: &[LineRow]) -> Result<Known, Failure> {
    let mut known = Known {
        ceiling,
        frozen: draws::read(c, room)?.freeze.map_or(0, |freeze| freeze.n),
        ..Known::default()
    };
    for row in rows {
        let number = match row {
            LineRow::Join(join) => {
                if let Some(place) = joins::place_of(c, room, join.holder)? {
                    let number = place.join.number;
                    known.living.insert(join.holder, number);
                    known.numbers.extend(recorded(c, room, number)?);
                }
                if let Some(code) = join.code {
                    known.codes.extend(used_by(c, room, code)?);
                }
                join.number
            }
            LineRow::Leave { number, .. } => *number,
        };
        known.numbers.extend(recorded(c, room, number)?);
    }
    Ok(known)
}

fn recorded(c: &Connection, room: &str, number: u64) -> Result<Option<(u64, Recorded)>, Failure> {
    let found: Option<(Vec<u8>, bool, bool)> = c
        .prepare_cached(
            "SELECT holder, left_at IS NOT NULL, void FROM gw_joins WHERE room = ?1 AND number = ?2",
        )?
        .query_row(params![room, signed(number)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((holder, left, void)) = found else {
        return Ok(None);
    };
    let recorded = Recorded {
        holder: Holder(bytes32(&holder)?),
        left,
        void,
    };
    Ok(Some((number, recorded)))
}

fn used_by(
    c: &Connection,
    room: &str,
    code: Digest,
) -> Result<Option<(Digest, Option<u64>)>, Failure> {
    let found: Option<Option<i64>> = c
        .prepare_cached("SELECT used_by FROM gw_codes WHERE room = ?1 AND code = ?2")?
        .query_row(params![room, code.0], |row| row.get(0))
        .optional()?;
    found
        .map(|used_by| Ok((code, used_by.map(unsigned).transpose()?)))
        .transpose()
}
