//! Late money: the search for seats that the money can still buy, and the transaction that ends the
//! search.

use fairgate_databases::SqlTransaction;
use fairgate_model::holds::{HeldSeat, HoldPurpose};
use fairgate_model::ids::{HoldId, OrderId};
use fairgate_model::orders::transition::{LateRefundReason, OrderEvent, decide};
use fairgate_model::orders::{Order, OrderItem};

use super::Ledger;
use super::card_limit::over_card_limit;
use super::claims::{check_existing, insert_claims, lock_for_claim, lock_shows_and_order};
use super::lent_work::LentWork;
use super::order_changes::apply_to_order;
use super::rows::{Result, corrupt, items_text, parsed, text};
use crate::ledger::{ClaimBasis, LateMoneyOutcome, OrderChangeOutcome, SeatClaimRefused};

/// Money that came after its order had expired.
impl Ledger {
    /// Returns expired orders whose late money waits for a decision, and lends them to the caller:
    /// no other caller gets them before `again_at_ms`.
    pub async fn late_due(
        &self,
        now_ms: i64,
        again_at_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderId>> {
        if !self.is_work_due(LentWork::LateMoney, now_ms).await? {
            return Ok(Vec::new());
        }
        self.installation
            .write((), move |tx, ()| {
                Box::pin(lend_searches(tx, now_ms, again_at_ms, batch_max))
            })
            .await
    }

    /// Writes the decision about an order's late money, and ends the search for seats. One
    /// transaction writes the claims, the order, the offer and the outboxes. Only the first
    /// decision counts: a later one changes nothing. `basis` is needed if seats are claimed. If the
    /// buyer's card would then have more seats than the show allows, the money goes back to the
    /// buyer instead. Returns `None` if there is no such order.
    pub async fn late_settle(
        &self,
        order: &OrderId,
        outcome: LateMoneyOutcome,
        basis: Option<ClaimBasis>,
        now_ms: i64,
    ) -> std::result::Result<Option<OrderChangeOutcome>, SeatClaimRefused> {
        self.installation
            .write((order.clone(), outcome), move |tx, (order, outcome)| {
                Box::pin(settle_late_money(tx, order, outcome, basis, now_ms))
            })
            .await
    }
}

/// Lends searches that are due and are not lent to another worker.
async fn lend_searches(
    tx: &SqlTransaction,
    now_ms: i64,
    again_at_ms: i64,
    batch_max: u32,
) -> Result<Vec<OrderId>> {
    LentWork::LateMoney.call_in(tx, now_ms).await?;
    let sql = "UPDATE late_money SET due_at = $2, due_set_at = $1 WHERE order_id = ANY (ARRAY ( \
         SELECT order_id FROM late_money WHERE outcome IS NULL AND due_at <= $1 \
         ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING order_id";
    let rows = tx.query(sql, &[&now_ms, &again_at_ms, &batch_max]).await?;
    rows.iter().map(|row| parsed(text(row, 0)?)).collect()
}

async fn settle_late_money(
    tx: &SqlTransaction,
    id: &OrderId,
    outcome: &LateMoneyOutcome,
    basis: Option<ClaimBasis>,
    now_ms: i64,
) -> std::result::Result<Option<OrderChangeOutcome>, SeatClaimRefused> {
    let Some(order) = lock_shows_and_order(tx, id, None).await? else {
        return Ok(None);
    };
    let sql = "SELECT 1 FROM late_money WHERE order_id = $1 AND outcome IS NULL";
    let searched = tx.first(sql, &[&id.as_str()]).await?.is_some();
    if !searched || decide(order.state, outcome.order_event()).is_none() {
        return Ok(Some(OrderChangeOutcome {
            order,
            changed: false,
        }));
    }
    let event = match outcome {
        LateMoneyOutcome::Back(_) => outcome.order_event(),
        _ if over_card_limit(tx, &order, None).await? => {
            OrderEvent::LateBack(LateRefundReason::CardLimit)
        }
        LateMoneyOutcome::SameSeats(hold) => {
            let until_ms = order.claim_until_ms;
            claim_late_seats(tx, &order, (hold, &order.items, until_ms), basis).await?;
            outcome.order_event()
        }
        LateMoneyOutcome::OtherSeats(offer) => {
            let until_ms = offer.until_ms;
            let kept = (&offer.hold, &offer.items[..], until_ms);
            claim_late_seats(tx, &order, kept, basis).await?;
            let sql = "UPDATE orders SET claim_until = $2 WHERE order_id = $1";
            tx.execute(sql, &[&id.as_str(), &until_ms]).await?;
            outcome.order_event()
        }
    };
    let applied = apply_to_order(tx, order, event, now_ms).await?;
    let sql = "UPDATE late_money SET outcome = $2, decided_at = $3 WHERE order_id = $1";
    tx.execute(sql, &[&id.as_str(), &applied.order.reason, &now_ms])
        .await?;
    Ok(Some(applied))
}

/// Claims seats for an order that has lost its claims, and stores the hold that locks the seats.
async fn claim_late_seats(
    tx: &SqlTransaction,
    order: &Order,
    (hold, items, until_ms): (&HoldId, &[OrderItem], i64),
    basis: Option<ClaimBasis>,
) -> std::result::Result<(), SeatClaimRefused> {
    let basis = basis
        .ok_or_else(|| corrupt("late money that buys seats without a basis for their claim"))?;
    lock_for_claim(tx, order).await?;
    if basis.purpose != HoldPurpose::LateMoney {
        return Err(SeatClaimRefused::OtherPurpose(basis.purpose));
    }
    check_existing(tx, order, basis).await?;
    let held: Vec<HeldSeat> = items.iter().map(|item| item.held.clone()).collect();
    insert_claims(tx, order, &held, basis.grid).await?;
    let sql = "UPDATE late_money SET hold = $2, items = $3, made_for = $4, until = $5 WHERE order_id = $1";
    let (items, made_for) = (items_text(items)?, items_text(&order.items)?);
    tx.execute(
        sql,
        &[
            &order.id.as_str(),
            &hold.as_str(),
            &items,
            &made_for,
            &until_ms,
        ],
    )
    .await?;
    Ok(())
}
