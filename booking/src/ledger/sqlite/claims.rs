//! Transaction 1: who may claim, and the cells that decide.

use std::ops::Range;

use fairgate_databases::LedgerError;
use fairgate_databases::rusqlite::Connection;
use fairgate_pass::Holder;

use super::orders::note;
use super::rows::{self, Result, Standing, collect, find_order, first, given_up, may_claim};
use super::terms;
use crate::holds::{Held, Purpose, cells_of};
use crate::ids::{OrderId, ShowId};
use crate::inventory::Grid;
use crate::ledger::{ClaimBasis, ClaimRefused};
use crate::orders::Order;
use crate::payments::Payment;

/// An order of a basket, or of an offer from the waitlist.
pub(super) fn claim(
    tx: &Connection,
    order: Order,
    payment: &Payment,
    basis: ClaimBasis,
) -> std::result::Result<Order, ClaimRefused> {
    if !matches!(basis.purpose, Purpose::Basket | Purpose::Offer) {
        return Err(ClaimRefused::OtherPurpose(basis.purpose));
    }
    if let Some(present) = find_order(tx, &order.id)? {
        return if super::exchanges::is_successor(tx, &present.id)? {
            Err(ClaimRefused::OtherPurpose(Purpose::Exchange))
        } else {
            Ok(present)
        };
    }
    terms::are_prices_of(tx, &order.show, order.terms, &order.items)?;
    write(tx, order, payment, basis)
}

/// Claims, order and payment, for an order that is not there yet.
pub(super) fn write(
    tx: &Connection,
    order: Order,
    payment: &Payment,
    basis: ClaimBasis,
) -> std::result::Result<Order, ClaimRefused> {
    let barred: Option<i64> = first(
        tx,
        "SELECT 1 FROM given_up WHERE hold = ?1 AND at >= ?2",
        (order.hold.as_str(), order.created_at_ms),
    )?;
    if barred.is_some() {
        return Err(given_up().into());
    }
    allowed(tx, &order, basis)?;
    insert_order(tx, &order)?;
    insert_claims(tx, &order, &order.held(), basis.grid)?;
    tx.prepare_cached("INSERT INTO payments (payment, order_id, provider, amount, currency, state, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        .and_then(|mut statement| {
            statement.execute((
                payment.id.as_str(),
                order.id.as_str(),
                &payment.provider,
                payment.amount.amount,
                payment.amount.currency.as_str(),
                payment.state.word(),
                order.created_at_ms,
            ))
        })
        .map_err(LedgerError::from)?;
    note(
        tx,
        &order.id,
        order.state,
        &order.reason,
        order.created_at_ms,
    )?;
    Ok(order)
}

/// Refuses what may not be claimed whatever cells are free.
pub(super) fn allowed(
    tx: &Connection,
    order: &Order,
    basis: ClaimBasis,
) -> std::result::Result<(), ClaimRefused> {
    let show = collect(
        tx,
        "SELECT plan_version, claims_from, EXISTS (SELECT 1 FROM show_fates f WHERE f.show = shows.show AND f.fate = 'cancelled') \
         FROM shows WHERE show = ?1",
        [order.show.as_str()],
        |row| Ok((row.get::<_, u32>(0)?, row.get::<_, i64>(1)?, row.get(2)?)),
    )?;
    let show = show.first();
    let have: Option<u32> = first(
        tx,
        "SELECT COUNT(DISTINCT seat) FROM claims WHERE show = ?1 AND visitor = ?2",
        (order.show.as_str(), order.visitor.0),
    )?;
    let standing = Standing {
        pinned: show.map(|(pinned, ..)| *pinned),
        claims_from: show.map_or(0, |(_, from, _)| from.unsigned_abs()),
        cancelled: show.is_some_and(|(.., cancelled)| *cancelled),
        have: have.unwrap_or(0),
    };
    may_claim(order, standing, basis)
}

/// An order of a visitor's that has a seat over exactly these legs.
pub(super) fn order_over(
    connection: &Connection,
    show: &ShowId,
    visitor: Holder,
    legs: &Range<u16>,
) -> Result<Option<OrderId>> {
    let sql = "SELECT order_id FROM claims WHERE show = ?1 AND visitor = ?2 GROUP BY order_id, seat \
         HAVING MIN(leg) = ?3 AND MAX(leg) = ?4 AND COUNT(*) = ?4 - ?3 + 1 ORDER BY order_id LIMIT 1";
    let last = legs.end.saturating_sub(1);
    let found: Option<String> = first(
        connection,
        sql,
        (show.as_str(), visitor.0, legs.start, last),
    )?;
    found.as_deref().map(rows::parsed).transpose()
}

fn insert_order(tx: &Connection, order: &Order) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO orders (order_id, show, hold, visitor, room, buyer_name, buyer_email, currency, total, items, \
         plan_version, payment, state, reason, created_at, pay_until, claim_until, terms, let_go) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
    )?
    .execute(fairgate_databases::rusqlite::params![
        order.id.as_str(),
        order.show.as_str(),
        order.hold.as_str(),
        order.visitor.0,
        order.room,
        order.buyer.name,
        order.buyer.email,
        order.currency.as_str(),
        order.total,
        rows::items_text(&order.items)?,
        order.plan_version,
        order.payment.as_str(),
        order.state.word(),
        order.reason,
        order.created_at_ms,
        order.pay_until_ms,
        order.claim_until_ms,
        order.terms,
        order.let_go,
    ])?;
    Ok(())
}

/// `UNIQUE (show, seat, leg)` decides; all refused cells are named, and the savepoint takes the rest back.
pub(super) fn insert_claims(
    tx: &Connection,
    order: &Order,
    items: &[Held],
    grid: Grid,
) -> std::result::Result<(), ClaimRefused> {
    let mut insert = tx
        .prepare_cached("INSERT OR IGNORE INTO claims (show, seat, leg, order_id, visitor) VALUES (?1, ?2, ?3, ?4, ?5)")
        .map_err(LedgerError::from)?;
    let mut taken = Vec::new();
    for cell in cells_of(items, grid) {
        let inserted = insert
            .execute((
                order.show.as_str(),
                grid.seat_of(cell),
                grid.leg_of(cell),
                order.id.as_str(),
                order.visitor.0,
            ))
            .map_err(LedgerError::from)?;
        if inserted == 0 {
            taken.push(cell);
        }
    }
    if taken.is_empty() {
        Ok(())
    } else {
        Err(ClaimRefused::Taken(taken))
    }
}
