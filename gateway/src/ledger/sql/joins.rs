//! The line itself: joins of a store without lives, leavings, and what a restart reads back.

use std::collections::HashSet;
use std::pin::pin;

use fairgate_databases::tokio_postgres::Row;
use fairgate_databases::{LedgerError, Tx};
use fairgate_pass::{Digest, Holder};
use futures_util::TryStreamExt;

use super::{draws, lives, passes, rooms};
use crate::ledger::columns::{bytes32, signed, unsigned};
use crate::ledger::{Failure, JoinRecorded, JoinRow, StoredLine, StoredPlace};

/// Writes joins with different numbers, holders and codes, and says what became of each. Written again it says the
/// same: a join that stands already is done.
pub(super) async fn record(
    tx: &Tx,
    room: &str,
    joins: &[JoinRow],
) -> Result<Vec<Result<JoinRecorded, Failure>>, Failure> {
    rooms::about_to_join(tx, room).await?;
    let coded = take_codes(tx, room, joins).await?;
    let allowed: Vec<&JoinRow> = joins
        .iter()
        .filter(|join| join.code.is_none() || coded.contains(&join.number))
        .collect();
    let stand = insert(tx, room, &allowed).await?;
    let fallen = allowed.iter().filter(|join| !stand.contains(&join.number));
    give_codes_back(tx, room, fallen.filter_map(|join| join.code)).await?;
    let outcome = |join: &JoinRow| {
        if stand.contains(&join.number) {
            Ok(JoinRecorded::Done)
        } else if join.code.is_some() && !coded.contains(&join.number) {
            Ok(JoinRecorded::CodeRefused)
        } else {
            Err(Failure::Unavailable(format!(
                "number {} was not taken: it is somebody's, or its holder has another",
                join.number
            )))
        }
    };
    Ok(joins.iter().map(outcome).collect())
}

/// The numbers whose codes are theirs now.
async fn take_codes(tx: &Tx, room: &str, joins: &[JoinRow]) -> Result<HashSet<u64>, Failure> {
    let coded = joins
        .iter()
        .filter_map(|join| Some((join.code.as_ref()?, join.number)));
    let (codes, numbers): (Vec<&[u8]>, Vec<i64>) = coded
        .map(|(code, number)| (code.0.as_slice(), signed(number)))
        .unzip();
    if codes.is_empty() {
        return Ok(HashSet::new());
    }
    let taken = tx
        .query(
            "UPDATE gw_codes AS c SET used_by = u.number FROM unnest($2::bytea[], $3::bigint[]) AS u(code, number)
             WHERE c.room = $1 AND c.code = u.code AND (c.used_by IS NULL OR c.used_by = u.number)
             RETURNING u.number",
            &[&room, &codes, &numbers],
        )
        .await?;
    taken.iter().map(|row| unsigned(row.get(0))).collect()
}

/// The numbers that stand now.
async fn insert(tx: &Tx, room: &str, joins: &[&JoinRow]) -> Result<HashSet<u64>, Failure> {
    let numbers: Vec<i64> = joins.iter().map(|join| signed(join.number)).collect();
    let holders: Vec<&[u8]> = joins.iter().map(|join| join.holder.0.as_slice()).collect();
    let codes: Vec<Option<&[u8]>> = joins
        .iter()
        .map(|join| join.code.as_ref().map(|code| code.0.as_slice()))
        .collect();
    let times: Vec<i64> = joins.iter().map(|join| join.at).collect();
    let written = tx
        .execute(
            "INSERT INTO gw_joins (room, number, holder, code, joined_at)
             SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[]) ON CONFLICT DO NOTHING",
            &[&room, &numbers, &holders, &codes, &times],
        )
        .await?;
    if written == joins.len() as u64 {
        return Ok(joins.iter().map(|join| join.number).collect());
    }
    let rows = tx
        .query(
            "SELECT j.number FROM gw_joins AS j JOIN unnest($2::bigint[], $3::bytea[]) AS u(number, holder)
             ON j.number = u.number AND j.holder = u.holder WHERE j.room = $1",
            &[&room, &numbers, &holders],
        )
        .await?;
    rows.iter().map(|row| unsigned(row.get(0))).collect()
}

async fn give_codes_back(
    tx: &Tx,
    room: &str,
    codes: impl Iterator<Item = Digest>,
) -> Result<(), Failure> {
    let codes: Vec<Vec<u8>> = codes.map(|code| code.0.to_vec()).collect();
    if !codes.is_empty() {
        tx.execute(
            "UPDATE gw_codes SET used_by = NULL WHERE room = $1 AND code = ANY($2)",
            &[&room, &codes],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn leave(
    tx: &Tx,
    room: &str,
    number: u64,
    at: i64,
    void: bool,
) -> Result<(), Failure> {
    tx.execute(
        "UPDATE gw_joins SET left_at = $1, void = $2 WHERE room = $3 AND number = $4 AND left_at IS NULL",
        &[&at, &void, &room, &signed(number)],
    )
    .await?;
    Ok(())
}

pub(super) async fn line(tx: &Tx, room: &str) -> Result<StoredLine, Failure> {
    Ok(StoredLine {
        places: places(tx, room, 0, i64::MAX).await?,
        ..bare_line(tx, room).await?
    })
}

pub(super) async fn bare_line(tx: &Tx, room: &str) -> Result<StoredLine, Failure> {
    let draw = draws::read(tx, room).await?;
    Ok(StoredLine {
        places: Vec::new(),
        codes: codes(tx, room).await?,
        frozen: draw.freeze.map(|freeze| freeze.n),
        passes: passes::all(tx, room).await?,
        finished: passes::cursor(tx, room).await?,
        life: lives::read(tx, room).await?,
    })
}

const PLACE: &str =
    "number, holder, code, joined_at, left_at IS NOT NULL, void, done_at IS NOT NULL";

pub(super) async fn places(
    tx: &Tx,
    room: &str,
    from: u64,
    max: i64,
) -> Result<Vec<StoredPlace>, Failure> {
    let sql = format!(
        "SELECT {PLACE} FROM gw_joins WHERE room = $1 AND number >= $2 ORDER BY number LIMIT $3"
    );
    let mut rows = pin!(tx.stream(&sql, &[&room, &signed(from), &max]).await?);
    let mut places = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(LedgerError::from)? {
        places.push(place(&row)?);
    }
    Ok(places)
}

pub(super) async fn place_of(
    tx: &Tx,
    room: &str,
    holder: Holder,
) -> Result<Option<StoredPlace>, Failure> {
    let sql =
        format!("SELECT {PLACE} FROM gw_joins WHERE room = $1 AND holder = $2 AND left_at IS NULL");
    let row = tx.first(&sql, &[&room, &holder.0.as_slice()]).await?;
    row.as_ref().map(place).transpose()
}

fn place(row: &Row) -> Result<StoredPlace, Failure> {
    let code: Option<&[u8]> = row.get(2);
    Ok(StoredPlace {
        join: JoinRow {
            number: unsigned(row.get(0))?,
            holder: Holder(bytes32(row.get(1))?),
            code: code.map(bytes32).transpose()?.map(Digest),
            at: row.get(3),
        },
        left: row.get(4),
        void: row.get(5),
        done: row.get(6),
    })
}

async fn codes(tx: &Tx, room: &str) -> Result<Vec<(Digest, Option<u64>)>, Failure> {
    let sql = "SELECT code, used_by FROM gw_codes WHERE room = $1";
    let mut rows = pin!(tx.stream(sql, &[&room]).await?);
    let mut codes = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(LedgerError::from)? {
        let used_by: Option<i64> = row.get(1);
        codes.push((
            Digest(bytes32(row.get(0))?),
            used_by.map(unsigned).transpose()?,
        ));
    }
    Ok(codes)
}

/// Row by row into the one buffer: ten million of them are 320 MB once, and never twice.
pub(super) async fn leaves(tx: &Tx, room: &str, n: u64) -> Result<Vec<u8>, Failure> {
    let count = usize::try_from(n).map_err(|_| Failure::Corrupt("a line beyond memory".into()))?;
    let mut leaves = vec![0; count * 32];
    let sql = "SELECT number, holder FROM gw_joins WHERE room = $1 AND number < $2 AND NOT void";
    let mut rows = pin!(tx.stream(sql, &[&room, &signed(n)]).await?);
    while let Some(row) = rows.try_next().await.map_err(LedgerError::from)? {
        let number = usize::try_from(row.get::<_, i64>(0))
            .map_err(|_| Failure::Corrupt("a negative number".into()))?;
        leaves[number * 32..][..32].copy_from_slice(&bytes32(row.get(1))?);
    }
    Ok(leaves)
}
