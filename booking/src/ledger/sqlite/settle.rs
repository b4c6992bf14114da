//! Transaction 2: what an event, or a call that went through, does to a payment and its order.

use fairgate_databases::rusqlite::Connection;

use super::exchanges;
use super::orders::apply;
use super::payments::find_payment;
use super::rows::{Result, collect, corrupt, find_order, first};
use super::tickets::issue;
use crate::ids::OrderId;
use crate::ledger::Applied;
use crate::orders::transition::Happening;
use crate::orders::{Order, OrderState};
use crate::payments::settling::{self, Settling};
use crate::payments::{PaymentState, ProviderEvent};

/// Transaction 2: the payment moves forward, and the order with it.
pub(super) fn outcome_of(
    tx: &Connection,
    provider: &str,
    says: &ProviderEvent,
    now_ms: i64,
) -> Result<&'static str> {
    let Some(payment) = find_payment(tx, says.payment.as_str())? else {
        return Ok("unknown_payment");
    };
    let order =
        find_order(tx, &payment.order)?.ok_or_else(|| corrupt("a payment without an order"))?;
    let comes = says.kind.brings_money();
    let card = says.card.as_deref().filter(|_| comes);
    let over = comes && over_card_limit(tx, &order, card)?;
    let Settling {
        payment: state,
        happening,
        refunded,
        came_back,
        outcome,
    } = settling::settle(&payment, order.state, provider, says, over);
    let happening = exchanges::instead(tx, &order, happening)?;
    if let Some(state) = state {
        move_payment(tx, &order.id, state, now_ms)?;
        tx.prepare_cached(
            "UPDATE payments SET reference = COALESCE(reference, ?2) WHERE order_id = ?1",
        )?
        .execute((order.id.as_str(), &says.reference))?;
        if let Some(card) = card {
            tx.prepare_cached(
                "INSERT OR IGNORE INTO order_cards (order_id, card) VALUES (?1, ?2)",
            )?
            .execute((order.id.as_str(), card))?;
        }
    }
    if let Some(refunded) = refunded {
        tx.prepare_cached("UPDATE payments SET refunded = MAX(refunded, ?2) WHERE order_id = ?1")?
            .execute((order.id.as_str(), refunded))?;
    }
    if came_back && owe_again(tx, &order.id, now_ms)? {
        return Ok("refund_came_back");
    }
    let changed = match happening {
        Some(Happening::Captured) => {
            tx.prepare_cached("UPDATE effects SET done_at = ?2 WHERE order_id = ?1 AND kind = 'capture' AND done_at IS NULL")?
                .execute((order.id.as_str(), now_ms))?;
            ticket(tx, &order.id, now_ms)?;
            true
        }
        // It was given back whole while its capture was on its way: nothing more is to be asked for.
        None if state == Some(PaymentState::Captured) && order.state == OrderState::Refunded => {
            tx.prepare_cached("UPDATE effects SET done_at = ?2 WHERE order_id = ?1 AND kind = 'capture' AND done_at IS NULL")?
                .execute((order.id.as_str(), now_ms))?;
            false
        }
        Some(happening) => {
            apply(tx, &order.id, happening, now_ms)?.is_some_and(|applied| applied.changed)
        }
        None => false,
    };
    Ok(if changed { "applied" } else { outcome })
}

/// What is written as done of an order's refunds did not all arrive: each is asked about anew, and is a finding until it has.
/// False where nothing of it is written as done.
fn owe_again(tx: &Connection, order: &OrderId, now_ms: i64) -> Result<bool> {
    let moved = tx.execute(
        "UPDATE payments SET refunded = 0, state = 'captured', updated_at = ?2 \
         WHERE order_id = ?1 AND state IN ('captured', 'refunded') AND owes = 'capture' \
         AND EXISTS (SELECT 1 FROM refunds WHERE order_id = ?1 AND done_at IS NOT NULL AND amount > 0)",
        (order.as_str(), now_ms),
    )?;
    if moved == 0 {
        return owe_whole_again(tx, order, now_ms);
    }
    // Whoever was asked before is asked what became of it first.
    tx.execute(
        "UPDATE refunds SET done_at = NULL, failed_at = ?2, due_at = ?2, attempts = MAX(attempts, 1), \
         note = 'it did not arrive' WHERE order_id = ?1 AND done_at IS NOT NULL AND amount > 0",
        (order.as_str(), now_ms),
    )?;
    Ok(true)
}

/// The same for money that went back whole, because nothing was sold for it.
fn owe_whole_again(tx: &Connection, order: &OrderId, now_ms: i64) -> Result<bool> {
    let asked = tx.execute(
        "UPDATE effects SET done_at = NULL, failed_at = ?2, due_at = ?2, attempts = MAX(attempts, 1), \
         note = 'it did not arrive' WHERE order_id = ?1 AND kind = 'refund' AND done_at IS NOT NULL \
         AND EXISTS (SELECT 1 FROM payments WHERE order_id = ?1 AND state = 'refunded' AND owes = 'refund')",
        (order.as_str(), now_ms),
    )?;
    if asked == 0 {
        return Ok(false);
    }
    tx.execute(
        "UPDATE payments SET refunded = 0, state = 'captured', updated_at = ?2 WHERE order_id = ?1",
        (order.as_str(), now_ms),
    )?;
    Ok(true)
}

/// The captured order gets its tickets, once; a successor with the seats that it was made for.
pub(super) fn ticket(tx: &Connection, order: &OrderId, now_ms: i64) -> Result<()> {
    if exchanges::captured(tx, order, now_ms)? {
        return Ok(());
    }
    let applied = apply(tx, order, Happening::Captured, now_ms)?;
    if let Some(Applied {
        order,
        changed: true,
    }) = applied
    {
        issue(tx, &order, now_ms)?;
        has_finished(tx, &order)?;
    }
    Ok(())
}

/// An order that costs nothing gets its tickets in the transaction that claims its seats; no provider is asked. Every other
/// order stays as it is.
pub(super) fn nothing_to_pay(tx: &Connection, order: Order) -> Result<Order> {
    if order.total != 0 || order.state != OrderState::Pending {
        return Ok(order);
    }
    let now_ms = order.created_at_ms;
    move_payment(tx, &order.id, PaymentState::Voided, now_ms)?;
    apply(tx, &order.id, Happening::NothingToPay, now_ms)?;
    let applied = apply(tx, &order.id, Happening::NothingToPay, now_ms)?;
    let applied = applied.ok_or_else(|| corrupt("an order that is gone"))?;
    issue(tx, &applied.order, now_ms)?;
    has_finished(tx, &applied.order)?;
    Ok(applied.order)
}

/// The order's visitor is told of as done with buying.
fn has_finished(tx: &Connection, order: &Order) -> Result<()> {
    tx.prepare_cached("INSERT INTO finished (show, visitor) VALUES (?1, ?2)")?
        .execute((order.show.as_str(), order.visitor.0))?;
    Ok(())
}

/// Whether an order's seats and those bought with the same card are more than the show allows. For an exchange both the card
/// that pays and the cards that bought the old seats count.
pub(super) fn over_card_limit(tx: &Connection, order: &Order, card: Option<&str>) -> Result<bool> {
    let limit: Option<Option<i64>> = first(
        tx,
        "SELECT json_extract(document, '$.seats_per_card') FROM shows WHERE show = ?1",
        [order.show.as_str()],
    )?;
    let Some(limit) = limit.flatten() else {
        return Ok(false);
    };
    let sql = "SELECT card FROM order_cards WHERE order_id = ?1";
    let mut cards: Vec<String> = collect(tx, sql, [order.id.as_str()], |row| Ok(row.get(0)?))?;
    cards.extend(card.map(str::to_owned));
    let own = i64::try_from(exchanges::seats_when_paid(tx, order)?).unwrap_or(i64::MAX);
    for card in cards {
        let others: Option<i64> = first(
            tx,
            "SELECT COUNT(DISTINCT c.seat) FROM order_cards p JOIN claims c ON c.order_id = p.order_id \
             WHERE p.card = ?1 AND c.show = ?2 AND p.order_id <> ?3 \
             AND NOT EXISTS (SELECT 1 FROM exchanges e WHERE e.successor = ?3 AND e.order_id = p.order_id)",
            (&card, order.show.as_str(), order.id.as_str()),
        )?;
        if others.unwrap_or(0).saturating_add(own) > limit {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn move_payment(
    tx: &Connection,
    order: &OrderId,
    state: PaymentState,
    now_ms: i64,
) -> Result<()> {
    tx.prepare_cached("UPDATE payments SET state = ?2, updated_at = ?3 WHERE order_id = ?1")?
        .execute((order.as_str(), state.word(), now_ms))?;
    if matches!(state, PaymentState::Voided | PaymentState::Refunded) {
        // Whatever went back for its tickets went back with it.
        tx.prepare_cached(
            "UPDATE refunds SET done_at = ?2 WHERE order_id = ?1 AND done_at IS NULL",
        )?
        .execute((order.as_str(), now_ms))?;
    }
    if state == PaymentState::Voided {
        // A capture that was still to be asked for when the money was let go is asked for no more.
        tx.prepare_cached(
            "DELETE FROM effects WHERE order_id = ?1 AND kind = 'capture' AND done_at IS NULL \
             AND EXISTS (SELECT 1 FROM payments WHERE order_id = ?1 AND owes <> 'capture')",
        )?
        .execute([order.as_str()])?;
    }
    Ok(())
}
