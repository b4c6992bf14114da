//! The seat outbox and the list of those who have finished: what other parts follow behind a cursor.
//!
//! Ids are drawn while transactions run and become visible when they commit, in another order: a reader that keeps the
//! largest id it saw would miss what commits later with a smaller one. So readers follow *numbers*, which are given to
//! committed rows only, by one transaction at a time.

use std::collections::HashMap;
use std::sync::Arc;

use fairgate_databases::tokio_postgres::Row;
use fairgate_databases::{Database, Tx};
use fairgate_pass::Holder;

use super::lock;
use super::rows::{
    self, ORDER_COLUMNS, Result, as_hold, as_i64, count, holder, items, parsed, seat_kind, text,
};
use crate::holds::Hold;
use crate::ids::{OrderId, ShowId};
use crate::ledger::{OverdueClaim, ShowPicture};
use crate::orders::{Order, OrderState};
use crate::store::SeatRow;

/// Visitors told in one go.
const FINISHED_MAX: i64 = 10_000;

/// Common table expressions that number the rows in `fresh`, which is to be put in front: those of one show follow its
/// newest number in the order of their ids, which for one cell is the order of the commits (see `orders::apply`).
const NUMBERED: &str = "\
    sized AS (SELECT show, MAX(nth) AS size FROM fresh GROUP BY show), \
    grown AS (INSERT INTO seat_marks AS m (show, numbered) SELECT show, size FROM sized ORDER BY show \
        ON CONFLICT (show) DO UPDATE SET numbered = m.numbered + excluded.numbered RETURNING show, numbered), \
    numbered AS (UPDATE seat_outbox o SET number = g.numbered - s.size + f.nth \
        FROM fresh f JOIN grown g USING (show) JOIN sized s USING (show) WHERE o.id = f.id)";

/// Numbers what is committed, and finds the shows with rows that are not marked as delivered.
pub(super) async fn number(database: &Database) -> Result<Vec<(ShowId, u64)>> {
    let fresh = database.read(async |tx: Tx| {
        let sql = "SELECT 1 FROM seat_outbox WHERE number IS NULL LIMIT 1";
        tx.first(sql, &[]).await
    });
    if fresh.await?.is_some() {
        database
            .write(|tx| async move { number_all(&tx).await })
            .await?;
    }
    database
        .read(async |tx: Tx| {
            let sql = "SELECT show, delivered FROM seat_marks WHERE numbered > delivered";
            let rows = tx.query(sql, &[]).await?;
            let read = |row| Ok((parsed(text(row, 0)?)?, count(row, 1)?));
            rows.iter().map(read).collect()
        })
        .await
}

/// Waits until nobody else gives numbers. What is done under it is one *later* statement: that one's snapshot then holds
/// every number that was given before.
async fn one_at_a_time(tx: &Tx) -> Result<()> {
    let sql = "SELECT pg_advisory_xact_lock($1, 0)";
    tx.one(sql, &[&lock::SEAT_NUMBERS]).await?;
    Ok(())
}

async fn number_all(tx: &Tx) -> Result<()> {
    one_at_a_time(tx).await?;
    let sql = format!(
        "WITH fresh AS (SELECT id, show, row_number() OVER (PARTITION BY show ORDER BY id) AS nth \
             FROM seat_outbox WHERE number IS NULL), {NUMBERED} SELECT COUNT(*) FROM grown"
    );
    tx.one(&sql, &[]).await?;
    Ok(())
}

/// The show's picture and its newest number, in one statement and so in one snapshot: an order's state and its outbox row
/// are written by the same transaction, so the picture holds exactly what the numbered rows have done. Rows that are
/// committed behind this snapshot are in neither.
pub(super) async fn picture(tx: &Tx, show: &ShowId, lost: Option<u64>) -> Result<ShowPicture> {
    // Claims that are being written are waited for, and those behind them see which locks count no more.
    let sql = "SELECT pg_advisory_xact_lock($1, hashtext($2))";
    tx.one(sql, &[&lock::PLAN, &show.as_str()]).await?;
    if let Some(incarnation) = lost {
        let sql = "UPDATE shows SET claims_from = $2 WHERE show = $1 AND claims_from < $2";
        tx.execute(sql, &[&show.as_str(), &as_i64(incarnation)])
            .await?;
    }
    one_at_a_time(tx).await?;
    let sql = format!(
        "WITH fresh AS (SELECT id, show, row_number() OVER (ORDER BY id) AS nth \
             FROM seat_outbox WHERE number IS NULL AND show = $1), {NUMBERED} \
         SELECT COALESCE((SELECT numbered FROM grown), (SELECT numbered FROM seat_marks WHERE show = $1), 0), \
             {ORDER_COLUMNS}, l.hold, l.items \
         FROM (SELECT 1) AS once \
         LEFT JOIN orders o ON o.show = $1 AND o.state IN ('pending', 'awaiting_consent', 'confirmed', 'ticketed', 'partly_refunded') \
         LEFT JOIN late_money l ON l.order_id = o.order_id AND o.state = 'awaiting_consent'"
    );
    let found = tx.query(&sql, &[&show.as_str()]).await?;
    let mut picture = ShowPicture {
        sold: Vec::new(),
        ordered: Vec::new(),
        cursor: 0,
    };
    let mut sold: HashMap<Holder, Vec<_>> = HashMap::new();
    for row in &found {
        picture.cursor = count(row, 0)?;
        if row.try_get::<_, Option<&str>>(1)?.is_none() {
            continue;
        }
        let order = rows::order(row, 1)?;
        if matches!(
            order.state,
            OrderState::Pending | OrderState::AwaitingConsent
        ) {
            picture.ordered.push(lock_of(&order, row, 19)?);
        } else {
            sold.entry(order.visitor).or_default().extend(order.held());
        }
    }
    picture.sold = sold.into_iter().collect();
    Ok(picture)
}

/// The hold of an order that has claims and is not sold: its own, or the one that keeps seats for its late money, whose id
/// and items stand in the columns from `at` on.
fn lock_of(order: &Order, row: &Row, at: usize) -> Result<Hold> {
    if order.state != OrderState::AwaitingConsent {
        return Ok(as_hold(order));
    }
    let kept = items(text(row, at + 1)?)?;
    Ok(Hold {
        id: parsed(text(row, at)?)?,
        items: kept.into_iter().map(|item| item.held).collect(),
        ..as_hold(order)
    })
}

/// One statement, so that each claim and its show's newest row are of one moment.
pub(super) async fn overdue(
    tx: &Tx,
    now_ms: i64,
    after: Option<(i64, OrderId)>,
    batch_max: u32,
) -> Result<Vec<OverdueClaim>> {
    let sql = format!(
        "SELECT {ORDER_COLUMNS}, l.hold, l.items, COALESCE(m.numbered, 0) FROM orders o \
         LEFT JOIN late_money l ON l.order_id = o.order_id AND o.state = 'awaiting_consent' \
         LEFT JOIN seat_marks m ON m.show = o.show \
         WHERE o.state IN ('pending', 'awaiting_consent') AND o.claim_until <= $1 \
         AND (o.claim_until, o.order_id) > ($2, $3) ORDER BY o.claim_until, o.order_id LIMIT $4"
    );
    let (after_ms, after) = after.map_or((i64::MIN, String::new()), |(at_ms, order)| {
        (at_ms, order.to_string())
    });
    let most = i64::from(batch_max);
    let found = tx.query(&sql, &[&now_ms, &after_ms, &after, &most]).await?;
    let claim = |row: &Row| {
        let order = rows::order(row, 0)?;
        Ok(OverdueClaim {
            claim_until_ms: order.claim_until_ms,
            hold: lock_of(&order, row, 18)?,
            cursor: count(row, 20)?,
            order: order.id,
        })
    };
    found.iter().map(claim).collect()
}

pub(super) async fn rows(
    tx: &Tx,
    show: &ShowId,
    after: i64,
    batch_max: u32,
) -> Result<Vec<SeatRow>> {
    let sql = "SELECT number, kind, hold, visitor, items FROM seat_outbox \
         WHERE show = $1 AND number > $2 ORDER BY number LIMIT $3";
    let with = i64::from(batch_max);
    let rows = tx.query(sql, &[&show.as_str(), &after, &with]).await?;
    let read = |row| {
        let items = items(text(row, 4)?)?;
        Ok(SeatRow {
            seq: count(row, 0)?,
            kind: seat_kind(text(row, 1)?)?,
            hold: parsed(text(row, 2)?)?,
            visitor: holder(row.try_get(3)?)?,
            items: items.into_iter().map(|item| item.held).collect(),
        })
    };
    rows.iter().map(read).collect()
}

pub(super) async fn finished(
    database: &Database,
    after: i64,
    shows: Vec<ShowId>,
) -> Result<Vec<(u64, Holder)>> {
    let fresh = database.read(async |tx: Tx| {
        let sql = "SELECT 1 FROM finished WHERE number IS NULL LIMIT 1";
        tx.first(sql, &[]).await
    });
    if fresh.await?.is_some() {
        let numbered = database.write(|tx| async move {
            let sql = "SELECT pg_advisory_xact_lock($1, 0)";
            tx.one(sql, &[&lock::FINISHED_NUMBERS]).await?;
            let sql =
                "UPDATE finished SET number = nextval('finished_numbers') WHERE number IS NULL";
            tx.execute(sql, &[]).await
        });
        numbered.await?;
    }
    let shows: Arc<Vec<String>> = Arc::new(shows.iter().map(ToString::to_string).collect());
    database
        .read(async move |tx: Tx| {
            // The shows are chosen before the rows are counted, so that other shows' rows never hide these.
            let sql = "SELECT number, visitor FROM finished WHERE number > $1 AND show = ANY ($2) ORDER BY number LIMIT $3";
            let rows = tx.query(sql, &[&after, &*shows, &FINISHED_MAX]).await?;
            let read = |row| Ok((count(row, 0)?, holder(fairgate_databases::tokio_postgres::Row::try_get(row, 1)?)?));
            rows.iter().map(read).collect()
        })
        .await
}
