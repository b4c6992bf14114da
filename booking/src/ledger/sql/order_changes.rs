//! Applies events to an order: writes its next step, and what is owed to the provider.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::OrderId;
use fairgate_model::orders::transition::{
    EffectKind, OrderClaimChange, OrderEvent, OwedProviderCall, decide,
};
use fairgate_model::orders::{Order, OrderState, ReplacementOffer};
use fairgate_model::payments::PaymentState;

use super::late_rows;
use super::order_step::{FreedClaims, OrderStep, VoidedTickets};
use super::rows::{Result, corrupt, text};
use crate::ledger::OrderChangeOutcome;

/// Carries out what [`decide`] says. The caller has locked the order's row.
///
/// The outbox row's id is drawn here, after an earlier transaction or statement made the order's
/// claims. So of two rows about one cell, the later row has the larger id: the claims' unique key
/// lets a cell be claimed again only after the transaction that gave it up has ended.
pub(super) async fn apply_to_order(
    tx: &SqlTransaction,
    mut order: Order,
    happening: OrderEvent,
    now_ms: i64,
) -> Result<OrderChangeOutcome> {
    let Some(decision) = decide(order.state, happening) else {
        return Ok(OrderChangeOutcome {
            order,
            changed: false,
        });
    };
    // Only an order that has expired once can have other seats than those it was made for.
    let late = match order.state {
        OrderState::Pending => None,
        _ => late_rows::late_seats(tx, &order.id).await?,
    };
    let consented = happening == OrderEvent::Consented;
    let kept = late.unwrap_or_else(|| own_seats(&order));
    OrderStep {
        order: &order,
        state: decision.state,
        reason: decision.reason,
        items: consented.then_some(&kept.items[..]),
        uncharged: 0,
        freed: match decision.claims {
            OrderClaimChange::Drop => FreedClaims::All,
            OrderClaimChange::Stay | OrderClaimChange::Make | OrderClaimChange::DropNamed => {
                FreedClaims::Nothing
            }
        },
        told: decision
            .seats
            .map(|kind| (kind, &kept.hold, &kept.items[..])),
        voided: VoidedTickets::Nothing,
        now_ms,
    }
    .write(tx)
    .await?;
    if consented {
        order.items = kept.items;
    }
    if let Some(owed) = decision.owed {
        record_owed_effect(tx, &order.id, owed, now_ms).await?;
    }
    if decision.late {
        late_rows::search(tx, &order.id, now_ms).await?;
    }
    order.state = decision.state;
    decision.reason.clone_into(&mut order.reason);
    Ok(OrderChangeOutcome {
        order,
        changed: true,
    })
}

/// Returns the hold and the seats that an order was made with.
fn own_seats(order: &Order) -> ReplacementOffer {
    ReplacementOffer {
        hold: order.hold.clone(),
        items: order.items.clone(),
        until_ms: order.claim_until_ms,
    }
}

/// Returns the hold and the seats that are kept for an order: its own, or those that late money was
/// given.
pub(super) async fn kept_seats(tx: &SqlTransaction, order: &Order) -> Result<ReplacementOffer> {
    let late = late_rows::late_seats(tx, &order.id).await?;
    Ok(late.unwrap_or_else(|| own_seats(order)))
}

/// Writes what is owed to the provider, as one compare-and-set of the payment. A capture is owed
/// only if nothing else was, and an effect that brings the money back replaces it for good.
pub(super) async fn record_owed_effect(
    tx: &SqlTransaction,
    order: &OrderId,
    owed: OwedProviderCall,
    now_ms: i64,
) -> Result<()> {
    let kind = owed.effect(payment_state(tx, order, true).await?);
    let sql = match kind {
        EffectKind::Capture => "UPDATE payments SET owes = $2 WHERE order_id = $1 AND owes IS NULL",
        EffectKind::Void => {
            "UPDATE payments SET owes = $2 WHERE order_id = $1 AND owes IS DISTINCT FROM 'refund'"
        }
        EffectKind::Refund => "UPDATE payments SET owes = $2 WHERE order_id = $1",
    };
    if tx.execute(sql, &[&order.as_str(), &kind.as_str()]).await? != 1 {
        return Err(corrupt("a payment of which two things are asked at once"));
    }
    let sql = "INSERT INTO effects (order_id, kind, due_at) VALUES ($1, $2, $3) \
         ON CONFLICT (order_id, kind) DO NOTHING";
    tx.execute(sql, &[&order.as_str(), &kind.as_str(), &now_ms])
        .await?;
    Ok(())
}

/// Returns the state of an order's payment; with `is_locked`, no other transaction changes it from
/// here on.
pub(super) async fn payment_state(
    tx: &SqlTransaction,
    order: &OrderId,
    is_locked: bool,
) -> Result<PaymentState> {
    let sql = if is_locked {
        "SELECT state FROM payments WHERE order_id = $1 FOR UPDATE"
    } else {
        "SELECT state FROM payments WHERE order_id = $1"
    };
    let row = tx.query_one(sql, &[&order.as_str()]).await?;
    PaymentState::parse(text(&row, 0)?).ok_or_else(|| corrupt("a payment's state"))
}
