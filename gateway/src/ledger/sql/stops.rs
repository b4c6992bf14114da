//! Stops passes before they expire. A place that has ended has a row of its own in `gw_passes`,
//! even if it never had a pass. A claim and the end of its place therefore write the same row.
//! Whichever comes second waits for the first and reads what the first wrote.

use fairgate_databases::{SqlRow, SqlTransaction, ToSqlValue};
use fairgate_pass::Holder;
use futures_util::FutureExt;

use super::columns::Result;
use super::visits::ended_visits;
use super::{RoomLedger, notes};
use crate::ledger::{
    LedgerError, NetworkKeys, NewPassStops, PassStopCause, PlaceSelection, RoomAuditEntry,
    StoppedPass,
};

impl RoomLedger {
    /// Returns the numbers of the living places that a selection names. The ledger must have every
    /// place, so the caller copies the line first.
    pub async fn selected_places(&self, room: &str, selection: PlaceSelection) -> Result<Vec<u64>> {
        self.installation
            .read((room.to_owned(), selection), |tx, (room, selection)| {
                selected_places(tx, room, selection).boxed()
            })
            .await
    }

    /// Returns the living places with numbers from `from` on and below `below`, at most `max`.
    pub async fn living_places(
        &self,
        room: &str,
        from: u64,
        below: u64,
        max: u32,
    ) -> Result<Vec<u64>> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                living_places(tx, room, from, below, max).boxed()
            })
            .await
    }

    /// Returns the first number above all recorded numbers.
    pub async fn next_number(&self, room: &str) -> Result<u64> {
        self.installation
            .read(room.to_owned(), |tx, room| next_number(tx, room).boxed())
            .await
    }

    /// Ends these places and stops their passes, for the promoter. Their leaves stay in the draw.
    /// `cause` is the reason and the note for the visitors. Writes `entry` in the same transaction.
    /// Returns how many places were living. A place that has ended already stays as it is.
    pub async fn revoke_places(
        &self,
        room: &str,
        numbers: Vec<u64>,
        cause: (PassStopCause, String),
        at: i64,
        entry: Option<RoomAuditEntry>,
    ) -> Result<u64> {
        let arguments = (room.to_owned(), numbers, cause, entry);
        self.installation
            .write(
                arguments,
                move |tx, (room, numbers, (cause, note), entry)| {
                    let cause = (*cause, note.as_str());
                    revoke_places(tx, room, numbers, cause, at, entry.as_ref()).boxed()
                },
            )
            .await
    }

    /// Stops the passes of all numbers below `below`, except passes that have expired at `now`
    /// (ms). `cause` is the reason and the note for the visitors.
    pub async fn stop_open_passes(
        &self,
        room: &str,
        below: u64,
        cause: (PassStopCause, String),
        now: i64,
    ) -> Result<()> {
        self.installation
            .write(
                (room.to_owned(), cause),
                move |tx, (room, (cause, note))| {
                    stop_open_passes(tx, room, below, (*cause, note), now).boxed()
                },
            )
            .await
    }

    /// Reads what was stopped after the cursor `after`: the passes that have not expired at
    /// `now_s`, all places that the promoter revoked, and the visits that ended early and whose
    /// passes have not expired.
    pub async fn stopped_passes(&self, room: &str, after: u64, now_s: i64) -> Result<NewPassStops> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                stopped_passes(tx, room, after, now_s).boxed()
            })
            .await
    }
}

/// Stops the passes of these places. Announces to all nodes only the passes that could still be
/// used, and the places that the promoter revoked.
pub(super) async fn stop_passes(
    tx: &SqlTransaction,
    room: &str,
    numbers: &[u64],
    (cause, note): (PassStopCause, &str),
    at: i64,
) -> Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO gw_passes AS p (room, number, rank, holder, iat, exp, jti, stopped_at,
             stop_cause, stop_note)
         SELECT room, number, 0, holder, $3, 0, '', $3, $4, $5 FROM gw_joins
         WHERE room = $1 AND number = ANY ($2::bigint[])
         ON CONFLICT (room, number) DO UPDATE SET stopped_at = excluded.stopped_at,
             stop_cause = excluded.stop_cause, stop_note = excluded.stop_note
         WHERE p.stopped_at IS NULL
         RETURNING number, exp";
    let now_s = at.div_euclid(1000);
    let mut announced: Vec<u64> = Vec::new();
    let values: [&(dyn ToSqlValue + Sync); 5] = [&room, &numbers, &at, &cause.as_str(), &note];
    for row in tx.query(sql, &values).await? {
        if cause == PassStopCause::Revoked || row.get::<i64>(1)? > now_s {
            announced.push(row.get(0)?);
        }
    }
    if announced.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE gw_rooms SET stop_seq = stop_seq + 1 WHERE room = $1 RETURNING stop_seq";
    let seq: u64 = tx.query_one(sql, &[&room]).await?.get(0)?;
    let sql = "UPDATE gw_passes SET stop_seq = $3
         WHERE room = $1 AND number = ANY ($2::bigint[])";
    tx.execute(sql, &[&room, &announced, &seq]).await?;
    Ok(())
}

pub(super) async fn stop_open_passes(
    tx: &SqlTransaction,
    room: &str,
    below: u64,
    cause: (PassStopCause, &str),
    now: i64,
) -> Result<()> {
    let sql = "SELECT number FROM gw_passes
         WHERE room = $1 AND exp > $2 AND number < $3 AND stopped_at IS NULL ORDER BY number";
    let below = i64::try_from(below).unwrap_or(i64::MAX);
    let rows = tx
        .query(sql, &[&room, &now.div_euclid(1000), &below])
        .await?;
    let numbers = rows
        .iter()
        .map(|row| row.get(0))
        .collect::<Result<Vec<u64>, _>>()?;
    stop_passes(tx, room, &numbers, cause, now).await
}

pub(super) async fn revoke_places(
    tx: &SqlTransaction,
    room: &str,
    numbers: &[u64],
    cause: (PassStopCause, &str),
    at: i64,
    entry: Option<&RoomAuditEntry>,
) -> Result<u64> {
    // The leaf does not become void, not even before the freeze. Otherwise the promoter could
    // choose the outcome of the draw by revoking places.
    let sql = "UPDATE gw_joins SET left_at = $3
         WHERE room = $1 AND number = ANY ($2::bigint[]) AND left_at IS NULL RETURNING number";
    let rows = tx.query(sql, &[&room, &numbers, &at]).await?;
    let mut ended = rows
        .iter()
        .map(|row| row.get(0))
        .collect::<Result<Vec<u64>, _>>()?;
    ended.sort_unstable();
    stop_passes(tx, room, &ended, cause, at).await?;
    let count = ended.len() as u64;
    if count > 0 {
        let sql = "UPDATE gw_rooms SET revoked = revoked + $2 WHERE room = $1";
        tx.execute(sql, &[&room, &count]).await?;
    }
    if let Some(entry) = entry {
        notes::append_entry(tx, room, entry).await?;
    }
    Ok(count)
}

pub(super) async fn selected_places(
    tx: &SqlTransaction,
    room: &str,
    selection: &PlaceSelection,
) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    match selection {
        PlaceSelection::Holder(holder) => {
            let sql = "SELECT number FROM gw_joins
                 WHERE room = $1 AND holder = $2 AND left_at IS NULL";
            for row in tx.query(sql, &[&room, &holder.0]).await? {
                numbers.push(row.get(0)?);
            }
        }
        PlaceSelection::Code(code) => {
            let sql = "SELECT j.number FROM gw_codes AS c
                 JOIN gw_joins AS j ON j.room = c.room AND j.number = c.used_by
                 WHERE c.room = $1 AND c.code = $2 AND j.left_at IS NULL";
            for row in tx.query(sql, &[&room, &code.0]).await? {
                numbers.push(row.get(0)?);
            }
        }
        PlaceSelection::Networks(keys) => {
            let sql = "SELECT number, networks FROM gw_joins
                 WHERE room = $1 AND left_at IS NULL AND networks IS NOT NULL ORDER BY number";
            let keep = |row: SqlRow| {
                let stored: Vec<u8> = row.get(1)?;
                let of_place = NetworkKeys::from_bytes(&stored).unwrap_or_default();
                if of_place.as_slice().iter().any(|key| keys.contains(key)) {
                    numbers.push(row.get(0)?);
                }
                Ok::<_, LedgerError>(())
            };
            tx.query_each(sql, &[&room], keep).await?;
        }
    }
    Ok(numbers)
}

pub(super) async fn living_places(
    tx: &SqlTransaction,
    room: &str,
    from: u64,
    below: u64,
    max: u32,
) -> Result<Vec<u64>> {
    let sql = "SELECT number FROM gw_joins
         WHERE room = $1 AND number >= $2 AND number < $3 AND left_at IS NULL
         ORDER BY number LIMIT $4";
    let rows = tx.query(sql, &[&room, &from, &below, &max]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

pub(super) async fn next_number(tx: &SqlTransaction, room: &str) -> Result<u64> {
    let sql = "SELECT number FROM gw_joins WHERE room = $1 ORDER BY number DESC LIMIT 1";
    match tx.first(sql, &[&room]).await? {
        Some(row) => Ok(row.get::<u64>(0)? + 1),
        None => Ok(0),
    }
}

/// The failure for a cause that this version does not know.
pub(super) fn unknown_stop_cause() -> LedgerError {
    LedgerError::Corrupt("an unknown cause of a stopped pass".into())
}

pub(super) async fn stopped_passes(
    tx: &SqlTransaction,
    room: &str,
    after: u64,
    now_s: i64,
) -> Result<NewPassStops> {
    let sql = "SELECT number, holder, exp, stop_cause, stop_seq, stop_note FROM gw_passes
         WHERE room = $1 AND stop_seq > $2 ORDER BY stop_seq";
    let (mut cursor, mut stopped) = (after, Vec::new());
    for row in tx.query(sql, &[&room, &after]).await? {
        let word: String = row.get(3)?;
        let cause = PassStopCause::parse(&word).ok_or_else(unknown_stop_cause)?;
        let exp: i64 = row.get(2)?;
        cursor = row.get(4)?;
        if cause == PassStopCause::Revoked || exp > now_s {
            stopped.push(StoppedPass {
                number: row.get(0)?,
                holder: Holder(row.get(1)?),
                exp,
                cause,
                note: row.get(5)?,
            });
        }
    }
    let mut ended = Vec::new();
    for (seq, visit) in ended_visits(tx, room, after, now_s).await? {
        cursor = cursor.max(seq);
        ended.push(visit);
    }
    Ok(NewPassStops {
        cursor,
        stopped,
        ended,
    })
}
