//! The waitlist. One writer makes the numbers, in the order of the commits.

use async_trait::async_trait;
use fairgate_databases::rusqlite::{Connection, Row, params};
use fairgate_pass::Holder;

use super::SqliteLedger;
use super::rows::{Result, as_i64, collect, corrupt, first, holder, json, parsed, to_json};
use crate::ids::{HoldId, ShowId, WaiterId};
use crate::ledger::WaitlistLedger;
use crate::waitlist::{OfferEnd, Offered, WaitEnd, Waiter};

/// A party's columns, in the order in which [`read`] takes them.
pub(super) const WAITER_COLUMNS: &str = "waiter, visitor, room, party, number, since, until, seen_at, offers, missed, \
     hold, hold_until, hold_life, ended_at, reason";

#[async_trait]
impl WaitlistLedger for SqliteLedger {
    async fn join_waitlist(&self, waiter: Waiter) -> Result<Waiter> {
        self.writer.write(move |tx| join(tx, waiter)).await
    }

    async fn waiter(&self, show: &ShowId, visitor: Holder) -> Result<Option<(Waiter, u64)>> {
        let show = show.clone();
        self.writer
            .read(move |connection| {
                let snapshot = connection.unchecked_transaction()?;
                let found = match waiting(&snapshot, &show, visitor)? {
                    Some(waiter) => Some(waiter),
                    None => ended(&snapshot, &show, visitor)?,
                };
                let Some(waiter) = found else { return Ok(None) };
                let sql = "SELECT COUNT(*) FROM waiters WHERE show = ?1 AND number < ?2 AND ended_at IS NULL";
                let ahead: Option<i64> =
                    first(&snapshot, sql, (show.as_str(), as_i64(waiter.number)))?;
                Ok(Some((waiter, ahead.unwrap_or(0).unsigned_abs())))
            })
            .await
    }

    async fn waiters(&self, show: &ShowId) -> Result<Vec<Waiter>> {
        let show = show.clone();
        self.writer
            .read(move |connection| {
                let sql = format!(
                    "SELECT {WAITER_COLUMNS} FROM waiters WHERE show = ?1 AND ended_at IS NULL ORDER BY number"
                );
                collect(connection, &sql, [show.as_str()], read)
            })
            .await
    }

    async fn waited_shows(&self) -> Result<Vec<(ShowId, u64)>> {
        self.writer
            .read(|connection| {
                let sql = "SELECT show, COUNT(*) FROM waiters WHERE ended_at IS NULL GROUP BY show";
                collect(connection, sql, [], |row| {
                    let show: String = row.get(0)?;
                    Ok((parsed(&show)?, row.get::<_, i64>(1)?.unsigned_abs()))
                })
            })
            .await
    }

    async fn waiting_visitors(&self, most: u32) -> Result<Vec<Holder>> {
        self.writer
            .read(move |connection| {
                let sql =
                    "SELECT visitor FROM waiters WHERE ended_at IS NULL ORDER BY since LIMIT ?1";
                collect(connection, sql, [most], |row| {
                    holder(&row.get::<_, Vec<u8>>(0)?)
                })
            })
            .await
    }

    async fn waiters_seen(&self, visitors: Vec<Holder>, now_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| {
                let mut seen = tx.prepare_cached(
                    "UPDATE waiters SET seen_at = ?2 WHERE visitor = ?1 AND ended_at IS NULL AND seen_at < ?2",
                )?;
                for visitor in &visitors {
                    seen.execute((visitor.0, now_ms))?;
                }
                Ok(())
            })
            .await
    }

    async fn offered(&self, waiter: &WaiterId, offer: Offered) -> Result<bool> {
        let waiter = waiter.clone();
        self.writer
            .write(move |tx| {
                let sql = "UPDATE waiters SET hold = ?2, hold_until = ?3, hold_life = ?4, offers = offers + 1 \
                     WHERE waiter = ?1 AND ended_at IS NULL AND hold IS NULL";
                let (id, hold) = (waiter.as_str(), offer.hold.as_str());
                let with = (id, hold, offer.until_ms, as_i64(offer.life));
                Ok(tx.prepare_cached(sql)?.execute(with)? == 1)
            })
            .await
    }

    async fn offer_over(
        &self,
        waiter: &WaiterId,
        hold: &HoldId,
        end: OfferEnd,
        now_ms: i64,
    ) -> Result<bool> {
        let (waiter, hold) = (waiter.clone(), hold.clone());
        self.writer
            .write(move |tx| offer_over(tx, &waiter, &hold, end, now_ms))
            .await
    }

    async fn end_waiter(&self, waiter: &WaiterId, end: WaitEnd, now_ms: i64) -> Result<bool> {
        let waiter = waiter.clone();
        self.writer
            .write(move |tx| {
                let sql = "UPDATE waiters SET ended_at = ?2, reason = ?3 WHERE waiter = ?1 AND ended_at IS NULL";
                let with = (waiter.as_str(), now_ms, end.word());
                Ok(tx.prepare_cached(sql)?.execute(with)? == 1)
            })
            .await
    }
}

/// Reads a row of [`WAITER_COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> Result<Waiter> {
    let text = |index: usize| -> Result<String> { Ok(row.get(index)?) };
    let hold: Option<String> = row.get(10)?;
    let offer = match hold {
        Some(hold) => Some(Offered {
            hold: parsed(&hold)?,
            until_ms: row.get(11)?,
            life: row.get::<_, i64>(12)?.unsigned_abs(),
        }),
        None => None,
    };
    let ended: Option<i64> = row.get(13)?;
    let ended = match ended {
        Some(at) => {
            let end = WaitEnd::of_word(&text(14)?);
            Some((
                at,
                end.ok_or_else(|| corrupt("why a party waits no longer"))?,
            ))
        }
        None => None,
    };
    Ok(Waiter {
        id: parsed(&text(0)?)?,
        visitor: holder(&row.get::<_, Vec<u8>>(1)?)?,
        room: text(2)?,
        party: json(&text(3)?)?,
        number: row.get::<_, i64>(4)?.unsigned_abs(),
        since_ms: row.get(5)?,
        until_ms: row.get(6)?,
        seen_ms: row.get(7)?,
        offers: row.get(8)?,
        missed: row.get(9)?,
        offer,
        ended,
    })
}

fn waiting(connection: &Connection, show: &ShowId, visitor: Holder) -> Result<Option<Waiter>> {
    let sql = format!(
        "SELECT {WAITER_COLUMNS} FROM waiters WHERE visitor = ?1 AND show = ?2 AND ended_at IS NULL"
    );
    let found = collect(connection, &sql, (visitor.0, show.as_str()), read)?;
    Ok(found.into_iter().next())
}

fn ended(connection: &Connection, show: &ShowId, visitor: Holder) -> Result<Option<Waiter>> {
    let sql = format!(
        "SELECT {WAITER_COLUMNS} FROM waiters WHERE visitor = ?1 AND show = ?2 AND ended_at IS NOT NULL \
         ORDER BY ended_at DESC, number DESC LIMIT 1"
    );
    let found = collect(connection, &sql, (visitor.0, show.as_str()), read)?;
    Ok(found.into_iter().next())
}

/// The number behind all that were given for a show.
fn next_number(tx: &Connection, show: &ShowId) -> Result<i64> {
    let sql = "INSERT INTO waiter_marks (show, last) VALUES (?1, 1) \
         ON CONFLICT (show) DO UPDATE SET last = last + 1 RETURNING last";
    let next: Option<i64> = first(tx, sql, [show.as_str()])?;
    next.ok_or_else(|| corrupt("the last number of a waitlist"))
}

fn join(tx: &Connection, mut waiter: Waiter) -> Result<Waiter> {
    let show = waiter.id.show();
    if let Some(present) = waiting(tx, &show, waiter.visitor)? {
        return Ok(present);
    }
    let number = next_number(tx, &show)?;
    tx.prepare_cached(
        "INSERT INTO waiters (waiter, show, number, visitor, room, party, since, until, seen_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        waiter.id.as_str(),
        show.as_str(),
        number,
        waiter.visitor.0,
        waiter.room,
        to_json(&waiter.party)?,
        waiter.since_ms,
        waiter.until_ms,
        waiter.seen_ms,
    ])?;
    waiter.number = number.unsigned_abs();
    Ok(waiter)
}

fn offer_over(
    tx: &Connection,
    waiter: &WaiterId,
    hold: &HoldId,
    end: OfferEnd,
    now_ms: i64,
) -> Result<bool> {
    let with = (waiter.as_str(), hold.as_str());
    let sql = "SELECT 1 FROM waiters WHERE waiter = ?1 AND hold = ?2 AND ended_at IS NULL";
    let its: Option<i64> = first(tx, sql, with)?;
    if its.is_none() {
        return Ok(false);
    }
    let id = waiter.as_str();
    match end {
        OfferEnd::Taken => {
            let sql = "UPDATE waiters SET ended_at = ?2, reason = ?3 WHERE waiter = ?1";
            let with = (id, now_ms, WaitEnd::Taken.word());
            tx.prepare_cached(sql)?.execute(with)?;
        }
        OfferEnd::Missed => {
            let number = next_number(tx, &waiter.show())?;
            let sql = "UPDATE waiters SET hold = NULL, missed = missed + 1, number = ?2 WHERE waiter = ?1";
            tx.prepare_cached(sql)?.execute((id, number))?;
        }
        OfferEnd::Lost => {
            let sql = "UPDATE waiters SET hold = NULL WHERE waiter = ?1";
            tx.prepare_cached(sql)?.execute([id])?;
        }
    }
    Ok(true)
}
