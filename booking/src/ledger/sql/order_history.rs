//! Writes the steps of an order's history.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::OrderId;
use fairgate_model::orders::OrderState;

use super::rows::Result;

/// Adds a step to an order's history. The caller may have read its clock before the last step was
/// committed. So if `now_ms` is earlier than the time of the last step, the new step gets that
/// time.
pub(super) async fn add_step(
    tx: &SqlTransaction,
    order: &OrderId,
    state: OrderState,
    reason: &str,
    now_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO order_history (order_id, step, at, state, reason) \
         SELECT $1, COALESCE(MAX(step), 0) + 1, GREATEST($2, COALESCE(MAX(at), $2)), $3, $4 \
         FROM order_history WHERE order_id = $1";
    tx.execute(sql, &[&order.as_str(), &now_ms, &state.as_str(), &reason])
        .await?;
    Ok(())
}
