//! Writes and reads claimed passes and finished visitors.

use fairgate_databases::SqlTransaction;
use fairgate_pass::Holder;
use futures_util::FutureExt;

use super::RoomLedger;
use super::columns::Result;
use super::stops::unknown_stop_cause;
use crate::ledger::{LedgerClaimOutcome, PassRow, PassStopCause};

impl RoomLedger {
    /// Returns the stored pass of the number if it has not expired at `now_s`. Otherwise stores
    /// `fresh` and returns it. A place that has ended gets no pass.
    pub async fn claim(
        &self,
        room: &str,
        fresh: PassRow,
        now_s: i64,
    ) -> Result<LedgerClaimOutcome> {
        self.installation
            .write((room.to_owned(), fresh), move |tx, (room, fresh)| {
                claim_pass(tx, room, fresh, now_s).boxed()
            })
            .await
    }

    /// Returns the last pass that was claimed for a number, even if it has expired or was stopped.
    pub async fn last_pass(&self, room: &str, number: u64) -> Result<Option<PassRow>> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                last_pass(tx, room, number).boxed()
            })
            .await
    }

    /// Marks visitors as done, and moves the cursor of finished orders in the same transaction.
    pub async fn finish(&self, room: &str, cursor: u64, holders: &[Holder], at: i64) -> Result<()> {
        let arguments = (room.to_owned(), holders.to_vec());
        self.installation
            .write(arguments, move |tx, (room, holders)| {
                finish_visitors(tx, room, cursor, holders, at).boxed()
            })
            .await
    }
}

/// Returns the stored pass of a number if it has not expired. Otherwise stores `fresh` and returns
/// it, unless the place has ended. If two nodes write a pass of one number at once, the second node
/// waits for the row and then finds the pass of the first.
pub(super) async fn claim_pass(
    tx: &SqlTransaction,
    room: &str,
    fresh: &PassRow,
    now_s: i64,
) -> Result<LedgerClaimOutcome> {
    let sql = "INSERT INTO gw_passes AS p (room, number, rank, holder, iat, exp, jti)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (room, number) DO UPDATE SET rank = excluded.rank, holder = excluded.holder,
             iat = excluded.iat, exp = excluded.exp, jti = excluded.jti
         WHERE p.exp <= $8 AND p.stopped_at IS NULL";
    let written = tx
        .execute(
            sql,
            &[
                &room,
                &fresh.number,
                &fresh.rank,
                &fresh.holder.0,
                &fresh.iat,
                &fresh.exp,
                &fresh.jti,
                &now_s,
            ],
        )
        .await?;
    if written == 1 {
        return Ok(LedgerClaimOutcome::Claimed(fresh.clone()));
    }
    let sql = "SELECT rank, holder, iat, exp, jti, stop_cause FROM gw_passes
         WHERE room = $1 AND number = $2";
    let stored_row = tx.query_one(sql, &[&room, &fresh.number]).await?;
    let stopped: Option<String> = stored_row.get(5)?;
    if let Some(cause_text) = stopped {
        let cause = PassStopCause::parse(&cause_text).ok_or_else(unknown_stop_cause)?;
        return Ok(LedgerClaimOutcome::Stopped(cause));
    }
    Ok(LedgerClaimOutcome::Claimed(PassRow {
        number: fresh.number,
        rank: stored_row.get(0)?,
        holder: Holder(stored_row.get(1)?),
        iat: stored_row.get(2)?,
        exp: stored_row.get(3)?,
        jti: stored_row.get(4)?,
    }))
}

/// Returns the last pass of a number. A row with the expiry 0 is not a pass: it only records that
/// its place has ended.
async fn last_pass(tx: &SqlTransaction, room: &str, number: u64) -> Result<Option<PassRow>> {
    let sql = "SELECT rank, holder, iat, exp, jti FROM gw_passes
         WHERE room = $1 AND number = $2 AND exp > 0";
    let Some(row) = tx.first(sql, &[&room, &number]).await? else {
        return Ok(None);
    };
    Ok(Some(PassRow {
        number,
        rank: row.get(0)?,
        holder: Holder(row.get(1)?),
        iat: row.get(2)?,
        exp: row.get(3)?,
        jti: row.get(4)?,
    }))
}

pub(super) async fn finish_visitors(
    tx: &SqlTransaction,
    room: &str,
    cursor: u64,
    holders: &[Holder],
    at: i64,
) -> Result<()> {
    if tx.is_postgres() {
        mark_done_fused(tx, room, holders, at).await?;
    } else {
        mark_done(tx, room, holders, at).await?;
    }
    let sql = "UPDATE gw_rooms SET finished_cursor = $1 WHERE room = $2 AND finished_cursor < $1";
    tx.execute(sql, &[&cursor, &room]).await?;
    Ok(())
}

/// Marks the places of each holder as done: the place that the holder has now, and every place that
/// had a pass before the holder left it. The holder could still buy with such a pass. Runs two
/// statements for each holder, because places that were left have an index of their own. SQLite
/// would use no index for a list of holders.
async fn mark_done(tx: &SqlTransaction, room: &str, holders: &[Holder], at: i64) -> Result<()> {
    let living = "UPDATE gw_joins SET done_at = $1
         WHERE room = $2 AND holder = $3 AND left_at IS NULL AND done_at IS NULL";
    let left = "UPDATE gw_joins SET done_at = $1
         WHERE room = $2 AND holder = $3 AND left_at IS NOT NULL AND done_at IS NULL AND EXISTS (
             SELECT 1 FROM gw_passes AS p
             WHERE p.room = gw_joins.room AND p.number = gw_joins.number AND p.exp > 0)";
    for holder in holders {
        tx.execute(living, &[&at, &room, &holder.0]).await?;
        tx.execute(left, &[&at, &room, &holder.0]).await?;
    }
    Ok(())
}

/// Does what [`mark_done`] does, with one round trip. Locks the rows in the order of their numbers.
/// Two nodes that finish the same visitors therefore cannot deadlock.
async fn mark_done_fused(
    tx: &SqlTransaction,
    room: &str,
    holders: &[Holder],
    at: i64,
) -> Result<()> {
    if holders.is_empty() {
        return Ok(());
    }
    let holders: Vec<[u8; 32]> = holders.iter().map(|holder| holder.0).collect();
    let sql = "UPDATE gw_joins SET done_at = $1 WHERE room = $2 AND number IN (
             SELECT number FROM gw_joins AS j
             WHERE room = $2 AND holder = ANY($3) AND done_at IS NULL AND (left_at IS NULL OR EXISTS (
                 SELECT 1 FROM gw_passes AS p
                 WHERE p.room = j.room AND p.number = j.number AND p.exp > 0))
             ORDER BY number FOR UPDATE)";
    tx.execute(sql, &[&at, &room, &holders]).await?;
    Ok(())
}

pub(super) async fn finished_cursor(tx: &SqlTransaction, room: &str) -> Result<u64> {
    let sql = "SELECT finished_cursor FROM gw_rooms WHERE room = $1";
    match tx.first(sql, &[&room]).await? {
        Some(row) => Ok(row.get(0)?),
        None => Ok(0),
    }
}

/// Reads the number and the expiry of each stored pass. A row with the expiry 0 is not a pass: it
/// only records that its place has ended.
pub(super) async fn stored_passes(tx: &SqlTransaction, room: &str) -> Result<Vec<(u64, i64)>> {
    let sql = "SELECT number, exp FROM gw_passes WHERE room = $1 AND exp > 0";
    let rows = tx.query(sql, &[&room]).await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}
