//! Deletes old data. Each kind is first only read. A writing transaction begins only if there may
//! be something to delete or to note.

use fairgate_databases::{SqlDialect, SqlRow, SqlTransaction};

use super::Ledger;
use super::rows::Result;
use crate::ledger::PruneOutcome;
use crate::retention::{RetentionKind, RetentionRow, old_among};

/// One batch deletes seat rows of at most this many shows.
const SHOWS_MAX: u32 = 20;

/// The statements that find and delete rows through an index on their time. `$1` is the time before
/// which rows are old. In `delete`, `$2` is the largest number of rows to delete.
struct PruneByAgeSql {
    find: &'static str,
    delete: &'static str,
}

/// The statements that find and delete rows whose ids grow in the order in which the rows were
/// made.
struct PruneInOrderSql {
    find: &'static str,
    delete: &'static str,
}

const GIVEN_UP_TRIES: PruneByAgeSql = PruneByAgeSql {
    find: "SELECT 1 FROM given_up WHERE at < $1 LIMIT 1",
    delete: "DELETE FROM given_up WHERE hold = ANY (ARRAY (SELECT hold FROM given_up \
         WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))",
};

const WAITERS: PruneByAgeSql = PruneByAgeSql {
    find: "SELECT 1 FROM waiters WHERE ended_at < $1 LIMIT 1",
    delete: "DELETE FROM waiters WHERE waiter = ANY (ARRAY (SELECT waiter FROM waiters \
         WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
};

/// Returns the statements for stored answers, whose key has two columns.
fn answers(dialect: SqlDialect) -> PruneByAgeSql {
    PruneByAgeSql {
        find: "SELECT 1 FROM kept_answers WHERE kept_at < $1 LIMIT 1",
        delete: match dialect {
            SqlDialect::Sqlite => {
                "DELETE FROM kept_answers WHERE (scope, key) IN (SELECT scope, key \
                 FROM kept_answers WHERE kept_at < $1 ORDER BY kept_at LIMIT $2)"
            }
            // The array makes the subquery run once, whichever query plan the database chooses.
            SqlDialect::Postgres => {
                "DELETE FROM kept_answers WHERE ctid = ANY (ARRAY (SELECT ctid FROM kept_answers \
                 WHERE kept_at < $1 ORDER BY kept_at LIMIT $2 FOR UPDATE SKIP LOCKED))"
            }
        },
    }
}

const EFFECTS: PruneInOrderSql = PruneInOrderSql {
    find: "SELECT effect, done_at FROM effects WHERE effect > $1 ORDER BY effect LIMIT $2",
    delete: "DELETE FROM effects WHERE effect = ANY ($1) AND done_at < $2",
};

fn provider_events(dialect: SqlDialect) -> PruneInOrderSql {
    match dialect {
        SqlDialect::Sqlite => PruneInOrderSql {
            find: "SELECT rowid, settled_at FROM provider_events WHERE rowid > $1 \
                 ORDER BY rowid LIMIT $2",
            delete: "DELETE FROM provider_events WHERE rowid = ANY ($1) AND settled_at < $2",
        },
        SqlDialect::Postgres => PruneInOrderSql {
            find: "SELECT position, settled_at FROM provider_events WHERE position > $1 \
                 ORDER BY position LIMIT $2",
            delete: "DELETE FROM provider_events WHERE position = ANY ($1) AND settled_at < $2",
        },
    }
}

/// The deletion of data whose retention period is over.
impl Ledger {
    /// Deletes up to `batch_max` rows of one kind whose retention period is over at `now_ms`,
    /// oldest first. `after` is 0 in the first call, and later the previous batch's
    /// [`PruneOutcome::next`]. Some rows stay, however old they are: owed effects, unsettled
    /// events, undelivered seat rows and waiting parties.
    pub async fn prune(
        &self,
        kind: RetentionKind,
        after: i64,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<PruneOutcome> {
        let before_ms = kind.before_ms(now_ms);
        let dialect = self.installation.dialect();
        let from = (after, before_ms);
        match kind {
            RetentionKind::Answers => {
                self.prune_by_age(answers(dialect), before_ms, batch_max)
                    .await
            }
            RetentionKind::GivenUpTries => {
                self.prune_by_age(GIVEN_UP_TRIES, before_ms, batch_max)
                    .await
            }
            RetentionKind::Waiters => self.prune_by_age(WAITERS, before_ms, batch_max).await,
            RetentionKind::SeatRows => self.prune_seat_rows(before_ms, now_ms, batch_max).await,
            RetentionKind::Finished => self.prune_finished(before_ms, now_ms, batch_max).await,
            RetentionKind::Effects => self.prune_in_order(EFFECTS, from, batch_max).await,
            RetentionKind::ProviderEvents => {
                self.prune_in_order(provider_events(dialect), from, batch_max)
                    .await
            }
        }
    }
}

impl Ledger {
    /// Deletes rows through an index on their time.
    async fn prune_by_age(
        &self,
        rows: PruneByAgeSql,
        before_ms: i64,
        batch_max: u32,
    ) -> Result<PruneOutcome> {
        let PruneByAgeSql { find, delete } = rows;
        let old = self.installation.read((), move |tx, ()| {
            Box::pin(async move { tx.first(find, &[&before_ms]).await })
        });
        if old.await?.is_none() {
            return Ok(PruneOutcome::default());
        }
        self.installation
            .write((), move |tx, ()| {
                Box::pin(async move {
                    let rows = tx.execute(delete, &[&before_ms, &batch_max]).await?;
                    Ok(PruneOutcome::full_or_last(rows, batch_max))
                })
            })
            .await
    }

    /// Deletes rows whose ids grow in the order in which the rows were made.
    async fn prune_in_order(
        &self,
        rows: PruneInOrderSql,
        (after, before_ms): (i64, i64),
        batch_max: u32,
    ) -> Result<PruneOutcome> {
        let PruneInOrderSql { find, delete } = rows;
        let looked = self.installation.read((), move |tx, ()| {
            Box::pin(async move {
                let rows = tx.query(find, &[&after, &batch_max]).await?;
                let read = |row: &SqlRow| Ok((row.get(0)?, row.get(1)?));
                rows.iter().map(read).collect::<Result<Vec<RetentionRow>>>()
            })
        });
        let (old, next) = old_among(&looked.await?, before_ms, batch_max);
        if old.is_empty() {
            return Ok(PruneOutcome { rows: 0, next });
        }
        self.installation
            .write(old, move |tx, old| {
                Box::pin(async move {
                    let rows = tx.execute(delete, &[old, &before_ms]).await?;
                    Ok(PruneOutcome { rows, next })
                })
            })
            .await
    }

    async fn prune_seat_rows(
        &self,
        before_ms: i64,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<PruneOutcome> {
        let shows = self.installation.read((), move |tx, ()| {
            Box::pin(async move {
                let sql = "SELECT show FROM seat_marks WHERE delivered > pruned \
                     AND noted_at <= $1 ORDER BY noted_at LIMIT $2";
                let rows = tx.query(sql, &[&before_ms, &SHOWS_MAX]).await?;
                rows.iter()
                    .map(|row| row.get(0))
                    .collect::<Result<Vec<String>>>()
            })
        });
        let mut shows = shows.await?;
        // The transactions that number seat rows lock shows in the same order.
        shows.sort();
        if shows.is_empty() {
            return Ok(PruneOutcome::default());
        }
        self.installation
            .write(shows, move |tx, shows| {
                Box::pin(async move {
                    let mut rows = 0;
                    for show in shows {
                        let rows_left = i64::from(batch_max) - rows;
                        if rows_left <= 0 {
                            break;
                        }
                        rows += prune_seat_rows_of(tx, show, now_ms, rows_left).await?;
                    }
                    Ok(PruneOutcome {
                        rows: rows.unsigned_abs(),
                        next: Some(0),
                    })
                })
            })
            .await
    }

    async fn prune_finished(
        &self,
        before_ms: i64,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<PruneOutcome> {
        let noted = self
            .installation
            .read((), |tx, ()| Box::pin(finished_mark(tx)))
            .await?;
        if noted.is_some_and(|(_, noted_at_ms)| noted_at_ms > before_ms) {
            return Ok(PruneOutcome::default());
        }
        let upto = noted.map(|(upto, _)| upto);
        self.installation
            .write((), move |tx, ()| {
                Box::pin(prune_finished(tx, upto, now_ms, batch_max))
            })
            .await
    }
}

/// Deletes a show's rows up to the number in the column `noted`: the newest delivered number when
/// `noted` was written. When all these rows are deleted, writes the current newest delivered number
/// into `noted`.
async fn prune_seat_rows_of(
    tx: &SqlTransaction,
    show: &str,
    now_ms: i64,
    rows_max: i64,
) -> Result<i64> {
    let sql = "UPDATE seat_marks SET pruned = LEAST(pruned + $2, GREATEST(noted, pruned)) \
         WHERE show = $1 RETURNING pruned";
    let pruned: i64 = match tx.first(sql, &[&show, &rows_max]).await? {
        Some(row) => row.get(0)?,
        None => 0,
    };
    let sql = "DELETE FROM seat_outbox WHERE show = $1 AND number <= $2";
    let rows = tx.execute(sql, &[&show, &pruned]).await?;
    let sql = "UPDATE seat_marks SET noted = delivered, noted_at = $2 \
         WHERE show = $1 AND pruned >= noted";
    tx.execute(sql, &[&show, &now_ms]).await?;
    Ok(i64::try_from(rows).unwrap_or(i64::MAX))
}

/// Deletes the entries of finished visitors up to `upto`: the newest id when `upto` was stored.
/// When all these entries are deleted, stores the current newest id as the next `upto`.
async fn prune_finished(
    tx: &SqlTransaction,
    upto: Option<i64>,
    now_ms: i64,
    batch_max: u32,
) -> Result<PruneOutcome> {
    let (delete, note) = match tx.dialect() {
        SqlDialect::Sqlite => (
            "DELETE FROM finished WHERE seq IN (SELECT seq FROM finished \
             WHERE seq <= $1 ORDER BY seq LIMIT $2)",
            "INSERT INTO retention_marks (list, upto, noted_at) \
             SELECT 'finished', COALESCE(MAX(seq), 0), $1 FROM finished WHERE TRUE \
             ON CONFLICT (list) DO UPDATE SET upto = excluded.upto, noted_at = excluded.noted_at",
        ),
        SqlDialect::Postgres => (
            "DELETE FROM finished WHERE id = ANY (ARRAY (SELECT id FROM finished \
             WHERE id <= $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))",
            "INSERT INTO retention_marks (list, upto, noted_at) \
             SELECT 'finished', COALESCE(MAX(id), 0), $1 FROM finished \
             ON CONFLICT (list) DO UPDATE SET upto = excluded.upto, noted_at = excluded.noted_at",
        ),
    };
    let rows = match upto {
        Some(upto) => tx.execute(delete, &[&upto, &batch_max]).await?,
        None => 0,
    };
    let pruned = PruneOutcome::full_or_last(rows, batch_max);
    if pruned.next.is_none() {
        tx.execute(note, &[&now_ms]).await?;
    }
    Ok(pruned)
}

async fn finished_mark(tx: &SqlTransaction) -> Result<Option<(i64, i64)>> {
    let sql = "SELECT upto, noted_at FROM retention_marks WHERE list = 'finished'";
    let Some(row) = tx.first(sql, &[]).await? else {
        return Ok(None);
    };
    Ok(Some((row.get(0)?, row.get(1)?)))
}
