//! Transaction 1 ("The order of writes" in the README): checks that an order may claim its cells,
//! and claims them.

use std::collections::BTreeSet;
use std::ops::Range;

use fairgate_databases::{NamedLock, SqlRow, SqlTransaction, ToSqlValue};
use fairgate_model::grid::CellGrid;
use fairgate_model::holds::{HeldSeat, HoldPurpose, cells_of};
use fairgate_model::ids::{HoldId, OrderId, ShowId};
use fairgate_model::orders::{Order, OrderItem};
use fairgate_model::payments::Payment;
use fairgate_model::shows::terms::SaleTerms;
use fairgate_pass::Holder;
use jiff::Timestamp;

use super::rows::{
    Result, ShowClaimState, check_item_prices, corrupt, count, find_order, from_json,
    given_up_error, items_text, lock_order, may_claim, parsed, run_of, small, text,
};
use super::set_backs::{IS_CLOSED, refuse_closed};
use super::{exchange_rows, lock, order_history};
use crate::ledger::{ClaimBasis, SeatClaimRefused};

/// Makes an order from a basket or a waitlist offer. If the order exists already, returns it as it
/// is. If an exchange made that order, refuses the claim.
pub(super) async fn claim(
    tx: &SqlTransaction,
    order: &Order,
    payment: &Payment,
    basis: ClaimBasis,
) -> std::result::Result<Order, SeatClaimRefused> {
    if !matches!(basis.purpose, HoldPurpose::Basket | HoldPurpose::Offer) {
        return Err(SeatClaimRefused::OtherPurpose(basis.purpose));
    }
    lock_for_claim(tx, order).await?;
    if let Some(present) = check_claim(tx, order, &order.items, basis).await? {
        return if exchange_rows::exchanged_order(tx, &present.id)
            .await?
            .is_some()
        {
            Err(SeatClaimRefused::OtherPurpose(HoldPurpose::Exchange))
        } else {
            Ok(present)
        };
    }
    write_claim(tx, order, payment, basis).await
}

/// Makes the successor of an exchange. `items` are all seats that the successor will have. Their
/// prices are checked. If the order exists already, returns it as it is.
pub(super) async fn claim_for_exchange(
    tx: &SqlTransaction,
    order: &Order,
    payment: &Payment,
    items: &[OrderItem],
    basis: ClaimBasis,
) -> std::result::Result<Order, SeatClaimRefused> {
    lock_for_claim(tx, order).await?;
    match check_claim(tx, order, items, basis).await? {
        Some(present) => Ok(present),
        None => write_claim(tx, order, payment, basis).await,
    }
}

async fn write_claim(
    tx: &SqlTransaction,
    order: &Order,
    payment: &Payment,
    basis: ClaimBasis,
) -> std::result::Result<Order, SeatClaimRefused> {
    insert_order_with_claims(tx, order, payment, basis.grid).await?;
    Ok(order.clone())
}

/// Writes an order and its payment, and claims its cells. The caller has checked the order and
/// holds the locks of [`lock_for_claim`].
pub(super) async fn insert_order_with_claims(
    tx: &SqlTransaction,
    order: &Order,
    payment: &Payment,
    grid: CellGrid,
) -> std::result::Result<(), SeatClaimRefused> {
    if tx.is_postgres() {
        insert_order_fused(tx, order, payment).await?;
    } else {
        insert_order(tx, order, payment).await?;
    }
    insert_claims(tx, order, &order.held_seats(), grid).await
}

/// Takes the locks that keep out other transactions. Until this transaction ends, no other
/// transaction changes the show's plan, reads the show's picture, claims seats for this visitor, or
/// gives up this order's hold. The locks are on names, not on rows, so claims of different visitors
/// do not wait for each other. (Two visitors whose holder hashes begin with the same four bytes do
/// wait, without harm.)
pub(super) async fn lock_for_claim(tx: &SqlTransaction, order: &Order) -> Result<()> {
    let [a, b, c, d, ..] = order.visitor.0;
    let visitor = i32::from_be_bytes([a, b, c, d]);
    tx.lock(&[
        NamedLock::shared(lock::PLAN, order.show.as_str()),
        NamedLock::numbered(lock::VISITOR, visitor),
        NamedLock::alone(lock::ORDER, order.id.as_str()),
    ])
    .await
}

/// Locks the shows of an order and of its successor, as a claim does, and then the order's row. A
/// change of a show locks the show first and the rows of its orders afterwards. In the other order,
/// the two transactions might wait for each other. Returns `None` if there is no such order.
pub(super) async fn lock_shows_and_order(
    tx: &SqlTransaction,
    id: &OrderId,
    successor: Option<&ShowId>,
) -> Result<Option<Order>> {
    if tx.is_postgres() {
        let sql = "SELECT show FROM orders WHERE order_id = $1";
        let Some(row) = tx.first(sql, &[&id.as_str()]).await? else {
            return Ok(None);
        };
        let shows = [Some(text(&row, 0)?), successor.map(ShowId::as_str)];
        let shows: BTreeSet<&str> = shows.into_iter().flatten().collect();
        let locks = shows.into_iter();
        let locks: Vec<NamedLock<'_>> = locks
            .map(|show| NamedLock::shared(lock::PLAN, show))
            .collect();
        tx.lock(&locks).await?;
    }
    lock_order(tx, id.as_str()).await
}

/// The columns that [`show_claim_state`] reads, for show $1, visitor $2 and the terms $3.
const SHOW_CLAIM_STATE: &str = "SELECT \
     COALESCE((SELECT plan_version FROM shows WHERE show = $1), -1), \
     COALESCE((SELECT claims_from FROM shows WHERE show = $1), 0), \
     (SELECT COUNT(DISTINCT seat) FROM claims WHERE show = $1 AND visitor = $2), \
     EXISTS (SELECT 1 FROM show_fates WHERE show = $1 AND fate = 'cancelled'), \
     (SELECT document ->> 'starts_at' FROM shows WHERE show = $1), \
     (SELECT terms FROM terms WHERE show = $1 AND version = $3)";

/// Returns the statement that begins with [`SHOW_CLAIM_STATE`] and whether the show is closed.
fn show_claim_sql(further: &str) -> String {
    format!("{SHOW_CLAIM_STATE}, {IS_CLOSED}{further}")
}

/// Makes the checks of a claim that do not depend on its cells, and checks the prices of `items`.
/// Returns the order if it exists already. The caller holds the locks of [`lock_for_claim`], so the
/// statement sees all that earlier transactions have committed.
async fn check_claim(
    tx: &SqlTransaction,
    order: &Order,
    items: &[OrderItem],
    basis: ClaimBasis,
) -> std::result::Result<Option<Order>, SeatClaimRefused> {
    let sql = show_claim_sql(
        ", EXISTS (SELECT 1 FROM orders WHERE order_id = $4), \
         COALESCE((SELECT at FROM given_up WHERE hold = $5), -1), \
         (SELECT run FROM shows WHERE show = $1)",
    );
    let with: [&(dyn ToSqlValue + Sync); 5] = [
        &order.show.as_str(),
        &order.visitor.0,
        &order.terms,
        &order.id.as_str(),
        &order.hold.as_str(),
    ];
    let row = tx.query_one(&sql, &with).await?;
    if row.get(7)? {
        return Ok(find_order(tx, &order.id).await?);
    }
    if row.get::<i64>(8)? >= order.created_at_ms {
        return Err(given_up_error().into());
    }
    refuse_closed(&row, 6)?;
    may_claim(order, show_claim_state(&row)?, basis)?;
    check_prices(&row, items)?;
    Ok(None)
}

/// Refuses seats at prices that differ from their terms. `row` is the row of [`check_claim`], which
/// has the terms.
fn check_prices(row: &SqlRow, items: &[OrderItem]) -> Result<()> {
    let (terms, run): (Option<&str>, Option<&str>) = (row.get(5)?, row.get(9)?);
    let terms = terms.ok_or_else(|| corrupt("an order under terms that are not stored"))?;
    let run = run.map(run_of).transpose()?;
    check_item_prices(items, &from_json(terms)?, run.as_deref())
}

/// Makes those checks of [`check_claim`] that apply to an order that exists already: the
/// incarnation, the show's fate, plan and time, and the visitor's limit.
pub(super) async fn check_existing(
    tx: &SqlTransaction,
    order: &Order,
    basis: ClaimBasis,
) -> std::result::Result<(), SeatClaimRefused> {
    let with: [&(dyn ToSqlValue + Sync); 3] =
        [&order.show.as_str(), &order.visitor.0, &order.terms];
    let row = tx.query_one(&show_claim_sql(""), &with).await?;
    refuse_closed(&row, 6)?;
    may_claim(order, show_claim_state(&row)?, basis)
}

fn show_claim_state(row: &SqlRow) -> Result<ShowClaimState> {
    Ok(ShowClaimState {
        pinned: u32::try_from(row.get::<i64>(0)?).ok(),
        claims_from: count(row, 1)?,
        have: u32::try_from(row.get::<i64>(2)?).unwrap_or(u32::MAX),
        cancelled: row.get(3)?,
        time_changed: time_changed(row.get(4)?, row.get(5)?)?,
    })
}

/// Returns whether the show's document and the order's terms name different times. If the show is
/// missing, or the order was made before terms had numbers, there is nothing to compare.
fn time_changed(starts_at: Option<&str>, terms: Option<&str>) -> Result<bool> {
    let (Some(starts_at), Some(terms)) = (starts_at, terms) else {
        return Ok(false);
    };
    let terms: SaleTerms = from_json(terms)?;
    Ok(parsed::<Timestamp>(starts_at)? != terms.starts_at)
}

/// Finds an order of the visitor that has a seat on exactly these legs.
pub(super) async fn order_over(
    tx: &SqlTransaction,
    show: &ShowId,
    visitor: Holder,
    legs: &Range<u16>,
) -> Result<Option<OrderId>> {
    let sql = "SELECT order_id FROM claims WHERE show = $1 AND visitor = $2 \
         GROUP BY order_id, seat \
         HAVING MIN(leg) = $3 AND MAX(leg) = $4 AND COUNT(*) = $4 - $3 + 1 \
         ORDER BY order_id LIMIT 1";
    let (from, last) = (legs.start, i64::from(legs.end) - 1);
    let found = tx
        .first(sql, &[&show.as_str(), &visitor.0, &from, &last])
        .await?;
    found.map(|row| parsed(text(&row, 0)?)).transpose()
}

/// Finds the orders of the visitor that have claims of the show, each with its hold.
pub(super) async fn orders_of(
    tx: &SqlTransaction,
    show: &ShowId,
    visitor: Holder,
) -> Result<Vec<(OrderId, HoldId)>> {
    let sql = "SELECT order_id, hold FROM orders WHERE order_id IN \
         (SELECT order_id FROM claims WHERE show = $1 AND visitor = $2) ORDER BY order_id";
    let rows = tx.query(sql, &[&show.as_str(), &visitor.0]).await?;
    rows.iter()
        .map(|row| Ok((parsed(text(row, 0)?)?, parsed(text(row, 1)?)?)))
        .collect()
}

const ORDER: &str = "INSERT INTO orders (order_id, show, hold, visitor, room, buyer_name, \
     buyer_email, currency, total, items, plan_version, payment, state, reason, created_at, \
     pay_until, claim_until, terms, let_go) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
     $12, $13, $14, $15, $16, $17, $18, $19)";

const PAYMENT: &str = "INSERT INTO payments (payment, order_id, provider, amount, currency, state, \
     updated_at) VALUES ($12, $1, $20, $21, $22, $23, $15)";

/// Writes the order, its payment and the first step of its history.
async fn insert_order(tx: &SqlTransaction, order: &Order, payment: &Payment) -> Result<()> {
    let items = items_text(&order.items)?;
    let values = NewOrderValues::for_order(order, payment, &items);
    tx.execute(ORDER, &values.parameters()[..19]).await?;
    tx.execute(PAYMENT, &values.parameters()).await?;
    order_history::add_step(
        tx,
        &order.id,
        order.state,
        &order.reason,
        order.created_at_ms,
    )
    .await
}

/// Does the work of [`insert_order`] in one round trip instead of three. Every purchase runs this
/// statement, and the visitor's other orders wait for this transaction's lock.
async fn insert_order_fused(tx: &SqlTransaction, order: &Order, payment: &Payment) -> Result<()> {
    let sql = format!(
        "WITH made AS ({ORDER}), paid AS ({PAYMENT}) \
         INSERT INTO order_history (order_id, step, at, state, reason) VALUES ($1, 1, $15, $13, $14)"
    );
    let items = items_text(&order.items)?;
    tx.execute(
        &sql,
        &NewOrderValues::for_order(order, payment, &items).parameters(),
    )
    .await?;
    Ok(())
}

/// The values of a new order and its payment, for the numbered parameters of [`ORDER`] and
/// [`PAYMENT`].
struct NewOrderValues<'a> {
    order: &'a Order,
    payment: &'a Payment,
    words: [&'a str; 9],
    items: &'a str,
}

impl<'a> NewOrderValues<'a> {
    fn for_order(order: &'a Order, payment: &'a Payment, items: &'a str) -> Self {
        Self {
            order,
            payment,
            words: [
                order.id.as_str(),
                order.show.as_str(),
                order.hold.as_str(),
                order.currency.as_str(),
                order.payment.as_str(),
                order.state.as_str(),
                &payment.provider,
                payment.amount.currency.as_str(),
                payment.state.as_str(),
            ],
            items,
        }
    }

    fn parameters(&self) -> [&(dyn ToSqlValue + Sync); 23] {
        let (order, payment) = (self.order, self.payment);
        let [
            id,
            show,
            hold,
            currency,
            payment_id,
            state,
            provider,
            payment_currency,
            payment_state,
        ] = &self.words;
        [
            id,
            show,
            hold,
            &order.visitor.0,
            &order.room,
            &order.buyer.name,
            &order.buyer.email,
            currency,
            &order.total,
            &self.items,
            &order.plan_version,
            payment_id,
            state,
            &order.reason,
            &order.created_at_ms,
            &order.pay_until_ms,
            &order.claim_until_ms,
            &order.terms,
            &order.waived,
            provider,
            &payment.amount.amount,
            payment_currency,
            payment_state,
        ]
    }
}

/// Claims cells. `UNIQUE (show, seat, leg)` decides which order gets a cell. If cells are taken,
/// the error names all of them, and the rollback undoes the claims of the other cells.
pub(super) async fn insert_claims(
    tx: &SqlTransaction,
    order: &Order,
    held: &[HeldSeat],
    grid: CellGrid,
) -> std::result::Result<(), SeatClaimRefused> {
    let cells = cells_of(held, grid);
    let taken = if tx.is_postgres() {
        insert_claims_fused(tx, order, &cells, grid).await?
    } else {
        insert_claims_one_by_one(tx, order, &cells, grid).await?
    };
    if taken.is_empty() {
        Ok(())
    } else {
        Err(SeatClaimRefused::Taken(taken))
    }
}

/// Claims cells one by one, and returns the cells that another order has.
async fn insert_claims_one_by_one(
    tx: &SqlTransaction,
    order: &Order,
    cells: &[u32],
    grid: CellGrid,
) -> Result<Vec<u32>> {
    let sql = "INSERT INTO claims (show, seat, leg, order_id, visitor) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT DO NOTHING";
    let (show, id) = (order.show.as_str(), order.id.as_str());
    let mut taken = Vec::new();
    for cell in cells {
        let (seat, leg) = (grid.seat_of(*cell), grid.leg_of(*cell));
        let with: [&(dyn ToSqlValue + Sync); 5] = [&show, &seat, &leg, &id, &order.visitor.0];
        if tx.execute(sql, &with).await? == 0 {
            taken.push(*cell);
        }
    }
    Ok(taken)
}

/// Does the work of [`insert_claims_one_by_one`] in one round trip for all cells. All transactions
/// insert cells in the same order, so two orders that want the same cells never wait for each other
/// in a circle.
async fn insert_claims_fused(
    tx: &SqlTransaction,
    order: &Order,
    cells: &[u32],
    grid: CellGrid,
) -> Result<Vec<u32>> {
    let sql = "WITH wanted AS (SELECT seat, leg FROM unnest($4::bigint[], $5::bigint[]) \
             AS w (seat, leg)), \
         taken AS (INSERT INTO claims (show, seat, leg, order_id, visitor) \
             SELECT $1, seat, leg, $2, $3 FROM wanted ORDER BY leg, seat \
             ON CONFLICT (show, seat, leg) DO NOTHING RETURNING seat, leg) \
         SELECT seat, leg FROM wanted EXCEPT SELECT seat, leg FROM taken ORDER BY leg, seat";
    let seats: Vec<i64> = cells
        .iter()
        .map(|cell| grid.seat_of(*cell).into())
        .collect();
    let legs: Vec<i64> = cells.iter().map(|cell| grid.leg_of(*cell).into()).collect();
    let (id, show) = (order.id.as_str(), order.show.as_str());
    let with: [&(dyn ToSqlValue + Sync); 5] = [&show, &id, &order.visitor.0, &seats, &legs];
    let refused = tx.query(sql, &with).await?;
    let cell = |row| Ok(small::<u32>(row, 1)? * grid.seats + small::<u32>(row, 0)?);
    refused.iter().map(cell).collect()
}
