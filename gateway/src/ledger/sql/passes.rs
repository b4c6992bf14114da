//! Claimed passes and finished visitors.

use fairgate_databases::Tx;
use fairgate_pass::Holder;

use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::{Failure, PassRow};

/// Two nodes that write one number's pass at once wait for one another on its row: the second finds the first's alive.
pub(super) async fn claim(
    tx: &Tx,
    room: &str,
    fresh: &PassRow,
    now_s: i64,
) -> Result<PassRow, Failure> {
    let (number, rank) = (signed(fresh.number), signed(fresh.rank));
    let written = tx
        .execute(
            "INSERT INTO gw_passes AS p (room, number, rank, holder, iat, exp, jti) VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (room, number) DO UPDATE
             SET rank = excluded.rank, holder = excluded.holder, iat = excluded.iat, exp = excluded.exp, jti = excluded.jti
             WHERE p.exp <= $8",
            &[
                &room,
                &number,
                &rank,
                &fresh.holder.0.as_slice(),
                &fresh.iat,
                &fresh.exp,
                &fresh.jti,
                &now_s,
            ],
        )
        .await?;
    if written == 1 {
        return Ok(fresh.clone());
    }
    let sql = "SELECT rank, holder, iat, exp, jti FROM gw_passes WHERE room = $1 AND number = $2";
    let live = tx.one(sql, &[&room, &number]).await?;
    Ok(PassRow {
        number: fresh.number,
        rank: unsigned(live.get(0))?,
        holder: Holder(bytes32(live.get(1))?),
        iat: live.get(2),
        exp: live.get(3),
        jti: live.get(4),
    })
}

/// In the order of their numbers, so that two nodes that finish the same visitors cannot wait for each other.
pub(super) async fn finish(
    tx: &Tx,
    room: &str,
    cursor: u64,
    holders: &[Holder],
    at: i64,
) -> Result<(), Failure> {
    let holders: Vec<&[u8]> = holders.iter().map(|holder| holder.0.as_slice()).collect();
    if !holders.is_empty() {
        // Whoever left with a pass could buy with it all the same.
        tx.execute(
            "UPDATE gw_joins SET done_at = $1 WHERE room = $2 AND number IN (
                 SELECT number FROM gw_joins AS j
                 WHERE room = $2 AND holder = ANY($3) AND done_at IS NULL AND (left_at IS NULL OR EXISTS (
                     SELECT 1 FROM gw_passes AS p WHERE p.room = j.room AND p.number = j.number))
                 ORDER BY number FOR UPDATE)",
            &[&at, &room, &holders],
        )
        .await?;
    }
    tx.execute(
        "UPDATE gw_rooms SET finished_cursor = $1 WHERE room = $2 AND finished_cursor < $1",
        &[&signed(cursor), &room],
    )
    .await?;
    Ok(())
}

pub(super) async fn cursor(tx: &Tx, room: &str) -> Result<u64, Failure> {
    let sql = "SELECT finished_cursor FROM gw_rooms WHERE room = $1";
    let row = tx.first(sql, &[&room]).await?;
    unsigned(row.map_or(0, |row| row.get(0)))
}

/// Number and expiry of each stored pass.
pub(super) async fn all(tx: &Tx, room: &str) -> Result<Vec<(u64, i64)>, Failure> {
    let sql = "SELECT number, exp FROM gw_passes WHERE room = $1";
    let rows = tx.query(sql, &[&room]).await?;
    rows.iter()
        .map(|row| Ok((unsigned(row.get(0))?, row.get(1))))
        .collect()
}
