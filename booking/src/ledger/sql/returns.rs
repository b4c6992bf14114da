//! Writes what went back to buyers at the provider without a call of ours: refunds that somebody
//! made in the provider's own pages, and disputes that were opened, won or lost.

use fairgate_databases::{SqlRow, SqlTransaction, ToSqlValue};
use fairgate_model::ids::{OrderId, RefundId};
use fairgate_model::orders::Order;
use fairgate_model::orders::refund::lost::plan_lost_refund;
use fairgate_model::orders::refund::{NewRefund, RefundReason, number_of};
use fairgate_model::orders::transition::{OrderDecision, OrderEvent, decide};
use fairgate_model::payments::Payment;
use fairgate_model::payments::returns::{
    DisputeState, LedgerRefund, ProviderReturns, ReturnPlan, UnknownReturn, plan_returns,
};

use super::exchange_rows::done_successor;
use super::finding_rows::{self, NewMoneyFinding};
use super::order_step::{FreedClaims, OrderStep, VoidedTickets};
use super::return_rows::{block, insert_done, insert_next_done, is_disputed, money_left, unblock};
use super::rows::{Result, items_text, lock_order, parsed, text};
use super::{claims, order_changes, order_history, refunds, tickets};
use crate::ledger::{LedgerError, MoneyFindingKind};

/// Finds the order whose seats the money of `order` pays for now: the last one of a chain of
/// exchanges. Locks it and, if it is another one, `order` after it. This is the sequence of an
/// exchange and of a refund. Returns both orders, the last one of the chain first.
///
/// # Errors
/// [`LedgerError::Unavailable`] if an exchange was done meanwhile. The next try finds its
/// successor.
pub(super) async fn lock_with_live(
    tx: &SqlTransaction,
    order: &OrderId,
) -> Result<Option<(Order, Order)>> {
    let mut newest = order.clone();
    while let Some(successor) = done_successor(tx, &newest).await? {
        newest = successor;
    }
    let Some(live) = claims::lock_shows_and_order(tx, &newest, None).await? else {
        return Ok(None);
    };
    if done_successor(tx, &newest).await?.is_some() {
        return Err(LedgerError::Unavailable(
            "the order was exchanged at this moment".to_owned(),
        ));
    }
    if newest == *order {
        return Ok(Some((live.clone(), live)));
    }
    let paid = lock_order(tx, order.as_str()).await?;
    Ok(paid.map(|paid| (live, paid)))
}

/// Writes what the provider says about returned money and disputes of `payment`, which paid for
/// `paid`. The caller has locked the rows of `live` and `paid` ([`lock_with_live`]). Returns
/// whether anything was new.
pub(super) async fn record(
    tx: &SqlTransaction,
    (live, paid): (&Order, &Order),
    payment: &Payment,
    returns: &ProviderReturns,
    now_ms: i64,
) -> Result<bool> {
    let dispute = returns
        .dispute
        .filter(|next| DisputeState::is_news(payment.dispute, *next));
    if let Some(dispute) = dispute {
        let sql = "UPDATE payments SET dispute = $2, updated_at = $3, \
             read_due = LEAST(read_due, $3) WHERE order_id = $1";
        tx.execute(sql, &[&paid.id.as_str(), &dispute.as_str(), &now_ms])
            .await?;
        if dispute != DisputeState::Open {
            end_waiting(tx, &paid.id, now_ms).await?;
        }
    }
    // A payment that bought nothing is refunded as a whole by its effect, whatever else goes back.
    let sql = "SELECT 1 FROM payments WHERE order_id = $1 AND owes = 'capture'";
    if tx.first(sql, &[&paid.id.as_str()]).await?.is_none() {
        return Ok(dispute.is_some());
    }
    let refunds = refunds_of(tx, payment).await?;
    let plan = plan_returns(payment.amount.amount, &refunds, &returns.sums);
    let has_tickets = tickets::any_valid(tx, &live.id).await?;
    take_back_failed(tx, (live, payment), &plan, has_tickets, now_ms).await?;
    change_sums(tx, &plan, now_ms).await?;
    let mut live = live.clone();
    let mut new = Vec::new();
    for unknown in &plan.unknown {
        if restore_refund(tx, (&mut live, paid), unknown, now_ms).await? {
            continue;
        }
        let row = write_unknown(tx, &paid.id, payment, unknown, now_ms).await?;
        new.extend(row.map(|row| (row, unknown)));
    }
    let live = &live;
    if let Some(dispute) = dispute {
        note_dispute(tx, live, dispute, now_ms).await?;
    }
    end_or_list(tx, (live, paid), payment, &new, now_ms).await?;
    if dispute == Some(DisputeState::Lost) && !finding_rows::any_in_part(tx, &live.id).await? {
        unblock(tx, &live.id).await?;
    }
    Ok(dispute.is_some() || plan != ReturnPlan::default())
}

/// Ends an order whose whole money went back. Lists it if only a part did.
async fn end_or_list(
    tx: &SqlTransaction,
    (live, paid): (&Order, &Order),
    payment: &Payment,
    new: &[(RefundId, &UnknownReturn)],
    now_ms: i64,
) -> Result<()> {
    let event = |last| OrderEvent::RefundedAll(reason_of(last));
    if let Some((_, last)) = new.last()
        && let Some(decision) = decide(live.state, event(last))
    {
        if money_left(tx, &live.id).await? == 0 {
            end_whole(tx, (live, paid), decision, new, now_ms).await?;
        } else {
            list_in_part(tx, live, payment, new, now_ms).await?;
            if new.iter().any(|(_, unknown)| unknown.in_dispute) {
                // Perhaps nobody saw the dispute while it was open.
                block(tx, &live.id, now_ms).await?;
            }
        }
    }
    Ok(())
}

/// Returns the refunds of a payment, oldest first.
async fn refunds_of(tx: &SqlTransaction, payment: &Payment) -> Result<Vec<LedgerRefund>> {
    let sql = "SELECT r.refund, r.amount, r.done_at IS NOT NULL, r.failed_at IS NOT NULL, x.sum, \
         x.came_back_at IS NOT NULL FROM refunds r \
         LEFT JOIN provider_returns x ON x.refund = r.refund AND x.payment = $2 \
         WHERE r.order_id = $1 ORDER BY r.nth";
    let with: [&(dyn ToSqlValue + Sync); 2] = [&payment.order.as_str(), &payment.id.as_str()];
    let found = tx.query(sql, &with).await?;
    let read = |row: &SqlRow| {
        let done: bool = row.get(2)?;
        let failed: bool = row.get(3)?;
        Ok(LedgerRefund {
            id: parsed(text(row, 0)?)?,
            amount: row.get(1)?,
            done,
            failed: failed && !done,
            of_sum: row.get(4)?,
        })
    };
    found.iter().map(read).collect()
}

/// Handles sums that did not reach the buyer after all. If the order still has its tickets, and
/// nobody has decided about the sum, it is struck out. Otherwise the refund is owed again, by us,
/// unless the bank took the money: then somebody has to look at it.
async fn take_back_failed(
    tx: &SqlTransaction,
    (live, payment): (&Order, &Payment),
    plan: &ReturnPlan,
    has_tickets: bool,
    now_ms: i64,
) -> Result<()> {
    for sum in &plan.came_back {
        let sql = "UPDATE provider_returns SET came_back_at = $3 \
             WHERE payment = $1 AND sum = $2 AND came_back_at IS NULL RETURNING refund";
        let with: [&(dyn ToSqlValue + Sync); 3] = [&payment.id.as_str(), &sum, &now_ms];
        let Some(row) = tx.first(sql, &with).await? else {
            continue;
        };
        let refund = text(&row, 0)?;
        let is_open = finding_rows::close(tx, sum, "came_back", "", now_ms).await?;
        if is_open && has_tickets {
            let sql = "UPDATE refunds SET amount = 0 WHERE refund = $1";
            tx.execute(sql, &[&refund]).await?;
            continue;
        }
        let sql = "SELECT amount FROM refunds WHERE refund = $1 AND reason = $2";
        let lost = RefundReason::DisputeLost.as_str();
        if let Some(row) = tx.first(sql, &[&refund, &lost]).await? {
            let finding = NewMoneyFinding {
                id: sum,
                kind: MoneyFindingKind::UnknownMoney,
                provider: &payment.provider,
                payment: payment.id.as_str(),
                order: Some(live.id.as_str()),
                sum: payment.amount.currency.with_amount(row.get(0)?),
            };
            finding_rows::open_again(tx, &finding, now_ms).await?;
        }
    }
    Ok(())
}

/// Writes the new sums of refunds. A sum that is lowered is covered by what went back at the
/// provider.
async fn change_sums(tx: &SqlTransaction, plan: &ReturnPlan, now_ms: i64) -> Result<()> {
    for (refund, amount) in &plan.changed {
        let sql = "UPDATE refunds SET covered = covered + amount - $2, amount = $2, \
             failed_at = NULL, due_at = $3, due_set_at = $3, \
             done_at = CASE WHEN $2 = 0 THEN COALESCE(done_at, $3) ELSE done_at END \
             WHERE refund = $1";
        tx.execute(sql, &[&refund.as_str(), amount, &now_ms])
            .await?;
    }
    Ok(())
}

/// Writes a refund of ours again that this ledger has lost, because it is an older copy of itself:
/// the provider's copy names the seats. Returns false if the order does not have them.
async fn restore_refund(
    tx: &SqlTransaction,
    (live, paid): (&mut Order, &Order),
    unknown: &UnknownReturn,
    now_ms: i64,
) -> Result<bool> {
    // Seats of a later order of a chain are not the ones that the copy names.
    let Some(lost) = unknown.lost.as_ref().filter(|_| live.id == paid.id) else {
        return Ok(false);
    };
    let plan = plan_lost_refund(&lost.copy, live, unknown.amount);
    let (Some(plan), Some(nth)) = (plan, number_of(&live.id, &lost.id)) else {
        return Ok(false);
    };
    tickets::lock(tx, &live.id).await?;
    refunds::write_step(tx, live, &plan, now_ms).await?;
    let row = NewRefund {
        items: &plan.going,
        amount: plan.amount,
        fee: plan.fee,
        reason: plan.reason,
    };
    insert_done(tx, &live.id, (nth, &lost.id), row, now_ms).await?;
    if plan.staying.is_empty() {
        finding_rows::close_in_part(tx, &live.id, "refunded_whole", "", now_ms).await?;
    }
    tracing::warn!(order = %live.id, refund = %lost.id, "a refund that the ledger had lost was written again from the provider's copy");
    live.state = plan.decision.state;
    live.items = plan.staying;
    live.waived -= plan.uncharged;
    Ok(true)
}

/// Writes a sum that the ledger did not know. Returns the id of its refund if it is a refund of its
/// own, and `None` if somebody made a failed refund by hand.
async fn write_unknown(
    tx: &SqlTransaction,
    order: &OrderId,
    payment: &Payment,
    unknown: &UnknownReturn,
    now_ms: i64,
) -> Result<Option<RefundId>> {
    let row = match &unknown.by_hand {
        Some(refund) => {
            let sql = "UPDATE refunds SET done_at = $2, failed_at = NULL, \
                 note = 'made at the provider by hand' WHERE refund = $1 AND done_at IS NULL";
            tx.execute(sql, &[&refund.as_str(), &now_ms]).await?;
            refund.clone()
        }
        None => {
            let row = NewRefund {
                items: &[],
                amount: unknown.amount,
                fee: 0,
                reason: reason_of(unknown),
            };
            insert_next_done(tx, order, row, now_ms).await?
        }
    };
    let sql = "INSERT INTO provider_returns (payment, sum, refund, seen_at) \
         VALUES ($1, $2, $3, $4)";
    let (payment, row_id) = (payment.id.as_str(), row.as_str());
    tx.execute(sql, &[&payment, &unknown.id, &row_id, &now_ms])
        .await?;
    Ok(unknown.by_hand.is_none().then_some(row))
}

/// Ends an order whose whole money went back: its tickets are void, and its seats are free.
async fn end_whole(
    tx: &SqlTransaction,
    (live, paid): (&Order, &Order),
    decision: OrderDecision,
    new: &[(RefundId, &UnknownReturn)],
    now_ms: i64,
) -> Result<()> {
    tickets::lock(tx, &live.id).await?;
    let kept = order_changes::kept_seats(tx, live).await?;
    OrderStep {
        order: live,
        state: decision.state,
        reason: decision.reason,
        items: Some(&[]),
        uncharged: live.waived,
        ended_claims: FreedClaims::All,
        seat_row: decision
            .seats
            .map(|kind| (kind, &kept.hold, &live.items[..])),
        voided: VoidedTickets::All,
        now_ms,
    }
    .write(tx)
    .await?;
    let Some((refund, last)) = new.last() else {
        return Ok(());
    };
    if live.id == paid.id {
        let sql = "UPDATE refunds SET items = $2 WHERE refund = $1";
        tx.execute(sql, &[&refund.as_str(), &items_text(&live.items)?])
            .await?;
    } else {
        // The money went back from the payment of an earlier order of the chain.
        let row = NewRefund {
            items: &live.items,
            amount: 0,
            fee: 0,
            reason: reason_of(last),
        };
        let whole = insert_next_done(tx, &live.id, row, now_ms).await?;
        for (part, _) in new {
            let sql = "UPDATE refunds SET part_of = $2 WHERE refund = $1";
            tx.execute(sql, &[&part.as_str(), &whole.as_str()]).await?;
        }
    }
    finding_rows::close_in_part(tx, &live.id, "refunded_whole", "", now_ms).await?;
    Ok(())
}

/// Lists an order of whose money a part went back, until somebody says what it was for.
async fn list_in_part(
    tx: &SqlTransaction,
    live: &Order,
    payment: &Payment,
    new: &[(RefundId, &UnknownReturn)],
    now_ms: i64,
) -> Result<()> {
    // What counts for a refund that the provider could not make needs no question.
    let asked = new.iter().filter(|(_, sum)| sum.counted < sum.amount);
    for (_, unknown) in asked {
        let finding = NewMoneyFinding {
            id: &unknown.id,
            kind: MoneyFindingKind::RefundedInPart,
            provider: &payment.provider,
            payment: payment.id.as_str(),
            order: Some(live.id.as_str()),
            sum: payment
                .amount
                .currency
                .with_amount(unknown.amount - unknown.counted),
        };
        finding_rows::add(tx, &finding, now_ms).await?;
    }
    Ok(())
}

/// Makes the refunds of a payment due, because they waited while the payment was disputed.
async fn end_waiting(tx: &SqlTransaction, paid: &OrderId, now_ms: i64) -> Result<()> {
    let refunds = "UPDATE refunds SET due_at = $2, due_set_at = $2 \
         WHERE order_id = $1 AND done_at IS NULL";
    tx.execute(refunds, &[&paid.as_str(), &now_ms]).await?;
    let effects = "UPDATE effects SET due_at = $2, due_set_at = $2 \
         WHERE order_id = $1 AND kind = 'refund' AND done_at IS NULL";
    tx.execute(effects, &[&paid.as_str(), &now_ms]).await?;
    Ok(())
}

/// Blocks the order's tickets while a dispute is open, and ends that when it was won. The seats
/// stay as they are.
async fn note_dispute(
    tx: &SqlTransaction,
    live: &Order,
    dispute: DisputeState,
    now_ms: i64,
) -> Result<()> {
    if !tickets::any_valid(tx, &live.id).await? {
        return Ok(());
    }
    let reason = match dispute {
        DisputeState::Open => "dispute_opened",
        DisputeState::Won => "dispute_won",
        DisputeState::Lost => RefundReason::DisputeLost.as_str(),
    };
    order_history::add_step(tx, &live.id, live.state, reason, now_ms).await?;
    match dispute {
        DisputeState::Open => block(tx, &live.id, now_ms).await?,
        DisputeState::Won if !is_disputed(tx, &live.id).await? => unblock(tx, &live.id).await?,
        DisputeState::Won | DisputeState::Lost => {}
    }
    Ok(())
}

/// Returns the reason of the refund that is written for a sum.
fn reason_of(unknown: &UnknownReturn) -> RefundReason {
    match unknown.in_dispute {
        true => RefundReason::DisputeLost,
        false => RefundReason::AtProvider,
    }
}
