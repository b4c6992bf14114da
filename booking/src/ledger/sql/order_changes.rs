//! Applies events to an order: writes the order's next step, and records which call to the provider
//! is then owed.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_model::ids::OrderId;
use fairgate_model::orders::transition::{
    EffectKind, OrderClaimChange, OrderEvent, OwedProviderCall, PayDeadlineChange, decide,
};
use fairgate_model::orders::{Order, OrderState, ReplacementOffer};
use fairgate_model::payments::PaymentState;

use super::late_rows;
use super::order_step::{FreedClaims, OrderStep, VoidedTickets};
use super::rows::{Result, corrupt, text};
use crate::ledger::OrderChangeOutcome;

/// Writes the step that [`decide`] returns for an event, if the event changes the order. The caller
/// has locked the order's row.
///
/// Of two outbox rows about one cell, the later row has the larger id. The reason is that the
/// database gives the id here, after the order's claims were written. The unique key of the claims
/// allows a new claim of a cell only after the transaction that freed the cell has ended.
pub(super) async fn apply_to_order(
    tx: &SqlTransaction,
    mut order: Order,
    event: OrderEvent,
    now_ms: i64,
) -> Result<OrderChangeOutcome> {
    let Some(decision) = decide(order.state, event) else {
        return Ok(OrderChangeOutcome {
            order,
            changed: false,
        });
    };
    // A pending order has never expired, so late money has bought no seats for it.
    let late = match order.state {
        OrderState::Pending => None,
        _ => late_rows::late_seats(tx, &order.id).await?,
    };
    let consented = event == OrderEvent::Consented;
    let current_seats = late.unwrap_or_else(|| own_seats(&order));
    OrderStep {
        order: &order,
        state: decision.state,
        reason: decision.reason,
        items: consented.then_some(&current_seats.items[..]),
        uncharged: 0,
        ended_claims: match decision.claims {
            OrderClaimChange::Drop => FreedClaims::All,
            OrderClaimChange::Stay | OrderClaimChange::Make | OrderClaimChange::DropNamed => {
                FreedClaims::Nothing
            }
        },
        seat_row: decision
            .seats
            .map(|kind| (kind, &current_seats.hold, &current_seats.items[..])),
        voided: VoidedTickets::Nothing,
        now_ms,
    }
    .write(tx)
    .await?;
    if consented {
        order.items = current_seats.items;
    }
    move_deadline(tx, &mut order, decision.deadline, now_ms).await?;
    if let Some(owed) = decision.owed {
        record_owed_effect(tx, &order.id, owed, now_ms).await?;
    }
    if decision.late {
        late_rows::begin_search(tx, &order.id, now_ms).await?;
    }
    order.state = decision.state;
    decision.reason.clone_into(&mut order.reason);
    Ok(OrderChangeOutcome {
        order,
        changed: true,
    })
}

/// Moves the deadlines of a pending order. The lock of its seats in the store stays as it is: it
/// ends later, and the seats are freed through the seat outbox when the order ends. The order of an
/// exchange is no exception. Until its difference is paid, it waits for money like any other order,
/// and the old order keeps its own seats. An order with late money is not pending.
async fn move_deadline(
    tx: &SqlTransaction,
    order: &mut Order,
    change: PayDeadlineChange,
    now_ms: i64,
) -> Result<()> {
    let before_ms = [order.pay_until_ms, order.claim_until_ms];
    order.move_deadline(change, now_ms);
    if [order.pay_until_ms, order.claim_until_ms] == before_ms {
        return Ok(());
    }
    let sql = "UPDATE orders SET pay_until = $2, claim_until = $3, full_pay_until = $4, \
         full_claim_until = $5 WHERE order_id = $1";
    let with: [&(dyn ToSqlValue + Sync); 5] = [
        &order.id.as_str(),
        &order.pay_until_ms,
        &order.claim_until_ms,
        &order.full_pay_until_ms,
        &order.full_claim_until_ms,
    ];
    tx.execute(sql, &with).await?;
    Ok(())
}

/// Returns the order's own hold and seats.
fn own_seats(order: &Order) -> ReplacementOffer {
    ReplacementOffer {
        hold: order.hold.clone(),
        items: order.items.clone(),
        until_ms: order.claim_until_ms,
    }
}

/// Returns the hold and the seats that the store keeps for an order. These are the order's own,
/// unless its late money has bought seats or seats were offered for it.
pub(super) async fn kept_seats(tx: &SqlTransaction, order: &Order) -> Result<ReplacementOffer> {
    let late = late_rows::late_seats(tx, &order.id).await?;
    Ok(late.unwrap_or_else(|| own_seats(order)))
}

/// Records which call to the provider is owed. A capture is recorded only if nothing was owed
/// before. A void replaces anything but a refund. A refund replaces anything. Every other change is
/// an error.
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
        return Err(corrupt("a payment for which two different calls are owed"));
    }
    let sql = "INSERT INTO effects (order_id, kind, due_at, due_set_at) VALUES ($1, $2, $3, $3) \
         ON CONFLICT (order_id, kind) DO NOTHING";
    tx.execute(sql, &[&order.as_str(), &kind.as_str(), &now_ms])
        .await?;
    Ok(())
}

/// Returns the state of an order's payment. With `lock_row`, no other transaction changes the
/// payment until this transaction ends.
pub(super) async fn payment_state(
    tx: &SqlTransaction,
    order: &OrderId,
    lock_row: bool,
) -> Result<PaymentState> {
    let sql = if lock_row {
        "SELECT state FROM payments WHERE order_id = $1 FOR UPDATE"
    } else {
        "SELECT state FROM payments WHERE order_id = $1"
    };
    let row = tx.query_one(sql, &[&order.as_str()]).await?;
    PaymentState::parse(text(&row, 0)?).ok_or_else(|| corrupt("a payment's state"))
}
