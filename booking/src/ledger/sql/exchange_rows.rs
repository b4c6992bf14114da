//! Reads stored exchanges, for the transactions in other modules.

use fairgate_databases::{SqlRow, SqlTransaction};
use fairgate_model::ids::OrderId;
use fairgate_model::orders::exchange::ExchangeRole;
use fairgate_model::orders::{Order, OrderItem, OrderState};

use super::rows::{Result, corrupt, items, parsed, text};

/// An exchange whose seats are not swapped yet.
pub(super) struct OpenExchange {
    pub old_order: OrderId,
    pub items: Vec<OrderItem>,
    pub given: Vec<OrderItem>,
    /// The amount to refund, in minor units. `None` if the exchange began under a version of
    /// Fairgate that did not store the amount.
    pub back: Option<i64>,
    /// When it began, in milliseconds since the epoch.
    pub began_at_ms: i64,
}

pub(super) async fn find_open(
    tx: &SqlTransaction,
    successor: &OrderId,
) -> Result<Option<OpenExchange>> {
    let sql = "SELECT order_id, items, given, back, made_at FROM exchanges \
         WHERE successor = $1 AND done_at IS NULL";
    let row = tx.first(sql, &[&successor.as_str()]).await?;
    let read = |row: SqlRow| {
        Ok(OpenExchange {
            old_order: parsed(text(&row, 0)?)?,
            items: items(text(&row, 1)?)?,
            given: items(text(&row, 2)?)?,
            back: row.get(3)?,
            began_at_ms: row.get(4)?,
        })
    };
    row.map(read).transpose()
}

/// Returns the successor of this order if an exchange of the order is being paid.
pub(super) async fn successor_being_paid(
    tx: &SqlTransaction,
    order: &OrderId,
) -> Result<Option<OrderId>> {
    let sql = "SELECT e.successor FROM exchanges e JOIN orders s ON s.order_id = e.successor \
         WHERE e.order_id = $1 AND e.done_at IS NULL AND s.state IN ('pending', 'confirmed')";
    let row = tx.first(sql, &[&order.as_str()]).await?;
    row.map(|row| parsed(text(&row, 0)?)).transpose()
}

/// Returns whether an exchange made the order, its money is there, and the exchange is not done.
pub(super) async fn is_unfinished_successor(tx: &SqlTransaction, order: &OrderId) -> Result<bool> {
    let sql = "SELECT 1 FROM exchanges e JOIN orders s ON s.order_id = e.successor \
         WHERE e.successor = $1 AND e.done_at IS NULL AND s.state = 'confirmed'";
    Ok(tx.first(sql, &[&order.as_str()]).await?.is_some())
}

/// Returns the order that an order's seats were exchanged for, if an exchange of them is done.
pub(super) async fn done_successor(
    tx: &SqlTransaction,
    order: &OrderId,
) -> Result<Option<OrderId>> {
    let sql = "SELECT successor FROM exchanges WHERE order_id = $1 AND done_at IS NOT NULL";
    let row = tx.first(sql, &[&order.as_str()]).await?;
    row.map(|row| parsed(text(&row, 0)?)).transpose()
}

/// Returns the old order of the exchange that made `successor`, if the exchange is done.
pub(super) async fn exchanged_order_if_done(
    tx: &SqlTransaction,
    successor: &OrderId,
) -> Result<Option<OrderId>> {
    let sql = "SELECT order_id FROM exchanges WHERE successor = $1 AND done_at IS NOT NULL";
    let row = tx.first(sql, &[&successor.as_str()]).await?;
    row.map(|row| parsed(text(&row, 0)?)).transpose()
}

/// Returns the old order of the exchange that made `successor`, whether or not the exchange is
/// done.
pub(super) async fn exchanged_order(
    tx: &SqlTransaction,
    successor: &OrderId,
) -> Result<Option<OrderId>> {
    let sql = "SELECT order_id FROM exchanges WHERE successor = $1";
    let row = tx.first(sql, &[&successor.as_str()]).await?;
    row.map(|row| parsed(text(&row, 0)?)).transpose()
}

/// Returns the exchange that made an order, and the newest exchange of the order's own seats.
pub(super) async fn of_order(tx: &SqlTransaction, order: &OrderId) -> Result<Vec<ExchangeRole>> {
    let sql = "SELECT order_id, items, done_at, fee FROM exchanges WHERE successor = $1";
    let mut found = Vec::new();
    if let Some(row) = tx.first(sql, &[&order.as_str()]).await? {
        found.push(ExchangeRole::Successor {
            of: parsed(text(&row, 0)?)?,
            items: items(text(&row, 1)?)?,
            done: row.get::<Option<i64>>(2)?.is_some(),
            fee: row.get::<Option<i64>>(3)?.unwrap_or(0),
        });
    }
    let sql = "SELECT e.successor, s.state FROM exchanges e JOIN orders s ON s.order_id = e.successor \
         WHERE e.order_id = $1 ORDER BY e.made_at DESC, e.successor LIMIT 1";
    if let Some(row) = tx.first(sql, &[&order.as_str()]).await? {
        found.push(ExchangeRole::Exchanged {
            into: parsed(text(&row, 0)?)?,
            state: OrderState::parse(text(&row, 1)?).ok_or_else(|| corrupt("an order's state"))?,
        });
    }
    Ok(found)
}

/// Returns how many seats an order will have once it is paid. For a successor this includes the
/// seats that stay the same.
pub(super) async fn seats_when_paid(tx: &SqlTransaction, order: &Order) -> Result<usize> {
    let exchanged = find_open(tx, &order.id).await?;
    Ok(exchanged.map_or(order.items.len(), |open| open.items.len()))
}
