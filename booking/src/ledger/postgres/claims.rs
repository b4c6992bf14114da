//! Transaction 1: who may claim, and the cells that decide.

use std::ops::Range;

use fairgate_databases::Tx;
use fairgate_databases::tokio_postgres::Row;
use fairgate_databases::tokio_postgres::types::ToSql;
use fairgate_pass::Holder;

use super::lock;
use super::rows::{
    Result, Standing, corrupt, count, find_order, given_up, items_text, json, may_claim, parsed,
    priced, run_of, small, text,
};
use crate::holds::{Held, Purpose, cells_of};
use crate::ids::{OrderId, ShowId};
use crate::inventory::Grid;
use crate::ledger::{ClaimBasis, ClaimRefused};
use crate::orders::{Order, OrderItem};
use crate::payments::Payment;

/// An order of a basket, or of an offer from the waitlist.
pub(super) async fn claim(
    tx: &Tx,
    order: &Order,
    payment: &Payment,
    basis: ClaimBasis,
) -> std::result::Result<Order, ClaimRefused> {
    if !matches!(basis.purpose, Purpose::Basket | Purpose::Offer) {
        return Err(ClaimRefused::OtherPurpose(basis.purpose));
    }
    keep_out(tx, order).await?;
    if let Some(present) = check(tx, order, &order.items, basis).await? {
        return if super::exchanges::succeeds(tx, &present.id).await?.is_some() {
            Err(ClaimRefused::OtherPurpose(Purpose::Exchange))
        } else {
            Ok(present)
        };
    }
    write(tx, order, payment, basis).await
}

/// The order of an exchange for these seats; an order that is there already is given as it is.
pub(super) async fn claim_for_exchange(
    tx: &Tx,
    order: &Order,
    payment: &Payment,
    items: &[OrderItem],
    basis: ClaimBasis,
) -> std::result::Result<Order, ClaimRefused> {
    keep_out(tx, order).await?;
    match check(tx, order, items, basis).await? {
        Some(present) => Ok(present),
        None => write(tx, order, payment, basis).await,
    }
}

async fn write(
    tx: &Tx,
    order: &Order,
    payment: &Payment,
    basis: ClaimBasis,
) -> std::result::Result<Order, ClaimRefused> {
    insert_order(tx, order, payment).await?;
    insert_claims(tx, order, &order.held(), basis.grid).await?;
    Ok(order.clone())
}

/// From here on the show's plan stays as it is and nobody reads its picture, this visitor's other orders wait, and nobody gives this one up. No lock
/// touches a row, so claims of different visitors do not meet here. (Two visitors with the same first bytes do, and only
/// wait.)
pub(super) async fn keep_out(tx: &Tx, order: &Order) -> Result<()> {
    let [a, b, c, d, ..] = order.visitor.0;
    let visitor = i32::from_be_bytes([a, b, c, d]);
    let sql = "SELECT pg_advisory_xact_lock_shared($1, hashtext($2)), pg_advisory_xact_lock($3, $4), \
         pg_advisory_xact_lock($5, hashtext($6))";
    let (show, id) = (order.show.as_str(), order.id.as_str());
    let with: [&(dyn ToSql + Sync); 6] = [
        &lock::PLAN,
        &show,
        &lock::VISITOR,
        &visitor,
        &lock::ORDER,
        &id,
    ];
    tx.one(sql, &with).await?;
    Ok(())
}

/// What may not be claimed whatever cells are free, and seats at other prices than their terms say; gives the order where it
/// is there already. This statement sees what
/// the transactions that were waited for have committed.
async fn check(
    tx: &Tx,
    order: &Order,
    items: &[OrderItem],
    basis: ClaimBasis,
) -> std::result::Result<Option<Order>, ClaimRefused> {
    let sql = format!(
        "SELECT {STANDING}, EXISTS (SELECT 1 FROM orders WHERE order_id = $3), \
         COALESCE((SELECT at FROM given_up WHERE hold = $4), -1), \
         (SELECT terms FROM terms WHERE show = $1 AND version = $5), (SELECT run FROM shows WHERE show = $1)"
    );
    let (id, show, hold) = (order.id.as_str(), order.show.as_str(), order.hold.as_str());
    let row = tx
        .one(
            &sql,
            &[
                &show,
                &order.visitor.0.as_slice(),
                &id,
                &hold,
                &i64::from(order.terms),
            ],
        )
        .await?;
    if row
        .try_get(4)
        .map_err(fairgate_databases::LedgerError::from)?
    {
        return Ok(find_order(tx, &order.id).await?);
    }
    let given_up_at: i64 = row
        .try_get(5)
        .map_err(fairgate_databases::LedgerError::from)?;
    if given_up_at >= order.created_at_ms {
        return Err(given_up().into());
    }
    may_claim(order, standing(&row)?, basis)?;
    are_prices_of(&row, items)?;
    Ok(None)
}

/// Of a row of [`check`]: refuses seats whose prices are not those of their terms.
fn are_prices_of(row: &Row, items: &[OrderItem]) -> Result<()> {
    let (terms, run): (Option<&str>, Option<&str>) = (row.try_get(6)?, row.try_get(7)?);
    let terms = terms.ok_or_else(|| corrupt("an order under terms that nobody noted"))?;
    let run = run.map(run_of).transpose()?;
    priced(items, &json(terms)?, run.as_deref())
}

/// As [`check`], for an order that is there already.
pub(super) async fn allowed(
    tx: &Tx,
    order: &Order,
    basis: ClaimBasis,
) -> std::result::Result<(), ClaimRefused> {
    let with = order.visitor.0.as_slice();
    let sql = format!("SELECT {STANDING}");
    let row = tx.one(&sql, &[&order.show.as_str(), &with]).await?;
    may_claim(order, standing(&row)?, basis)
}

/// An order of a visitor's that has a seat over exactly these legs.
pub(super) async fn order_over(
    tx: &Tx,
    show: &ShowId,
    visitor: Holder,
    legs: &Range<u16>,
) -> Result<Option<OrderId>> {
    let sql = "SELECT order_id FROM claims WHERE show = $1 AND visitor = $2 GROUP BY order_id, seat \
         HAVING MIN(leg) = $3 AND MAX(leg) = $4 AND COUNT(*) = $4 - $3 + 1 ORDER BY order_id LIMIT 1";
    let (from, last) = (i64::from(legs.start), i64::from(legs.end) - 1);
    let visitor = visitor.0.as_slice();
    let found = tx
        .first(sql, &[&show.as_str(), &visitor, &from, &last])
        .await?;
    found.map(|row| parsed(text(&row, 0)?)).transpose()
}

/// What [`standing`] reads, of show $1 and visitor $2.
const STANDING: &str = "COALESCE((SELECT plan_version FROM shows WHERE show = $1), -1), \
     COALESCE((SELECT claims_from FROM shows WHERE show = $1), 0), \
     (SELECT COUNT(DISTINCT seat) FROM claims WHERE show = $1 AND visitor = $2), \
     EXISTS (SELECT 1 FROM show_fates WHERE show = $1 AND fate = 'cancelled')";

fn standing(row: &Row) -> Result<Standing> {
    Ok(Standing {
        pinned: u32::try_from(row.try_get::<_, i64>(0)?).ok(),
        claims_from: count(row, 1)?,
        have: u32::try_from(row.try_get::<_, i64>(2)?).unwrap_or(u32::MAX),
        cancelled: row.try_get(3)?,
    })
}

async fn insert_order(tx: &Tx, order: &Order, payment: &Payment) -> Result<()> {
    tx.execute(
        "WITH made AS (INSERT INTO orders (order_id, show, hold, visitor, room, buyer_name, buyer_email, currency, total, \
             items, plan_version, payment, state, reason, created_at, pay_until, claim_until, terms, let_go) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $22, $23)), \
         paid AS (INSERT INTO payments (payment, order_id, provider, amount, currency, state, updated_at) \
             VALUES ($12, $1, $18, $19, $20, $21, $15)) \
         INSERT INTO order_history (order_id, step, at, state, reason) VALUES ($1, 1, $15, $13, $14)",
        &[
            &order.id.as_str(),
            &order.show.as_str(),
            &order.hold.as_str(),
            &order.visitor.0.as_slice(),
            &order.room,
            &order.buyer.name,
            &order.buyer.email,
            &order.currency.as_str(),
            &order.total,
            &items_text(&order.items)?,
            &i64::from(order.plan_version),
            &order.payment.as_str(),
            &order.state.word(),
            &order.reason,
            &order.created_at_ms,
            &order.pay_until_ms,
            &order.claim_until_ms,
            &payment.provider,
            &payment.amount.amount,
            &payment.amount.currency.as_str(),
            &payment.state.word(),
            &i64::from(order.terms),
            &order.let_go,
        ],
    )
    .await?;
    Ok(())
}

/// `UNIQUE (show, seat, leg)` decides; all refused cells are named, and the rollback takes the rest back. Cells are
/// inserted in one order by everybody, so two orders that want the same cells wait for one another, never in a circle.
pub(super) async fn insert_claims(
    tx: &Tx,
    order: &Order,
    held: &[Held],
    grid: Grid,
) -> std::result::Result<(), ClaimRefused> {
    let cells = cells_of(held, grid);
    let seats: Vec<i64> = cells
        .iter()
        .map(|cell| grid.seat_of(*cell).into())
        .collect();
    let legs: Vec<i64> = cells.iter().map(|cell| grid.leg_of(*cell).into()).collect();
    let sql = "WITH wanted AS (SELECT seat, leg FROM unnest($4::bigint[], $5::bigint[]) AS w (seat, leg)), \
         taken AS (INSERT INTO claims (show, seat, leg, order_id, visitor) \
             SELECT $1, seat, leg, $2, $3 FROM wanted ORDER BY leg, seat \
             ON CONFLICT (show, seat, leg) DO NOTHING RETURNING seat, leg) \
         SELECT seat, leg FROM wanted EXCEPT SELECT seat, leg FROM taken ORDER BY leg, seat";
    let (id, show) = (order.id.as_str(), order.show.as_str());
    let with: [&(dyn ToSql + Sync); 5] = [&show, &id, &order.visitor.0.as_slice(), &seats, &legs];
    let refused = tx.query(sql, &with).await?;
    if refused.is_empty() {
        return Ok(());
    }
    let cell = |row| Ok(small::<u32>(row, 1)? * grid.seats + small::<u32>(row, 0)?);
    let cells: Vec<u32> = refused.iter().map(cell).collect::<Result<_>>()?;
    Err(ClaimRefused::Taken(cells))
}
