//! What goes once it is old. What is to go is looked for first, so that a transaction is begun only where there is some.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;

use super::PostgresLedger;
use super::rows::{Result, text};
use crate::ledger::{Pruned, RetentionLedger};
use crate::retention::{Looked, Retained, old_among};

/// Shows whose seat rows are looked at in one go.
const SHOWS_MAX: i64 = 20;

#[async_trait]
impl RetentionLedger for PostgresLedger {
    async fn prune(
        &self,
        what: Retained,
        after: i64,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Pruned> {
        let before_ms = what.before_ms(now_ms);
        match what {
            Retained::Answers => {
                let (find, delete) = (
                    "SELECT 1 FROM kept_answers WHERE kept_at < $1 LIMIT 1",
                    "DELETE FROM kept_answers WHERE ctid = ANY (ARRAY (SELECT ctid FROM kept_answers \
                         WHERE kept_at < $1 ORDER BY kept_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
                );
                self.prune_by_age(find, delete, before_ms, batch_max).await
            }
            Retained::GivenUpTries => {
                let (find, delete) = (
                    "SELECT 1 FROM given_up WHERE at < $1 LIMIT 1",
                    "DELETE FROM given_up WHERE ctid = ANY (ARRAY (SELECT ctid FROM given_up \
                         WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))",
                );
                self.prune_by_age(find, delete, before_ms, batch_max).await
            }
            Retained::Waiters => {
                let (find, delete) = (
                    "SELECT 1 FROM waiters WHERE ended_at < $1 LIMIT 1",
                    "DELETE FROM waiters WHERE ctid = ANY (ARRAY (SELECT ctid FROM waiters \
                         WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
                );
                self.prune_by_age(find, delete, before_ms, batch_max).await
            }
            Retained::SeatRows => self.prune_seat_rows(before_ms, now_ms, batch_max).await,
            Retained::Finished => self.prune_finished(before_ms, now_ms, batch_max).await,
            Retained::Effects => {
                let (find, delete) = (
                    "SELECT effect, done_at FROM effects WHERE effect > $1 ORDER BY effect LIMIT $2",
                    "DELETE FROM effects WHERE effect = ANY ($1) AND done_at < $2",
                );
                self.prune_in_order(find, delete, (after, before_ms), batch_max)
                    .await
            }
            Retained::ProviderEvents => {
                let (find, delete) = (
                    "SELECT position, settled_at FROM provider_events WHERE position > $1 ORDER BY position LIMIT $2",
                    "DELETE FROM provider_events WHERE position = ANY ($1) AND settled_at < $2",
                );
                self.prune_in_order(find, delete, (after, before_ms), batch_max)
                    .await
            }
        }
    }
}

impl PostgresLedger {
    /// Rows that are found by an index over their age.
    async fn prune_by_age(
        &self,
        find: &'static str,
        delete: &'static str,
        before_ms: i64,
        batch_max: u32,
    ) -> Result<Pruned> {
        let old = self
            .database
            .read(async move |tx: Tx| tx.first(find, &[&before_ms]).await);
        if old.await?.is_none() {
            return Ok(Pruned::default());
        }
        self.database
            .write(move |tx| async move {
                let rows = tx
                    .execute(delete, &[&before_ms, &i64::from(batch_max)])
                    .await?;
                Ok(Pruned::full_or_last(rows, batch_max))
            })
            .await
    }

    /// Rows whose ids tell in which order they were made.
    async fn prune_in_order(
        &self,
        find: &'static str,
        delete: &'static str,
        (after, before_ms): (i64, i64),
        batch_max: u32,
    ) -> Result<Pruned> {
        let looked = self.database.read(async move |tx: Tx| {
            let found = tx.query(find, &[&after, &i64::from(batch_max)]).await?;
            let read = found
                .iter()
                .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
            read.collect::<Result<Vec<Looked>>>()
        });
        let (old, next) = old_among(&looked.await?, before_ms, batch_max);
        if old.is_empty() {
            return Ok(Pruned { rows: 0, next });
        }
        let old = Arc::new(old);
        self.database
            .write(move |tx| {
                let old = Arc::clone(&old);
                async move {
                    let rows = tx.execute(delete, &[&*old, &before_ms]).await?;
                    Ok(Pruned { rows, next })
                }
            })
            .await
    }

    async fn prune_seat_rows(&self, before_ms: i64, now_ms: i64, batch_max: u32) -> Result<Pruned> {
        let shows = self.database.read(async move |tx: Tx| {
            let sql = "SELECT show FROM seat_marks WHERE delivered > pruned AND noted_at <= $1 ORDER BY noted_at LIMIT $2";
            let found = tx.query(sql, &[&before_ms, &SHOWS_MAX]).await?;
            let read = found.iter().map(|row| Ok(text(row, 0)?.to_owned()));
            read.collect::<Result<Vec<String>>>()
        });
        let mut shows = shows.await?;
        // As those lock them who give numbers.
        shows.sort();
        let shows = Arc::new(shows);
        if shows.is_empty() {
            return Ok(Pruned::default());
        }
        self.database
            .write(move |tx| {
                let shows = Arc::clone(&shows);
                async move {
                    let mut rows = 0;
                    for show in shows.iter() {
                        let room = i64::from(batch_max) - rows;
                        if room <= 0 {
                            break;
                        }
                        rows += prune_seat_rows_of(&tx, show, now_ms, room).await?;
                    }
                    Ok(Pruned {
                        rows: rows.unsigned_abs(),
                        next: Some(0),
                    })
                }
            })
            .await
    }

    async fn prune_finished(&self, before_ms: i64, now_ms: i64, batch_max: u32) -> Result<Pruned> {
        let noted = self
            .database
            .read(async move |tx: Tx| finished_mark(&tx).await)
            .await?;
        if noted.is_some_and(|(_, noted_at_ms)| noted_at_ms > before_ms) {
            return Ok(Pruned::default());
        }
        self.database
            .write(move |tx| async move {
                let mut rows = 0;
                if let Some((upto, _)) = noted {
                    let sql = "DELETE FROM finished WHERE ctid = ANY (ARRAY (SELECT ctid FROM finished \
                             WHERE id <= $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))";
                    rows = tx.execute(sql, &[&upto, &i64::from(batch_max)]).await?;
                }
                let pruned = Pruned::full_or_last(rows, batch_max);
                if pruned.next.is_none() {
                    let sql = "INSERT INTO retention_marks (list, upto, noted_at) \
                         SELECT 'finished', COALESCE(MAX(id), 0), $1 FROM finished \
                         ON CONFLICT (list) DO UPDATE SET upto = excluded.upto, noted_at = excluded.noted_at";
                    tx.execute(sql, &[&now_ms]).await?;
                }
                Ok(pruned)
            })
            .await
    }
}

/// Deletes a show's rows that had been delivered when that was noted; when they are gone, notes what is delivered now.
async fn prune_seat_rows_of(tx: &Tx, show: &str, now_ms: i64, room: i64) -> Result<i64> {
    let sql = "UPDATE seat_marks SET pruned = LEAST(pruned + $2, GREATEST(noted, pruned)) WHERE show = $1 RETURNING pruned";
    let pruned: i64 = match tx.first(sql, &[&show, &room]).await? {
        Some(row) => row.try_get(0)?,
        None => 0,
    };
    let sql = "DELETE FROM seat_outbox WHERE show = $1 AND number <= $2";
    let rows = tx.execute(sql, &[&show, &pruned]).await?;
    let sql = "UPDATE seat_marks SET noted = delivered, noted_at = $2 WHERE show = $1 AND pruned >= noted";
    tx.execute(sql, &[&show, &now_ms]).await?;
    Ok(i64::try_from(rows).unwrap_or(i64::MAX))
}

async fn finished_mark(tx: &Tx) -> Result<Option<(i64, i64)>> {
    let sql = "SELECT upto, noted_at FROM retention_marks WHERE list = 'finished'";
    let Some(row) = tx.first(sql, &[]).await? else {
        return Ok(None);
    };
    Ok(Some((row.try_get(0)?, row.try_get(1)?)))
}
