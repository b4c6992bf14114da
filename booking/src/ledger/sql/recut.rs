//! Gives all that is stored of a train other legs, because other stops came in or went out. The
//! caller has locked the show's plan alone, so nobody claims seats meanwhile. Each order's row is
//! locked before it is read, so no order changes meanwhile.
//!
//! The train pins a larger plan number. So a basket of the earlier legs cannot be ordered any more,
//! and every store opens the train again.

use std::collections::BTreeMap;

use fairgate_databases::{SqlDialect, SqlTransaction, ToSqlValue};
use fairgate_model::orders::OrderItem;
use fairgate_model::runs::recut::Recut;

use super::plan_pins;
use super::rows::{Result, from_json, items, items_text, small, text, to_json};
use crate::ledger::{PlanPin, StoredShow};

/// The seats that late money of a show's orders was given or offered.
const LATE_MONEY: ItemColumn = ItemColumn {
    read: "SELECT l.order_id, l.items FROM late_money l JOIN orders o ON o.order_id = l.order_id \
         WHERE o.show = $1 AND l.items IS NOT NULL ORDER BY l.order_id",
    write: "UPDATE late_money SET items = $3 WHERE order_id = $2 \
         AND EXISTS (SELECT 1 FROM orders o WHERE o.order_id = $2 AND o.show = $1)",
};
/// The seats that went back from a show's orders.
const REFUNDS: ItemColumn = ItemColumn {
    read: "SELECT r.refund, r.items FROM refunds r JOIN orders o ON o.order_id = r.order_id \
         WHERE o.show = $1 ORDER BY r.refund",
    write: "UPDATE refunds SET items = $3 WHERE refund = $2 \
         AND EXISTS (SELECT 1 FROM orders o WHERE o.order_id = refunds.order_id AND o.show = $1)",
};
/// The seats that exchanges into a show bring.
const EXCHANGED_FOR: ItemColumn = ItemColumn {
    read: "SELECT e.successor, e.items FROM exchanges e JOIN orders o ON o.order_id = e.successor \
         WHERE o.show = $1 ORDER BY e.successor",
    write: "UPDATE exchanges SET items = $3 WHERE successor = $2 \
         AND EXISTS (SELECT 1 FROM orders o WHERE o.order_id = $2 AND o.show = $1)",
};
/// The seats of a show that are given for others.
const EXCHANGED: ItemColumn = ItemColumn {
    read: "SELECT e.successor, e.given FROM exchanges e JOIN orders o ON o.order_id = e.order_id \
         WHERE o.show = $1 ORDER BY e.successor",
    write: "UPDATE exchanges SET given = $3 WHERE successor = $2 \
         AND EXISTS (SELECT 1 FROM orders o WHERE o.order_id = exchanges.order_id AND o.show = $1)",
};

/// A column that has seats of orders. `$1` is the show, `$2` the row's key, `$3` the seats.
struct ItemColumn {
    /// Reads the key and the seats of each row.
    read: &'static str,
    /// Writes the seats of a row.
    write: &'static str,
}

/// Gives everything that is stored of a train the legs of its later run.
pub(super) async fn recut(
    tx: &SqlTransaction,
    show: &StoredShow,
    recut: Recut<'_>,
    now_ms: i64,
) -> Result<()> {
    let pin = PlanPin {
        venue: show.document.venue.clone(),
        version: show.plan_version,
    };
    let version = plan_pins::same_plan_again(tx, &pin, now_ms).await?;
    recut_orders(tx, show, recut, version).await?;
    for column in [LATE_MONEY, REFUNDS, EXCHANGED_FOR, EXCHANGED] {
        recut_items(tx, show, recut, &column).await?;
    }
    recut_seat_rows(tx, show, recut).await?;
    recut_tickets(tx, show, recut).await?;
    recut_claims(tx, show, recut).await?;
    let sql = "UPDATE shows SET plan_version = $2 WHERE show = $1";
    tx.execute(sql, &[&show.id.as_str(), &version]).await?;
    Ok(())
}

/// An order whose stretch is gone keeps the earlier plan number. So late money buys nothing for it.
async fn recut_orders(
    tx: &SqlTransaction,
    show: &StoredShow,
    recut: Recut<'_>,
    version: u32,
) -> Result<()> {
    let sql = "SELECT order_id, items FROM orders WHERE show = $1 ORDER BY order_id FOR UPDATE";
    for row in tx.query(sql, &[&show.id.as_str()]).await? {
        let items = recut_seats(recut, items(text(&row, 1)?)?);
        let is_gone = items.iter().any(|item| item.held.legs.is_empty());
        let version = if is_gone { show.plan_version } else { version };
        let sql = "UPDATE orders SET items = $2, plan_version = $3 WHERE order_id = $1";
        let items = items_text(&items)?;
        tx.execute(sql, &[&text(&row, 0)?, &items, &version])
            .await?;
    }
    Ok(())
}

/// Gives seats of orders the legs of the later run. A seat whose stretch the later run does not
/// have gets no legs: nobody has it any more.
fn recut_seats(recut: Recut<'_>, mut seats: Vec<OrderItem>) -> Vec<OrderItem> {
    for seat in &mut seats {
        seat.held.legs = recut.legs(&seat.held.legs).unwrap_or(0..0);
    }
    seats
}

async fn recut_items(
    tx: &SqlTransaction,
    show: &StoredShow,
    recut: Recut<'_>,
    column: &ItemColumn,
) -> Result<()> {
    let id = show.id.as_str();
    for row in tx.query(column.read, &[&id]).await? {
        let before = text(&row, 1)?;
        let after = items_text(&recut_seats(recut, items(before)?))?;
        if after != before {
            tx.execute(column.write, &[&id, &text(&row, 0)?, &after])
                .await?;
        }
    }
    Ok(())
}

/// Rows that are not delivered yet are delivered to the picture of the later legs.
async fn recut_seat_rows(tx: &SqlTransaction, show: &StoredShow, recut: Recut<'_>) -> Result<()> {
    let key = match tx.dialect() {
        SqlDialect::Postgres => "id",
        SqlDialect::Sqlite => "number",
    };
    let id = show.id.as_str();
    let read = format!("SELECT {key}, items FROM seat_outbox WHERE show = $1");
    let write = format!("UPDATE seat_outbox SET items = $3 WHERE show = $1 AND {key} = $2");
    for row in tx.query(&read, &[&id]).await? {
        let number: i64 = row.get(0)?;
        let after = items_text(&recut_seats(recut, items(text(&row, 1)?)?))?;
        tx.execute(&write, &[&id, &number, &after]).await?;
    }
    Ok(())
}

async fn recut_tickets(tx: &SqlTransaction, show: &StoredShow, recut: Recut<'_>) -> Result<()> {
    let sql = "SELECT ticket, legs FROM tickets WHERE show = $1";
    for row in tx.query(sql, &[&show.id.as_str()]).await? {
        let legs: Vec<u16> = from_json(text(&row, 1)?)?;
        let after = to_json(&recut.single_legs(&legs))?;
        let sql = "UPDATE tickets SET legs = $2 WHERE ticket = $1";
        tx.execute(sql, &[&text(&row, 0)?, &after]).await?;
    }
    Ok(())
}

/// Replaces all claims of the train. The key of the table still decides that a cell has one order.
async fn recut_claims(tx: &SqlTransaction, show: &StoredShow, recut: Recut<'_>) -> Result<()> {
    let id = show.id.as_str();
    let sql = "SELECT order_id, visitor, seat, leg FROM claims WHERE show = $1 \
         ORDER BY order_id, seat, leg";
    let mut before: BTreeMap<(String, Vec<u8>, u32), Vec<u16>> = BTreeMap::new();
    for row in tx.query(sql, &[&id]).await? {
        let key = (
            text(&row, 0)?.to_owned(),
            row.get::<&[u8]>(1)?.to_vec(),
            small(&row, 2)?,
        );
        before.entry(key).or_default().push(small(&row, 3)?);
    }
    tx.execute("DELETE FROM claims WHERE show = $1", &[&id])
        .await?;
    let sql = match tx.dialect() {
        SqlDialect::Postgres => {
            "INSERT INTO claims (show, order_id, visitor, seat, leg) \
             SELECT $1, $2, $3, $4, leg FROM unnest($5::bigint[]) AS w (leg)"
        }
        SqlDialect::Sqlite => {
            "INSERT INTO claims (show, order_id, visitor, seat, leg) VALUES ($1, $2, $3, $4, $5)"
        }
    };
    for ((order, visitor, seat), legs) in before {
        let legs: Vec<i64> = recut
            .single_legs(&legs)
            .into_iter()
            .map(i64::from)
            .collect();
        let claim: [&(dyn ToSqlValue + Sync); 4] = [&id, &order.as_str(), &visitor, &seat];
        match tx.dialect() {
            SqlDialect::Postgres => {
                let [id, order, visitor, seat] = claim;
                tx.execute(sql, &[id, order, visitor, seat, &legs]).await?;
            }
            SqlDialect::Sqlite => {
                for leg in &legs {
                    let [id, order, visitor, seat] = claim;
                    tx.execute(sql, &[id, order, visitor, seat, leg]).await?;
                }
            }
        }
    }
    Ok(())
}
