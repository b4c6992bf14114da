//! Records passes that were stopped, and the ends of rooms. The newest cursor is in the row with
//! the catalogue's version, and each change locks that row. So a node that reads a cursor also
//! finds all rows up to it.

use fairgate_databases::SqlTransaction;

use super::Ledger;
use super::rows::Result;
use crate::ledger::{NewStops, RoomEnd, StoppedPassRow};

/// The passes that were stopped.
impl Ledger {
    /// Records that these passes of a room were stopped. Each pass is given as its join number and
    /// its expiry (unix seconds). If a pass is recorded already, its row stays as it is. Rows of
    /// passes that expired at `accepted_after_s` or earlier are deleted.
    pub async fn stop_passes(
        &self,
        room: &str,
        passes: Vec<(u64, i64)>,
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
    passes: &[(u64, i64)],
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
        let sql = "INSERT INTO stopped_passes (room, number, expires_s, seq)
             VALUES ($1, $2, $3, $4) ON CONFLICT (room, number) DO NOTHING";
        for (number, expires_s) in passes {
            tx.execute(sql, &[&room, number, expires_s, &seq]).await?;
        }
    }
    let sql = "DELETE FROM stopped_passes WHERE expires_s <= $1";
    tx.execute(sql, &[&accepted_after_s]).await?;
    Ok(())
}

/// Inserts all passes in one round trip instead of one for each, because a room that is closed may
/// have thousands.
async fn insert_fused(
    tx: &SqlTransaction,
    room: &str,
    passes: &[(u64, i64)],
    seq: u64,
) -> Result<()> {
    let (numbers, expiries): (Vec<u64>, Vec<i64>) = passes.iter().copied().unzip();
    let sql = "INSERT INTO stopped_passes (room, number, expires_s, seq)
         SELECT $1, u.number, u.expires_s, $4
         FROM unnest($2::bigint[], $3::bigint[]) AS u(number, expires_s)
         ON CONFLICT (room, number) DO NOTHING";
    tx.execute(sql, &[&room, &numbers, &expiries, &seq]).await?;
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
    let sql = "SELECT room, number, expires_s, seq FROM stopped_passes WHERE seq > $1 ORDER BY seq";
    for row in tx.query(sql, &[&passes]).await? {
        stops.passes.push(StoppedPassRow {
            room: row.get(0)?,
            number: row.get(1)?,
            expires_s: row.get(2)?,
        });
        stops.cursor = row.get(3)?;
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
