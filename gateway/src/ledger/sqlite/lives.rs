//! The lives of room stores: blocks of numbers reserved ahead, and what the stores gave of them, copied after.

use fairgate_pass::{Digest, Holder};
use fairgate_writer::rusqlite::{Connection, OptionalExtension, Row, params};

use super::{bytes32, draws, joins, signed, unsigned};
use crate::ledger::{Copied, Failure, JoinRow, LineRow, RoomLife};

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

pub(super) fn begin(c: &Connection, room: &str, from: u64, at: i64) -> Result<RoomLife, Failure> {
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
    let first = unsigned(recorded)?.max(frozen).max(reserved);
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
    let frozen = draws::read(c, room)?.freeze.map_or(0, |freeze| freeze.n);
    let mut copied = Copied::default();
    for row in rows {
        match *row {
            LineRow::Join(join) if join.number >= life.ceiling => copied.refused.push(join.number),
            LineRow::Join(join) => copy_join(c, room, &join, frozen, &mut copied)?,
            LineRow::Leave { number, at, void } => {
                joins::leave(c, room, number, at, void && number >= frozen)?;
            }
        }
    }
    Ok(Some(copied.in_order()))
}

fn copy_join(
    c: &Connection,
    room: &str,
    join: &JoinRow,
    frozen: u64,
    copied: &mut Copied,
) -> Result<(), Failure> {
    if let Some((holder, void)) = recorded(c, room, join.number)? {
        if holder != join.holder {
            copied.refused.push(join.number);
        } else if void {
            copied.voided.push(join.number);
        }
        return Ok(());
    }
    if join.number < frozen {
        copied.refused.push(join.number);
        return Ok(());
    }
    let other = joins::place_of(c, room, join.holder)?.map(|place| place.join.number);
    let second = other.is_some_and(|other| other < join.number)
        || code_of_another(c, room, join.number, join.code)?;
    if let Some(higher) = other.filter(|_| !second) {
        joins::leave(c, room, higher, join.at, true)?;
        copied.voided.push(higher);
    }
    c.prepare_cached(
        "INSERT INTO gw_joins (room, number, holder, code, joined_at, left_at, void) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        room,
        signed(join.number),
        join.holder.0,
        join.code.map(|code| code.0),
        join.at,
        second.then_some(join.at),
        second
    ])?;
    if second {
        copied.voided.push(join.number);
    }
    Ok(())
}

/// Whose number it is, and whether it is void by now.
fn recorded(c: &Connection, room: &str, number: u64) -> Result<Option<(Holder, bool)>, Failure> {
    let found: Option<(Vec<u8>, bool)> = c
        .prepare_cached("SELECT holder, void FROM gw_joins WHERE room = ?1 AND number = ?2")?
        .query_row(params![room, signed(number)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    found
        .map(|(holder, void)| Ok((Holder(bytes32(&holder)?), void)))
        .transpose()
}

/// Uses the code up for this number; gives whether another number had it, or the room has no such code.
fn code_of_another(
    c: &Connection,
    room: &str,
    number: u64,
    code: Option<Digest>,
) -> Result<bool, Failure> {
    let Some(code) = code else {
        return Ok(false);
    };
    let used = c
        .prepare_cached(
            "UPDATE gw_codes SET used_by = ?1 WHERE room = ?2 AND code = ?3 AND used_by IS NULL",
        )?
        .execute(params![signed(number), room, code.0])?;
    Ok(used == 0)
}
