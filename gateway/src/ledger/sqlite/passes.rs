//! Claimed passes and finished visitors.

use fairgate_databases::rusqlite::{Connection, OptionalExtension, params};
use fairgate_pass::Holder;

use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::{Failure, PassRow};

pub(super) fn claim(
    c: &Connection,
    room: &str,
    fresh: PassRow,
    now_s: i64,
) -> Result<PassRow, Failure> {
    let live: Option<(i64, Vec<u8>, i64, i64, String)> = c
        .prepare_cached(
            "SELECT rank, holder, iat, exp, jti FROM gw_passes WHERE room = ?1 AND number = ?2 AND exp > ?3",
        )?
        .query_row(params![room, signed(fresh.number), now_s], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })
        .optional()?;
    if let Some((rank, holder, iat, exp, jti)) = live {
        let (rank, holder) = (unsigned(rank)?, Holder(bytes32(&holder)?));
        return Ok(PassRow {
            number: fresh.number,
            rank,
            holder,
            iat,
            exp,
            jti,
        });
    }
    c.prepare_cached(
        "INSERT INTO gw_passes (room, number, rank, holder, iat, exp, jti) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (room, number) DO UPDATE SET rank = ?3, holder = ?4, iat = ?5, exp = ?6, jti = ?7",
    )?
    .execute(params![
        room,
        signed(fresh.number),
        signed(fresh.rank),
        fresh.holder.0,
        fresh.iat,
        fresh.exp,
        fresh.jti
    ])?;
    Ok(fresh)
}

pub(super) fn finish(
    c: &Connection,
    room: &str,
    cursor: u64,
    holders: &[Holder],
    at: i64,
) -> Result<(), Failure> {
    let mut mark = c.prepare_cached(
        "UPDATE gw_joins SET done_at = ?1 WHERE room = ?2 AND holder = ?3 AND left_at IS NULL AND done_at IS NULL",
    )?;
    // Whoever left with a pass could buy with it all the same. Apart, because each half has its own index.
    let mut mark_left = c.prepare_cached(
        "UPDATE gw_joins SET done_at = ?1 WHERE room = ?2 AND holder = ?3 AND left_at IS NOT NULL AND done_at IS NULL
         AND EXISTS (SELECT 1 FROM gw_passes AS p WHERE p.room = gw_joins.room AND p.number = gw_joins.number)",
    )?;
    for holder in holders {
        mark.execute(params![at, room, holder.0])?;
        mark_left.execute(params![at, room, holder.0])?;
    }
    c.execute(
        "UPDATE gw_rooms SET finished_cursor = MAX(finished_cursor, ?1) WHERE room = ?2",
        params![signed(cursor), room],
    )?;
    Ok(())
}

pub(super) fn cursor(c: &Connection, room: &str) -> Result<u64, Failure> {
    let cursor: Option<i64> = c
        .query_row(
            "SELECT finished_cursor FROM gw_rooms WHERE room = ?1",
            [room],
            |row| row.get(0),
        )
        .optional()?;
    unsigned(cursor.unwrap_or_default())
}
