//! Exchanges: an order's seats for another's, in one transaction once the difference is paid.

use async_trait::async_trait;
use fairgate_databases::rusqlite::Connection;

use super::claims;
use super::orders::{apply, kept, note};
use super::outbox::tell_store_of;
use super::refunds::insert;
use super::rows::{
    Result, collect, corrupt, find_order, first, items, items_text, parsed, seat_word,
};
use super::settle::over_card_limit;
use super::tickets::{issue, of_order as tickets_of};
use super::{SqliteLedger, terms};
use crate::holds::Purpose;
use crate::ids::OrderId;
use crate::ledger::{ClaimBasis, ClaimRefused, ExchangeLedger, ExchangeRefused};
use crate::orders::exchange::{Exchange, Part, lost, may_give, price};
use crate::orders::refund::{Back, RefundReason};
use crate::orders::transition::{Happening, LateReason, decide};
use crate::orders::{Offer, Order, OrderItem, OrderState};
use crate::store::SeatRowKind;

#[async_trait]
impl ExchangeLedger for SqliteLedger {
    async fn exchange(
        &self,
        of: &OrderId,
        exchange: Exchange,
        basis: ClaimBasis,
        now_ms: i64,
    ) -> std::result::Result<Option<Order>, ExchangeRefused> {
        let of = of.clone();
        self.writer
            .write(move |tx| begin(tx, &of, exchange, basis, now_ms))
            .await
    }
}

/// An exchange that was begun and is not done.
struct Open {
    of: OrderId,
    items: Vec<OrderItem>,
    given: Vec<OrderItem>,
    /// What goes back; none where it was begun before that was written down.
    back: Option<i64>,
}

fn open(connection: &Connection, successor: &OrderId) -> Result<Option<Open>> {
    let sql = "SELECT order_id, items, given, back FROM exchanges WHERE successor = ?1 AND done_at IS NULL";
    let found = collect(connection, sql, [successor.as_str()], |row| {
        Ok(Open {
            of: parsed(&row.get::<_, String>(0)?)?,
            items: items(&row.get::<_, String>(1)?)?,
            given: items(&row.get::<_, String>(2)?)?,
            back: row.get(3)?,
        })
    })?;
    Ok(found.into_iter().next())
}

/// The successor of an order that is being paid.
pub(super) fn being_paid(connection: &Connection, order: &OrderId) -> Result<Option<OrderId>> {
    let sql = "SELECT e.successor FROM exchanges e JOIN orders s ON s.order_id = e.successor \
         WHERE e.order_id = ?1 AND e.done_at IS NULL AND s.state IN ('pending', 'confirmed')";
    let found: Option<String> = first(connection, sql, [order.as_str()])?;
    found.map(|id| parsed(&id)).transpose()
}

/// The order that this one was exchanged for, if it was.
pub(super) fn paid_by(connection: &Connection, successor: &OrderId) -> Result<Option<OrderId>> {
    let sql = "SELECT order_id FROM exchanges WHERE successor = ?1 AND done_at IS NOT NULL";
    let found: Option<String> = first(connection, sql, [successor.as_str()])?;
    found.map(|id| parsed(&id)).transpose()
}

/// The order whose seats this one's are, or were to be, given for.
fn succeeds(connection: &Connection, successor: &OrderId) -> Result<Option<OrderId>> {
    let sql = "SELECT order_id FROM exchanges WHERE successor = ?1";
    let found: Option<String> = first(connection, sql, [successor.as_str()])?;
    found.map(|id| parsed(&id)).transpose()
}

/// Whether an order was made for an exchange.
pub(super) fn is_successor(connection: &Connection, order: &OrderId) -> Result<bool> {
    Ok(succeeds(connection, order)?.is_some())
}

/// The exchanges that an order is part of.
pub(super) fn of_order(connection: &Connection, order: &OrderId) -> Result<Vec<Part>> {
    let id = [order.as_str()];
    let sql = "SELECT order_id, items, done_at FROM exchanges WHERE successor = ?1";
    let mut found = collect(connection, sql, id, |row| {
        Ok(Part::Successor {
            of: parsed(&row.get::<_, String>(0)?)?,
            items: items(&row.get::<_, String>(1)?)?,
            done: row.get::<_, Option<i64>>(2)?.is_some(),
        })
    })?;
    let sql = "SELECT e.successor, s.state FROM exchanges e JOIN orders s ON s.order_id = e.successor \
         WHERE e.order_id = ?1 ORDER BY e.made_at DESC, e.successor LIMIT 1";
    found.extend(collect(connection, sql, id, |row| {
        let state: String = row.get(1)?;
        Ok(Part::Exchanged {
            into: parsed(&row.get::<_, String>(0)?)?,
            state: OrderState::of_word(&state).ok_or_else(|| corrupt(&state))?,
        })
    })?);
    Ok(found)
}

fn begin(
    tx: &Connection,
    of: &OrderId,
    exchange: Exchange,
    basis: ClaimBasis,
    now_ms: i64,
) -> std::result::Result<Option<Order>, ExchangeRefused> {
    let Some(old) = find_order(tx, of)? else {
        return Ok(None);
    };
    if basis.purpose != Purpose::Exchange {
        return Err(ClaimRefused::OtherPurpose(basis.purpose).into());
    }
    if let Some(present) = find_order(tx, &exchange.successor.id)? {
        return if succeeds(tx, &present.id)? == Some(old.id) {
            Ok(Some(present))
        } else {
            Err(ExchangeRefused::Changed)
        };
    }
    if let Some(open) = being_paid(tx, of)? {
        return Err(ExchangeRefused::Open(open));
    }
    may_give(&old, &tickets_of(tx, &old)?, &exchange.given)?;
    exchange.is_as_reckoned(&old, &terms::of_order(tx, &old)?, now_ms)?;
    if !exchange.is_whole(&old) {
        return Err(corrupt("an exchange that claims other cells than it gains").into());
    }
    let Exchange {
        successor,
        payment,
        items,
        given,
        deal,
        ..
    } = exchange;
    let id = successor.id.clone();
    terms::are_prices_of(tx, &successor.show, successor.terms, &items)?;
    let successor = claims::write(tx, successor, &payment, basis)?;
    let (items, given) = (items_text(&items)?, items_text(&given)?);
    tx.execute(
        "INSERT INTO exchanges (successor, order_id, items, given, made_at, fee, back) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (id.as_str(), of.as_str(), items, given, now_ms, deal.fee, deal.back),
    )
    .map_err(fairgate_databases::LedgerError::from)?;
    // The cards that bought the seats have bought what they are exchanged for, even where nothing more is paid.
    tx.execute(
        "INSERT INTO order_cards (order_id, card) SELECT ?1, card FROM order_cards WHERE order_id = ?2",
        (id.as_str(), of.as_str()),
    )
    .map_err(fairgate_databases::LedgerError::from)?;
    if payment.amount.amount == 0 {
        if over_card_limit(tx, &successor, None)? {
            return Err(ClaimRefused::CardLimit.into());
        }
        apply(tx, &id, Happening::NothingToPay, now_ms)?;
        finish(tx, &id, Happening::NothingToPay, now_ms)?;
    }
    Ok(find_order(tx, &id)?)
}

/// How many seats an order will have once it is paid: of an exchange those that are kept, too.
pub(super) fn seats_when_paid(tx: &Connection, order: &Order) -> Result<usize> {
    let exchanged = open(tx, &order.id)?;
    Ok(exchanged.map_or(order.items.len(), |open| open.items.len()))
}

/// What happens to a successor: late money buys no exchange, and nothing is taken for one that is over.
pub(super) fn instead(
    tx: &Connection,
    successor: &Order,
    happening: Option<Happening>,
) -> Result<Option<Happening>> {
    use Happening::{Authorised, CardFull, ExchangeOver, LateBack};
    if !matches!(happening, Some(Authorised | CardFull)) {
        return Ok(happening);
    }
    let Some(open) = open(tx, &successor.id)? else {
        return Ok(happening);
    };
    if successor.state == OrderState::Expired {
        return Ok(Some(LateBack(LateReason::ExchangeOver)));
    }
    Ok(if happening == Some(Authorised) && !still(tx, &open)? {
        Some(ExchangeOver)
    } else {
        happening
    })
}

/// Whether the old seats may still be given.
fn still(tx: &Connection, open: &Open) -> Result<bool> {
    let old = find_order(tx, &open.of)?.ok_or_else(|| corrupt("an exchange of no order"))?;
    Ok(may_give(&old, &tickets_of(tx, &old)?, &open.given).is_ok())
}

/// The difference is there: swaps, or lets the money go where the old seats cannot be given any more. False where the
/// order is no successor.
pub(super) fn captured(tx: &Connection, successor: &OrderId, now_ms: i64) -> Result<bool> {
    let Some(open) = open(tx, successor)? else {
        return Ok(false);
    };
    if still(tx, &open)? {
        finish(tx, successor, Happening::Captured, now_ms)?;
    } else {
        apply(tx, successor, Happening::ExchangeOver, now_ms)?;
    }
    Ok(true)
}

fn finish(tx: &Connection, id: &OrderId, happening: Happening, now_ms: i64) -> Result<()> {
    let changed = apply(tx, id, happening, now_ms)?.filter(|applied| applied.changed);
    let (Some(applied), Some(open)) = (changed, open(tx, id)?) else {
        return Ok(());
    };
    let old = find_order(tx, &open.of)?.ok_or_else(|| corrupt("an exchange of no order"))?;
    let new = Order {
        items: open.items,
        ..applied.order
    };
    let back = open
        .back
        .unwrap_or_else(|| price(&old.items) - price(&new.items));
    give_up(tx, &old, &new, back, now_ms)?;
    tx.prepare_cached("UPDATE orders SET items = ?2 WHERE order_id = ?1")?
        .execute((id.as_str(), items_text(&new.items)?))?;
    let mut claim = tx.prepare_cached(
        "INSERT OR IGNORE INTO claims (show, seat, leg, order_id, visitor) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for held in new.held() {
        for leg in held.legs {
            let with = (
                new.show.as_str(),
                held.seat,
                leg,
                id.as_str(),
                new.visitor.0,
            );
            claim.execute(with)?;
        }
    }
    tx.prepare_cached("UPDATE exchanges SET done_at = ?2 WHERE successor = ?1")?
        .execute((id.as_str(), now_ms))?;
    issue(tx, &new, now_ms)
}

/// The old order ends: its claims, its tickets, and what of its money goes back.
fn give_up(tx: &Connection, old: &Order, new: &Order, back: i64, now_ms: i64) -> Result<()> {
    let id = old.id.as_str();
    let decision = decide(old.state, Happening::Exchanged)
        .ok_or_else(|| corrupt("an exchange of an order that has nothing to give"))?;
    let hold = kept(tx, old)?.hold;
    tx.prepare_cached("UPDATE orders SET state = ?2, reason = ?3 WHERE order_id = ?1")?
        .execute((id, decision.state.word(), decision.reason))?;
    note(tx, &old.id, decision.state, decision.reason, now_ms)?;
    tx.prepare_cached("DELETE FROM claims WHERE order_id = ?1")?
        .execute([id])?;
    tx.prepare_cached(
        "UPDATE tickets SET voided_at = ?2 WHERE order_id = ?1 AND voided_at IS NULL",
    )?
    .execute((id, now_ms))?;
    let lost = Offer {
        hold,
        items: lost(old, new),
        until_ms: old.claim_until_ms,
    };
    tell_store_of(tx, old, seat_word(SeatRowKind::Free), &lost)?;
    if back > 0 {
        insert(
            tx,
            old,
            &Back {
                items: &[],
                amount: back,
                fee: 0,
                reason: RefundReason::ExchangeDifference,
            },
            now_ms,
        )?;
    }
    Ok(())
}
