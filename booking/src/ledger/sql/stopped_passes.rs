//! Records passes that were stopped, and the ends of rooms. The newest cursor is in the row with
//! the catalogue's version, and each change locks that row. So a node that reads a cursor also
//! finds all rows up to it.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_pass::VisitEndCause;

use super::Ledger;
use super::rows::Result;
use crate::ledger::{EndedVisit, LedgerError, NewStops, PassStop, RoomEnd, StoppedPassRow};

/// The passes that were stopped.
impl Ledger {
    /// Records that these passes of a room were stopped. If a pass of the same number is recorded
    /// already, its row is replaced only if that visit has ended and this pass is newer, or the
    /// visitor gets no other pass. Rows of passes that expired at `accepted_after_s` or earlier are
    /// deleted.
    pub async fn stop_passes(
        &self,
        room: &str,
        passes: Vec<PassStop>,
        accepted_after_s: i64,
    ) -> Result<()> {
        self.installation
            .write((room.to_owned(), passes), move |tx, (room, passes)| {
                Box::pin(stop_passes(tx, room, passes, accepted_after_s))
            })
            .await
    }

    /// Records the ends of rooms. An end whose version is not newer than the recorded one changes
    /// nothing.
    pub async fn end_rooms(&self, ends: Vec<RoomEnd>) -> Result<()> {
        self.installation
            .write(ends, |tx, ends| Box::pin(end_rooms(tx, ends)))
            .await
    }

    /// Returns the passes that were stopped after the cursor `passes`, the ends of rooms that were
    /// recorded after the cursor `ends`, and the new cursors. A later commit always has a larger
    /// cursor. For the cursor 0, returns all that is recorded.
    pub async fn stops_after(&self, (passes, ends): (u64, u64)) -> Result<NewStops> {
        self.installation
            .read((), move |tx, ()| Box::pin(stops_after(tx, passes, ends)))
            .await
    }
}

async fn stop_passes(
    tx: &SqlTransaction,
    room: &str,
    passes: &[PassStop],
    accepted_after_s: i64,
) -> Result<()> {
    if passes.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE catalogue_version SET stops = stops + 1 RETURNING stops";
    let seq: u64 = tx.query_one(sql, &[]).await?.get(0)?;
    if tx.is_postgres() {
        insert_fused(tx, room, passes, seq).await?;
    } else {
        let sql = format!(
            "INSERT INTO stopped_passes AS s (room, number, expires_s, issued_s, visit_end, seq)
             VALUES ($1, $2, $3, $4, $5, $6) {REPLACES_OLDER}"
        );
        for stop in passes {
            let (issued_s, cause) = visit_columns(stop);
            let values: [&(dyn ToSqlValue + Sync); 6] = [
                &room,
                &stop.number,
                &stop.expires_s,
                &issued_s,
                &cause,
                &seq,
            ];
            tx.execute(&sql, &values).await?;
        }
    }
    let sql = "DELETE FROM stopped_passes WHERE expires_s <= $1";
    tx.execute(sql, &[&accepted_after_s]).await?;
    Ok(())
}

/// Replaces the row of an earlier visit. A row without a visit stays for good.
const REPLACES_OLDER: &str = "ON CONFLICT (room, number) DO UPDATE SET
         expires_s = excluded.expires_s, issued_s = excluded.issued_s,
         visit_end = excluded.visit_end, seq = excluded.seq
     WHERE s.issued_s IS NOT NULL
         AND (excluded.issued_s IS NULL OR excluded.issued_s > s.issued_s)";

/// Returns when a visit's pass was issued and why the visit ended, for their columns.
fn visit_columns(stop: &PassStop) -> (Option<i64>, Option<String>) {
    let cause = stop.visit.map(|visit| visit.cause.as_str().to_owned());
    (stop.visit.map(|visit| visit.issued_s), cause)
}

/// Inserts all passes in one round trip instead of one for each, because a room that is closed may
/// have thousands.
async fn insert_fused(
    tx: &SqlTransaction,
    room: &str,
    passes: &[PassStop],
    seq: u64,
) -> Result<()> {
    let numbers: Vec<u64> = passes.iter().map(|stop| stop.number).collect();
    let expiries: Vec<i64> = passes.iter().map(|stop| stop.expires_s).collect();
    // A time of -1 and an empty word stand for NULL.
    let visits = passes.iter().map(visit_columns);
    let (issued, causes): (Vec<i64>, Vec<String>) = visits
        .map(|(issued_s, cause)| (issued_s.unwrap_or(-1), cause.unwrap_or_default()))
        .unzip();
    let sql = format!(
        "INSERT INTO stopped_passes AS s (room, number, expires_s, issued_s, visit_end, seq)
         SELECT $1, u.number, u.expires_s, NULLIF(u.issued_s, -1), NULLIF(u.visit_end, ''), $6
         FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
             AS u(number, expires_s, issued_s, visit_end) {REPLACES_OLDER}"
    );
    let values: [&(dyn ToSqlValue + Sync); 6] =
        [&room, &numbers, &expiries, &issued, &causes, &seq];
    tx.execute(&sql, &values).await?;
    Ok(())
}

async fn end_rooms(tx: &SqlTransaction, ends: &[RoomEnd]) -> Result<()> {
    let sql = "UPDATE catalogue_version SET stops = stops + 1 RETURNING stops";
    let seq: u64 = tx.query_one(sql, &[]).await?.get(0)?;
    let sql = "INSERT INTO room_ends AS e (room, version, over_from, seq) VALUES ($1, $2, $3, $4)
         ON CONFLICT (room) DO UPDATE SET version = excluded.version,
             over_from = excluded.over_from, seq = excluded.seq
         WHERE e.version < excluded.version";
    for end in ends {
        tx.execute(sql, &[&end.room, &end.version, &end.over_from_ms, &seq])
            .await?;
    }
    Ok(())
}

async fn stops_after(tx: &SqlTransaction, passes: u64, ends: u64) -> Result<NewStops> {
    let mut stops = NewStops {
        cursor: passes,
        ends_cursor: ends,
        ..NewStops::default()
    };
    let sql = "SELECT room, number, expires_s, seq, issued_s, visit_end FROM stopped_passes
         WHERE seq > $1 ORDER BY seq";
    for row in tx.query(sql, &[&passes]).await? {
        stops.cursor = row.get(3)?;
        stops.passes.push(StoppedPassRow {
            room: row.get(0)?,
            pass: PassStop {
                number: row.get(1)?,
                expires_s: row.get(2)?,
                visit: read_visit(row.get(4)?, row.get(5)?)?,
            },
        });
    }
    let sql = "SELECT room, version, over_from, seq FROM room_ends WHERE seq > $1 ORDER BY seq";
    for row in tx.query(sql, &[&ends]).await? {
        stops.ends.push(RoomEnd {
            room: row.get(0)?,
            version: row.get(1)?,
            over_from_ms: row.get(2)?,
        });
        stops.ends_cursor = row.get(3)?;
    }
    Ok(stops)
}

/// Reads the visit that ended from its columns.
fn read_visit(issued_s: Option<i64>, cause: Option<String>) -> Result<Option<EndedVisit>> {
    let (Some(issued_s), Some(cause)) = (issued_s, cause) else {
        return Ok(None);
    };
    let cause = VisitEndCause::parse(&cause);
    let cause = cause.ok_or_else(|| LedgerError::Corrupt("an unknown end of a visit".into()))?;
    Ok(Some(EndedVisit { issued_s, cause }))
}
