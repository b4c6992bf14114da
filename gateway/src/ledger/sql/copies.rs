//! Copies joins and departures from Redis into the ledger. For each batch, it looks up what the
//! ledger has recorded, decides what to write, and writes it.
//!
//! A batch has up to a thousand rows. On PostgreSQL each step is one statement, because a batch
//! would take seconds with a round trip for each row. On a SQLite file a statement costs no round
//! trip.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_pass::{Digest, Holder};
use futures_util::FutureExt;

use super::columns::Result;
use super::{RoomLedger, draws, joins, lives, rooms, stops};
use crate::ledger::copying::{
    self, EndedPlace, LineWrites, NewPlaceRow, RecordedLineState, RecordedNumber,
};
use crate::ledger::{LineCopyOutcome, LineFeedEntry, PassStopCause};

impl RoomLedger {
    /// Copies joins and departures of the life `incarnation` from Redis into the ledger. Copying
    /// the same rows again is harmless. If a holder has two living numbers, the lower one stays
    /// valid. If two holders joined with one code, the number that was copied first stays valid and
    /// keeps the code. The number that was copied later becomes void. Returns `None` and writes
    /// nothing if another life has begun.
    pub async fn copy_line(
        &self,
        room: &str,
        incarnation: u64,
        rows: Vec<LineFeedEntry>,
    ) -> Result<Option<LineCopyOutcome>> {
        self.installation
            .write((room.to_owned(), rows), move |tx, (room, rows)| {
                copy_line(tx, room, incarnation, rows).boxed()
            })
            .await
    }
}

pub(super) async fn copy_line(
    tx: &SqlTransaction,
    room: &str,
    incarnation: u64,
    rows: &[LineFeedEntry],
) -> Result<Option<LineCopyOutcome>> {
    rooms::lock_for_join(tx, room).await?;
    let current = lives::locked_life(tx, room).await?;
    let Some(life) = current.filter(|life| life.incarnation == incarnation) else {
        return Ok(None);
    };
    let state = recorded_state(tx, room, life.ceiling, rows).await?;
    let LineWrites {
        ended,
        used,
        rows,
        copied,
    } = copying::decide(rows, state);
    let rows: Vec<NewPlaceRow> = rows.into_values().collect();
    if tx.is_postgres() {
        end_places_fused(tx, room, &ended).await?;
        use_codes_up_fused(tx, room, &used).await?;
        insert_rows_fused(tx, room, &rows).await?;
    } else {
        end_places(tx, room, &ended).await?;
        use_codes_up(tx, room, &used).await?;
        insert_rows(tx, room, &rows).await?;
    }
    stop_passes_of_ended(tx, room, &ended, &rows).await?;
    Ok(Some(copied))
}

async fn recorded_state(
    tx: &SqlTransaction,
    room: &str,
    ceiling: u64,
    rows: &[LineFeedEntry],
) -> Result<RecordedLineState> {
    let (mut numbers, mut holders, mut codes) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        match row {
            LineFeedEntry::Join(join) => {
                numbers.push(join.number);
                holders.push(join.holder.0);
                codes.extend(join.code.map(|code| code.0));
            }
            LineFeedEntry::Leave { number, .. } => numbers.push(*number),
        }
    }
    let mut state = RecordedLineState {
        ceiling,
        frozen: draws::frozen_below(tx, room).await?,
        ..RecordedLineState::default()
    };
    if tx.is_postgres() {
        look_up_places_fused(tx, room, &numbers, &holders, &mut state).await?;
    } else {
        look_up_places(tx, room, &numbers, &holders, &mut state).await?;
    }
    if !codes.is_empty() {
        let sql = "SELECT code, used_by FROM gw_codes WHERE room = $1 AND code = ANY ($2::bytea[])";
        for row in tx.query(sql, &[&room, &codes]).await? {
            state.codes.insert(Digest(row.get(0)?), row.get(1)?);
        }
    }
    Ok(state)
}

/// Uses one statement for each number and for each holder. For a list of holders, SQLite would read
/// the whole line.
async fn look_up_places(
    tx: &SqlTransaction,
    room: &str,
    numbers: &[u64],
    holders: &[[u8; 32]],
    state: &mut RecordedLineState,
) -> Result<()> {
    let sql = "SELECT holder, left_at IS NOT NULL, void FROM gw_joins
         WHERE room = $1 AND number = $2";
    for number in numbers {
        if let Some(row) = tx.first(sql, &[&room, number]).await? {
            let recorded = RecordedNumber {
                holder: Holder(row.get(0)?),
                left: row.get(1)?,
                void: row.get(2)?,
            };
            state.add_place(*number, recorded);
        }
    }
    for holder in holders {
        if let Some(place) = joins::living_place(tx, room, Holder(*holder)).await? {
            let recorded = RecordedNumber {
                holder: place.join.holder,
                left: place.left,
                void: place.void,
            };
            state.add_place(place.join.number, recorded);
        }
    }
    Ok(())
}

async fn look_up_places_fused(
    tx: &SqlTransaction,
    room: &str,
    numbers: &[u64],
    holders: &[[u8; 32]],
    state: &mut RecordedLineState,
) -> Result<()> {
    let sql = "SELECT number, holder, left_at IS NOT NULL, void FROM gw_joins
         WHERE room = $1 AND number = ANY ($2)
         UNION
         SELECT number, holder, FALSE, void FROM gw_joins
         WHERE room = $1 AND left_at IS NULL AND holder = ANY ($3)";
    for row in tx.query(sql, &[&room, &numbers, &holders]).await? {
        let recorded = RecordedNumber {
            holder: Holder(row.get(1)?),
            left: row.get(2)?,
            void: row.get(3)?,
        };
        state.add_place(row.get(0)?, recorded);
    }
    Ok(())
}

/// Stops the passes of the recorded places that end now, and of the new rows whose places have
/// ended already.
async fn stop_passes_of_ended(
    tx: &SqlTransaction,
    room: &str,
    ended: &[EndedPlace],
    rows: &[NewPlaceRow],
) -> Result<()> {
    let copied = rows
        .iter()
        .filter_map(|row| row.left_at.map(|at| (row.join.number, at)));
    let mut ended: Vec<(u64, i64)> = ended.iter().map(|end| (end.number, end.at)).collect();
    ended.extend(copied);
    ended.sort_unstable();
    let Some(at) = ended.iter().map(|(_, at)| *at).min() else {
        return Ok(());
    };
    let numbers: Vec<u64> = ended.iter().map(|(number, _)| *number).collect();
    stops::stop_passes(tx, room, &numbers, (PassStopCause::Left, ""), at).await
}

async fn end_places(tx: &SqlTransaction, room: &str, ended: &[EndedPlace]) -> Result<()> {
    let sql = "UPDATE gw_joins SET left_at = $1, void = $2
         WHERE room = $3 AND number = $4 AND left_at IS NULL";
    for EndedPlace { number, at, void } in ended {
        tx.execute(sql, &[at, void, &room, number]).await?;
    }
    Ok(())
}

async fn end_places_fused(tx: &SqlTransaction, room: &str, ended: &[EndedPlace]) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let numbers: Vec<u64> = ended.iter().map(|end| end.number).collect();
    let times: Vec<i64> = ended.iter().map(|end| end.at).collect();
    let voids: Vec<bool> = ended.iter().map(|end| end.void).collect();
    let sql = "UPDATE gw_joins AS j SET left_at = u.at, void = u.void
         FROM unnest($2::bigint[], $3::bigint[], $4::bool[]) AS u(number, at, void)
         WHERE j.room = $1 AND j.number = u.number AND j.left_at IS NULL";
    tx.execute(sql, &[&room, &numbers, &times, &voids]).await?;
    Ok(())
}

async fn use_codes_up(tx: &SqlTransaction, room: &str, used: &[(Digest, u64)]) -> Result<()> {
    let sql = "UPDATE gw_codes SET used_by = $1 WHERE room = $2 AND code = $3";
    for (code, number) in used {
        tx.execute(sql, &[number, &room, &code.0]).await?;
    }
    Ok(())
}

async fn use_codes_up_fused(tx: &SqlTransaction, room: &str, used: &[(Digest, u64)]) -> Result<()> {
    if used.is_empty() {
        return Ok(());
    }
    let codes: Vec<[u8; 32]> = used.iter().map(|(code, _)| code.0).collect();
    let numbers: Vec<u64> = used.iter().map(|(_, number)| *number).collect();
    let sql = "UPDATE gw_codes AS c SET used_by = u.number
         FROM unnest($2::bytea[], $3::bigint[]) AS u(code, number)
         WHERE c.room = $1 AND c.code = u.code";
    tx.execute(sql, &[&room, &codes, &numbers]).await?;
    Ok(())
}

async fn insert_rows(tx: &SqlTransaction, room: &str, rows: &[NewPlaceRow]) -> Result<()> {
    let sql = "INSERT INTO gw_joins (room, number, holder, code, joined_at, left_at, void,
             networks)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    for row in rows {
        let join = &row.join;
        let (holder, code) = (join.holder.0, join.code.map(|code| code.0));
        tx.execute(
            sql,
            &[
                &room,
                &join.number,
                &holder,
                &code,
                &join.at,
                &row.left_at,
                &row.void,
                &joins::stored_networks(join),
            ],
        )
        .await?;
    }
    Ok(())
}

async fn insert_rows_fused(tx: &SqlTransaction, room: &str, rows: &[NewPlaceRow]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let numbers: Vec<u64> = rows.iter().map(|row| row.join.number).collect();
    let holders: Vec<[u8; 32]> = rows.iter().map(|row| row.join.holder.0).collect();
    let codes: Vec<Option<[u8; 32]>> = rows
        .iter()
        .map(|row| row.join.code.map(|code| code.0))
        .collect();
    let joined: Vec<i64> = rows.iter().map(|row| row.join.at).collect();
    let left: Vec<Option<i64>> = rows.iter().map(|row| row.left_at).collect();
    let voids: Vec<bool> = rows.iter().map(|row| row.void).collect();
    let networks: Vec<Option<&[u8]>> = rows
        .iter()
        .map(|row| joins::stored_networks(&row.join))
        .collect();
    let sql = "INSERT INTO gw_joins (room, number, holder, code, joined_at, left_at, void,
             networks)
         SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[],
             $6::bigint[], $7::bool[], $8::bytea[])";
    let values: [&(dyn ToSqlValue + Sync); 8] = [
        &room, &numbers, &holders, &codes, &joined, &left, &voids, &networks,
    ];
    tx.execute(sql, &values).await?;
    Ok(())
}
