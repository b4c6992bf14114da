//! The seat outbox, the picture of a show, and the list of visitors whose orders were ticketed. The
//! outbox and the list are read with a cursor: the last number that the reader has seen.
//!
//! In a file, one writer makes the rows and numbers them at once. On a server, a row gets its id
//! while its transaction runs, but becomes visible when the transaction commits. A reader whose
//! cursor was the largest visible id would miss a row with a smaller id that is committed later. So
//! on a server committed rows also get *numbers*, which readers use as cursors. Only one
//! transaction at a time gives numbers.

use std::collections::HashMap;

use fairgate_databases::{
    Installation, LedgerError, NamedLock, SqlDialect, SqlRow, SqlTransaction, ToSqlValue,
};
use fairgate_model::holds::Hold;
use fairgate_model::ids::{HoldId, OrderId, ShowId};
use fairgate_model::orders::{Order, OrderItem, OrderState};
use fairgate_model::payments::kind::ProviderKind;
use fairgate_pass::Holder;

use super::lock;
use super::rows::{
    self, ORDER_COLUMNS, ORDER_COLUMNS_LEN, Result, as_hold, as_i64, count, holder_from_bytes,
    items, items_text, parsed, seat_kind, text,
};
use crate::ledger::{OverdueClaim, ShowPicture};
use crate::store::SeatOutboxRow;

/// The most visitors that one call of [`finished`] returns.
const FINISHED_MAX: i64 = 10_000;

/// Common table expressions that number the rows in `fresh`, which the statement must define first.
/// The rows of a show get the next numbers of the show, in the order of their ids. For the rows of
/// one cell this is the order of the commits (see `order_changes::apply_to_order`).
const NUMBERED: &str = "\
    sized AS (SELECT show, MAX(nth) AS size FROM fresh GROUP BY show), \
    grown AS (INSERT INTO seat_marks AS m (show, numbered) \
        SELECT show, size FROM sized ORDER BY show \
        ON CONFLICT (show) DO UPDATE SET numbered = m.numbered + excluded.numbered \
        RETURNING show, numbered), \
    numbered AS (UPDATE seat_outbox o SET number = g.numbered - s.size + f.nth \
        FROM fresh f JOIN grown g USING (show) JOIN sized s USING (show) WHERE o.id = f.id)";

/// Writes a row of the show's seat outbox, with the next number. The row has its own hold and
/// seats, because the order's hold and seats may have changed by the time the row is delivered.
/// Only for a file: on a server, the statement of [`super::order_step`] writes the row.
pub(super) async fn write_seat_row(
    tx: &SqlTransaction,
    order: &Order,
    kind: &str,
    hold: &HoldId,
    items: &[OrderItem],
) -> Result<()> {
    let show = order.show.as_str();
    let sql = "INSERT INTO seat_marks (show, numbered) VALUES ($1, 1) \
         ON CONFLICT (show) DO UPDATE SET numbered = numbered + 1 RETURNING numbered";
    let number: i64 = tx.query_one(sql, &[&show]).await?.get(0)?;
    let sql = "INSERT INTO seat_outbox (show, number, kind, order_id, hold, items) \
         VALUES ($1, $2, $3, $4, $5, $6)";
    let items = items_text(items)?;
    let with: [&(dyn ToSqlValue + Sync); 6] = [
        &show,
        &number,
        &kind,
        &order.id.as_str(),
        &hold.as_str(),
        &items,
    ];
    tx.execute(sql, &with).await?;
    Ok(())
}

/// Numbers the committed rows, and returns the shows that have undelivered rows.
pub(super) async fn number_seat_rows(installation: &Installation) -> Result<Vec<(ShowId, u64)>> {
    if installation.dialect() == SqlDialect::Postgres {
        let fresh = installation.read((), |tx, ()| {
            let sql = "SELECT 1 FROM seat_outbox WHERE number IS NULL LIMIT 1";
            Box::pin(tx.first(sql, &[]))
        });
        if fresh.await?.is_some() {
            installation
                .write((), |tx, ()| Box::pin(number_all(tx)))
                .await?;
        }
    }
    installation
        .read((), |tx, ()| Box::pin(undelivered(tx)))
        .await
}

async fn undelivered(tx: &SqlTransaction) -> Result<Vec<(ShowId, u64)>> {
    let sql = "SELECT show, delivered FROM seat_marks WHERE numbered > delivered";
    let rows = tx.query(sql, &[]).await?;
    let read = |row| Ok((parsed(text(row, 0)?)?, count(row, 1)?));
    rows.iter().map(read).collect()
}

/// Waits until no other transaction gives numbers to seat rows. The numbers must be given by a
/// *later* statement than this one, because only its snapshot contains every earlier number.
async fn lock_numbering(tx: &SqlTransaction) -> Result<()> {
    tx.lock(&[NamedLock::numbered(lock::SEAT_NUMBERS, 0)]).await
}

async fn number_all(tx: &SqlTransaction) -> Result<()> {
    lock_numbering(tx).await?;
    let sql = format!(
        "WITH fresh AS (SELECT id, show, row_number() OVER (PARTITION BY show ORDER BY id) AS nth \
             FROM seat_outbox WHERE number IS NULL), {NUMBERED} SELECT COUNT(*) FROM grown"
    );
    tx.query_one(&sql, &[]).await?;
    Ok(())
}

/// Returns the newest number of a show's outbox, or 0.
pub(super) async fn cursor(tx: &SqlTransaction, show: &ShowId) -> Result<u64> {
    let sql = "SELECT COALESCE((SELECT numbered FROM seat_marks WHERE show = $1), 0)";
    count(&tx.query_one(sql, &[&show.as_str()]).await?, 0)
}

/// Returns the plan version that a show pins.
pub(super) async fn pinned_plan(tx: &SqlTransaction, show: &ShowId) -> Result<Option<u32>> {
    let sql = "SELECT plan_version FROM shows WHERE show = $1";
    let row = tx.first(sql, &[&show.as_str()]).await?;
    row.map(|row| rows::small(&row, 0)).transpose()
}

/// Refuses to go on if a train pins another plan version than the caller knows. The train has got
/// other stops then, and the caller would take the ledger's legs for those of the earlier stops.
pub(super) async fn require_plan(tx: &SqlTransaction, show: &ShowId, known: u32) -> Result<()> {
    let sql = "SELECT 1 FROM shows WHERE show = $1 AND run IS NOT NULL AND plan_version <> $2";
    let has_other = tx.first(sql, &[&show.as_str(), &known]).await?;
    if has_other.is_some() {
        let change = "The train has just got other stops";
        return Err(LedgerError::Overtaken(change.to_owned()));
    }
    Ok(())
}

/// Returns the show's picture with the newest number of its rows. On a server, first numbers the
/// committed rows. One statement reads the orders and the number, so they are of one snapshot. An
/// order's state and its outbox row are always written in one transaction. The picture therefore
/// shows the effect of exactly the numbered rows, and not the effect of a row that is committed
/// later.
pub(super) async fn picture(
    tx: &SqlTransaction,
    show: &ShowId,
    plan_version: u32,
    lost: Option<u64>,
) -> Result<ShowPicture> {
    // This call waits for claims that are being written. Later claims see which locks no longer
    // count.
    tx.lock(&[NamedLock::alone(lock::PLAN, show.as_str())])
        .await?;
    require_plan(tx, show, plan_version).await?;
    if let Some(incarnation) = lost {
        let sql = "UPDATE shows SET claims_from = $2 WHERE show = $1 AND claims_from < $2";
        tx.execute(sql, &[&show.as_str(), &as_i64(incarnation)])
            .await?;
    }
    lock_numbering(tx).await?;
    let found = tx.query(&picture_sql(tx), &[&show.as_str()]).await?;
    let mut picture = ShowPicture {
        sold: Vec::new(),
        ordered: Vec::new(),
        cursor: 0,
    };
    let mut sold: HashMap<Holder, Vec<_>> = HashMap::new();
    for row in &found {
        picture.cursor = count(row, 0)?;
        if row.get::<Option<&str>>(1)?.is_none() {
            continue;
        }
        let order = rows::order(row, 1)?;
        if matches!(
            order.state,
            OrderState::Pending | OrderState::AwaitingConsent
        ) {
            picture
                .ordered
                .push(hold_of_order(&order, row, 1 + ORDER_COLUMNS_LEN)?);
        } else {
            sold.entry(order.visitor)
                .or_default()
                .extend(order.held_seats());
        }
    }
    picture.sold = sold.into_iter().collect();
    Ok(picture)
}

/// Builds the statement of the picture. On a server, the statement also numbers the show's
/// committed rows that have no number.
fn picture_sql(tx: &SqlTransaction) -> String {
    let (fresh, newest) = match tx.dialect() {
        SqlDialect::Postgres => (
            format!(
                "WITH fresh AS (SELECT id, show, row_number() OVER (ORDER BY id) AS nth \
                     FROM seat_outbox WHERE number IS NULL AND show = $1), {NUMBERED} "
            ),
            "(SELECT numbered FROM grown), ",
        ),
        SqlDialect::Sqlite => (String::new(), ""),
    };
    format!(
        "{fresh}SELECT COALESCE({newest}(SELECT numbered FROM seat_marks WHERE show = $1), 0), \
             {ORDER_COLUMNS}, l.hold, l.items \
         FROM (SELECT 1) AS once \
         LEFT JOIN orders o ON o.show = $1 AND o.state IN \
             ('pending', 'awaiting_consent', 'confirmed', 'ticketed', 'partly_refunded') \
         LEFT JOIN late_money l ON l.order_id = o.order_id AND o.state = 'awaiting_consent'"
    )
}

/// Returns the hold that locks the seats of an order that waits for payment or consent. While the
/// order waits for consent, this is the hold of the seats that were offered for its late money. The
/// id and the items of that hold are in the columns from `first_column` on.
fn hold_of_order(order: &Order, row: &SqlRow, first_column: usize) -> Result<Hold> {
    if order.state != OrderState::AwaitingConsent {
        return Ok(as_hold(order));
    }
    let kept = items(text(row, first_column + 1)?)?;
    Ok(Hold {
        id: parsed(text(row, first_column)?)?,
        items: kept.into_iter().map(|item| item.held).collect(),
        ..as_hold(order)
    })
}

/// Returns claims that still exist after their deadline. One statement reads each claim and its
/// show's newest number, so both are of the same moment.
pub(super) async fn overdue(
    tx: &SqlTransaction,
    now_ms: i64,
    after: Option<&(i64, OrderId)>,
    batch_max: u32,
) -> Result<Vec<OverdueClaim>> {
    let sql = format!(
        "SELECT {ORDER_COLUMNS}, l.hold, l.items, COALESCE(m.numbered, 0) FROM orders o \
         LEFT JOIN late_money l ON l.order_id = o.order_id AND o.state = 'awaiting_consent' \
         LEFT JOIN seat_marks m ON m.show = o.show \
         WHERE o.state IN ('pending', 'awaiting_consent') AND o.claim_until <= $1 \
         AND (o.claim_until, o.order_id) > ($2, $3) ORDER BY o.claim_until, o.order_id LIMIT $4"
    );
    let (after_ms, after) = after.map_or((i64::MIN, ""), |(at_ms, order)| (*at_ms, order.as_str()));
    let found = tx
        .query(&sql, &[&now_ms, &after_ms, &after, &batch_max])
        .await?;
    let claim = |row: &SqlRow| {
        let order = rows::order(row, 0)?;
        Ok(OverdueClaim {
            claim_until_ms: order.claim_until_ms,
            hold: hold_of_order(&order, row, ORDER_COLUMNS_LEN)?,
            cursor: count(row, ORDER_COLUMNS_LEN + 2)?,
            order: order.id,
        })
    };
    found.iter().map(claim).collect()
}

/// Returns a show's rows with a number above `after`, in order.
pub(super) async fn seat_rows(
    tx: &SqlTransaction,
    show: &ShowId,
    after: i64,
    batch_max: u32,
) -> Result<Vec<SeatOutboxRow>> {
    let sql = "SELECT s.number, s.kind, s.hold, o.visitor, s.items FROM seat_outbox s \
         JOIN orders o ON o.order_id = s.order_id \
         WHERE s.show = $1 AND s.number > $2 ORDER BY s.number LIMIT $3";
    let rows = tx.query(sql, &[&show.as_str(), &after, &batch_max]).await?;
    let read = |row: &SqlRow| {
        let items = items(text(row, 4)?)?;
        Ok(SeatOutboxRow {
            seq: count(row, 0)?,
            kind: seat_kind(text(row, 1)?)?,
            hold: parsed(text(row, 2)?)?,
            visitor: holder_from_bytes(row.get(3)?)?,
            items: items.into_iter().map(|item| item.held).collect(),
        })
    };
    rows.iter().map(read).collect()
}

/// Records that the order's visitor has finished buying, for [`finished`]. Also counts the order if
/// no payment provider knows of it.
pub(super) async fn record_finished(tx: &SqlTransaction, order: &Order) -> Result<()> {
    let sql = "INSERT INTO finished (show, visitor) VALUES ($1, $2) \
         RETURNING (SELECT provider FROM payments WHERE order_id = $3)";
    let (show, visitor) = (order.show.as_str(), order.visitor.0);
    let row = tx
        .query_one(sql, &[&show, &visitor, &order.id.as_str()])
        .await?;
    let provider: Option<&str> = row.get(0)?;
    let kind = provider.and_then(|name| name.parse::<ProviderKind>().ok());
    if order.total == 0 || !kind.is_some_and(ProviderKind::keeps_orders) {
        tx.count_order_without_provider();
    }
    Ok(())
}

/// Returns visitors whose orders of these shows were ticketed, each with a number above `after`.
pub(super) async fn finished(
    installation: &Installation,
    after: i64,
    shows: Vec<ShowId>,
) -> Result<Vec<(u64, Holder)>> {
    if installation.dialect() == SqlDialect::Postgres {
        number_finished(installation).await?;
    }
    let shows: Vec<String> = shows.iter().map(ToString::to_string).collect();
    installation
        .read(shows, move |tx, shows| {
            Box::pin(finished_rows_after(tx, after, shows))
        })
        .await
}

/// Returns the number of the newest order that was ticketed. 0 if there is none.
pub(super) async fn newest_finished(installation: &Installation) -> Result<u64> {
    let sql = match installation.dialect() {
        SqlDialect::Postgres => {
            number_finished(installation).await?;
            "SELECT COALESCE(MAX(number), 0) FROM finished WHERE number IS NOT NULL"
        }
        SqlDialect::Sqlite => "SELECT COALESCE(MAX(seq), 0) FROM finished",
    };
    installation
        .read((), move |tx, ()| {
            Box::pin(async move { count(&tx.query_one(sql, &[]).await?, 0) })
        })
        .await
}

async fn number_finished(installation: &Installation) -> Result<()> {
    let fresh = installation.read((), |tx, ()| {
        let sql = "SELECT 1 FROM finished WHERE number IS NULL LIMIT 1";
        Box::pin(tx.first(sql, &[]))
    });
    if fresh.await?.is_none() {
        return Ok(());
    }
    let numbered = installation.write((), |tx, ()| {
        Box::pin(async move {
            tx.lock(&[NamedLock::numbered(lock::FINISHED_NUMBERS, 0)])
                .await?;
            let sql =
                "UPDATE finished SET number = nextval('finished_numbers') WHERE number IS NULL";
            tx.execute(sql, &[]).await
        })
    });
    numbered.await.map(drop)
}

/// Returns visitors whose orders were ticketed, each with a number above `after`. The limit counts
/// only rows of these shows, so rows of other shows do not use it up.
async fn finished_rows_after(
    tx: &SqlTransaction,
    after: i64,
    shows: &[String],
) -> Result<Vec<(u64, Holder)>> {
    let sql = match tx.dialect() {
        SqlDialect::Postgres => {
            "SELECT number, visitor FROM finished WHERE number > $1 AND show = ANY ($2) \
             ORDER BY number LIMIT $3"
        }
        SqlDialect::Sqlite => {
            "SELECT seq, visitor FROM finished WHERE seq > $1 AND show = ANY ($2) \
             ORDER BY seq LIMIT $3"
        }
    };
    let rows = tx.query(sql, &[&after, &shows, &FINISHED_MAX]).await?;
    let read = |row: &SqlRow| Ok((count(row, 0)?, holder_from_bytes(row.get(1)?)?));
    rows.iter().map(read).collect()
}
