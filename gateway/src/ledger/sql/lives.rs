//! Writes and reads the lives of rooms in Redis ([`RoomLife`]), reserves their numbers in blocks,
//! and freezes lines.
//!
//! Every transaction that depends on a room's life locks the row of the life. A copy, a freeze and
//! the beginning of the next life therefore run one after the other. Each reads everything that the
//! previous one wrote.

use fairgate_databases::{LedgerSetBack, SqlRow, SqlTransaction};
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;
use futures_util::FutureExt;

use super::columns::{Result, from_json};
use super::{RoomLedger, draws, rooms};
use crate::ledger::{LedgerError, LedgerFreezeOutcome, LineFreeze, RoomLife};

/// A room that has been over for this long (ms) gives no number any more.
const REOPENED_WITHIN_MS: i64 = 24 * 3_600_000;

/// What counts as lacking if nobody can tell how many transactions a ledger file lacks.
const LACKING_UNKNOWN: i64 = 10_000;

/// The most numbers that a process without Redis gives between two raises of a server's counter.
const NUMBERS_A_RAISE: u64 = 20_000;

const COLUMNS: &str = "room, incarnation, first, ceiling, begun_at";

impl RoomLedger {
    /// Begins the next life of a room if the current life is still `from` (0: there is none).
    /// Otherwise returns the current life. The new life's first number is not below the ceiling of
    /// the last life, is above every recorded or frozen number, and is not below `above`. The
    /// caller knows that numbers below `above` may have been given, even if this ledger has lost
    /// some of them. Fails with [`LedgerError::Corrupt`] if this ledger never had the life `from`,
    /// because it is then an older copy or another ledger.
    pub async fn begin_life(&self, room: &str, from: u64, above: u64, at: i64) -> Result<RoomLife> {
        self.installation
            .write(room.to_owned(), move |tx, room| {
                begin_life(tx, room, from, above, at).boxed()
            })
            .await
    }

    /// Allows a life to give numbers below `upto`, and returns the life with its new ceiling. Never
    /// lowers the ceiling. Returns `None` if another life has begun.
    pub async fn reserve(
        &self,
        room: &str,
        incarnation: u64,
        upto: u64,
    ) -> Result<Option<RoomLife>> {
        self.installation
            .write(room.to_owned(), move |tx, room| {
                reserve_numbers(tx, room, incarnation, upto).boxed()
            })
            .await
    }

    /// Makes the numbers void that may have been given after the commits that a ledger lacks which
    /// went back, so that none is given twice. In a file, each lost commit gave at most one number.
    /// On a server, the counter is raised once a second, and a process gives at most
    /// [`NUMBERS_A_RAISE`] numbers in between. Returns how many numbers of each room are void. The
    /// ledger is one whose numbers this process gives itself: Redis knows its own.
    pub async fn void_lost_numbers(&self) -> Result<u64> {
        let Some(newest) = self.installation.last_set_back().await? else {
            return Ok(0);
        };
        self.installation
            .write(newest, |tx, newest| void_lost(tx, *newest).boxed())
            .await
    }

    /// Reads the lives of all rooms that have one.
    pub async fn lives(&self) -> Result<Vec<(String, RoomLife)>> {
        self.installation
            .read((), |tx, ()| all_lives(tx).boxed())
            .await
    }
}

async fn void_lost(tx: &SqlTransaction, set_back: LedgerSetBack) -> Result<u64> {
    // A restored ledger may also have been found behind a counter outside it, so all count.
    let sql = "SELECT COALESCE(SUM(CASE WHEN lacking = 0 THEN $1 ELSE lacking END), 0)::bigint \
         FROM ledger_set_backs \
         WHERE counter > (SELECT counter FROM gw_set_back)";
    let lacking: u64 = tx.query_one(sql, &[&LACKING_UNKNOWN]).await?.get(0)?;
    let sql = "UPDATE gw_set_back SET counter = $1 WHERE counter < $1";
    if tx.execute(sql, &[&set_back.counter]).await? == 0 {
        return Ok(0);
    }
    let voided = match tx.is_postgres() {
        true => lacking.saturating_mul(NUMBERS_A_RAISE),
        false => lacking,
    };
    for row in tx
        .query("SELECT room, document, facts FROM gw_rooms", &[])
        .await?
    {
        let room: &str = row.get(0)?;
        if is_long_over(row.get(1)?, row.get(2)?, set_back.noticed_at_ms)? {
            continue;
        }
        let current = locked_life(tx, room).await?;
        let from = current.map_or(0, |life| life.incarnation);
        let above = next_number(tx, room, current).await? + voided;
        begin_life(tx, room, from, above, set_back.noticed_at_ms).await?;
    }
    Ok(voided)
}

/// Returns whether a room has been over for so long at `now` (ms) that nobody reopens it.
pub(super) fn is_long_over(document: &str, facts: &str, now: i64) -> Result<bool> {
    let document: RoomDocument = from_json(document)?;
    let facts: RoomFacts = from_json(facts)?;
    let over_from = facts.closed_at.or(document.closes_at);
    Ok(over_from.is_some_and(|from| from < now - REOPENED_WITHIN_MS))
}

/// Returns a number that is above every recorded, frozen or reserved number of a room.
async fn next_number(tx: &SqlTransaction, room: &str, current: Option<RoomLife>) -> Result<u64> {
    let sql = "SELECT COALESCE(MAX(number) + 1, 0) FROM gw_joins WHERE room = $1";
    let recorded: u64 = tx.query_one(sql, &[&room]).await?.get(0)?;
    let frozen = draws::frozen_below(tx, room).await?;
    let reserved = current.map_or(0, |life| life.ceiling);
    Ok(recorded.max(frozen).max(reserved))
}

pub(super) async fn all_lives(tx: &SqlTransaction) -> Result<Vec<(String, RoomLife)>> {
    let sql = format!("SELECT {COLUMNS} FROM gw_lives");
    let rows = tx.query(&sql, &[]).await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, life_of_row(row)?)))
        .collect()
}

pub(super) async fn current_life(tx: &SqlTransaction, room: &str) -> Result<Option<RoomLife>> {
    let sql = format!("SELECT {COLUMNS} FROM gw_lives WHERE room = $1");
    let row = tx.first(&sql, &[&room]).await?;
    row.as_ref().map(life_of_row).transpose()
}

/// Reads the current life and locks it until this transaction ends.
pub(super) async fn locked_life(tx: &SqlTransaction, room: &str) -> Result<Option<RoomLife>> {
    let sql = format!("SELECT {COLUMNS} FROM gw_lives WHERE room = $1 FOR UPDATE");
    let row = tx.first(&sql, &[&room]).await?;
    row.as_ref().map(life_of_row).transpose()
}

fn life_of_row(row: &SqlRow) -> Result<RoomLife> {
    Ok(RoomLife {
        incarnation: row.get(1)?,
        first: row.get(2)?,
        ceiling: row.get(3)?,
        begun_at: row.get(4)?,
    })
}

pub(super) async fn begin_life(
    tx: &SqlTransaction,
    room: &str,
    from: u64,
    above: u64,
    at: i64,
) -> Result<RoomLife> {
    // A room without a life has no row of a life to lock, so the room's row is locked, too.
    rooms::lock_room_row(tx, room, "FOR NO KEY UPDATE").await?;
    let current = locked_life(tx, room).await?;
    let incarnation = current.map_or(0, |life| life.incarnation);
    RoomLife::check_from(room, from, incarnation)?;
    if let Some(life) = current.filter(|life| life.incarnation > from) {
        return Ok(life);
    }
    let first = next_number(tx, room, current).await?.max(above);
    let life = RoomLife {
        incarnation: incarnation + 1,
        first,
        ceiling: first,
        begun_at: at,
    };
    let sql = "INSERT INTO gw_lives (room, incarnation, first, ceiling, begun_at)
         VALUES ($1, $2, $3, $3, $4)
         ON CONFLICT (room) DO UPDATE SET incarnation = $2, first = $3, ceiling = $3, begun_at = $4";
    tx.execute(sql, &[&room, &life.incarnation, &first, &at])
        .await?;
    Ok(life)
}

pub(super) async fn reserve_numbers(
    tx: &SqlTransaction,
    room: &str,
    incarnation: u64,
    upto: u64,
) -> Result<Option<RoomLife>> {
    let sql = format!(
        "UPDATE gw_lives SET ceiling = GREATEST(ceiling, $1) WHERE room = $2 AND incarnation = $3
         RETURNING {COLUMNS}"
    );
    let row = tx.first(&sql, &[&upto, &room, &incarnation]).await?;
    row.as_ref().map(life_of_row).transpose()
}

/// Freezes the line under the lock of the room's life. A batch that is copied at the same time is
/// therefore written either before or after the freeze. After the freeze, a batch can add no number
/// below `freeze.n`.
pub(super) async fn freeze_line(
    tx: &SqlTransaction,
    room: &str,
    freeze: LineFreeze,
    life: Option<u64>,
) -> Result<LedgerFreezeOutcome> {
    let current = locked_life(tx, room).await?;
    if let Some(stored_freeze) = draws::stored_draw(tx, room).await?.freeze {
        return Ok(LedgerFreezeOutcome::Stands(stored_freeze));
    }
    if let Some(incarnation) = life {
        let Some(life) = current.filter(|life| life.incarnation == incarnation) else {
            return Ok(LedgerFreezeOutcome::OtherLife);
        };
        if freeze.at < life.freezes_from() {
            return Ok(LedgerFreezeOutcome::NotBefore(life.freezes_from()));
        }
    }
    let sql = "INSERT INTO gw_draws (room, n, frozen_at) VALUES ($1, $2, $3)
         ON CONFLICT (room) DO NOTHING";
    tx.execute(sql, &[&room, &freeze.n, &freeze.at]).await?;
    let stored_freeze = draws::stored_draw(tx, room).await?.freeze;
    stored_freeze
        .map(LedgerFreezeOutcome::Stands)
        .ok_or_else(|| LedgerError::Corrupt("the freeze was not stored".into()))
}
