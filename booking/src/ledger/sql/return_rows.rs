//! Reads and changes rows about money that went back at the provider: refunds that are done, what
//! is left of the money of an order, and tickets that a dispute blocks.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_model::ids::{OrderId, RefundId};
use fairgate_model::orders::refund::{MoneyOfOrder, NewRefund, next_id};

use super::exchange_rows::exchanged_order_if_done;
use super::finding_rows::sum_in_part;
use super::rows::{Result, items_text, small};

/// Inserts the next refund of an order, which is done, and returns its id.
pub(super) async fn insert_next_done(
    tx: &SqlTransaction,
    order: &OrderId,
    row: NewRefund<'_>,
    now_ms: i64,
) -> Result<RefundId> {
    let (nth, refund) = next_id(order, last_number(tx, order).await?);
    insert_done(tx, order, (nth, &refund), row, now_ms).await?;
    Ok(refund)
}

/// Inserts a refund that is done.
pub(super) async fn insert_done(
    tx: &SqlTransaction,
    order: &OrderId,
    (nth, refund): (u32, &RefundId),
    row: NewRefund<'_>,
    now_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO refunds (refund, order_id, nth, items, amount, fee, reason, made_at, \
         due_at, due_set_at, done_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $8, $8)";
    let with: [&(dyn ToSqlValue + Sync); 8] = [
        &refund.as_str(),
        &order.as_str(),
        &nth,
        &items_text(row.items)?,
        &row.amount,
        &row.fee,
        &row.reason.as_str(),
        &now_ms,
    ];
    tx.execute(sql, &with).await?;
    Ok(())
}

/// Returns the number of the last refund of an order, or 0 if there is none.
pub(super) async fn last_number(tx: &SqlTransaction, order: &OrderId) -> Result<u32> {
    let sql = "SELECT COALESCE(MAX(nth), 0) FROM refunds WHERE order_id = $1";
    small(&tx.query_one(sql, &[&order.as_str()]).await?, 0)
}

/// Returns how much of the money that pays for an order's seats no refund has taken, in minor
/// units. It may be in the payments of orders that were exchanged for this one.
pub(super) async fn money_left(tx: &SqlTransaction, live: &OrderId) -> Result<i64> {
    Ok(money_of(tx, live).await?.left)
}

/// Returns where the money is that pays for an order's seats.
pub(super) async fn money_of(tx: &SqlTransaction, live: &OrderId) -> Result<MoneyOfOrder> {
    let mut chain = vec![live.clone()];
    while let Some(older) = exchanged_order_if_done(tx, &chain[chain.len() - 1]).await? {
        chain.push(older);
    }
    let mut left = 0;
    for order in &chain {
        left += amount_left(tx, order).await?;
    }
    let orders: Vec<&str> = chain.iter().map(OrderId::as_str).collect();
    Ok(MoneyOfOrder {
        left,
        uncovered: uncovered(tx, &orders).await?,
        unsettled: sum_in_part(tx, live).await?,
    })
}

/// Returns whether a payment that pays for an order's seats has an open dispute.
pub(super) async fn is_disputed(tx: &SqlTransaction, live: &OrderId) -> Result<bool> {
    let sql = "WITH RECURSIVE chain (order_id) AS (SELECT order_id FROM orders WHERE order_id = $1 \
             UNION SELECT x.order_id FROM exchanges x JOIN chain c ON x.successor = c.order_id \
             WHERE x.done_at IS NOT NULL) \
         SELECT 1 FROM payments p JOIN chain c ON c.order_id = p.order_id \
         WHERE p.dispute = 'open' LIMIT 1";
    Ok(tx.first(sql, &[&live.as_str()]).await?.is_some())
}

/// Blocks the order's tickets: they open no door until [`unblock`].
pub(super) async fn block(tx: &SqlTransaction, order: &OrderId, now_ms: i64) -> Result<()> {
    let sql = "UPDATE tickets SET blocked_at = $2 \
         WHERE order_id = $1 AND voided_at IS NULL AND blocked_at IS NULL";
    tx.execute(sql, &[&order.as_str(), &now_ms]).await?;
    Ok(())
}

/// Lets the order's tickets open doors again.
pub(super) async fn unblock(tx: &SqlTransaction, order: &OrderId) -> Result<()> {
    let sql = "UPDATE tickets SET blocked_at = NULL WHERE order_id = $1 AND blocked_at IS NOT NULL";
    tx.execute(sql, &[&order.as_str()]).await?;
    Ok(())
}

/// Returns whether tickets of an order are blocked by a dispute.
pub(super) async fn is_blocked(tx: &SqlTransaction, order: &OrderId) -> Result<bool> {
    let sql = "SELECT 1 FROM tickets WHERE order_id = $1 AND blocked_at IS NOT NULL \
         AND voided_at IS NULL LIMIT 1";
    Ok(tx.first(sql, &[&order.as_str()]).await?.is_some())
}

/// Returns whether money of one of these orders' payments went back without a call of ours.
pub(super) async fn any_unasked(tx: &SqlTransaction, orders: &[&str]) -> Result<bool> {
    let sql = "SELECT 1 FROM provider_returns x JOIN payments p ON p.payment = x.payment \
         WHERE p.order_id = ANY ($1) AND x.came_back_at IS NULL LIMIT 1";
    Ok(tx.first(sql, &[&orders]).await?.is_some())
}

/// Returns the part of an order's payment that no refund has taken, in minor units.
pub(super) async fn amount_left(tx: &SqlTransaction, order: &OrderId) -> Result<i64> {
    let sql = "SELECT o.total - (SELECT COALESCE(SUM(r.amount), 0)::bigint FROM refunds r \
             WHERE r.order_id = o.order_id) FROM orders o WHERE o.order_id = $1";
    tx.query_one(sql, &[&order.as_str()]).await?.get(0)
}

/// Returns how much of these orders' payments went back at the provider without a call of ours and
/// is not counted for any refund yet, in minor units.
pub(super) async fn uncovered(tx: &SqlTransaction, orders: &[&str]) -> Result<i64> {
    let sql = "SELECT COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM provider_returns x \
             WHERE x.refund = r.refund AND x.came_back_at IS NULL) \
             THEN r.amount ELSE 0 END - r.covered), 0)::bigint \
         FROM refunds r WHERE r.order_id = ANY ($1)";
    tx.query_one(sql, &[&orders]).await?.get(0)
}
