//! The seat outbox, the picture of a show that goes with it, and the list of those who have finished: what other parts
//! follow behind a cursor. One writer makes the rows, so they are numbered where they are made, in the order of the commits.

use std::collections::HashMap;

use fairgate_databases::rusqlite::Connection;
use fairgate_pass::Holder;

use super::orders::kept;
use super::rows::{
    self, ORDER_COLUMNS, Result, as_hold, as_i64, collect, first, parsed, seat_kind,
};
use crate::holds::Hold;
use crate::ids::{OrderId, ShowId};
use crate::ledger::{OverdueClaim, ShowPicture};
use crate::orders::{Offer, Order, OrderState};
use crate::store::SeatRow;

/// Shows with rows that are not marked as delivered, each with its newest row so marked.
pub(super) fn undelivered(connection: &Connection) -> Result<Vec<(ShowId, u64)>> {
    let sql = "SELECT show, delivered FROM seat_marks WHERE numbered > delivered";
    collect(connection, sql, [], |row| {
        let show: String = row.get(0)?;
        Ok((parsed(&show)?, row.get::<_, i64>(1)?.unsigned_abs()))
    })
}

pub(super) fn rows(
    connection: &Connection,
    show: &ShowId,
    after: u64,
    batch_max: u32,
) -> Result<Vec<SeatRow>> {
    let sql = "SELECT s.number, s.kind, s.hold, s.items, o.visitor FROM seat_outbox s \
         JOIN orders o ON o.order_id = s.order_id WHERE s.show = ?1 AND s.number > ?2 ORDER BY s.number LIMIT ?3";
    let with = (show.as_str(), as_i64(after), batch_max);
    collect(connection, sql, with, |row| {
        let kind: String = row.get(1)?;
        let items = rows::items(&row.get::<_, String>(3)?)?;
        Ok(SeatRow {
            seq: row.get::<_, i64>(0)?.unsigned_abs(),
            kind: seat_kind(&kind)?,
            items: items.into_iter().map(|item| item.held).collect(),
            hold: parsed(&row.get::<_, String>(2)?)?,
            visitor: rows::holder(&row.get::<_, Vec<u8>>(4)?)?,
        })
    })
}

/// `shows` is a JSON list. The shows are chosen before the rows are counted, so that other shows' rows never hide these.
pub(super) fn finished(
    connection: &Connection,
    after: u64,
    shows: &str,
) -> Result<Vec<(u64, Holder)>> {
    let sql = "SELECT seq, visitor FROM finished WHERE seq > ?1 AND show IN (SELECT value FROM json_each(?2)) \
         ORDER BY seq LIMIT 10000";
    collect(connection, sql, (as_i64(after), shows), |row| {
        let visitor = rows::holder(&row.get::<_, Vec<u8>>(1)?)?;
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), visitor))
    })
}

pub(super) fn cursor(connection: &Connection, show: &ShowId) -> Result<u64> {
    let sql = "SELECT numbered FROM seat_marks WHERE show = ?1";
    let newest: Option<i64> = first(connection, sql, [show.as_str()])?;
    Ok(newest.unwrap_or(0).unsigned_abs())
}

pub(super) fn next_incarnation(tx: &Connection, show: &ShowId) -> Result<u64> {
    let next: Option<i64> = first(
        tx,
        "UPDATE shows SET incarnation = incarnation + 1 WHERE show = ?1 RETURNING incarnation",
        [show.as_str()],
    )?;
    Ok(next.unwrap_or(1).unsigned_abs())
}

pub(super) fn picture(tx: &Connection, show: &ShowId, lost: Option<u64>) -> Result<ShowPicture> {
    if let Some(incarnation) = lost {
        tx.execute(
            "UPDATE shows SET claims_from = ?2 WHERE show = ?1 AND claims_from < ?2",
            (show.as_str(), as_i64(incarnation)),
        )?;
    }
    let sql = format!(
        "SELECT {ORDER_COLUMNS} FROM orders WHERE show = ?1 AND state IN ('pending', 'awaiting_consent', 'confirmed', 'ticketed', 'partly_refunded')"
    );
    let mut sold: HashMap<Holder, Vec<_>> = HashMap::new();
    let mut ordered = Vec::new();
    for order in collect(tx, &sql, [show.as_str()], rows::order)? {
        if matches!(
            order.state,
            OrderState::Pending | OrderState::AwaitingConsent
        ) {
            ordered.push(lock_of(tx, &order)?);
        } else {
            sold.entry(order.visitor).or_default().extend(order.held());
        }
    }
    Ok(ShowPicture {
        sold: sold.into_iter().collect(),
        ordered,
        cursor: cursor(tx, show)?,
    })
}

/// The hold of an order that has claims and is not sold: its own, or the one that keeps seats for its late money.
fn lock_of(connection: &Connection, order: &Order) -> Result<Hold> {
    if order.state != OrderState::AwaitingConsent {
        return Ok(as_hold(order));
    }
    let kept = kept(connection, order)?;
    Ok(Hold {
        id: kept.hold,
        items: kept.items.iter().map(|item| item.held.clone()).collect(),
        ..as_hold(order)
    })
}

pub(super) fn overdue(
    snapshot: &Connection,
    now_ms: i64,
    after: Option<(i64, OrderId)>,
    batch_max: u32,
) -> Result<Vec<OverdueClaim>> {
    let sql = format!(
        "SELECT {ORDER_COLUMNS} FROM orders WHERE state IN ('pending', 'awaiting_consent') AND claim_until <= ?1 \
         AND (claim_until, order_id) > (?2, ?3) ORDER BY claim_until, order_id LIMIT ?4"
    );
    let (after_ms, after) = after.map_or((i64::MIN, String::new()), |(at_ms, order)| {
        (at_ms, order.to_string())
    });
    let orders = collect(
        snapshot,
        &sql,
        (now_ms, after_ms, after, batch_max),
        rows::order,
    )?;
    let claim = |order: &Order| {
        Ok(OverdueClaim {
            order: order.id.clone(),
            claim_until_ms: order.claim_until_ms,
            hold: lock_of(snapshot, order)?,
            cursor: cursor(snapshot, &order.show)?,
        })
    };
    orders.iter().map(claim).collect()
}

/// A row in the show's seat outbox. It has its own hold and seats: those of the order may be others when it is delivered.
pub(super) fn tell_store(tx: &Connection, order: &Order, kind: &str) -> Result<()> {
    let kept = kept(tx, order)?;
    tell_store_of(tx, order, kind, &kept)
}

/// As [`tell_store`], of some seats and the hold they were sold from.
pub(super) fn tell_store_of(
    tx: &Connection,
    order: &Order,
    kind: &str,
    kept: &Offer,
) -> Result<()> {
    let number: i64 = tx
        .prepare_cached(
            "INSERT INTO seat_marks (show, numbered) VALUES (?1, 1) \
             ON CONFLICT (show) DO UPDATE SET numbered = numbered + 1 RETURNING numbered",
        )?
        .query_row([order.show.as_str()], |row| row.get(0))?;
    tx.prepare_cached(
        "INSERT INTO seat_outbox (show, number, kind, order_id, hold, items) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        order.show.as_str(),
        number,
        kind,
        order.id.as_str(),
        kept.hold.as_str(),
        rows::items_text(&kept.items)?,
    ))?;
    Ok(())
}
