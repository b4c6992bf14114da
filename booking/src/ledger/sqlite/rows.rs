//! Rows to values and back, in one place, so that a column's form is known once.

use fairgate_databases::rusqlite::{Connection, OptionalExtension, Row};

use crate::ids::OrderId;
pub(super) use crate::ledger::stored::{
    READ_FOR_MS, REFUND_COLUMNS, Result, Standing, as_hold, as_i64, bytes32, call_met, corrupt,
    coverage, fate, given_up, holder, items, items_text, json, may_claim, met, next_terms, parsed,
    priced, refund, run_of, seat_kind, seat_word, stored_run, to_json, unsearched,
};
use crate::money::{Currency, Money};
use crate::orders::{Buyer, Order, OrderState};
use crate::payments::{Payment, PaymentState};

pub(super) const ORDER_COLUMNS: &str = "order_id, hold, visitor, room, buyer_name, buyer_email, currency, total, \
     items, plan_version, payment, state, reason, created_at, pay_until, claim_until, terms, let_go";

/// Reads a row of [`ORDER_COLUMNS`].
pub(super) fn order(row: &Row<'_>) -> Result<Order> {
    let text = |index: usize| -> Result<String> { Ok(row.get(index)?) };
    let id: OrderId = parsed(&text(0)?)?;
    let state = text(11)?;
    Ok(Order {
        show: id.show(),
        hold: parsed(&text(1)?)?,
        visitor: holder(&row.get::<_, Vec<u8>>(2)?)?,
        room: text(3)?,
        buyer: Buyer {
            name: text(4)?,
            email: text(5)?,
        },
        currency: Currency::parse(&text(6)?).ok_or_else(|| corrupt("currency"))?,
        total: row.get(7)?,
        items: items(&text(8)?)?,
        plan_version: row.get(9)?,
        payment: parsed(&text(10)?)?,
        state: OrderState::of_word(&state).ok_or_else(|| corrupt(&state))?,
        reason: text(12)?,
        created_at_ms: row.get(13)?,
        pay_until_ms: row.get(14)?,
        claim_until_ms: row.get(15)?,
        terms: row.get(16)?,
        let_go: row.get(17)?,
        id,
    })
}

/// One order by its id.
pub(super) fn find_order(connection: &Connection, id: &OrderId) -> Result<Option<Order>> {
    let sql = format!("SELECT {ORDER_COLUMNS} FROM orders WHERE order_id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(order).transpose()
}

pub(super) const PAYMENT_COLUMNS: &str = "p.payment, p.order_id, p.provider, p.amount, p.currency, p.state, p.reference, p.client, p.refunded";

/// Reads a row whose columns from `at` on are [`PAYMENT_COLUMNS`].
pub(super) fn payment(row: &Row<'_>, at: usize) -> Result<Payment> {
    let text = |index: usize| -> Result<String> { Ok(row.get(at + index)?) };
    let currency = Currency::parse(&text(4)?).ok_or_else(|| corrupt("currency"))?;
    let state = text(5)?;
    Ok(Payment {
        id: parsed(&text(0)?)?,
        order: parsed(&text(1)?)?,
        provider: text(2)?,
        amount: Money {
            amount: row.get(at + 3)?,
            currency,
        },
        state: PaymentState::of_word(&state).ok_or_else(|| corrupt(&state))?,
        reference: row.get(at + 6)?,
        client: row.get(at + 7)?,
        refunded: row.get(at + 8)?,
    })
}

/// All rows of a query, each read by `read`.
pub(super) fn collect<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl fairgate_databases::rusqlite::Params,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next()? {
        out.push(read(row)?);
    }
    Ok(out)
}

/// The first row of a query, if there is one.
pub(super) fn first<T: fairgate_databases::rusqlite::types::FromSql>(
    connection: &Connection,
    sql: &str,
    parameters: impl fairgate_databases::rusqlite::Params,
) -> Result<Option<T>> {
    Ok(connection
        .prepare_cached(sql)?
        .query_row(parameters, |row| row.get(0))
        .optional()?)
}
