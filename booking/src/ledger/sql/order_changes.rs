//! What happens to an order: its next step, and what is owed for it.

use fairgate_databases::SqlTransaction;

use super::late_rows;
use super::order_step::{FreedClaims, OrderStep, VoidedTickets};
use super::rows::{Result, corrupt, text};
use crate::ledger::Applied;
use fairgate_model::ids::OrderId;
use fairgate_model::orders::transition::{Claims, Decision, EffectKind, Happening, Owed, decide};
use fairgate_model::orders::{Offer, Order, OrderState};
use fairgate_model::payments::PaymentState;

/// Carries out what [`decide`] says. The caller has locked the order's row.
///
/// The outbox row's id is drawn here, after the claims of the order were made in an earlier
/// transaction or an earlier statement. So of two rows about one cell, the later one's id is
/// larger: a cell is claimed again only after the transaction that gave it up has ended, for the
/// claims' unique key makes the second one wait.
pub(super) async fn apply(
    tx: &SqlTransaction,
    mut order: Order,
    happening: Happening,
    now_ms: i64,
) -> Result<Applied> {
    let Some(decision) = decide(order.state, happening) else {
        return Ok(Applied {
            order,
            changed: false,
        });
    };
    let Decision {
        state,
        reason,
        claims,
        seats,
        owed,
        late: searches,
    } = decision;
    // Only orders that have expired once can have other seats than those they were made for.
    let late = match order.state {
        OrderState::Pending => None,
        _ => late_rows::given(tx, &order.id).await?,
    };
    let consented = happening == Happening::Consented;
    let kept = late.unwrap_or_else(|| own_seats(&order));
    OrderStep {
        order: &order,
        state,
        reason,
        items: consented.then_some(&kept.items[..]),
        uncharged: 0,
        freed: match claims {
            Claims::Drop => FreedClaims::All,
            Claims::Stay | Claims::Make | Claims::DropNamed => FreedClaims::Nothing,
        },
        told: seats.map(|kind| (kind, &kept.hold, &kept.items[..])),
        voided: VoidedTickets::Nothing,
        now_ms,
    }
    .write(tx)
    .await?;
    if consented {
        order.items = kept.items;
    }
    if let Some(owed) = owed {
        owe(tx, &order.id, owed, now_ms).await?;
    }
    if searches {
        late_rows::search(tx, &order.id, now_ms).await?;
    }
    order.state = state;
    reason.clone_into(&mut order.reason);
    Ok(Applied {
        order,
        changed: true,
    })
}

/// The hold and the seats that an order was made with.
fn own_seats(order: &Order) -> Offer {
    Offer {
        hold: order.hold.clone(),
        items: order.items.clone(),
        until_ms: order.claim_until_ms,
    }
}

/// The hold and the seats that are kept for an order: its own, or those that late money was given.
pub(super) async fn kept(tx: &SqlTransaction, order: &Order) -> Result<Offer> {
    let late = late_rows::given(tx, &order.id).await?;
    Ok(late.unwrap_or_else(|| own_seats(order)))
}

/// Writes what is owed to the provider, as one compare-and-set of the payment: a capture is owed
/// only where nothing else was, and whatever brings the money back takes its place for good.
pub(super) async fn owe(
    tx: &SqlTransaction,
    order: &OrderId,
    owed: Owed,
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
    if tx.execute(sql, &[&order.as_str(), &kind.word()]).await? != 1 {
        return Err(corrupt("a payment of which two things are asked at once"));
    }
    let sql = "INSERT INTO effects (order_id, kind, due_at) VALUES ($1, $2, $3) \
         ON CONFLICT (order_id, kind) DO NOTHING";
    tx.execute(sql, &[&order.as_str(), &kind.word(), &now_ms])
        .await?;
    Ok(())
}

/// The state of an order's payment; with `is_locked`, nobody else changes it from here on.
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
    let row = tx.one(sql, &[&order.as_str()]).await?;
    PaymentState::of_word(text(&row, 0)?).ok_or_else(|| corrupt("a payment's state"))
}
