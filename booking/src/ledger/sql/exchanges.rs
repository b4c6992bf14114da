//! Exchanges an order's seats for other seats. One transaction swaps the seats when the difference
//! is captured, or at once if there is nothing to pay. A transaction that locks the rows of both
//! orders locks the successor's row first, unless it has itself inserted the successor.

use fairgate_databases::{SqlTransaction, ToSqlValue};
use fairgate_model::holds::HoldPurpose;
use fairgate_model::ids::OrderId;
use fairgate_model::orders::exchange::{Exchange, check_exchangeable, lost_items, total_price};
use fairgate_model::orders::refund::{NewRefund, RefundReason};
use fairgate_model::orders::transition::{LateRefundReason, OrderEvent, decide};
use fairgate_model::orders::{Order, OrderState};
use fairgate_model::shows::fate::ShowFate;

use super::card_limit::over_card_limit;
use super::exchange_rows::{OpenExchange, exchanged_order, find_open, successor_being_paid};
use super::order_changes::{self, apply_to_order};
use super::order_step::{FreedClaims, OrderStep, VoidedTickets};
use super::outbox::record_finished;
use super::refunds::{owe_refund, terms_of};
use super::rows::{Result, corrupt, find_order, items_text, lock_order};
use super::tickets::{self, issue};
use super::{Ledger, claims, finding_rows, return_rows, terms};
use crate::ledger::{ClaimBasis, ExchangeRefused, SeatClaimRefused};
use crate::store::SeatOutboxAction;

/// Exchanges: a visitor returns seats of a paid order and gets other seats.
impl Ledger {
    /// Begins an exchange: writes the successor, which will replace the old order, and claims the
    /// cells that the successor gains. The claim is checked as in [`Self::claim`]. If there is
    /// nothing to pay, the same transaction swaps the seats. Otherwise the transaction that records
    /// the capture of the difference swaps them ([`Self::captured`]).
    ///
    /// The swap gives the new seats to the successor, and ends the claims and tickets of the old
    /// order. It also records the owed refund that the exchange names. No swap is made if a ticket
    /// of the old order was scanned or the order changed in the meantime. In that case the money
    /// paid for the successor goes back to the buyer, and the old order stays as it is. If the
    /// successor exists already, returns it. Returns `None` if there is no such order.
    pub async fn exchange(
        &self,
        of: &OrderId,
        exchange: Exchange,
        basis: ClaimBasis,
        now_ms: i64,
    ) -> std::result::Result<Option<Order>, ExchangeRefused> {
        self.installation
            .write((of.clone(), exchange), move |tx, (of, exchange)| {
                Box::pin(begin_exchange(tx, of, exchange, basis, now_ms))
            })
            .await
    }
}

/// Returns the existing order `present` if it is the successor of `of`. Otherwise its hold was used
/// for another order, and the exchange is refused.
async fn require_successor_of(
    tx: &SqlTransaction,
    present: Order,
    of: &OrderId,
) -> std::result::Result<Order, ExchangeRefused> {
    if exchanged_order(tx, &present.id).await?.as_ref() == Some(of) {
        Ok(present)
    } else {
        Err(ExchangeRefused::Changed)
    }
}

async fn begin_exchange(
    tx: &SqlTransaction,
    of: &OrderId,
    exchange: &Exchange,
    basis: ClaimBasis,
    now_ms: i64,
) -> std::result::Result<Option<Order>, ExchangeRefused> {
    let into = Some(&exchange.successor.show);
    let Some(old) = claims::lock_shows_and_order(tx, of, into).await? else {
        return Ok(None);
    };
    let Exchange {
        successor,
        payment,
        items,
        given,
        ..
    } = exchange;
    if basis.purpose != HoldPurpose::Exchange {
        return Err(SeatClaimRefused::OtherPurpose(basis.purpose).into());
    }
    if let Some(present) = find_order(tx, &successor.id).await? {
        return require_successor_of(tx, present, of).await.map(Some);
    }
    if let Some(open) = successor_being_paid(tx, of).await? {
        return Err(ExchangeRefused::Open(open));
    }
    if return_rows::is_blocked(tx, of).await? {
        return Err(ExchangeRefused::Disputed);
    }
    check_exchangeable(&old, &locked_tickets(tx, &old).await?, given)?;
    exchange.check_cost_unchanged(&old, &terms_of(tx, &old).await?, now_ms)?;
    if !exchange.claims_gained_cells(&old) {
        return Err(corrupt("an exchange that claims other cells than it gains").into());
    }
    let made = claims::claim_for_exchange(tx, successor, payment, items, basis).await?;
    if made != *successor {
        return require_successor_of(tx, made, of).await.map(Some);
    }
    insert_exchange(tx, of, exchange, now_ms).await?;
    if payment.amount.amount == 0 {
        if over_card_limit(tx, successor, None).await? {
            return Err(SeatClaimRefused::CardLimit.into());
        }
        let applied =
            apply_to_order(tx, successor.clone(), OrderEvent::NothingToPay, now_ms).await?;
        finish_exchange(tx, applied.order, OrderEvent::NothingToPay, now_ms).await?;
    }
    Ok(find_order(tx, &successor.id).await?)
}

/// Writes which order the successor replaces, and the cards that bought the old seats.
pub(super) async fn insert_exchange(
    tx: &SqlTransaction,
    of: &OrderId,
    exchange: &Exchange,
    now_ms: i64,
) -> Result<()> {
    let successor = exchange.successor.id.as_str();
    let sql = "INSERT INTO exchanges (successor, order_id, items, given, made_at, fee, back) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let with: [&(dyn ToSqlValue + Sync); 7] = [
        &successor,
        &of.as_str(),
        &items_text(&exchange.items)?,
        &items_text(&exchange.given)?,
        &now_ms,
        &exchange.deal.fee,
        &exchange.deal.back,
    ];
    tx.execute(sql, &with).await?;
    // The cards that bought the old seats count as buyers of the new seats, even if there is
    // nothing to pay.
    let sql = "INSERT INTO order_cards (order_id, card) SELECT $1, card FROM order_cards WHERE order_id = $2";
    tx.execute(sql, &[&successor, &of.as_str()]).await?;
    Ok(())
}

/// Locks and returns the tickets of an order. A scan at the same moment is either committed before
/// this lock is taken, or waits until this transaction ends.
async fn locked_tickets(
    tx: &SqlTransaction,
    order: &Order,
) -> Result<Vec<fairgate_model::orders::Ticket>> {
    tickets::lock(tx, &order.id).await?;
    tickets::of_order(tx, order).await
}

/// Returns the event to apply to an order. For the successor of an open exchange, this may be
/// another event than `event`, so that the money goes back to the buyer. This happens if the money
/// came late, or if the exchange can no longer be made. To find out whether it can be made, this
/// locks the old order and its tickets.
pub(super) async fn event_for_successor(
    tx: &SqlTransaction,
    successor: &Order,
    event: Option<OrderEvent>,
) -> Result<Option<OrderEvent>> {
    use OrderEvent::{Authorised, CardFull, ExchangeOver, LateBack};
    if !matches!(event, Some(Authorised | CardFull)) {
        return Ok(event);
    }
    let Some(open) = find_open(tx, &successor.id).await? else {
        return Ok(event);
    };
    if successor.state == OrderState::Expired {
        return Ok(Some(LateBack(LateRefundReason::ExchangeOver)));
    }
    Ok(
        if event == Some(Authorised) && lock_if_exchangeable(tx, &open).await?.is_none() {
            Some(ExchangeOver)
        } else {
            event
        },
    )
}

/// Locks the old order, and returns the order if its seats may still be exchanged. Its show may
/// have been cancelled or postponed since the exchange began, so that all of its money can be given
/// back. The exchange would carry over less, so it ends.
async fn lock_if_exchangeable(tx: &SqlTransaction, open: &OpenExchange) -> Result<Option<Order>> {
    let old = lock_order(tx, open.old_order.as_str()).await?;
    let old = old.ok_or_else(|| corrupt("an exchange of no order"))?;
    let tickets = locked_tickets(tx, &old).await?;
    let has_new_fate = match terms::of_order(tx, &old).await?.fate {
        Some(ShowFate::Cancelled) => true,
        Some(ShowFate::Postponed { since_ms, .. }) => since_ms > open.began_at_ms,
        None => false,
    };
    let may_go = !has_new_fate
        && check_exchangeable(&old, &tickets, &open.given).is_ok()
        && !return_rows::is_blocked(tx, &old.id).await?;
    Ok(may_go.then_some(old))
}

/// Swaps the seats after the difference was captured. If the old seats may no longer be exchanged,
/// ends the exchange, so that the money goes back to the buyer. Returns `None` in both cases. If
/// the order is not the successor of an open exchange, returns the order unchanged.
pub(super) async fn swap_after_capture(
    tx: &SqlTransaction,
    successor: Order,
    now_ms: i64,
) -> Result<Option<Order>> {
    let Some(open) = find_open(tx, &successor.id).await? else {
        return Ok(Some(successor));
    };
    if lock_if_exchangeable(tx, &open).await?.is_some() {
        finish_exchange(tx, successor, OrderEvent::Captured, now_ms).await?;
    } else {
        apply_to_order(tx, successor, OrderEvent::ExchangeOver, now_ms).await?;
    }
    Ok(None)
}

async fn finish_exchange(
    tx: &SqlTransaction,
    successor: Order,
    event: OrderEvent,
    now_ms: i64,
) -> Result<()> {
    let applied = apply_to_order(tx, successor, event, now_ms).await?;
    let open = find_open(tx, &applied.order.id).await?;
    let Some(open) = open.filter(|_| applied.changed) else {
        return Ok(());
    };
    let old = lock_order(tx, open.old_order.as_str()).await?;
    let old = old.ok_or_else(|| corrupt("an exchange of no order"))?;
    let new = Order {
        items: open.items,
        ..applied.order
    };
    let back = open
        .back
        .unwrap_or_else(|| total_price(&old.items) - total_price(&new.items));
    end_old_order(tx, &old, &new, back, now_ms).await?;
    if tx.is_postgres() {
        complete_successor_fused(tx, &new, now_ms).await?;
    } else {
        complete_successor(tx, &new, now_ms).await?;
    }
    issue(tx, &new, now_ms).await?;
    record_finished(tx, &new).await
}

/// Records that the exchange is done. Gives the successor all its items, and claims the cells that
/// it takes over from the old order. [`end_old_order`] has just deleted the old order's claims to
/// these cells.
async fn complete_successor(tx: &SqlTransaction, new: &Order, now_ms: i64) -> Result<()> {
    let id = new.id.as_str();
    let sql = "UPDATE orders SET items = $2 WHERE order_id = $1";
    tx.execute(sql, &[&id, &items_text(&new.items)?]).await?;
    let sql = "UPDATE exchanges SET done_at = $2 WHERE successor = $1";
    tx.execute(sql, &[&id, &now_ms]).await?;
    let sql = "INSERT INTO claims (show, seat, leg, order_id, visitor) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT DO NOTHING";
    for held in new.held_seats() {
        for leg in held.legs {
            let with: [&(dyn ToSqlValue + Sync); 5] =
                [&new.show.as_str(), &held.seat, &leg, &id, &new.visitor.0];
            tx.execute(sql, &with).await?;
        }
    }
    Ok(())
}

/// Does the work of [`complete_successor`] in one round trip for all cells, because the rows of
/// both orders stay locked meanwhile.
async fn complete_successor_fused(tx: &SqlTransaction, new: &Order, now_ms: i64) -> Result<()> {
    let (mut seats, mut legs) = (Vec::<i64>::new(), Vec::<i64>::new());
    for held in new.held_seats() {
        for leg in held.legs {
            seats.push(held.seat.into());
            legs.push(leg.into());
        }
    }
    let sql = "WITH whole AS (UPDATE orders SET items = $2 WHERE order_id = $1), \
         done AS (UPDATE exchanges SET done_at = $3 WHERE successor = $1) \
         INSERT INTO claims (show, seat, leg, order_id, visitor) \
         SELECT $4, seat, leg, $1, $5 FROM unnest($6::bigint[], $7::bigint[]) AS w (seat, leg) \
         ORDER BY leg, seat ON CONFLICT (show, seat, leg) DO NOTHING";
    let with: [&(dyn ToSqlValue + Sync); 7] = [
        &new.id.as_str(),
        &items_text(&new.items)?,
        &now_ms,
        &new.show.as_str(),
        &new.visitor.0,
        &seats,
        &legs,
    ];
    tx.execute(sql, &with).await?;
    Ok(())
}

/// Ends the old order: deletes its claims, voids its tickets, and records an owed refund of `back`.
async fn end_old_order(
    tx: &SqlTransaction,
    old: &Order,
    new: &Order,
    back: i64,
    now_ms: i64,
) -> Result<()> {
    let decision = decide(old.state, OrderEvent::Exchanged)
        .ok_or_else(|| corrupt("an exchange of an order that has nothing to give"))?;
    let kept = order_changes::kept_seats(tx, old).await?;
    OrderStep {
        order: old,
        state: decision.state,
        reason: decision.reason,
        items: None,
        uncharged: 0,
        ended_claims: FreedClaims::All,
        seat_row: Some((SeatOutboxAction::Free, &kept.hold, &lost_items(old, new))),
        voided: VoidedTickets::All,
        now_ms,
    }
    .write(tx)
    .await?;
    finding_rows::move_to_successor(tx, &old.id, &new.id).await?;
    if back > 0 {
        let row = NewRefund {
            items: &[],
            amount: back,
            fee: 0,
            reason: RefundReason::ExchangeDifference,
        };
        owe_refund(tx, old, &row, now_ms).await?;
    }
    Ok(())
}
