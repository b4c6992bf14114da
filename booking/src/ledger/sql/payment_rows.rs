//! Reads and changes payments as they are stored.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::{OrderId, PaymentId};
use fairgate_model::orders::Order;
use fairgate_model::payments::{Payment, PaymentState};

use super::order_history;
use super::rows::{self, PAYMENT_COLUMNS, Result};

/// Finds a payment, without a lock.
pub(super) async fn find_payment(tx: &SqlTransaction, payment: &str) -> Result<Option<Payment>> {
    let sql = format!("SELECT {PAYMENT_COLUMNS} FROM payments p WHERE p.payment = $1");
    let row = tx.first(&sql, &[&payment]).await?;
    row.as_ref().map(|row| rows::payment(row, 0)).transpose()
}

/// Finds a payment by the provider's id of it, without a lock.
pub(super) async fn find_by_reference(
    tx: &SqlTransaction,
    provider: &str,
    reference: &str,
) -> Result<Option<Payment>> {
    let sql = format!(
        "SELECT {PAYMENT_COLUMNS} FROM payments p WHERE p.reference = $1 AND p.provider = $2"
    );
    let row = tx.first(&sql, &[&reference, &provider]).await?;
    row.as_ref().map(|row| rows::payment(row, 0)).transpose()
}

/// Returns whether an earlier attempt to pay had this id at the provider, and ended.
pub(super) async fn has_ended(
    tx: &SqlTransaction,
    payment: &PaymentId,
    reference: &str,
) -> Result<bool> {
    let sql = "SELECT 1 FROM ended_attempts WHERE payment = $1 AND reference = $2";
    Ok(tx
        .first(sql, &[&payment.as_str(), &reference])
        .await?
        .is_some())
}

/// Ends an attempt to pay, because the payment was cancelled at the provider. The next attempt is
/// another payment at the provider. Later events about this attempt change nothing.
pub(super) async fn end_attempt(
    tx: &SqlTransaction,
    order: &Order,
    payment: &Payment,
    now_ms: i64,
) -> Result<()> {
    let id = payment.id.as_str();
    let sql = "INSERT INTO ended_attempts (payment, reference, ended_at) \
         VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    tx.execute(sql, &[&id, &payment.reference, &now_ms]).await?;
    let sql = "UPDATE payments SET state = 'created', reference = NULL, client = NULL, \
         attempt = attempt + 1, updated_at = $2, read_due = LEAST(read_due, $2) WHERE payment = $1";
    tx.execute(sql, &[&id, &now_ms]).await?;
    order_history::add_step(tx, &order.id, order.state, "payment_cancelled", now_ms).await
}

pub(super) async fn move_payment(
    tx: &SqlTransaction,
    order: &OrderId,
    state: PaymentState,
    now_ms: i64,
) -> Result<()> {
    // The intervals at which the payment is read back begin anew.
    let sql = "UPDATE payments SET state = $2, updated_at = $3, read_due = LEAST(read_due, $3) \
         WHERE order_id = $1";
    tx.execute(sql, &[&order.as_str(), &state.as_str(), &now_ms])
        .await?;
    close_refunds(tx, order, state, now_ms).await
}

/// Marks an order's refunds as done if the whole payment was voided or refunded, because their
/// money went back with the payment. If the payment was voided, also deletes a capture that was not
/// made and is no longer owed.
pub(super) async fn close_refunds(
    tx: &SqlTransaction,
    order: &OrderId,
    state: PaymentState,
    now_ms: i64,
) -> Result<()> {
    if matches!(state, PaymentState::Voided | PaymentState::Refunded) {
        let sql = "UPDATE refunds SET done_at = $2 WHERE order_id = $1 AND done_at IS NULL";
        tx.execute(sql, &[&order.as_str(), &now_ms]).await?;
    }
    if state == PaymentState::Voided {
        // A voided payment can no longer be captured, so the capture is not requested.
        let sql = "DELETE FROM effects WHERE order_id = $1 AND kind = 'capture' AND done_at IS NULL \
             AND EXISTS (SELECT 1 FROM payments WHERE order_id = $1 AND owes <> 'capture')";
        tx.execute(sql, &[&order.as_str()]).await?;
    }
    Ok(())
}
