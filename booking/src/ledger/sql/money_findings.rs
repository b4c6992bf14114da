//! Money that somebody has to look at: a refund of a part that was made at the provider, and money
//! at the provider that the ledger does not know. Each is stored until it is settled.

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::{OrderId, TicketId};
use fairgate_model::money::Money;
use fairgate_model::orders::refund::{NewRefund, RefundReason};
use fairgate_model::orders::transition::{OrderClaimChange, OrderEvent, decide};
use fairgate_model::orders::{Order, OrderItem};

use super::finding_rows::{
    ENDING_BY_THEMSELVES, NewMoneyFinding, add, all_for_people, any_in_part, close, close_in_part,
    open,
};
use super::order_step::{FreedClaims, OrderStep, VoidedTickets};
use super::rows::{Result, count};
use super::{Ledger, claims, order_changes, return_rows, tickets};
use crate::ledger::{
    MoneyFinding, MoneyFindingCounts, MoneyFindingKind, OrderChangeOutcome, OrderSettlement,
    SettleRefused,
};

/// Money that somebody has to look at.
impl Ledger {
    /// Returns the findings that are not settled, oldest first, and at most `most`.
    pub async fn open_money_findings(&self, most: u32) -> Result<Vec<MoneyFinding>> {
        self.installation
            .read((), move |tx, ()| Box::pin(open(tx, most)))
            .await
    }

    /// Returns what somebody has to look at, oldest first, and at most `most`: the findings that
    /// are not settled, the refunds that failed, and the open disputes.
    pub async fn attention(&self, most: u32) -> Result<Vec<MoneyFinding>> {
        self.installation
            .read((), move |tx, ()| Box::pin(all_for_people(tx, most)))
            .await
    }

    /// Returns how many orders and how many sums are not settled, and how many refunds and disputes
    /// wait.
    pub async fn money_finding_counts(&self) -> Result<MoneyFindingCounts> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT COUNT(DISTINCT CASE WHEN kind = 'refunded_in_part' \
                         THEN order_id END), COUNT(CASE WHEN kind = 'unknown_money' THEN 1 END) \
                         FROM money_findings WHERE settled_at IS NULL";
                    let stored = tx.query_one(sql, &[]).await?;
                    let sql = format!(
                        "SELECT COUNT(CASE WHEN kind = 'refund_failed' THEN 1 END), \
                         COUNT(CASE WHEN kind = 'disputed' THEN 1 END) \
                         FROM ({ENDING_BY_THEMSELVES}) AS open"
                    );
                    let waiting = tx.query_one(&sql, &[]).await?;
                    Ok(MoneyFindingCounts {
                        orders: count(&stored, 0)?,
                        unknown: count(&stored, 1)?,
                        failed_refunds: count(&waiting, 0)?,
                        disputes: count(&waiting, 1)?,
                    })
                })
            })
            .await
    }

    /// Stores money that the provider has and the ledger does not know, or its new sum. `id` is the
    /// provider's id of the money. `payment` is the payment that it names, with its order if there
    /// is one. A finding that was settled stays settled unless more money is there.
    pub async fn note_unknown_money(
        &self,
        provider: &'static str,
        id: String,
        (payment, order): (String, Option<OrderId>),
        sum: Money,
        now_ms: i64,
    ) -> Result<()> {
        self.installation
            .write((id, payment, order), move |tx, (id, payment, order)| {
                Box::pin(async move {
                    let finding = NewMoneyFinding {
                        id,
                        kind: MoneyFindingKind::UnknownMoney,
                        provider,
                        payment,
                        order: order.as_ref().map(OrderId::as_str),
                        sum,
                    };
                    add(tx, &finding, now_ms).await
                })
            })
            .await
    }

    /// Returns whether the money of this id of the provider is listed as unknown.
    pub async fn is_unknown_money(&self, id: String) -> Result<bool> {
        self.installation
            .read(id, move |tx, id| {
                Box::pin(async move {
                    let sql = "SELECT 1 FROM money_findings WHERE finding = $1 \
                         AND kind = 'unknown_money' AND settled_at IS NULL";
                    Ok(tx.first(sql, &[id]).await?.is_some())
                })
            })
            .await
    }

    /// Writes how much is left of unknown money after some of it went back, in minor units. If
    /// nothing is left, the finding is settled.
    pub async fn note_unknown_left(&self, id: String, left: i64, now_ms: i64) -> Result<()> {
        self.installation
            .write(id, move |tx, id| {
                Box::pin(async move {
                    if left == 0 {
                        close(tx, id, "returned", "", now_ms).await?;
                        return Ok(());
                    }
                    let sql = "UPDATE money_findings SET amount = LEAST(amount, $2) \
                         WHERE finding = $1 AND settled_at IS NULL";
                    tx.execute(sql, &[id, &left]).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Settles a finding of unknown money. Returns false if no such finding is open.
    pub async fn settle_unknown_money(
        &self,
        id: String,
        reason: String,
        now_ms: i64,
    ) -> Result<bool> {
        self.installation
            .write((id, reason), move |tx, (id, reason)| {
                Box::pin(async move {
                    let sql = "UPDATE money_findings SET settled_at = $2, settled_as = 'by_person', \
                         note = $3 WHERE finding = $1 AND settled_at IS NULL \
                         AND kind = 'unknown_money'";
                    Ok(tx.execute(sql, &[id, &now_ms, reason]).await? == 1)
                })
            })
            .await
    }

    /// Settles what a refund of a part, made at the provider, was for: named tickets, which become
    /// void, or goodwill. No more money goes back. Returns `None` if there is no such order.
    pub async fn settle_order(
        &self,
        order: &OrderId,
        settlement: OrderSettlement,
        now_ms: i64,
    ) -> std::result::Result<Option<OrderChangeOutcome>, SettleRefused> {
        self.installation
            .write(
                (order.clone(), settlement),
                move |tx, (order, settlement)| {
                    Box::pin(settle_order(tx, order, settlement, now_ms))
                },
            )
            .await
    }
}

async fn settle_order(
    tx: &SqlTransaction,
    id: &OrderId,
    settlement: &OrderSettlement,
    now_ms: i64,
) -> std::result::Result<Option<OrderChangeOutcome>, SettleRefused> {
    let Some(mut order) = claims::lock_shows_and_order(tx, id, None).await? else {
        return Ok(None);
    };
    if !any_in_part(tx, id).await? {
        return Err(SettleRefused::NothingToSettle);
    }
    let (settled_as, note, named) = match settlement {
        OrderSettlement::Goodwill { reason } => ("goodwill", reason.as_str(), &[][..]),
        OrderSettlement::Tickets { tickets } => ("tickets", "", &tickets[..]),
    };
    if !named.is_empty() {
        void_named(tx, &mut order, named, now_ms).await?;
    }
    close_in_part(tx, id, settled_as, note, now_ms).await?;
    // A dispute that was lost over a part has kept the tickets blocked until now.
    if !return_rows::is_disputed(tx, id).await? {
        return_rows::unblock(tx, id).await?;
    }
    Ok(Some(OrderChangeOutcome {
        order,
        changed: true,
    }))
}

/// Voids the named tickets of an order whose row is locked, and frees their seats.
async fn void_named(
    tx: &SqlTransaction,
    order: &mut Order,
    named: &[TicketId],
    now_ms: i64,
) -> std::result::Result<(), SettleRefused> {
    tickets::lock(tx, &order.id).await?;
    let issued = tickets::of_order(tx, order).await?;
    for id in named {
        let ticket = issued.iter().find(|ticket| ticket.id == *id);
        let ticket = ticket.ok_or_else(|| SettleRefused::Unknown(id.clone()))?;
        if ticket.voided_at_ms.is_some() {
            return Err(SettleRefused::Void(id.clone()));
        }
        if ticket.scanned_at_ms.is_some() {
            return Err(SettleRefused::Scanned(ticket.label.clone()));
        }
    }
    let is_named = |item: &OrderItem| named.contains(&TicketId::of_seat(&order.id, item.held.seat));
    let (going, staying): (Vec<OrderItem>, Vec<OrderItem>) =
        order.items.iter().cloned().partition(is_named);
    let reason = RefundReason::AtProvider;
    let event = match staying.is_empty() {
        true => OrderEvent::RefundedAll(reason),
        false => OrderEvent::RefundedPart(reason),
    };
    let decision = decide(order.state, event).ok_or(SettleRefused::State(order.state))?;
    let kept = order_changes::kept_seats(tx, order).await?;
    OrderStep {
        order,
        state: decision.state,
        reason: decision.reason,
        items: Some(&staying),
        uncharged: match staying.is_empty() {
            true => order.waived,
            false => 0,
        },
        ended_claims: match decision.claims {
            OrderClaimChange::Drop => FreedClaims::All,
            _ => FreedClaims::Of(&going),
        },
        seat_row: decision.seats.map(|kind| (kind, &kept.hold, &going[..])),
        voided: VoidedTickets::Named(named),
        now_ms,
    }
    .write(tx)
    .await?;
    let row = NewRefund {
        items: &going,
        amount: 0,
        fee: 0,
        reason,
    };
    return_rows::insert_next_done(tx, &order.id, row, now_ms).await?;
    order.state = decision.state;
    decision.reason.clone_into(&mut order.reason);
    order.items = staying;
    Ok(())
}
