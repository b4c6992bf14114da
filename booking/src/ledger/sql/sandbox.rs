//! Stores the sandbox provider's own data: the state of each payment, and its partial refunds.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_model::ids::{PaymentId, RefundId};

use super::rows::{Result, text};

/// Sets the state of a payment to `to`, if the state is one of `from`. Returns the state
/// afterwards. A new payment is `open`.
pub(super) async fn change_state(
    tx: &SqlTransaction,
    payment: &PaymentId,
    from: &[&str],
    to: &str,
) -> Result<String> {
    let payment = payment.as_str();
    let sql = "INSERT INTO sandbox_payments (payment, state) VALUES ($1, 'open') \
         ON CONFLICT (payment) DO NOTHING";
    tx.execute(sql, &[&payment]).await?;
    let sql = "SELECT state FROM sandbox_payments WHERE payment = $1 FOR UPDATE";
    let row = tx.query_one(sql, &[&payment]).await?;
    let state = text(&row, 0)?;
    if !from.contains(&state) {
        return Ok(state.to_owned());
    }
    let sql = "UPDATE sandbox_payments SET state = $2 WHERE payment = $1";
    tx.execute(sql, &[&payment, &to]).await?;
    Ok(to.to_owned())
}

/// Refunds an amount, once per refund id, and never more than was captured. Returns the sum of all
/// refunds so far. Returns `None` and refunds nothing if nothing was captured or too little is
/// left.
pub(super) async fn give_back(
    tx: &SqlTransaction,
    payment: &PaymentId,
    refund: &RefundId,
    (amount, captured): (i64, i64),
) -> Result<Option<i64>> {
    let (id, refund) = (payment.as_str(), refund.as_str());
    let sql = "SELECT 1 FROM sandbox_payments WHERE payment = $1 \
         AND state IN ('captured', 'refunded') FOR UPDATE";
    if tx.first(sql, &[&id]).await?.is_none() {
        return Ok(None);
    }
    let sql = "INSERT INTO sandbox_refunds (refund, payment, amount) \
         SELECT $1::text, $2::text, $3::bigint WHERE $3::bigint + (SELECT COALESCE(SUM(amount), 0) \
             FROM sandbox_refunds WHERE payment = $2)::bigint <= $4::bigint \
         ON CONFLICT (refund) DO NOTHING";
    let with: [&(dyn ToSqlValue + Sync); 4] = [&refund, &id, &amount, &captured];
    tx.execute(sql, &with).await?;
    let back = given_back(tx, payment).await?;
    if back >= captured {
        let sql = "UPDATE sandbox_payments SET state = 'refunded' WHERE payment = $1";
        tx.execute(sql, &[&id]).await?;
    }
    let sql = "SELECT 1 FROM sandbox_refunds WHERE refund = $1";
    let known = tx.first(sql, &[&refund]).await?;
    Ok(known.map(|_| back))
}

/// Returns the sum of a payment's partial refunds.
pub(super) async fn given_back(tx: &SqlTransaction, payment: &PaymentId) -> Result<i64> {
    let sql = "SELECT COALESCE(SUM(amount), 0)::bigint FROM sandbox_refunds WHERE payment = $1";
    tx.query_one(sql, &[&payment.as_str()]).await?.get(0)
}
