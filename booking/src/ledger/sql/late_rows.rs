//! Reads and writes the searches for seats that late money can buy, for the transactions in other
//! modules.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::OrderId;
use fairgate_model::orders::ReplacementOffer;

use super::rows::{Result, items, parsed, text};

/// Begins the search for seats that an order's late money can buy, in the transaction that records
/// the money.
pub(super) async fn begin_search(tx: &SqlTransaction, order: &OrderId, now_ms: i64) -> Result<()> {
    let sql = "INSERT INTO late_money (order_id, since, due_at, due_set_at) \
         VALUES ($1, $2, $2, $2) ON CONFLICT (order_id) DO NOTHING";
    tx.execute(sql, &[&order.as_str(), &now_ms]).await?;
    Ok(())
}

/// Returns the seats that an order's late money bought, or that were offered for it.
pub(super) async fn late_seats(
    tx: &SqlTransaction,
    order: &OrderId,
) -> Result<Option<ReplacementOffer>> {
    let sql = "SELECT hold, items, until FROM late_money WHERE order_id = $1 AND hold IS NOT NULL";
    let Some(row) = tx.first(sql, &[&order.as_str()]).await? else {
        return Ok(None);
    };
    Ok(Some(ReplacementOffer {
        hold: parsed(text(&row, 0)?)?,
        items: items(text(&row, 1)?)?,
        until_ms: row.get(2)?,
    }))
}
