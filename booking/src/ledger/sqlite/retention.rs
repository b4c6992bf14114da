//! What goes once it is old. What is to go is looked for by a reader, so that the writer only deletes.

use async_trait::async_trait;
use fairgate_databases::rusqlite::Connection;

use super::SqliteLedger;
use super::rows::{Result, collect, first};
use crate::ledger::{Pruned, RetentionLedger};
use crate::retention::{Looked, Retained, old_among};

/// Shows whose seat rows are looked at in one go.
const SHOWS_MAX: u32 = 20;

#[async_trait]
impl RetentionLedger for SqliteLedger {
    async fn prune(
        &self,
        what: Retained,
        after: i64,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Pruned> {
        let before_ms = what.before_ms(now_ms);
        match what {
            Retained::Answers => self.prune_answers(before_ms, batch_max).await,
            Retained::GivenUpTries => {
                let (find, delete) = (
                    "SELECT hold FROM given_up WHERE at < ?1 ORDER BY at LIMIT ?2",
                    "DELETE FROM given_up WHERE hold = ?1 AND at < ?2",
                );
                self.prune_by_key(find, delete, before_ms, batch_max).await
            }
            Retained::Waiters => {
                let (find, delete) = (
                    "SELECT waiter FROM waiters WHERE ended_at < ?1 ORDER BY ended_at LIMIT ?2",
                    "DELETE FROM waiters WHERE waiter = ?1 AND ended_at < ?2",
                );
                self.prune_by_key(find, delete, before_ms, batch_max).await
            }
            Retained::SeatRows => self.prune_seat_rows(before_ms, now_ms, batch_max).await,
            Retained::Finished => self.prune_finished(before_ms, now_ms, batch_max).await,
            Retained::Effects => {
                let (find, delete) = (
                    "SELECT effect, done_at FROM effects WHERE effect > ?1 ORDER BY effect LIMIT ?2",
                    "DELETE FROM effects WHERE effect = ?1 AND done_at < ?2",
                );
                self.prune_in_order(find, delete, (after, before_ms), batch_max)
                    .await
            }
            Retained::ProviderEvents => {
                let (find, delete) = (
                    "SELECT rowid, settled_at FROM provider_events WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
                    "DELETE FROM provider_events WHERE rowid = ?1 AND settled_at < ?2",
                );
                self.prune_in_order(find, delete, (after, before_ms), batch_max)
                    .await
            }
        }
    }
}

impl SqliteLedger {
    async fn prune_answers(&self, before_ms: i64, batch_max: u32) -> Result<Pruned> {
        let old = self.writer.read(move |connection| {
            let sql =
                "SELECT scope, key FROM kept_answers WHERE kept_at < ?1 ORDER BY kept_at LIMIT ?2";
            collect(connection, sql, (before_ms, batch_max), |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?))
            })
        });
        let old = old.await?;
        if old.is_empty() {
            return Ok(Pruned::default());
        }
        self.writer
            .write(move |tx| {
                let sql = "DELETE FROM kept_answers WHERE scope = ?1 AND key = ?2 AND kept_at < ?3";
                let mut delete = tx.prepare_cached(sql)?;
                let mut rows = 0;
                for (scope, key) in &old {
                    rows += delete.execute((scope, key, before_ms))?;
                }
                Ok(Pruned::full_or_last(rows as u64, batch_max))
            })
            .await
    }

    /// Rows that a key names, found by an index over their age.
    async fn prune_by_key(
        &self,
        find: &'static str,
        delete: &'static str,
        before_ms: i64,
        batch_max: u32,
    ) -> Result<Pruned> {
        let old = self.writer.read(move |connection| {
            collect(connection, find, (before_ms, batch_max), |row| {
                Ok(row.get::<_, String>(0)?)
            })
        });
        let old = old.await?;
        if old.is_empty() {
            return Ok(Pruned::default());
        }
        self.writer
            .write(move |tx| {
                let mut delete = tx.prepare_cached(delete)?;
                let mut rows = 0;
                for key in &old {
                    rows += delete.execute((key, before_ms))?;
                }
                Ok(Pruned::full_or_last(rows as u64, batch_max))
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
        let looked = self.writer.read(move |connection| {
            collect(connection, find, (after, batch_max), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        });
        let looked: Vec<Looked> = looked.await?;
        let (old, next) = old_among(&looked, before_ms, batch_max);
        if old.is_empty() {
            return Ok(Pruned { rows: 0, next });
        }
        self.writer
            .write(move |tx| {
                let mut delete = tx.prepare_cached(delete)?;
                let mut rows = 0;
                for id in old {
                    rows += delete.execute((id, before_ms))? as u64;
                }
                Ok(Pruned { rows, next })
            })
            .await
    }

    async fn prune_seat_rows(&self, before_ms: i64, now_ms: i64, batch_max: u32) -> Result<Pruned> {
        let shows = self.writer.read(move |connection| {
            let sql = "SELECT show FROM seat_marks WHERE delivered > pruned AND noted_at <= ?1 ORDER BY noted_at LIMIT ?2";
            collect(connection, sql, (before_ms, SHOWS_MAX), |row| {
                Ok(row.get::<_, String>(0)?)
            })
        });
        let shows = shows.await?;
        if shows.is_empty() {
            return Ok(Pruned::default());
        }
        self.writer
            .write(move |tx| {
                let mut rows = 0;
                for show in &shows {
                    let room = i64::from(batch_max) - rows;
                    if room <= 0 {
                        break;
                    }
                    rows += prune_seat_rows_of(tx, show, now_ms, room)?;
                }
                Ok(Pruned {
                    rows: rows.unsigned_abs(),
                    next: Some(0),
                })
            })
            .await
    }

    async fn prune_finished(&self, before_ms: i64, now_ms: i64, batch_max: u32) -> Result<Pruned> {
        let noted: Option<(i64, i64)> = self.writer.read(finished_mark).await?;
        if noted.is_some_and(|(_, noted_at_ms)| noted_at_ms > before_ms) {
            return Ok(Pruned::default());
        }
        self.writer
            .write(move |tx| {
                let mut rows = 0;
                if let Some((upto, _)) = noted {
                    let sql = "DELETE FROM finished WHERE seq IN (SELECT seq FROM finished WHERE seq <= ?1 ORDER BY seq LIMIT ?2)";
                    rows = tx.prepare_cached(sql)?.execute((upto, batch_max))?;
                }
                let pruned = Pruned::full_or_last(rows as u64, batch_max);
                if pruned.next.is_none() {
                    tx.execute(
                        "INSERT INTO retention_marks (list, upto, noted_at) \
                         SELECT 'finished', COALESCE(MAX(seq), 0), ?1 FROM finished WHERE TRUE \
                         ON CONFLICT (list) DO UPDATE SET upto = excluded.upto, noted_at = excluded.noted_at",
                        [now_ms],
                    )?;
                }
                Ok(pruned)
            })
            .await
    }
}

/// Deletes a show's rows that had been delivered when that was noted; when they are gone, notes what is delivered now.
fn prune_seat_rows_of(tx: &Connection, show: &str, now_ms: i64, room: i64) -> Result<i64> {
    let sql = "UPDATE seat_marks SET pruned = MIN(pruned + ?2, MAX(noted, pruned)) WHERE show = ?1 RETURNING pruned";
    let pruned: Option<i64> = first(tx, sql, (show, room))?;
    let rows = tx
        .prepare_cached("DELETE FROM seat_outbox WHERE show = ?1 AND number <= ?2")?
        .execute((show, pruned.unwrap_or(0)))?;
    tx.prepare_cached(
        "UPDATE seat_marks SET noted = delivered, noted_at = ?2 WHERE show = ?1 AND pruned >= noted",
    )?
    .execute((show, now_ms))?;
    Ok(i64::try_from(rows).unwrap_or(i64::MAX))
}

fn finished_mark(connection: &Connection) -> Result<Option<(i64, i64)>> {
    let sql = "SELECT upto, noted_at FROM retention_marks WHERE list = 'finished'";
    let marks = collect(connection, sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(marks.into_iter().next())
}
