//! Tickets given back, the money that goes back for them, and what became of shows.

use async_trait::async_trait;
use fairgate_databases::rusqlite::Connection;

use super::exchanges::{being_paid, paid_by};
use super::orders::{kept, note, owe};
use super::outbox::tell_store_of;
use super::rows::{
    self, PAYMENT_COLUMNS, REFUND_COLUMNS, Result, collect, corrupt, find_order, first, items_text,
    parsed, refund as read_refund, seat_word,
};
use super::settle::move_payment;
use super::tickets::of_order as tickets_of;
use super::{SqliteLedger, terms};
use crate::catalogue::fate::Fate;
use crate::catalogue::terms::SaleTerms;
use crate::ids::{OrderId, RefundId, ShowId};
use crate::ledger::{Applied, EFFECT_LENT_MS, RefundFigures, RefundLedger, RefundRefused, Sum};
use crate::orders::exchange::draw;
use crate::orders::refund::{Back, OwedRefund, Plan, Refund, Standing, Which, next_id, plan};
use crate::orders::transition::{Claims, Owed};
use crate::orders::{Offer, Order};
use crate::payments::PaymentState;

#[async_trait]
impl RefundLedger for SqliteLedger {
    async fn refund(
        &self,
        order: &OrderId,
        which: Which,
        now_ms: i64,
    ) -> std::result::Result<Option<Applied>, RefundRefused> {
        let order = order.clone();
        self.writer
            .write(move |tx| take_back(tx, &order, &which, now_ms))
            .await
    }

    async fn due_refunds(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OwedRefund>> {
        self.writer
            .write(move |tx| {
                let sql = format!(
                    "SELECT r.refund, r.amount, r.attempts, {PAYMENT_COLUMNS} FROM refunds r \
                     JOIN payments p ON p.order_id = r.order_id \
                     WHERE r.done_at IS NULL AND r.due_at <= ?1 AND p.state = 'captured' AND p.owes = 'capture' \
                     ORDER BY r.due_at, r.refund LIMIT ?2"
                );
                let due = collect(tx, &sql, (now_ms, batch_max), |row| {
                    Ok(OwedRefund {
                        id: parsed(&row.get::<_, String>(0)?)?,
                        amount: row.get(1)?,
                        attempts: row.get(2)?,
                        payment: rows::payment(row, 3)?,
                    })
                })?;
                let mut lend =
                    tx.prepare_cached("UPDATE refunds SET due_at = ?2 WHERE refund = ?1")?;
                for refund in &due {
                    lend.execute((refund.id.as_str(), now_ms.saturating_add(EFFECT_LENT_MS)))?;
                }
                Ok(due)
            })
            .await
    }

    async fn lend_refund_on(&self, refund: &RefundId, now_ms: i64) -> Result<()> {
        let refund = refund.clone();
        self.writer
            .write(move |tx| {
                tx.prepare_cached("UPDATE refunds SET due_at = MAX(due_at, ?2) WHERE refund = ?1 AND done_at IS NULL")?
                    .execute((refund.as_str(), now_ms.saturating_add(EFFECT_LENT_MS)))?;
                Ok(())
            })
            .await
    }

    async fn refund_done(&self, refund: &RefundId, now_ms: i64) -> Result<()> {
        let refund = refund.clone();
        self.writer.write(move |tx| done(tx, &refund, now_ms)).await
    }

    async fn put_off_refund(
        &self,
        refund: &RefundId,
        due_at_ms: i64,
        why: String,
        failed_at_ms: Option<i64>,
    ) -> Result<()> {
        let refund = refund.clone();
        self.writer
            .write(move |tx| {
                tx.prepare_cached(
                    "UPDATE refunds SET attempts = attempts + 1, due_at = ?2, note = ?3, \
                     failed_at = COALESCE(failed_at, ?4) \
                     WHERE refund = ?1 AND done_at IS NULL",
                )?
                .execute((refund.as_str(), due_at_ms, &why, failed_at_ms))?;
                Ok(())
            })
            .await
    }

    async fn put_fate(
        &self,
        show: &ShowId,
        fate: Fate,
        starts_at: Option<String>,
        now_ms: i64,
    ) -> Result<bool> {
        let show = show.clone();
        self.writer
            .write(move |tx| put_fate(tx, &show, fate, starts_at.as_deref(), now_ms))
            .await
    }

    async fn orders_of_cancelled(&self, batch_max: u32) -> Result<Vec<OrderId>> {
        self.writer
            .read(move |connection| {
                collect(
                    connection,
                    "SELECT o.order_id FROM show_fates f JOIN orders o ON o.show = f.show \
                     WHERE f.fate = 'cancelled' AND (o.state = 'confirmed' OR o.state IN ('ticketed', 'partly_refunded') \
                     AND EXISTS (SELECT 1 FROM tickets t WHERE t.order_id = o.order_id AND t.scanned_at IS NULL AND t.voided_at IS NULL)) \
                     AND NOT EXISTS (SELECT 1 FROM exchanges e JOIN orders s ON s.order_id = e.successor \
                         WHERE e.order_id = o.order_id AND e.done_at IS NULL AND s.state IN ('pending', 'confirmed')) \
                     ORDER BY o.created_at LIMIT ?1",
                    [batch_max],
                    |row| parsed(&row.get::<_, String>(0)?),
                )
            })
            .await
    }

    async fn refund_figures(&self, show: &ShowId) -> Result<RefundFigures> {
        let show = show.clone();
        self.writer
            .read(move |connection| figures(&*connection.unchecked_transaction()?, &show))
            .await
    }
}

/// The refunds of an order, in order.
pub(super) fn of_order(connection: &Connection, order: &OrderId) -> Result<Vec<Refund>> {
    let sql =
        format!("SELECT {REFUND_COLUMNS} FROM refunds r WHERE r.order_id = ?1 ORDER BY r.nth");
    collect(connection, &sql, [order.as_str()], |row| {
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
        ))
    })
}

fn take_back(
    tx: &Connection,
    id: &OrderId,
    which: &Which,
    now_ms: i64,
) -> std::result::Result<Option<Applied>, RefundRefused> {
    let Some(mut order) = find_order(tx, id)? else {
        return Ok(None);
    };
    if let Some(successor) = being_paid(tx, id)? {
        return Err(RefundRefused::Exchanging(successor));
    }
    let standing = Standing {
        order: &order,
        tickets: &tickets_of(tx, &order)?,
        terms: &terms::of_order(tx, &order)?,
    };
    let Some(plan) = plan(&standing, which, now_ms)? else {
        return Ok(Some(Applied {
            order,
            changed: false,
        }));
    };
    write(tx, &order, &plan, now_ms)?;
    order.state = plan.decision.state;
    plan.decision.reason.clone_into(&mut order.reason);
    order.items = plan.staying;
    Ok(Some(Applied {
        order,
        changed: true,
    }))
}

fn write(tx: &Connection, order: &Order, plan: &Plan, now_ms: i64) -> Result<()> {
    let (id, decision) = (&order.id, plan.decision);
    let hold = kept(tx, order)?.hold;
    tx.prepare_cached(
        "UPDATE orders SET state = ?2, reason = ?3, items = ?4, let_go = let_go - ?5 WHERE order_id = ?1",
    )?
    .execute((
        id.as_str(),
        decision.state.word(),
        decision.reason,
        items_text(&plan.staying)?,
        plan.uncharged,
    ))?;
    note(tx, id, decision.state, decision.reason, now_ms)?;
    if decision.claims == Claims::Drop {
        tx.prepare_cached("DELETE FROM claims WHERE order_id = ?1")?
            .execute([id.as_str()])?;
    } else {
        let mut give_up = tx.prepare_cached(
            "DELETE FROM claims WHERE order_id = ?1 AND seat = ?2 AND leg >= ?3 AND leg < ?4",
        )?;
        for item in &plan.going {
            let held = &item.held;
            give_up.execute((id.as_str(), held.seat, held.legs.start, held.legs.end))?;
        }
    }
    if let Some(kind) = decision.seats {
        let sold = Offer {
            hold,
            items: plan.going.clone(),
            until_ms: order.claim_until_ms,
        };
        tell_store_of(tx, order, seat_word(kind), &sold)?;
    }
    let mut void = tx.prepare_cached("UPDATE tickets SET voided_at = ?2 WHERE ticket = ?1")?;
    for ticket in &plan.tickets {
        void.execute((ticket.as_str(), now_ms))?;
    }
    let row = Back {
        items: &plan.going,
        amount: plan.amount,
        fee: plan.fee,
        reason: plan.reason,
    };
    insert(tx, order, &row, now_ms)?;
    if plan.lets_go(order) {
        owe(tx, id, Owed::MoneyBack, now_ms)?;
    }
    Ok(())
}

/// Owes a refund: of the order's own payment, and where that has not enough, of the payments of the orders that its seats
/// came from by exchange.
pub(super) fn insert(tx: &Connection, order: &Order, row: &Back<'_>, now_ms: i64) -> Result<()> {
    let mut chain = vec![(order.id.clone(), left(tx, &order.id)?)];
    while let Some(paid_by) = chain
        .last()
        .map(|(last, _)| paid_by(tx, last))
        .transpose()?
        .flatten()
    {
        let left = left(tx, &paid_by)?;
        chain.push((paid_by, left));
    }
    let lefts: Vec<i64> = chain.iter().map(|(_, left)| *left).collect();
    let amounts = draw(row.amount, &lefts);
    if amounts.iter().sum::<i64>() != row.amount {
        return Err(corrupt("a refund that no payment has the money for"));
    }
    let mut whole: Option<RefundId> = None;
    for ((of, _), amount) in chain.iter().zip(amounts) {
        if whole.is_some() && amount == 0 {
            continue;
        }
        let before: Option<u32> = first(
            tx,
            "SELECT COUNT(*) FROM refunds WHERE order_id = ?1",
            [of.as_str()],
        )?;
        let (nth, refund) = next_id(of, before.unwrap_or(0));
        let (items, fee) = match whole {
            None => (row.items, row.fee),
            Some(_) => (&[][..], 0),
        };
        tx.prepare_cached(
            "INSERT INTO refunds (refund, order_id, nth, items, amount, fee, reason, made_at, due_at, done_at, part_of) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10)",
        )?
        .execute((
            refund.as_str(),
            of.as_str(),
            nth,
            items_text(items)?,
            amount,
            fee,
            row.reason.word(),
            now_ms,
            // Nothing is asked of the provider where nothing was paid.
            (amount == 0).then_some(now_ms),
            whole.as_ref().map(RefundId::as_str),
        ))?;
        whole = whole.or(Some(refund));
    }
    Ok(())
}

/// What is left of an order's payment, in minor units.
fn left(tx: &Connection, order: &OrderId) -> Result<i64> {
    let sql = "SELECT total - (SELECT COALESCE(SUM(amount), 0) FROM refunds r WHERE r.order_id = o.order_id) \
         FROM orders o WHERE o.order_id = ?1";
    first(tx, sql, [order.as_str()])?.ok_or_else(|| corrupt("a refund of no order"))
}

fn done(tx: &Connection, refund: &RefundId, now_ms: i64) -> Result<()> {
    let order: Option<String> = first(
        tx,
        "UPDATE refunds SET done_at = ?2 WHERE refund = ?1 AND done_at IS NULL RETURNING order_id",
        (refund.as_str(), now_ms),
    )?;
    let Some(order) = order else { return Ok(()) };
    let order: OrderId = parsed(&order)?;
    let whole: Option<bool> = first(
        tx,
        "UPDATE payments SET refunded = MAX(refunded, \
             (SELECT SUM(amount) FROM refunds r WHERE r.order_id = payments.order_id AND r.done_at IS NOT NULL)) \
         WHERE order_id = ?1 RETURNING refunded = amount AND state = 'captured'",
        [order.as_str()],
    )?;
    if whole == Some(true) {
        move_payment(tx, &order, PaymentState::Refunded, now_ms)?;
    }
    Ok(())
}

fn put_fate(
    tx: &Connection,
    show: &ShowId,
    fate: Fate,
    starts_at: Option<&str>,
    now_ms: i64,
) -> Result<bool> {
    let known: Option<i64> = first(
        tx,
        "SELECT 1 FROM shows s WHERE s.show = ?1 AND NOT EXISTS \
         (SELECT 1 FROM show_fates f WHERE f.show = s.show AND f.fate = 'cancelled')",
        [show.as_str()],
    )?;
    if known.is_none() {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO show_fates (show, fate, refunds_until, at) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (show) DO UPDATE SET fate = ?2, refunds_until = ?3, at = ?4",
        (show.as_str(), fate.word(), fate.refunds_until_ms(), now_ms),
    )?;
    if let Some(starts_at) = starts_at {
        tx.execute(
            "UPDATE shows SET document = json_set(document, '$.starts_at', ?2), updated_at = ?3 WHERE show = ?1",
            (show.as_str(), starts_at, now_ms),
        )?;
        let document: Option<String> = first(
            tx,
            "SELECT document FROM shows WHERE show = ?1",
            [show.as_str()],
        )?;
        let document = document.ok_or_else(|| corrupt("a fate of no show"))?;
        let stated = SaleTerms::of(&rows::json(&document)?);
        terms::note(tx, show.as_str(), &stated, now_ms)?;
    }
    // Departures are followed by their numbers: a new one tells of the change.
    tx.execute(
        "UPDATE shows SET departure = (SELECT MAX(departure) + 1 FROM shows) WHERE show = ?1 AND departure IS NOT NULL",
        [show.as_str()],
    )?;
    super::catalogue::changed(tx)?;
    Ok(true)
}

fn figures(snapshot: &Connection, show: &ShowId) -> Result<RefundFigures> {
    let count = |sql: &str| -> Result<u64> {
        let found: Option<i64> = first(snapshot, sql, [show.as_str()])?;
        Ok(found.unwrap_or(0).unsigned_abs())
    };
    let sum = |which: &str| -> Result<Sum> {
        let sql = format!(
            "SELECT COUNT(*), COALESCE(SUM(r.amount), 0) FROM refunds r JOIN orders o ON o.order_id = r.order_id \
             WHERE o.show = ?1 AND {which}"
        );
        let found = collect(snapshot, &sql, [show.as_str()], |row| {
            Ok(Sum {
                count: row.get::<_, i64>(0)?.unsigned_abs(),
                amount: row.get(1)?,
            })
        })?;
        Ok(found.into_iter().next().unwrap_or_default())
    };
    let fees: Option<i64> = first(
        snapshot,
        "SELECT COALESCE(SUM(r.fee), 0) FROM refunds r JOIN orders o ON o.order_id = r.order_id WHERE o.show = ?1",
        [show.as_str()],
    )?;
    Ok(RefundFigures {
        orders_left: count(
            "SELECT COUNT(*) FROM orders o WHERE o.show = ?1 AND (o.state = 'confirmed' OR o.state IN ('ticketed', 'partly_refunded') \
             AND EXISTS (SELECT 1 FROM tickets t WHERE t.order_id = o.order_id AND t.scanned_at IS NULL AND t.voided_at IS NULL))",
        )?,
        orders_refunded: count(
            "SELECT COUNT(*) FROM orders WHERE show = ?1 AND state IN ('refunded', 'partly_refunded')",
        )?,
        scanned: count("SELECT COUNT(*) FROM tickets WHERE show = ?1 AND scanned_at IS NOT NULL")?,
        on_its_way: sum("r.done_at IS NULL AND r.failed_at IS NULL")?,
        done: sum("r.done_at IS NOT NULL")?,
        failed: sum("r.done_at IS NULL AND r.failed_at IS NOT NULL")?,
        fees: fees.unwrap_or(0),
    })
}
