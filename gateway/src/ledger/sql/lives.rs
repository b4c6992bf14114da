//! The lives of room stores: blocks of numbers reserved ahead, and what the stores gave of them, copied after.
//!
//! Whatever goes by a room's life holds its row: a copy, a freeze and the beginning of the next life come one after
//! the other, and each sees all of the one before.

use std::collections::HashMap;

use fairgate_databases::Tx;
use fairgate_databases::tokio_postgres::Row;
use fairgate_pass::{Digest, Holder};

use super::{draws, rooms};
use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::copying::{self, Ended, Known, NewRow, Recorded, Writes};
use crate::ledger::{Copied, Failure, LineRow, RoomLife};

const COLUMNS: &str = "room, incarnation, first, ceiling, begun_at";

pub(super) async fn all(tx: &Tx) -> Result<Vec<(String, RoomLife)>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM gw_lives");
    tx.query(&sql, &[]).await?.iter().map(life).collect()
}

pub(super) async fn read(tx: &Tx, room: &str) -> Result<Option<RoomLife>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM gw_lives WHERE room = $1");
    let row = tx.first(&sql, &[&room]).await?;
    Ok(row.as_ref().map(life).transpose()?.map(|(_, life)| life))
}

/// The standing life, held until this transaction ends.
pub(super) async fn locked(tx: &Tx, room: &str) -> Result<Option<RoomLife>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM gw_lives WHERE room = $1 FOR UPDATE");
    let row = tx.first(&sql, &[&room]).await?;
    Ok(row.as_ref().map(life).transpose()?.map(|(_, life)| life))
}

fn life(row: &Row) -> Result<(String, RoomLife), Failure> {
    let life = RoomLife {
        incarnation: unsigned(row.get(1))?,
        first: unsigned(row.get(2))?,
        ceiling: unsigned(row.get(3))?,
        begun_at: row.get(4),
    };
    Ok((row.get(0), life))
}

pub(super) async fn begin(
    tx: &Tx,
    room: &str,
    from: u64,
    above: u64,
    at: i64,
) -> Result<RoomLife, Failure> {
    // The first life has no row yet that could be held.
    tx.first(
        "SELECT 1 FROM gw_rooms WHERE room = $1 FOR NO KEY UPDATE",
        &[&room],
    )
    .await?;
    let standing = locked(tx, room).await?;
    let incarnation = standing.map_or(0, |life| life.incarnation);
    RoomLife::check_from(room, from, incarnation)?;
    if let Some(life) = standing.filter(|life| life.incarnation > from) {
        return Ok(life);
    }
    let sql = "SELECT COALESCE(MAX(number) + 1, 0) FROM gw_joins WHERE room = $1";
    let recorded = unsigned(tx.one(sql, &[&room]).await?.get(0))?;
    let frozen = frozen(tx, room).await?;
    let reserved = standing.map_or(0, |life| life.ceiling);
    let first = recorded.max(frozen).max(reserved).max(above);
    let life = RoomLife {
        incarnation: incarnation + 1,
        first,
        ceiling: first,
        begun_at: at,
    };
    tx.execute(
        "INSERT INTO gw_lives (room, incarnation, first, ceiling, begun_at) VALUES ($1, $2, $3, $3, $4)
         ON CONFLICT (room) DO UPDATE SET incarnation = $2, first = $3, ceiling = $3, begun_at = $4",
        &[&room, &signed(life.incarnation), &signed(first), &at],
    )
    .await?;
    Ok(life)
}

async fn frozen(tx: &Tx, room: &str) -> Result<u64, Failure> {
    let draw = draws::read(tx, room).await?;
    Ok(draw.freeze.map_or(0, |freeze| freeze.n))
}

pub(super) async fn reserve(
    tx: &Tx,
    room: &str,
    incarnation: u64,
    upto: u64,
) -> Result<Option<RoomLife>, Failure> {
    let sql = format!(
        "UPDATE gw_lives SET ceiling = GREATEST(ceiling, $1) WHERE room = $2 AND incarnation = $3 RETURNING {COLUMNS}"
    );
    let with = (signed(upto), signed(incarnation));
    let row = tx.first(&sql, &[&with.0, &room, &with.1]).await?;
    Ok(row.as_ref().map(life).transpose()?.map(|(_, life)| life))
}

pub(super) async fn copy(
    tx: &Tx,
    room: &str,
    incarnation: u64,
    rows: &[LineRow],
) -> Result<Option<Copied>, Failure> {
    rooms::about_to_join(tx, room).await?;
    let standing = locked(tx, room).await?;
    let Some(life) = standing.filter(|life| life.incarnation == incarnation) else {
        return Ok(None);
    };
    let known = known(tx, room, life.ceiling, rows).await?;
    let Writes {
        ended,
        used,
        rows,
        copied,
    } = copying::decide(rows, known);
    end(tx, room, &ended).await?;
    use_up(tx, room, &used).await?;
    insert(tx, room, &rows.into_values().collect::<Vec<_>>()).await?;
    Ok(Some(copied))
}

async fn known(tx: &Tx, room: &str, ceiling: u64, rows: &[LineRow]) -> Result<Known, Failure> {
    let (mut numbers, mut holders, mut codes) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        match row {
            LineRow::Join(join) => {
                numbers.push(signed(join.number));
                holders.push(join.holder.0.as_slice());
                codes.extend(join.code.as_ref().map(|code| code.0.as_slice()));
            }
            LineRow::Leave { number, .. } => numbers.push(signed(*number)),
        }
    }
    let mut known = Known {
        ceiling,
        frozen: frozen(tx, room).await?,
        ..Known::default()
    };
    let sql = "SELECT number, holder, left_at IS NOT NULL, void FROM gw_joins WHERE room = $1 AND number = ANY($2)
         UNION
         SELECT number, holder, FALSE, void FROM gw_joins WHERE room = $1 AND left_at IS NULL AND holder = ANY($3)";
    for row in tx.query(sql, &[&room, &numbers, &holders]).await? {
        let number = unsigned(row.get(0))?;
        let recorded = Recorded {
            holder: Holder(bytes32(row.get(1))?),
            left: row.get(2),
            void: row.get(3),
        };
        if !recorded.left {
            known.living.insert(recorded.holder, number);
        }
        known.numbers.insert(number, recorded);
    }
    if !codes.is_empty() {
        known.codes = used_by(tx, room, &codes).await?;
    }
    Ok(known)
}

async fn used_by(
    tx: &Tx,
    room: &str,
    codes: &[&[u8]],
) -> Result<HashMap<Digest, Option<u64>>, Failure> {
    let sql = "SELECT code, used_by FROM gw_codes WHERE room = $1 AND code = ANY($2)";
    let rows = tx.query(sql, &[&room, &codes]).await?;
    rows.iter()
        .map(|row| {
            let used_by: Option<i64> = row.get(1);
            Ok((
                Digest(bytes32(row.get(0))?),
                used_by.map(unsigned).transpose()?,
            ))
        })
        .collect()
}

async fn end(tx: &Tx, room: &str, ended: &[Ended]) -> Result<(), Failure> {
    if ended.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i64> = ended.iter().map(|end| signed(end.number)).collect();
    let times: Vec<i64> = ended.iter().map(|end| end.at).collect();
    let voids: Vec<bool> = ended.iter().map(|end| end.void).collect();
    tx.execute(
        "UPDATE gw_joins AS j SET left_at = u.at, void = u.void
         FROM unnest($2::bigint[], $3::bigint[], $4::bool[]) AS u(number, at, void)
         WHERE j.room = $1 AND j.number = u.number AND j.left_at IS NULL",
        &[&room, &numbers, &times, &voids],
    )
    .await?;
    Ok(())
}

async fn use_up(tx: &Tx, room: &str, used: &[(Digest, u64)]) -> Result<(), Failure> {
    if used.is_empty() {
        return Ok(());
    }
    let codes: Vec<&[u8]> = used.iter().map(|(code, _)| code.0.as_slice()).collect();
    let numbers: Vec<i64> = used.iter().map(|(_, number)| signed(*number)).collect();
    tx.execute(
        "UPDATE gw_codes AS c SET used_by = u.number FROM unnest($2::bytea[], $3::bigint[]) AS u(code, number)
         WHERE c.room = $1 AND c.code = u.code",
        &[&room, &codes, &numbers],
    )
    .await?;
    Ok(())
}

async fn insert(tx: &Tx, room: &str, rows: &[NewRow]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i64> = rows.iter().map(|row| signed(row.join.number)).collect();
    let holders: Vec<&[u8]> = rows
        .iter()
        .map(|row| row.join.holder.0.as_slice())
        .collect();
    let codes: Vec<Option<&[u8]>> = rows
        .iter()
        .map(|row| row.join.code.as_ref().map(|code| code.0.as_slice()))
        .collect();
    let joined: Vec<i64> = rows.iter().map(|row| row.join.at).collect();
    let left: Vec<Option<i64>> = rows.iter().map(|row| row.left_at).collect();
    let voids: Vec<bool> = rows.iter().map(|row| row.void).collect();
    tx.execute(
        "INSERT INTO gw_joins (room, number, holder, code, joined_at, left_at, void)
         SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bool[])",
        &[&room, &numbers, &holders, &codes, &joined, &left, &voids],
    )
    .await?;
    Ok(())
}
