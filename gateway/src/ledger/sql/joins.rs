//! Writes the joins and departures of the in-process store, and reads the line.

use std::collections::HashSet;

use fairgate_databases::{SqlRow, SqlTransaction, ToSqlValue};
use fairgate_pass::{Digest, Holder};
use futures_util::FutureExt;

use super::columns::Result;
use super::{RoomLedger, draws, lives, passes, rooms, stops};
use crate::ledger::{
    JoinRow, LedgerError, LedgerJoinOutcome, NetworkKeys, PassStopCause, StoredLine, StoredPlace,
};

impl RoomLedger {
    /// Reads everything that the room store needs after a restart.
    pub async fn line(&self, room: &str) -> Result<StoredLine> {
        self.installation
            .read_snapshot(room.to_owned(), |tx, room| whole_line(tx, room).boxed())
            .await
    }

    /// Reads what [`RoomLedger::line`] reads, but not the places. [`RoomLedger::places`] reads the
    /// places in parts, so that a long line is never in memory as a whole.
    pub async fn bare_line(&self, room: &str) -> Result<StoredLine> {
        self.installation
            .read_snapshot(room.to_owned(), |tx, room| bare_line(tx, room).boxed())
            .await
    }

    /// Reads at most `max` places with numbers from `from` on, in rising order.
    pub async fn places(&self, room: &str, from: u64, max: u32) -> Result<Vec<StoredPlace>> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                stored_places(tx, room, from, i64::from(max)).boxed()
            })
            .await
    }

    /// Reads the place of a holder, unless the holder has left it.
    pub async fn place_of(&self, room: &str, holder: Holder) -> Result<Option<StoredPlace>> {
        self.installation
            .read(room.to_owned(), move |tx, room| {
                living_place(tx, room, holder).boxed()
            })
            .await
    }

    /// Reads the holders of the numbers 0..n, 32 bytes each. The bytes of a void number, or of a
    /// number without a record, are zeros.
    pub async fn leaves(&self, room: &str, n: u64) -> Result<Vec<u8>> {
        self.installation
            .read_snapshot(room.to_owned(), move |tx, room| {
                stored_leaves(tx, room, n).boxed()
            })
            .await
    }

    /// Removes the networks of at most `max` places that were given before `before` (ms), beginning
    /// at the number `from`. Returns the number at which the next call should begin, or `None` if
    /// no such place is left.
    pub async fn forget_networks(
        &self,
        room: &str,
        from: u64,
        max: u32,
        before: i64,
    ) -> Result<Option<u64>> {
        self.installation
            .write(room.to_owned(), move |tx, room| {
                forget_networks(tx, room, from, max, before).boxed()
            })
            .await
    }
}

/// Writes joins and returns the outcome of each. The caller never passes two joins with the same
/// number, holder or code. If a join is already recorded, its outcome is `Done`, so a repeated
/// write returns the same outcomes.
pub(super) async fn record_joins(
    tx: &SqlTransaction,
    room: &str,
    joins: &[JoinRow],
) -> Result<Vec<Result<LedgerJoinOutcome, LedgerError>>> {
    rooms::lock_for_join(tx, room).await?;
    let coded = if tx.is_postgres() {
        take_codes_fused(tx, room, joins).await?
    } else {
        take_codes(tx, room, joins).await?
    };
    let allowed: Vec<&JoinRow> = joins
        .iter()
        .filter(|join| join.code.is_none() || coded.contains(&join.number))
        .collect();
    let recorded = if tx.is_postgres() {
        insert_joins_fused(tx, room, &allowed).await?
    } else {
        insert_joins(tx, room, &allowed).await?
    };
    let refused = allowed
        .iter()
        .filter(|join| !recorded.contains(&join.number));
    give_codes_back(tx, room, refused.filter_map(|join| join.code)).await?;
    let outcome = |join: &JoinRow| {
        if recorded.contains(&join.number) {
            Ok(LedgerJoinOutcome::Done)
        } else if join.code.is_some() && !coded.contains(&join.number) {
            Ok(LedgerJoinOutcome::CodeRefused)
        } else {
            Err(LedgerError::Unavailable(format!(
                "number {} was not recorded: another holder has this number, or the visitor already has a different one",
                join.number
            )))
        }
    };
    Ok(joins.iter().map(outcome).collect())
}

/// Marks the codes of the joins as used. Returns the numbers of the joins whose code was unused, or
/// was already used by the same number.
async fn take_codes(tx: &SqlTransaction, room: &str, joins: &[JoinRow]) -> Result<HashSet<u64>> {
    let sql = "UPDATE gw_codes SET used_by = $1
         WHERE room = $2 AND code = $3 AND (used_by IS NULL OR used_by = $1)";
    let mut taken = HashSet::new();
    for JoinRow { number, code, .. } in joins {
        if let Some(code) = code
            && tx.execute(sql, &[number, &room, &code.0]).await? == 1
        {
            taken.insert(*number);
        }
    }
    Ok(taken)
}

/// Does what [`take_codes`] does, with one round trip for all joins. The ledger keeps up with many
/// joins only if a group of joins needs few statements.
async fn take_codes_fused(
    tx: &SqlTransaction,
    room: &str,
    joins: &[JoinRow],
) -> Result<HashSet<u64>> {
    let coded = joins
        .iter()
        .filter_map(|join| Some((join.code?.0, join.number)));
    let (codes, numbers): (Vec<[u8; 32]>, Vec<u64>) = coded.unzip();
    if codes.is_empty() {
        return Ok(HashSet::new());
    }
    let sql = "UPDATE gw_codes AS c SET used_by = u.number
         FROM unnest($2::bytea[], $3::bigint[]) AS u(code, number)
         WHERE c.room = $1 AND c.code = u.code AND (c.used_by IS NULL OR c.used_by = u.number)
         RETURNING u.number";
    numbers_of(&tx.query(sql, &[&room, &codes, &numbers]).await?)
}

/// Inserts the joins, and returns the numbers that are now recorded for their holders.
async fn insert_joins(tx: &SqlTransaction, room: &str, joins: &[&JoinRow]) -> Result<HashSet<u64>> {
    let insert = "INSERT INTO gw_joins (room, number, holder, code, joined_at, networks)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let select = "SELECT 1 FROM gw_joins WHERE room = $1 AND number = $2 AND holder = $3";
    let mut recorded = HashSet::with_capacity(joins.len());
    for join in joins {
        let (holder, code) = (join.holder.0, join.code.map(|code| code.0));
        let networks = stored_networks(join);
        let values: [&(dyn ToSqlValue + Sync); 6] =
            [&room, &join.number, &holder, &code, &join.at, &networks];
        let written = tx.execute(insert, &values).await?;
        if written == 1
            || tx
                .first(select, &[&room, &join.number, &holder])
                .await?
                .is_some()
        {
            recorded.insert(join.number);
        }
    }
    Ok(recorded)
}

/// Does what [`insert_joins`] does, with one round trip, or two if not all joins are new.
async fn insert_joins_fused(
    tx: &SqlTransaction,
    room: &str,
    joins: &[&JoinRow],
) -> Result<HashSet<u64>> {
    let numbers: Vec<u64> = joins.iter().map(|join| join.number).collect();
    let holders: Vec<[u8; 32]> = joins.iter().map(|join| join.holder.0).collect();
    let codes: Vec<Option<[u8; 32]>> = joins
        .iter()
        .map(|join| join.code.map(|code| code.0))
        .collect();
    let times: Vec<i64> = joins.iter().map(|join| join.at).collect();
    let networks: Vec<Option<&[u8]>> = joins.iter().map(|join| stored_networks(join)).collect();
    let sql = "INSERT INTO gw_joins (room, number, holder, code, joined_at, networks)
         SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[],
             $6::bytea[])
         ON CONFLICT DO NOTHING";
    let values: [&(dyn ToSqlValue + Sync); 6] =
        [&room, &numbers, &holders, &codes, &times, &networks];
    let written = tx.execute(sql, &values).await?;
    if written == joins.len() as u64 {
        return Ok(numbers.into_iter().collect());
    }
    let sql = "SELECT j.number FROM gw_joins AS j
         JOIN unnest($2::bigint[], $3::bytea[]) AS u(number, holder)
         ON j.number = u.number AND j.holder = u.holder WHERE j.room = $1";
    numbers_of(&tx.query(sql, &[&room, &numbers, &holders]).await?)
}

/// Returns the networks of a join as its row stores them.
pub(super) fn stored_networks(join: &JoinRow) -> Option<&[u8]> {
    Some(join.networks.as_bytes()).filter(|bytes| !bytes.is_empty())
}

fn networks_of_column(bytes: Option<Vec<u8>>) -> Result<NetworkKeys> {
    NetworkKeys::from_bytes(&bytes.unwrap_or_default())
        .ok_or_else(|| LedgerError::Corrupt("the networks of a place".into()))
}

fn numbers_of(rows: &[SqlRow]) -> Result<HashSet<u64>> {
    rows.iter().map(|row| row.get(0)).collect()
}

async fn give_codes_back(
    tx: &SqlTransaction,
    room: &str,
    codes: impl Iterator<Item = Digest>,
) -> Result<()> {
    let codes: Vec<[u8; 32]> = codes.map(|code| code.0).collect();
    if !codes.is_empty() {
        let sql = "UPDATE gw_codes SET used_by = NULL
             WHERE room = $1 AND code = ANY ($2::bytea[])";
        tx.execute(sql, &[&room, &codes]).await?;
    }
    Ok(())
}

pub(super) async fn record_leave(
    tx: &SqlTransaction,
    room: &str,
    number: u64,
    at: i64,
    void: bool,
) -> Result<()> {
    let sql = "UPDATE gw_joins SET left_at = $1, void = $2
         WHERE room = $3 AND number = $4 AND left_at IS NULL";
    tx.execute(sql, &[&at, &void, &room, &number]).await?;
    stops::stop_passes(tx, room, &[number], (PassStopCause::Left, ""), at).await
}

/// Removes the networks of places. First checks whether there are any, because an update makes the
/// writer commit even if it changes nothing.
pub(super) async fn forget_networks(
    tx: &SqlTransaction,
    room: &str,
    from: u64,
    max: u32,
    joined_before: i64,
) -> Result<Option<u64>> {
    let sql = "SELECT number, joined_at < $4, networks IS NOT NULL FROM gw_joins
         WHERE room = $1 AND number >= $2 ORDER BY number LIMIT $3";
    let (mut rows_read, mut end, mut has_networks, mut is_last) = (0, from, false, false);
    for row in tx.query(sql, &[&room, &from, &max, &joined_before]).await? {
        let number: u64 = row.get(0)?;
        if !row.get::<bool>(1)? {
            is_last = true;
            break;
        }
        (rows_read, end) = (rows_read + 1, number + 1);
        has_networks |= row.get::<bool>(2)?;
    }
    if has_networks {
        let sql = "UPDATE gw_joins SET networks = NULL
             WHERE room = $1 AND number >= $2 AND number < $3 AND networks IS NOT NULL";
        tx.execute(sql, &[&room, &from, &end]).await?;
    }
    Ok((!is_last && rows_read == max).then_some(end))
}

pub(super) async fn whole_line(tx: &SqlTransaction, room: &str) -> Result<StoredLine> {
    Ok(StoredLine {
        places: stored_places(tx, room, 0, i64::MAX).await?,
        ..bare_line(tx, room).await?
    })
}

pub(super) async fn bare_line(tx: &SqlTransaction, room: &str) -> Result<StoredLine> {
    let draw = draws::stored_draw(tx, room).await?;
    Ok(StoredLine {
        places: Vec::new(),
        codes: stored_codes(tx, room).await?,
        frozen: draw.freeze.map(|freeze| freeze.n),
        passes: passes::stored_passes(tx, room).await?,
        finished: passes::finished_cursor(tx, room).await?,
        life: lives::current_life(tx, room).await?,
    })
}

const PLACE: &str =
    "number, holder, code, joined_at, left_at IS NOT NULL, void, done_at IS NOT NULL, networks";

pub(super) async fn stored_places(
    tx: &SqlTransaction,
    room: &str,
    from: u64,
    max: i64,
) -> Result<Vec<StoredPlace>> {
    let sql = format!(
        "SELECT {PLACE} FROM gw_joins WHERE room = $1 AND number >= $2 ORDER BY number LIMIT $3"
    );
    let mut places = Vec::new();
    let push_place = |row: SqlRow| {
        places.push(place_of_row(&row)?);
        Ok::<_, LedgerError>(())
    };
    tx.query_each(&sql, &[&room, &from, &max], push_place)
        .await?;
    Ok(places)
}

pub(super) async fn living_place(
    tx: &SqlTransaction,
    room: &str,
    holder: Holder,
) -> Result<Option<StoredPlace>> {
    let sql =
        format!("SELECT {PLACE} FROM gw_joins WHERE room = $1 AND holder = $2 AND left_at IS NULL");
    let row = tx.first(&sql, &[&room, &holder.0]).await?;
    row.as_ref().map(place_of_row).transpose()
}

fn place_of_row(row: &SqlRow) -> Result<StoredPlace> {
    Ok(StoredPlace {
        join: JoinRow {
            number: row.get(0)?,
            holder: Holder(row.get(1)?),
            code: row.get::<Option<_>>(2)?.map(Digest),
            at: row.get(3)?,
            networks: networks_of_column(row.get(7)?)?,
        },
        left: row.get(4)?,
        void: row.get(5)?,
        done: row.get(6)?,
    })
}

async fn stored_codes(tx: &SqlTransaction, room: &str) -> Result<Vec<(Digest, Option<u64>)>> {
    let sql = "SELECT code, used_by FROM gw_codes WHERE room = $1";
    let mut codes = Vec::new();
    let push_code = |row: SqlRow| {
        codes.push((Digest(row.get(0)?), row.get(1)?));
        Ok::<_, LedgerError>(())
    };
    tx.query_each(sql, &[&room], push_code).await?;
    Ok(codes)
}

/// Reads the leaves row by row into one buffer, so that ten million leaves take 320 MB once and not
/// twice.
pub(super) async fn stored_leaves(tx: &SqlTransaction, room: &str, n: u64) -> Result<Vec<u8>> {
    let count =
        usize::try_from(n).map_err(|_| LedgerError::Corrupt("a line beyond memory".into()))?;
    let mut leaves = vec![0; count * 32];
    let sql = "SELECT number, holder FROM gw_joins WHERE room = $1 AND number < $2 AND NOT void";
    let copy_leaf = |row: SqlRow| {
        let (number, holder): (usize, [u8; 32]) = (row.get(0)?, row.get(1)?);
        leaves[number * 32..][..32].copy_from_slice(&holder);
        Ok::<_, LedgerError>(())
    };
    tx.query_each(sql, &[&room, &n], copy_leaf).await?;
    Ok(leaves)
}
