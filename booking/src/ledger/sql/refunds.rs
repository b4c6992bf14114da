//! Takes tickets back, and records the refunds that are owed and made for them.

use fairgate_databases::{NamedLock, SqlRow, SqlTransaction, ToSqlValue};
use fairgate_model::ids::{OrderId, RefundId, ShowId};
use fairgate_model::orders::Order;
use fairgate_model::orders::exchange::split_over_payments;
use fairgate_model::orders::refund::{
    MoneyOfOrder, NewRefund, OwedRefund, Refund, RefundInput, RefundPlan, TicketSelection, next_id,
    plan_refund,
};
use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::orders::transition::{OrderClaimChange, OwedProviderCall};
use fairgate_model::payments::PaymentState;
use fairgate_model::payments::refund_copy::RefundCopy;

use super::exchange_rows::{
    exchanged_order_if_done, is_unfinished_successor, successor_being_paid,
};
use super::lent_work::LentWork;
use super::order_changes::{self, record_owed_effect};
use super::order_step::{FreedClaims, OrderStep, VoidedTickets};
use super::payment_rows::move_payment;
use super::rows::{
    self, PAYMENT_COLUMNS, REFUND_COLUMNS, Result, corrupt, items_text, lock_order, parsed,
    read_refund, small, text,
};
use super::{Ledger, claims, fates, finding_rows, lock, return_rows, set_backs, terms, tickets};
use crate::ledger::{EFFECT_LENT_MS, NewFate, OrderChangeOutcome, RefundFigures, RefundRefused};

/// Refunds: taking tickets back, and paying their money back to the buyers. Also the shows that are
/// cancelled or postponed.
impl Ledger {
    /// Takes tickets back. One transaction voids the tickets, ends exactly their claims and adds a
    /// row to the seat outbox. It also records the owed refund, and the reason in the order's
    /// history. The order's terms and the show's present terms, read in this transaction, decide
    /// how much is refunded. A call whose tickets were all given back before changes nothing.
    /// Returns `None` if there is no such order.
    pub async fn refund(
        &self,
        order: &OrderId,
        which: TicketSelection,
        now_ms: i64,
    ) -> std::result::Result<Option<OrderChangeOutcome>, RefundRefused> {
        self.installation
            .write((order.clone(), which), move |tx, (order, which)| {
                Box::pin(take_back(tx, order, which, now_ms))
            })
            .await
    }

    /// Returns due refunds of captured payments without an open dispute, and lends them to the
    /// caller: no other caller gets them for [`EFFECT_LENT_MS`].
    pub async fn due_refunds(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OwedRefund>> {
        // Every node asks once a second, and mostly finds nothing due.
        if !self.is_work_due(LentWork::Refunds, now_ms).await? {
            return Ok(Vec::new());
        }
        self.installation
            .write((), move |tx, ()| {
                Box::pin(lend_refunds(tx, now_ms, batch_max))
            })
            .await
    }

    /// Renews the loan of a refund for [`EFFECT_LENT_MS`] from now, while the call to the provider
    /// lasts.
    pub async fn renew_refund_loan(&self, refund: &RefundId, now_ms: i64) -> Result<()> {
        let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
        self.installation
            .write(refund.clone(), move |tx, refund| {
                Box::pin(async move {
                    LentWork::Refunds.call_in(tx, now_ms).await?;
                    let sql = "UPDATE refunds SET due_at = GREATEST(due_at, $2), due_set_at = $3 \
                         WHERE refund = $1 AND done_at IS NULL";
                    tx.execute(sql, &[&refund.as_str(), &until_ms, &now_ms])
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Records that the provider has made a refund. When all money of a payment has been refunded,
    /// the payment is `refunded`.
    pub async fn refund_done(&self, refund: &RefundId, now_ms: i64) -> Result<()> {
        self.installation
            .write(refund.clone(), move |tx, refund| {
                Box::pin(mark_refund_done(tx, refund, now_ms))
            })
            .await
    }

    /// Puts off a refund to `due_at_ms`, and counts one more attempt. `failed` says that the
    /// provider could not make the refund. The reconciler then reports the refund as a finding
    /// until it is done.
    pub async fn put_off_refund(
        &self,
        refund: &RefundId,
        due_at_ms: i64,
        why: String,
        failed: bool,
        now_ms: i64,
    ) -> Result<()> {
        let failed_at_ms = failed.then_some(now_ms);
        self.installation
            .write((refund.clone(), why), move |tx, (refund, why)| {
                Box::pin(async move {
                    let sql = "UPDATE refunds SET attempts = attempts + 1, due_at = $2, note = $3, \
                         failed_at = COALESCE(failed_at, $4), due_set_at = $5 \
                         WHERE refund = $1 AND done_at IS NULL";
                    let with: [&(dyn ToSqlValue + Sync); 5] =
                        [&refund.as_str(), &due_at_ms, why, &failed_at_ms, &now_ms];
                    tx.execute(sql, &with).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Writes that a show is cancelled or postponed. Returns false and writes nothing if there is
    /// no such show, or if it was cancelled before.
    pub async fn put_fate(&self, show: &ShowId, fate: NewFate, now_ms: i64) -> Result<bool> {
        self.installation
            .write((show.clone(), fate), move |tx, (show, fate)| {
                Box::pin(fates::put(tx, show, fate, now_ms))
            })
            .await
    }

    /// Returns paid orders of cancelled shows that have something to refund, oldest first. An order
    /// whose exchange is being paid is left out until the exchange ends.
    pub async fn orders_to_refund(&self, batch_max: u32) -> Result<Vec<OrderId>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(fates::orders_to_refund(tx, batch_max))
            })
            .await
    }

    /// Returns orders of cancelled shows that wait for a payment or for the buyer's consent, oldest
    /// first.
    pub async fn orders_to_end(&self, batch_max: u32) -> Result<Vec<OrderId>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(fates::orders_to_end(tx, batch_max))
            })
            .await
    }

    /// Returns a show's refunds in figures.
    pub async fn refund_figures(&self, show: &ShowId) -> Result<RefundFigures> {
        self.installation
            .read(show.clone(), |tx, show| {
                Box::pin(fates::refund_figures(tx, show))
            })
            .await
    }
}

/// Returns the refunds of an order, oldest first.
pub(super) async fn of_order(tx: &SqlTransaction, order: &OrderId) -> Result<Vec<Refund>> {
    let sql =
        format!("SELECT {REFUND_COLUMNS} FROM refunds r WHERE r.order_id = $1 ORDER BY r.nth");
    let found = tx.query(&sql, &[&order.as_str()]).await?;
    let read = |row: &SqlRow| {
        read_refund((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
            row.get(6)?,
            row.get(7)?,
            row.get(8)?,
            row.get(9)?,
            row.get(10)?,
            row.get(11)?,
            row.get(12)?,
            row.get(13)?,
        ))
    };
    found.iter().map(read).collect()
}

async fn take_back(
    tx: &SqlTransaction,
    id: &OrderId,
    which: &TicketSelection,
    now_ms: i64,
) -> std::result::Result<Option<OrderChangeOutcome>, RefundRefused> {
    let Some(mut order) = claims::lock_shows_and_order(tx, id, None).await? else {
        return Ok(None);
    };
    set_backs::refuse_unasked(tx, id).await?;
    if let Some(successor) = successor_being_paid(tx, id).await? {
        return Err(RefundRefused::Exchanging(successor));
    }
    // What was paid of an order before its exchange is done is only the difference. The seats
    // belong to it afterwards.
    if is_unfinished_successor(tx, id).await? {
        return Err(RefundRefused::ExchangeUnfinished);
    }
    // A cancelled show takes its tickets back all the same. Their refunds wait until the dispute
    // ends.
    if *which != TicketSelection::Unscanned && return_rows::is_blocked(tx, id).await? {
        return Err(RefundRefused::Disputed);
    }
    let terms = terms_of(tx, &order).await?;
    // A scan at the same moment is either committed before this lock is taken, or waits until this
    // transaction ends.
    tickets::lock(tx, id).await?;
    let input = RefundInput {
        order: &order,
        tickets: &tickets::of_order(tx, &order).await?,
        terms: &terms,
    };
    let Some(plan) = plan_refund(&input, which, now_ms)? else {
        return Ok(Some(OrderChangeOutcome {
            order,
            changed: false,
        }));
    };
    write_refund(tx, &order, &plan, now_ms).await?;
    order.state = plan.decision.state;
    plan.decision.reason.clone_into(&mut order.reason);
    order.items = plan.staying;
    Ok(Some(OrderChangeOutcome {
        order,
        changed: true,
    }))
}

/// Locks the show's plan, and returns the terms that count for an order. Until this transaction
/// ends, the lock keeps out other changes of the show, except by a cinema programme that changes
/// neither plan nor currency.
pub(super) async fn terms_of(tx: &SqlTransaction, order: &Order) -> Result<OrderTerms> {
    tx.lock(&[NamedLock::shared(lock::PLAN, order.show.as_str())])
        .await?;
    terms::of_order(tx, order).await
}

async fn write_refund(
    tx: &SqlTransaction,
    order: &Order,
    plan: &RefundPlan,
    now_ms: i64,
) -> Result<()> {
    write_step(tx, order, plan, now_ms).await?;
    let row = NewRefund {
        items: &plan.going,
        amount: plan.amount,
        fee: plan.fee,
        reason: plan.reason,
    };
    owe_refund(tx, order, &row, now_ms).await?;
    if plan.voids_payment(order) {
        record_owed_effect(tx, &order.id, OwedProviderCall::MoneyBack, now_ms).await?;
    }
    if plan.staying.is_empty() {
        finding_rows::close_in_part(tx, &order.id, "refunded_whole", "", now_ms).await?;
    }
    Ok(())
}

/// Takes the tickets of a refund back: they are void, and their seats are free.
pub(super) async fn write_step(
    tx: &SqlTransaction,
    order: &Order,
    plan: &RefundPlan,
    now_ms: i64,
) -> Result<()> {
    let decision = plan.decision;
    let kept = order_changes::kept_seats(tx, order).await?;
    OrderStep {
        order,
        state: decision.state,
        reason: decision.reason,
        items: Some(&plan.staying),
        uncharged: plan.uncharged,
        ended_claims: match decision.claims {
            OrderClaimChange::Drop => FreedClaims::All,
            _ => FreedClaims::Of(&plan.going),
        },
        seat_row: decision
            .seats
            .map(|kind| (kind, &kept.hold, &plan.going[..])),
        voided: VoidedTickets::Named(&plan.tickets),
        now_ms,
    }
    .write(tx)
    .await
}

/// Records an owed refund from the order's own payment. If too little is left of that payment, the
/// rest comes from the payments of the orders that were exchanged for this order. If money of these
/// payments went back at the provider, at most what is left is owed. The caller has locked the
/// order's row.
pub(super) async fn owe_refund(
    tx: &SqlTransaction,
    order: &Order,
    row: &NewRefund<'_>,
    now_ms: i64,
) -> Result<()> {
    let chain = lock_chain(tx, &order.id).await?;
    let amounts_left: Vec<i64> = chain.iter().map(|(_, left)| *left).collect();
    let orders: Vec<&str> = chain.iter().map(|(of, _)| of.as_str()).collect();
    let money = MoneyOfOrder {
        left: amounts_left.iter().sum(),
        uncovered: return_rows::uncovered(tx, &orders).await?,
        unsettled: finding_rows::sum_in_part(tx, &order.id).await?,
    };
    let keeps_seats = row.items.len() < order.items.len();
    let amounts = split_over_payments(money.owed(row.amount, keeps_seats), &amounts_left);
    let covered = row.amount - amounts.iter().sum::<i64>();
    // Only what went back at the provider, without a call of ours, can be missing here.
    if covered != 0 && !return_rows::any_unasked(tx, &orders).await? {
        return Err(corrupt("a refund that no payment has the money for"));
    }
    let mut whole: Option<RefundId> = None;
    for ((of, _), amount) in chain.iter().zip(amounts) {
        if whole.is_some() && amount == 0 {
            continue;
        }
        let (nth, refund) = next_id(of, return_rows::last_number(tx, of).await?);
        let (items, fee, covered) = match whole {
            None => (row.items, row.fee, covered),
            Some(_) => (&[][..], 0, 0),
        };
        // A refund of 0 needs no call to the provider.
        let done_at = (amount == 0).then_some(now_ms);
        let sql = "INSERT INTO refunds (refund, order_id, nth, items, amount, fee, reason, made_at, \
             due_at, due_set_at, done_at, part_of, covered) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $8, $9, $10, $11)";
        let with: [&(dyn ToSqlValue + Sync); 11] = [
            &refund.as_str(),
            &of.as_str(),
            &nth,
            &items_text(items)?,
            &amount,
            &fee,
            &row.reason.as_str(),
            &now_ms,
            &done_at,
            &whole.as_ref().map(RefundId::as_str),
            &covered,
        ];
        tx.execute(sql, &with).await?;
        whole = whole.or(Some(refund));
    }
    Ok(())
}

/// Locks the orders whose payments pay for an order's seats, and returns them, newest first, each
/// with what is left of its payment. The caller has locked the first one.
async fn lock_chain(tx: &SqlTransaction, order: &OrderId) -> Result<Vec<(OrderId, i64)>> {
    let mut chain = vec![(order.clone(), return_rows::amount_left(tx, order).await?)];
    let mut newest = order.clone();
    while let Some(older) = exchanged_order_if_done(tx, &newest).await? {
        lock_order(tx, older.as_str()).await?;
        chain.push((older.clone(), return_rows::amount_left(tx, &older).await?));
        newest = older;
    }
    Ok(chain)
}

/// What is read of an owed refund `r`.
const OWED_COLUMNS: &str = "r.refund, r.amount, r.attempts, r.items, r.fee, r.reason";

/// Reads what the provider keeps of an owed refund. The row begins with [`OWED_COLUMNS`].
fn copy_of(row: &SqlRow) -> Result<Option<RefundCopy>> {
    let items = rows::items(text(row, 3)?)?;
    let copy = RefundCopy {
        seats: items.into_iter().map(|item| item.held).collect(),
        fee: row.get(4)?,
        reason: text(row, 5)?.to_owned(),
    };
    Ok((!copy.seats.is_empty()).then_some(copy))
}

/// Lends refunds that are due and are not lent to another worker.
async fn lend_refunds(tx: &SqlTransaction, now_ms: i64, batch_max: u32) -> Result<Vec<OwedRefund>> {
    LentWork::Refunds.call_in(tx, now_ms).await?;
    let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
    let due = if tx.is_postgres() {
        lend_refunds_fused(tx, now_ms, batch_max, until_ms).await?
    } else {
        let sql = format!(
            "SELECT {OWED_COLUMNS}, {PAYMENT_COLUMNS} FROM refunds r \
             JOIN payments p ON p.order_id = r.order_id WHERE r.done_at IS NULL AND r.due_at <= $1 \
             AND p.state = 'captured' AND p.owes = 'capture' AND p.dispute IS DISTINCT FROM 'open' \
             ORDER BY r.due_at, r.refund LIMIT $2"
        );
        tx.query(&sql, &[&now_ms, &batch_max]).await?
    };
    let read = |row: &SqlRow| {
        Ok(OwedRefund {
            id: parsed(text(row, 0)?)?,
            amount: row.get(1)?,
            attempts: small(row, 2)?,
            copy: copy_of(row)?,
            payment: rows::payment(row, 6)?,
        })
    };
    let due: Vec<OwedRefund> = due.iter().map(read).collect::<Result<_>>()?;
    if !tx.is_postgres() {
        let ids: Vec<&str> = due.iter().map(|refund| refund.id.as_str()).collect();
        let sql = "UPDATE refunds SET due_at = $2, due_set_at = $3 WHERE refund = ANY ($1)";
        tx.execute(sql, &[&ids, &until_ms, &now_ms]).await?;
    }
    Ok(due)
}

/// Finds and lends refunds in one round trip instead of two. Skips refunds that another node is
/// lending at this moment, so no refund is lent twice.
async fn lend_refunds_fused(
    tx: &SqlTransaction,
    now_ms: i64,
    batch_max: u32,
    until_ms: i64,
) -> Result<Vec<SqlRow>> {
    let sql = format!(
        "WITH due AS (SELECT x.refund FROM refunds x JOIN payments q ON q.order_id = x.order_id \
             WHERE x.done_at IS NULL AND x.due_at <= $1 AND q.state = 'captured' \
             AND q.owes = 'capture' AND q.dispute IS DISTINCT FROM 'open' \
             ORDER BY x.due_at, x.refund LIMIT $2 \
             FOR UPDATE OF x SKIP LOCKED), \
         lent AS (UPDATE refunds r SET due_at = $3, due_set_at = $1 FROM due WHERE r.refund = due.refund \
             RETURNING {OWED_COLUMNS}, r.order_id) \
         SELECT {OWED_COLUMNS}, {PAYMENT_COLUMNS} \
         FROM lent r JOIN payments p ON p.order_id = r.order_id ORDER BY r.refund"
    );
    tx.query(&sql, &[&now_ms, &batch_max, &until_ms]).await
}

async fn mark_refund_done(tx: &SqlTransaction, refund: &RefundId, now_ms: i64) -> Result<()> {
    let sql = "SELECT order_id FROM refunds WHERE refund = $1";
    let Some(row) = tx.first(sql, &[&refund.as_str()]).await? else {
        return Ok(());
    };
    let order = lock_order(tx, text(&row, 0)?).await?;
    let order = order.ok_or_else(|| corrupt("a refund without an order"))?;
    let sql = "UPDATE refunds SET done_at = $2 WHERE refund = $1 AND done_at IS NULL";
    if tx.execute(sql, &[&refund.as_str(), &now_ms]).await? == 0 {
        return Ok(());
    }
    // The intervals at which the payment is read back begin anew, because this refund may fail.
    let sql = "UPDATE payments SET updated_at = $2, read_due = LEAST(read_due, $2), \
         refunded = GREATEST(refunded, (SELECT SUM(r.amount)::bigint \
             FROM refunds AS r WHERE r.order_id = $1 AND r.done_at IS NOT NULL)) \
         WHERE order_id = $1 RETURNING refunded = amount AND state = 'captured'";
    let row = tx.query_one(sql, &[&order.id.as_str(), &now_ms]).await?;
    if row.get(0)? {
        move_payment(tx, &order.id, PaymentState::Refunded, now_ms).await?;
    }
    Ok(())
}
