//! Orders: the claim that makes an order (transaction 1), the events and the deadlines of orders,
//! and the reading of the seat outbox.

use std::ops::Range;

use fairgate_base::clock::rfc3339;
use fairgate_databases::SqlTransaction;
use fairgate_model::ids::{HoldId, OrderId, ShowId};
use fairgate_model::orders::exchange::ExchangeRole;
use fairgate_model::orders::refund::MoneyOfOrder;
use fairgate_model::orders::transition::OrderEvent;
use fairgate_model::orders::{Order, OrderHistoryEntry, OrderRecord, OrderState};
use fairgate_model::payments::Payment;
use fairgate_pass::Holder;

use super::order_changes::{apply_to_order, payment_state};
use super::rows::{self, ORDER_COLUMNS, Result, as_i64, corrupt, find_order, lock_order, text};
use super::set_backs::waits_for_provider;
use super::{
    Ledger, claims, exchange_rows, late_rows, outbox, refunds, return_rows, settle, tickets,
};
use crate::ledger::{ClaimBasis, OrderChangeOutcome, OverdueClaim, SeatClaimRefused, ShowPicture};
use crate::store::SeatOutboxRow;

/// Returns the condition for orders `o` that wait for payment or consent and are overdue at $1. An
/// order with an unsettled event that was received by the deadline is left out, and so is one that
/// may have been paid before the ledger went back.
fn overdue() -> String {
    format!(
        "o.state IN ('pending', 'awaiting_consent') AND o.claim_until <= $1 \
         AND NOT EXISTS (SELECT 1 FROM provider_events e WHERE e.payment = o.payment \
             AND e.settled_at IS NULL AND e.received_at <= o.claim_until) AND NOT {}",
        waits_for_provider()
    )
}

/// Orders, claims and the seat outbox.
impl Ledger {
    /// Takes the number of the show's next incarnation and returns it. The number is larger than
    /// every number taken before. Returns 1 if there is no such show.
    pub async fn next_incarnation(&self, show: &ShowId, plan_version: u32) -> Result<u64> {
        self.installation
            .write(show.clone(), move |tx, show| {
                Box::pin(async move {
                    outbox::require_plan(tx, show, plan_version).await?;
                    let sql = "UPDATE shows SET incarnation = incarnation + 1 WHERE show = $1 \
                         RETURNING incarnation";
                    let row = tx.first(sql, &[&show.as_str()]).await?;
                    row.map_or(Ok(1), |row| rows::count(&row, 0))
                })
            })
            .await
    }

    /// Returns the plan version that a show pins.
    pub async fn pinned_plan(&self, show: &ShowId) -> Result<Option<u32>> {
        self.installation
            .read(show.clone(), |tx, show| {
                Box::pin(outbox::pinned_plan(tx, show))
            })
            .await
    }

    /// Waits for claims that are being written, and returns the show's picture, with which the
    /// store opens the show. If the store has lost its data, `lost` is the incarnation that has
    /// begun since then. Later claims that rest on locks of an earlier incarnation are then
    /// refused, because the store no longer has these locks.
    ///
    /// # Errors
    /// [`LedgerError::Overtaken`] if the show is a train that does not pin `plan_version` any
    /// more.
    pub async fn open_show(
        &self,
        show: &ShowId,
        plan_version: u32,
        lost: Option<u64>,
    ) -> Result<ShowPicture> {
        self.installation
            .write(show.clone(), move |tx, show| {
                Box::pin(outbox::picture(tx, show, plan_version, lost))
            })
            .await
    }

    /// Writes transaction 1: claims, order, payment. An order that costs nothing gets its tickets
    /// in the same transaction. If the order exists already, returns it as it is. Refuses an order
    /// whose hold was given up ([`Self::give_up`]) at the time of the order's creation or later.
    pub async fn claim(
        &self,
        order: Order,
        payment: Payment,
        basis: ClaimBasis,
    ) -> std::result::Result<Order, SeatClaimRefused> {
        self.installation
            .write((order, payment), move |tx, (order, payment)| {
                Box::pin(async move {
                    let order = claims::claim(tx, order, payment, basis).await?;
                    Ok(settle::ticket_if_free(tx, order).await?)
                })
            })
            .await
    }

    /// Returns an order of the visitor, pending or paid, that has a seat of the show on exactly
    /// these legs.
    pub async fn order_over(
        &self,
        show: &ShowId,
        visitor: Holder,
        legs: Range<u16>,
    ) -> Result<Option<OrderId>> {
        self.installation
            .read((show.clone(), legs), move |tx, (show, legs)| {
                Box::pin(claims::order_over(tx, show, visitor, legs))
            })
            .await
    }

    /// Returns the orders of the visitor that have seats of the show, pending or paid, each with
    /// the hold that it was made from.
    pub async fn orders_of(
        &self,
        show: &ShowId,
        visitor: Holder,
    ) -> Result<Vec<(OrderId, HoldId)>> {
        self.installation
            .read(show.clone(), move |tx, show| {
                Box::pin(claims::orders_of(tx, show, visitor))
            })
            .await
    }

    /// Returns an order with its history, tickets and payment.
    pub async fn order(&self, order: &OrderId) -> Result<Option<OrderRecord>> {
        // All parts are read in one snapshot, so that state, history, tickets and payment agree.
        self.installation
            .read_snapshot(order.clone(), |tx, order| Box::pin(order_record(tx, order)))
            .await
    }

    /// Applies an event to an order. Returns `None` if there is no such order.
    pub async fn apply_event(
        &self,
        order: &OrderId,
        event: OrderEvent,
        now_ms: i64,
    ) -> Result<Option<OrderChangeOutcome>> {
        self.installation
            .write(order.clone(), move |tx, order| {
                Box::pin(async move {
                    match lock_order(tx, order.as_str()).await? {
                        Some(order) => Ok(Some(apply_to_order(tx, order, event, now_ms).await?)),
                        None => Ok(None),
                    }
                })
            })
            .await
    }

    /// Begins another try to pay an order: a deadline that a declined payment shortened is again
    /// what it was before. Returns whether the buyer may pay now, which is false if the order does
    /// not wait for its payment, or if its time to pay is over. While a try runs, a second call
    /// changes nothing.
    pub async fn begin_next_try(&self, order: &OrderId, now_ms: i64) -> Result<bool> {
        self.installation
            .write(order.clone(), move |tx, order| {
                Box::pin(begin_next_try(tx, order, now_ms))
            })
            .await
    }

    /// Expires orders that still wait for payment or consent at their claim's deadline, at most
    /// `batch_max` of them, and returns their ids. An order stays as it is while it has an
    /// unsettled event that was stored by the deadline, because the event may report a payment.
    pub async fn expire_due(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>> {
        let sql = format!("SELECT 1 FROM orders o WHERE {} LIMIT 1", overdue());
        if !self.is_due(&sql, now_ms).await? {
            return Ok(Vec::new());
        }
        self.installation
            .write((), move |tx, ()| Box::pin(expire(tx, now_ms, batch_max)))
            .await
    }

    /// Returns claims that still exist after their deadline, ordered by deadline and then by order.
    /// Some of their orders wait until an event is settled. The others will be expired by the next
    /// [`Self::expire_due`]. `after` is the last claim of the previous batch.
    pub async fn overdue_claims(
        &self,
        now_ms: i64,
        after: Option<(i64, OrderId)>,
        batch_max: u32,
    ) -> Result<Vec<OverdueClaim>> {
        self.installation
            .read(after, move |tx, after| {
                Box::pin(outbox::overdue(tx, now_ms, after.as_ref(), batch_max))
            })
            .await
    }

    /// Numbers the committed rows of the seat outbox. The numbers of each show begin at 1 and have
    /// no gaps. The rows of one cell are numbered in the order of their commits. Returns the shows
    /// that have undelivered rows, each with the number of its newest delivered row.
    pub async fn number_seat_rows(&self) -> Result<Vec<(ShowId, u64)>> {
        outbox::number_seat_rows(&self.installation).await
    }

    /// Returns a show's outbox rows with a number above `after`, in order.
    pub async fn seat_rows(
        &self,
        show: &ShowId,
        after: u64,
        batch_max: u32,
    ) -> Result<Vec<SeatOutboxRow>> {
        self.installation
            .read(show.clone(), move |tx, show| {
                Box::pin(outbox::seat_rows(tx, show, as_i64(after), batch_max))
            })
            .await
    }

    /// Marks a show's rows up to a number as delivered. A smaller number than the marked one
    /// changes nothing.
    pub async fn seat_rows_delivered(&self, show: &ShowId, upto: u64) -> Result<()> {
        self.installation
            .write(show.clone(), move |tx, show| {
                Box::pin(async move {
                    let sql =
                        "UPDATE seat_marks SET delivered = $2 WHERE show = $1 AND delivered < $2";
                    tx.execute(sql, &[&show.as_str(), &as_i64(upto)]).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Returns the number of a show's newest numbered outbox row, or 0 if it has none. A store with
    /// a larger cursor has read rows that this ledger does not have.
    pub async fn seat_cursor(&self, show: &ShowId) -> Result<u64> {
        self.installation
            .read(show.clone(), |tx, show| Box::pin(outbox::cursor(tx, show)))
            .await
    }

    /// Returns visitors whose orders of these shows were ticketed, each with a number above
    /// `after`. Later commits have larger numbers, so a reader that remembers the largest number
    /// misses nobody.
    pub async fn finished(&self, after: u64, shows: Vec<ShowId>) -> Result<Vec<(u64, Holder)>> {
        outbox::finished(&self.installation, as_i64(after), shows).await
    }

    /// Returns the number of the newest order of all shows that was ticketed, as [`Self::finished`]
    /// counts them. 0 if there is none.
    pub async fn newest_finished(&self) -> Result<u64> {
        outbox::newest_finished(&self.installation).await
    }
}

async fn begin_next_try(tx: &SqlTransaction, id: &OrderId, now_ms: i64) -> Result<bool> {
    let order = lock_order(tx, id.as_str()).await?;
    let in_time = |order: &Order| now_ms <= order.pay_until_ms;
    let Some(order) = order.filter(in_time) else {
        return Ok(false);
    };
    if order.is_tried_again() {
        return Ok(true);
    }
    // The try also begins if the ledger knows of no decline yet: the buyer's page may have heard of
    // it first. The event of that decline then takes no time from this try.
    let applied = apply_to_order(tx, order, OrderEvent::TriedAgain, now_ms).await?;
    Ok(applied.changed)
}

/// Expires orders that are due. Skips orders that another node is expiring or confirming. The next
/// run looks at these orders again.
async fn expire(tx: &SqlTransaction, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>> {
    let sql = format!(
        "SELECT {ORDER_COLUMNS} FROM orders o WHERE {} ORDER BY o.claim_until LIMIT $2 \
         FOR UPDATE OF o SKIP LOCKED",
        overdue()
    );
    let due = tx.query(&sql, &[&now_ms, &batch_max]).await?;
    let mut expired = Vec::with_capacity(due.len());
    for row in &due {
        let order = rows::order(row, 0)?;
        expired.push(order.id.clone());
        apply_to_order(tx, order, OrderEvent::DeadlinePassed, now_ms).await?;
    }
    Ok(expired)
}

async fn order_record(tx: &SqlTransaction, id: &OrderId) -> Result<Option<OrderRecord>> {
    let Some(order) = find_order(tx, id).await? else {
        return Ok(None);
    };
    let sql = "SELECT at, state, reason FROM order_history WHERE order_id = $1 ORDER BY step";
    let history = tx.query(sql, &[&id.as_str()]).await?;
    let step = |row| {
        let state = OrderState::parse(text(row, 1)?);
        Ok(OrderHistoryEntry {
            at: rfc3339(row.get(0)?),
            state: state.ok_or_else(|| corrupt("a step's state"))?,
            reason: text(row, 2)?.to_owned(),
        })
    };
    let offer = match order.state {
        OrderState::AwaitingConsent => late_rows::late_seats(tx, id).await?,
        _ => None,
    };
    let refunds = refunds::of_order(tx, id).await?;
    let exchanges = exchange_rows::of_order(tx, id).await?;
    let is_successor = |role: &ExchangeRole| matches!(role, ExchangeRole::Successor { .. });
    // Nearly all orders have all of their money in their own payment.
    let is_plain = refunds.is_empty() && !exchanges.iter().any(is_successor);
    let money = match is_plain {
        true => MoneyOfOrder {
            left: order.total,
            ..MoneyOfOrder::default()
        },
        false => return_rows::money_of(tx, id).await?,
    };
    Ok(Some(OrderRecord {
        history: history.iter().map(step).collect::<Result<_>>()?,
        tickets: tickets::of_order(tx, &order).await?,
        payment: payment_state(tx, id, false).await?,
        money,
        refunds,
        exchanges,
        offer,
        order,
    }))
}
