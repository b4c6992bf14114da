//! Transaction 2 ("The order of writes" in the README): writes what a provider's event, or a
//! successful call to the provider, changes in a payment and its order. Also issues tickets after a
//! capture, and for orders that cost nothing.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::OrderId;
use fairgate_model::orders::settling::{self, PaymentSettlement};
use fairgate_model::orders::transition::OrderEvent;
use fairgate_model::orders::{Order, OrderState};
use fairgate_model::payments::{PaymentState, ProviderEvent, ProviderEventKind};

use super::card_limit::over_card_limit;
use super::exchanges;
use super::order_changes::apply_to_order;
use super::outbox::record_finished;
use super::payment_rows::{close_refunds, end_attempt, find_payment, has_ended, move_payment};
use super::returns;
use super::rows::{Result, corrupt, lock_order, parsed, text};
use super::tickets::issue;

/// Applies an event to the payment and its order, and returns the outcome as a stable code. The
/// payment and the order are read after the order's row is locked.
pub(super) async fn apply_provider_event(
    tx: &SqlTransaction,
    provider: &str,
    event: &ProviderEvent,
    now_ms: i64,
) -> Result<&'static str> {
    let outcome = apply_event(tx, provider, event, now_ms).await?;
    let Some(returns) = event
        .returns
        .as_ref()
        .filter(|_| event.kind == ProviderEventKind::Captured)
    else {
        return Ok(outcome);
    };
    // Only a part was captured. What is missing counts as given back once the rest is captured.
    let refunded = returns.sum_gone(event.amount.amount);
    let refunded = ProviderEvent {
        kind: ProviderEventKind::Refunded,
        amount: event.amount.currency.with_amount(refunded),
        ..event.clone()
    };
    apply_event(tx, provider, &refunded, now_ms).await
}

async fn apply_event(
    tx: &SqlTransaction,
    provider: &str,
    event: &ProviderEvent,
    now_ms: i64,
) -> Result<&'static str> {
    let payment = event.payment.as_str();
    let sql = "SELECT order_id FROM payments WHERE payment = $1";
    let Some(row) = tx.first(sql, &[&payment]).await? else {
        return Ok("unknown_payment");
    };
    let id: OrderId = parsed(text(&row, 0)?)?;
    let (live, order) = lock_orders(tx, &id, event).await?;
    let payment = find_payment(tx, payment).await?;
    let payment = payment.ok_or_else(|| corrupt("a payment that is gone"))?;
    if let Some(reference) = &event.reference
        && has_ended(tx, &payment.id, reference).await?
    {
        return Ok("ended_attempt");
    }
    let brings_money = event.kind.brings_money();
    let card = event.card.as_deref().filter(|_| brings_money);
    let is_over_limit = brings_money && over_card_limit(tx, &order, card).await?;
    let order_state = (order.state, order.is_tried_again());
    let PaymentSettlement {
        payment: state,
        order_event,
        refunded,
        refunded_sum_decreased: came_back,
        attempt_ended,
        outcome,
    } = settling::settle_event(&payment, order_state, provider, event, is_over_limit);
    if attempt_ended {
        end_attempt(tx, &order, &payment, now_ms).await?;
        return Ok("applied");
    }
    let recorded = match (&event.returns, refunded) {
        (Some(returns), Some(_)) => {
            returns::record(tx, (&live, &order), &payment, returns, now_ms).await?
        }
        _ => false,
    };
    let order_event = exchanges::event_for_successor(tx, &order, order_event).await?;
    if let Some(state) = state {
        advance_payment(tx, &order.id, (state, card), event, now_ms).await?;
    }
    if let Some(refunded) = refunded
        && note_refunded(tx, &order.id, (refunded, came_back), now_ms).await?
    {
        return Ok("refund_came_back");
    }
    let changed = change_order(tx, order, (order_event, state), now_ms).await?;
    Ok(if changed || recorded {
        "applied"
    } else {
        outcome
    })
}

/// Locks the order that has the seats of a payment's money, and the payment's own order. Both are
/// the same order unless money went back and the seats were exchanged: then the later order may
/// end.
async fn lock_orders(
    tx: &SqlTransaction,
    id: &OrderId,
    event: &ProviderEvent,
) -> Result<(Order, Order)> {
    let orders = match &event.returns {
        Some(_) => returns::lock_with_live(tx, id).await?,
        None => lock_order(tx, id.as_str())
            .await?
            .map(|order| (order.clone(), order)),
    };
    orders.ok_or_else(|| corrupt("a payment without an order"))
}

/// Gives the order its event, and returns whether the order changed.
async fn change_order(
    tx: &SqlTransaction,
    order: Order,
    (order_event, state): (Option<OrderEvent>, Option<PaymentState>),
    now_ms: i64,
) -> Result<bool> {
    match order_event {
        Some(OrderEvent::Captured) => {
            mark_capture_done(tx, &order.id, now_ms).await?;
            ticket_order(tx, order, now_ms).await?;
            Ok(true)
        }
        Some(order_event) => {
            let applied = apply_to_order(tx, order, order_event, now_ms).await?;
            Ok(applied.changed)
        }
        // The whole order was refunded before this event said that the payment is captured. The
        // capture is marked as done, so that it is not requested again.
        None if state == Some(PaymentState::Captured) && order.state == OrderState::Refunded => {
            mark_capture_done(tx, &order.id, now_ms).await?;
            Ok(false)
        }
        None => Ok(false),
    }
}

/// Writes how much went back so far. If that is less than before, the refunds are owed again.
/// Returns whether any is.
async fn note_refunded(
    tx: &SqlTransaction,
    order: &OrderId,
    (refunded, came_back): (i64, bool),
    now_ms: i64,
) -> Result<bool> {
    if !came_back {
        let sql = "UPDATE payments SET refunded = GREATEST(refunded, $2) WHERE order_id = $1";
        tx.execute(sql, &[&order.as_str(), &refunded]).await?;
        return Ok(false);
    }
    let owed_again = owe_again(tx, order, now_ms).await?;
    // What somebody returned at the provider stays returned, even if other refunds failed.
    let sql = "UPDATE payments SET refunded = (SELECT COALESCE(SUM(r.amount), 0)::bigint \
             FROM refunds r WHERE r.order_id = $1 AND r.done_at IS NOT NULL) \
         WHERE order_id = $1 AND owes = 'capture'";
    tx.execute(sql, &[&order.as_str()]).await?;
    let sql = "UPDATE payments SET state = 'refunded' \
         WHERE order_id = $1 AND owes = 'capture' AND state = 'captured' AND refunded = amount";
    tx.execute(sql, &[&order.as_str()]).await?;
    Ok(owed_again)
}

/// Writes the new state of a payment, and the card that paid.
async fn advance_payment(
    tx: &SqlTransaction,
    order: &OrderId,
    (state, card): (PaymentState, Option<&str>),
    event: &ProviderEvent,
    now_ms: i64,
) -> Result<()> {
    let id = order.as_str();
    let sql = "UPDATE payments SET state = $2, updated_at = $3, read_due = LEAST(read_due, $3), \
         reference = COALESCE(reference, $4) WHERE order_id = $1";
    tx.execute(sql, &[&id, &state.as_str(), &now_ms, &event.reference])
        .await?;
    if let Some(card) = card {
        let sql = "INSERT INTO order_cards (order_id, card) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.execute(sql, &[&id, &card]).await?;
    }
    close_refunds(tx, order, state, now_ms).await
}

/// Marks the capture of an order as done. Another worker may have confirmed the order a moment
/// after `now_ms` was read, so the capture is not dated before that.
async fn mark_capture_done(tx: &SqlTransaction, order: &OrderId, now_ms: i64) -> Result<()> {
    let sql = "UPDATE effects SET done_at = GREATEST($2::bigint, COALESCE((SELECT MAX(h.at) \
             FROM order_history h WHERE h.order_id = $1 AND h.state = 'confirmed'), 0)) \
         WHERE order_id = $1 AND kind = 'capture' AND done_at IS NULL";
    tx.execute(sql, &[&order.as_str(), &now_ms]).await?;
    Ok(())
}

/// Marks an order's completed refunds as not done, because the provider reports a smaller refunded
/// sum than the ledger has recorded. A worker requests each of them again. Also sets `failed_at`:
/// the reconciler reports each refund as a finding until the refund is done again. Returns false if
/// no refund was recorded as done. What a bank took and returned is not owed again: the buyer lost
/// that dispute in the end.
async fn owe_again(tx: &SqlTransaction, order: &OrderId, now_ms: i64) -> Result<bool> {
    let sql = "UPDATE payments SET refunded = 0, state = 'captured', updated_at = $2 \
         WHERE order_id = $1 AND state IN ('captured', 'refunded') AND owes = 'capture' \
         AND EXISTS (SELECT 1 FROM refunds WHERE order_id = $1 AND done_at IS NOT NULL AND amount > 0)";
    if tx.execute(sql, &[&order.as_str(), &now_ms]).await? == 0 {
        return owe_whole_again(tx, order, now_ms).await;
    }
    // `attempts` becomes at least 1. With `attempts` above 0, the worker asks the provider for the
    // result of the earlier request before it sends a new one.
    let sql = "UPDATE refunds SET done_at = NULL, failed_at = $2, due_at = $2, \
         due_set_at = $2, attempts = GREATEST(attempts, 1), \
         note = 'the provider no longer reports this refund' WHERE order_id = $1 \
         AND done_at IS NOT NULL AND amount > 0 AND reason <> 'dispute_lost' \
         AND NOT EXISTS (SELECT 1 FROM provider_returns x \
             WHERE x.refund = refunds.refund AND x.came_back_at IS NULL)";
    Ok(tx.execute(sql, &[&order.as_str(), &now_ms]).await? > 0)
}

/// Marks the refund of a payment that bought nothing, and was therefore refunded as a whole, as not
/// done. Returns false if no such refund was recorded as done.
async fn owe_whole_again(tx: &SqlTransaction, order: &OrderId, now_ms: i64) -> Result<bool> {
    let sql = "UPDATE effects SET done_at = NULL, failed_at = $2, due_at = $2, due_set_at = $2, \
         attempts = GREATEST(attempts, 1), note = 'the provider no longer reports this refund' \
         WHERE order_id = $1 AND kind = 'refund' AND done_at IS NOT NULL \
         AND EXISTS (SELECT 1 FROM payments WHERE order_id = $1 AND state = 'refunded' \
             AND owes = 'refund')";
    if tx.execute(sql, &[&order.as_str(), &now_ms]).await? == 0 {
        return Ok(false);
    }
    let sql = "UPDATE payments SET refunded = 0, state = 'captured', updated_at = $2 \
         WHERE order_id = $1";
    tx.execute(sql, &[&order.as_str(), &now_ms]).await?;
    Ok(true)
}

/// Issues the tickets of a captured order. A second call changes nothing. If the order is the
/// successor of an exchange, swaps the seats first. If the old seats can no longer be exchanged,
/// ends the exchange and issues no tickets.
pub(super) async fn ticket_order(tx: &SqlTransaction, order: Order, now_ms: i64) -> Result<()> {
    let Some(order) = exchanges::swap_after_capture(tx, order, now_ms).await? else {
        return Ok(());
    };
    let applied = apply_to_order(tx, order, OrderEvent::Captured, now_ms).await?;
    if applied.changed {
        issue(tx, &applied.order, now_ms).await?;
        record_finished(tx, &applied.order).await?;
    }
    Ok(())
}

/// Issues the tickets of an order that costs nothing, in the transaction that claims its seats. No
/// provider is called. Returns every other order as it is.
pub(super) async fn ticket_if_free(tx: &SqlTransaction, order: Order) -> Result<Order> {
    if order.total != 0 || order.state != OrderState::Pending {
        return Ok(order);
    }
    let now_ms = order.created_at_ms;
    let order = lock_order(tx, order.id.as_str()).await?;
    let order = order.ok_or_else(|| corrupt("an order that is gone"))?;
    if order.state != OrderState::Pending {
        return Ok(order);
    }
    move_payment(tx, &order.id, PaymentState::Voided, now_ms).await?;
    let confirmed = apply_to_order(tx, order, OrderEvent::NothingToPay, now_ms).await?;
    let ticketed = apply_to_order(tx, confirmed.order, OrderEvent::NothingToPay, now_ms).await?;
    issue(tx, &ticketed.order, now_ms).await?;
    record_finished(tx, &ticketed.order).await?;
    Ok(ticketed.order)
}
