//! Reads values, orders and payments from rows.

use fairgate_databases::{SqlRow, SqlTransaction};

pub(super) use crate::ledger::stored::{
    READ_FOR_MS, REFUND_COLUMNS, RefundRow, Result, ShowClaimState, as_hold, as_i64, bytes32,
    call_outcome, check_item_prices, corrupt, coverage_by_room, from_json, given_up_error,
    holder_from_bytes, items, items_text, may_claim, next_terms, parsed, read_fate, read_refund,
    run_of, scan_outcome, seat_kind, seat_word, stored_run, to_json, unsearched,
};

use fairgate_model::ids::OrderId;
use fairgate_model::money::{Currency, Money};
use fairgate_model::orders::{Buyer, Order, OrderState};
use fairgate_model::payments::returns::DisputeState;
use fairgate_model::payments::{Payment, PaymentState};

/// The columns of an order `o`, as [`order`] reads them.
pub(super) const ORDER_COLUMNS: &str = "o.order_id, o.hold, o.visitor, o.room, o.buyer_name, \
     o.buyer_email, o.currency, o.total, o.items, o.plan_version, o.payment, o.state, o.reason, \
     o.created_at, o.pay_until, o.claim_until, o.terms, o.let_go, \
     COALESCE(o.full_pay_until, o.pay_until), COALESCE(o.full_claim_until, \
     o.claim_until + COALESCE(o.full_pay_until, o.pay_until) - o.pay_until)";

/// The number of [`ORDER_COLUMNS`]. A statement's own columns follow them.
pub(super) const ORDER_COLUMNS_LEN: usize = 20;

/// The columns of a payment `p`, as [`payment`] reads them.
pub(super) const PAYMENT_COLUMNS: &str = "p.payment, p.order_id, p.provider, p.amount, p.currency, \
     p.state, p.reference, p.client, p.refunded, p.attempt, p.dispute";

/// Reads a text column.
pub(super) fn text(row: &SqlRow, index: usize) -> Result<&str> {
    row.get(index)
}

/// Reads a column with a count, which is never negative.
pub(super) fn count(row: &SqlRow, index: usize) -> Result<u64> {
    Ok(row.get::<i64>(index)?.unsigned_abs())
}

/// Reads a column with a number that must fit a smaller type.
pub(super) fn small<T: TryFrom<i64>>(row: &SqlRow, index: usize) -> Result<T> {
    T::try_from(row.get(index)?).map_err(|_| corrupt("a number out of its range"))
}

/// Reads a row whose columns from `first_column` on are [`ORDER_COLUMNS`].
pub(super) fn order(row: &SqlRow, first_column: usize) -> Result<Order> {
    let column = |index: usize| text(row, first_column + index);
    let id: OrderId = parsed(column(0)?)?;
    Ok(Order {
        show: id.show(),
        hold: parsed(column(1)?)?,
        visitor: holder_from_bytes(row.get(first_column + 2)?)?,
        room: column(3)?.to_owned(),
        buyer: Buyer {
            name: column(4)?.to_owned(),
            email: column(5)?.to_owned(),
        },
        currency: Currency::parse(column(6)?).ok_or_else(|| corrupt("currency"))?,
        total: row.get(first_column + 7)?,
        items: items(column(8)?)?,
        plan_version: small(row, first_column + 9)?,
        payment: parsed(column(10)?)?,
        state: OrderState::parse(column(11)?).ok_or_else(|| corrupt("an order's state"))?,
        reason: column(12)?.to_owned(),
        created_at_ms: row.get(first_column + 13)?,
        pay_until_ms: row.get(first_column + 14)?,
        claim_until_ms: row.get(first_column + 15)?,
        terms: small(row, first_column + 16)?,
        waived: row.get(first_column + 17)?,
        full_pay_until_ms: row.get(first_column + 18)?,
        full_claim_until_ms: row.get(first_column + 19)?,
        id,
    })
}

/// Finds an order, without a lock.
pub(super) async fn find_order(tx: &SqlTransaction, id: &OrderId) -> Result<Option<Order>> {
    let sql = format!("SELECT {ORDER_COLUMNS} FROM orders o WHERE o.order_id = $1");
    let row = tx.first(&sql, &[&id.as_str()]).await?;
    row.as_ref().map(|row| order(row, 0)).transpose()
}

/// Finds and locks an order. No other transaction changes the order until this transaction ends.
pub(super) async fn lock_order(tx: &SqlTransaction, id: &str) -> Result<Option<Order>> {
    let sql = format!("SELECT {ORDER_COLUMNS} FROM orders o WHERE o.order_id = $1 FOR UPDATE");
    let row = tx.first(&sql, &[&id]).await?;
    row.as_ref().map(|row| order(row, 0)).transpose()
}

/// Reads a row whose columns from `first_column` on are [`PAYMENT_COLUMNS`].
pub(super) fn payment(row: &SqlRow, first_column: usize) -> Result<Payment> {
    let column = |index: usize| text(row, first_column + index);
    let currency = Currency::parse(column(4)?).ok_or_else(|| corrupt("currency"))?;
    Ok(Payment {
        id: parsed(column(0)?)?,
        order: parsed(column(1)?)?,
        provider: column(2)?.to_owned(),
        amount: Money {
            amount: row.get(first_column + 3)?,
            currency,
        },
        state: PaymentState::parse(column(5)?).ok_or_else(|| corrupt("a payment's state"))?,
        reference: row.get(first_column + 6)?,
        client: row.get(first_column + 7)?,
        refunded: row.get(first_column + 8)?,
        attempt: small(row, first_column + 9)?,
        dispute: row
            .get::<Option<&str>>(first_column + 10)?
            .map(|word| DisputeState::parse(word).ok_or_else(|| corrupt("a dispute's state")))
            .transpose()?,
    })
}
