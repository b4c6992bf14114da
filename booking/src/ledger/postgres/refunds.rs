//! Tickets given back, the money that goes back for them, and what became of shows.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;
use fairgate_databases::tokio_postgres::types::ToSql;

use super::catalogue::{changed, one_at_a_time};
use super::exchanges::{being_paid, paid_by};
use super::orders::owe;
use super::rows::{
    self, PAYMENT_COLUMNS, REFUND_COLUMNS, Result, corrupt, count, items_text, json, lock_order,
    parsed, refund as read_refund, seat_word, small, text,
};
use super::settle::move_payment;
use super::tickets::of_order as tickets_of;
use super::{PostgresLedger, late, lock, terms};
use crate::catalogue::fate::Fate;
use crate::catalogue::show::ShowDocument;
use crate::catalogue::terms::SaleTerms;
use crate::ids::{OrderId, RefundId, ShowId};
use crate::ledger::{Applied, EFFECT_LENT_MS, RefundFigures, RefundLedger, RefundRefused, Sum};
use crate::orders::Order;
use crate::orders::exchange::draw;
use crate::orders::refund::{Back, OwedRefund, Plan, Refund, Standing, Which, next_id, plan};
use crate::orders::terms::OrderTerms;
use crate::orders::transition::{Claims, Owed};
use crate::payments::PaymentState;

/// A paid order `o` with something to give back.
const HAS_LEFT: &str = "(o.state = 'confirmed' OR o.state IN ('ticketed', 'partly_refunded') AND EXISTS \
     (SELECT 1 FROM tickets t WHERE t.order_id = o.order_id AND t.scanned_at IS NULL AND t.voided_at IS NULL))";

#[async_trait]
impl RefundLedger for PostgresLedger {
    async fn refund(
        &self,
        order: &OrderId,
        which: Which,
        now_ms: i64,
    ) -> std::result::Result<Option<Applied>, RefundRefused> {
        let given = Arc::new((order.clone(), which));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move { take_back(&tx, &given.0, &given.1, now_ms).await }
            })
            .await
    }

    async fn due_refunds(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OwedRefund>> {
        // Every node looks once a second, and mostly in vain.
        let due = self.database.read(async move |tx: Tx| {
            let sql = "SELECT 1 FROM refunds WHERE done_at IS NULL AND due_at <= $1 LIMIT 1";
            tx.first(sql, &[&now_ms]).await
        });
        if due.await?.is_none() {
            return Ok(Vec::new());
        }
        self.database
            .write(move |tx| async move { lend(&tx, now_ms, batch_max).await })
            .await
    }

    async fn lend_refund_on(&self, refund: &RefundId, now_ms: i64) -> Result<()> {
        let refund = Arc::new(refund.clone());
        let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
        self.database
            .write(move |tx| {
                let refund = Arc::clone(&refund);
                async move {
                    let sql = "UPDATE refunds SET due_at = GREATEST(due_at, $2) WHERE refund = $1 AND done_at IS NULL";
                    tx.execute(sql, &[&refund.as_str(), &until_ms]).await?;
                    Ok(())
                }
            })
            .await
    }

    async fn refund_done(&self, refund: &RefundId, now_ms: i64) -> Result<()> {
        let refund = Arc::new(refund.clone());
        self.database
            .write(move |tx| {
                let refund = Arc::clone(&refund);
                async move { done(&tx, &refund, now_ms).await }
            })
            .await
    }

    async fn put_off_refund(
        &self,
        refund: &RefundId,
        due_at_ms: i64,
        why: String,
        failed_at_ms: Option<i64>,
    ) -> Result<()> {
        let given = Arc::new((refund.clone(), why));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let sql = "UPDATE refunds SET attempts = attempts + 1, due_at = $2, note = $3, \
                         failed_at = COALESCE(failed_at, $4) \
                         WHERE refund = $1 AND done_at IS NULL";
                    tx.execute(
                        sql,
                        &[&given.0.as_str(), &due_at_ms, &given.1, &failed_at_ms],
                    )
                    .await?;
                    Ok(())
                }
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
        let given = Arc::new((show.clone(), starts_at));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move { put_fate(&tx, &given.0, fate, given.1.as_deref(), now_ms).await }
            })
            .await
    }

    async fn orders_of_cancelled(&self, batch_max: u32) -> Result<Vec<OrderId>> {
        self.database
            .read(async move |tx: Tx| {
                let sql = format!(
                    "SELECT o.order_id FROM show_fates f JOIN orders o ON o.show = f.show \
                     WHERE f.fate = 'cancelled' AND {HAS_LEFT} \
                     AND NOT EXISTS (SELECT 1 FROM exchanges e JOIN orders s ON s.order_id = e.successor \
                         WHERE e.order_id = o.order_id AND e.done_at IS NULL AND s.state IN ('pending', 'confirmed')) \
                     ORDER BY o.created_at LIMIT $1"
                );
                let left = tx.query(&sql, &[&i64::from(batch_max)]).await?;
                left.iter().map(|row| parsed(text(row, 0)?)).collect()
            })
            .await
    }

    async fn refund_figures(&self, show: &ShowId) -> Result<RefundFigures> {
        let show = show.clone();
        self.database
            .read(async move |tx: Tx| figures(&tx, &show).await)
            .await
    }
}

/// The refunds of an order, in order.
pub(super) async fn of_order(tx: &Tx, order: &OrderId) -> Result<Vec<Refund>> {
    let sql =
        format!("SELECT {REFUND_COLUMNS} FROM refunds r WHERE r.order_id = $1 ORDER BY r.nth");
    let found = tx.query(&sql, &[&order.as_str()]).await?;
    let read = |row: &fairgate_databases::tokio_postgres::Row| {
        read_refund((
            row.try_get(0)?,
            row.try_get(1)?,
            row.try_get(2)?,
            row.try_get(3)?,
            row.try_get(4)?,
            row.try_get(5)?,
            row.try_get(6)?,
            row.try_get(7)?,
            row.try_get(8)?,
            row.try_get(9)?,
            row.try_get(10)?,
            row.try_get(11)?,
        ))
    };
    found.iter().map(read).collect()
}

async fn take_back(
    tx: &Tx,
    id: &OrderId,
    which: &Which,
    now_ms: i64,
) -> std::result::Result<Option<Applied>, RefundRefused> {
    let Some(mut order) = lock_order(tx, id.as_str()).await? else {
        return Ok(None);
    };
    if let Some(successor) = being_paid(tx, id).await? {
        return Err(RefundRefused::Exchanging(successor));
    }
    let terms = terms_of(tx, &order).await?;
    // A door that scans one of them at this moment comes before or after.
    let sql = "SELECT 1 FROM tickets WHERE order_id = $1 ORDER BY position FOR UPDATE";
    tx.query(sql, &[&id.as_str()]).await?;
    let standing = Standing {
        order: &order,
        tickets: &tickets_of(tx, &order).await?,
        terms: &terms,
    };
    let Some(plan) = plan(&standing, which, now_ms)? else {
        return Ok(Some(Applied {
            order,
            changed: false,
        }));
    };
    write(tx, &order, &plan, now_ms).await?;
    order.state = plan.decision.state;
    plan.decision.reason.clone_into(&mut order.reason);
    order.items = plan.staying;
    Ok(Some(Applied {
        order,
        changed: true,
    }))
}

/// The terms that count for an order; nobody changes those of its show until this transaction ends.
pub(super) async fn terms_of(tx: &Tx, order: &Order) -> Result<OrderTerms> {
    let sql = "SELECT pg_advisory_xact_lock_shared($1, hashtext($2))";
    tx.one(sql, &[&lock::PLAN, &order.show.as_str()]).await?;
    terms::of_order(tx, order).await
}

/// As with every row of the seat outbox, its id is drawn after the claims were made by an earlier transaction.
async fn write(tx: &Tx, order: &Order, plan: &Plan, now_ms: i64) -> Result<()> {
    let (id, decision) = (order.id.as_str(), plan.decision);
    let late = late::given(tx, &order.id).await?;
    let hold = late.map_or_else(|| order.hold.clone(), |kept| kept.hold);
    let whole = decision.claims == Claims::Drop;
    let number = |of: fn(&crate::holds::Held) -> i64| -> Vec<i64> {
        plan.going.iter().map(|item| of(&item.held)).collect()
    };
    let seats = number(|held| held.seat.into());
    let from = number(|held| held.legs.start.into());
    let to = number(|held| held.legs.end.into());
    let tickets: Vec<String> = plan.tickets.iter().map(ToString::to_string).collect();
    let sql = "WITH moved AS (UPDATE orders SET state = $2, reason = $3, items = $4, let_go = let_go - $16 WHERE order_id = $1), \
         noted AS (INSERT INTO order_history (order_id, step, at, state, reason) \
             SELECT $1, COALESCE(MAX(step), 0) + 1, GREATEST($5, MAX(at)), $2, $3 FROM order_history WHERE order_id = $1), \
         freed AS (DELETE FROM claims c WHERE c.order_id = $1 AND ($6 OR EXISTS (SELECT 1 \
             FROM unnest($7::bigint[], $8::bigint[], $9::bigint[]) AS g (seat, from_leg, to_leg) \
             WHERE c.seat = g.seat AND c.leg >= g.from_leg AND c.leg < g.to_leg))), \
         told AS (INSERT INTO seat_outbox (show, kind, order_id, hold, visitor, items) \
             SELECT $10::text, $11::text, $1, $12::text, $13::bytea, $14::text WHERE $11::text IS NOT NULL) \
         UPDATE tickets SET voided_at = $5 WHERE ticket = ANY ($15)";
    let with: [&(dyn ToSql + Sync); 16] = [
        &id,
        &decision.state.word(),
        &decision.reason,
        &items_text(&plan.staying)?,
        &now_ms,
        &whole,
        &seats,
        &from,
        &to,
        &order.show.as_str(),
        &decision.seats.map(seat_word),
        &hold.as_str(),
        &order.visitor.0.as_slice(),
        &items_text(&plan.going)?,
        &tickets,
        &plan.uncharged,
    ];
    tx.execute(sql, &with).await?;
    let row = Back {
        items: &plan.going,
        amount: plan.amount,
        fee: plan.fee,
        reason: plan.reason,
    };
    insert(tx, order, &row, now_ms).await?;
    if plan.lets_go(order) {
        owe(tx, &order.id, Owed::MoneyBack, now_ms).await?;
    }
    Ok(())
}

/// Owes a refund: of the order's own payment, and where that has not enough, of the payments of the orders that its seats
/// came from by exchange. The caller has locked the order's row.
pub(super) async fn insert(tx: &Tx, order: &Order, row: &Back<'_>, now_ms: i64) -> Result<()> {
    let mut chain = vec![(order.id.clone(), left(tx, &order.id).await?)];
    let mut newest = order.id.clone();
    while let Some(older) = paid_by(tx, &newest).await? {
        lock_order(tx, older.as_str()).await?;
        chain.push((older.clone(), left(tx, &older).await?));
        newest = older;
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
        let sql = "SELECT COUNT(*) FROM refunds WHERE order_id = $1";
        let before = tx.one(sql, &[&of.as_str()]).await?;
        let (nth, refund) = next_id(of, small(&before, 0)?);
        let (items, fee) = match whole {
            None => (row.items, row.fee),
            Some(_) => (&[][..], 0),
        };
        // Nothing is asked of the provider where nothing was paid.
        let done_at = (amount == 0).then_some(now_ms);
        let sql = "INSERT INTO refunds (refund, order_id, nth, items, amount, fee, reason, made_at, due_at, done_at, part_of) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)";
        let with: [&(dyn ToSql + Sync); 10] = [
            &refund.as_str(),
            &of.as_str(),
            &i64::from(nth),
            &items_text(items)?,
            &amount,
            &fee,
            &row.reason.word(),
            &now_ms,
            &done_at,
            &whole.as_ref().map(RefundId::as_str),
        ];
        tx.execute(sql, &with).await?;
        whole = whole.or(Some(refund));
    }
    Ok(())
}

/// What is left of an order's payment, in minor units.
async fn left(tx: &Tx, order: &OrderId) -> Result<i64> {
    let sql = "SELECT o.total - (SELECT COALESCE(SUM(r.amount), 0)::bigint FROM refunds r WHERE r.order_id = o.order_id) \
         FROM orders o WHERE o.order_id = $1";
    Ok(tx.one(sql, &[&order.as_str()]).await?.try_get(0)?)
}

/// Lends refunds that are due and that no other worker is just being lent.
async fn lend(tx: &Tx, now_ms: i64, batch_max: u32) -> Result<Vec<OwedRefund>> {
    let sql = format!(
        "WITH due AS (SELECT x.refund FROM refunds x JOIN payments q ON q.order_id = x.order_id \
             WHERE x.done_at IS NULL AND x.due_at <= $1 AND q.state = 'captured' AND q.owes = 'capture' \
             ORDER BY x.due_at, x.refund LIMIT $2 FOR UPDATE OF x SKIP LOCKED), \
         lent AS (UPDATE refunds r SET due_at = $3 FROM due WHERE r.refund = due.refund \
             RETURNING r.refund, r.amount, r.attempts, r.order_id) \
         SELECT r.refund, r.amount, r.attempts, {PAYMENT_COLUMNS} \
         FROM lent r JOIN payments p ON p.order_id = r.order_id ORDER BY r.refund"
    );
    let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
    let with = i64::from(batch_max);
    let lent = tx.query(&sql, &[&now_ms, &with, &until_ms]).await?;
    let read = |row| {
        Ok(OwedRefund {
            id: parsed(text(row, 0)?)?,
            amount: row.try_get(1)?,
            attempts: small(row, 2)?,
            payment: rows::payment(row, 3)?,
        })
    };
    lent.iter().map(read).collect()
}

async fn done(tx: &Tx, refund: &RefundId, now_ms: i64) -> Result<()> {
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
    let sql = "UPDATE payments p SET refunded = GREATEST(p.refunded, \
             (SELECT SUM(r.amount)::bigint FROM refunds r WHERE r.order_id = $1 AND r.done_at IS NOT NULL)) \
         WHERE p.order_id = $1 RETURNING p.refunded = p.amount AND p.state = 'captured'";
    let row = tx.one(sql, &[&order.id.as_str()]).await?;
    if row.try_get(0)? {
        move_payment(tx, &order.id, PaymentState::Refunded, now_ms).await?;
    }
    Ok(())
}

async fn put_fate(
    tx: &Tx,
    show: &ShowId,
    fate: Fate,
    starts_at: Option<&str>,
    now_ms: i64,
) -> Result<bool> {
    one_at_a_time(tx).await?;
    let id = show.as_str();
    // Claims and refunds that are being written are waited for, and those behind them see this.
    let sql = "SELECT pg_advisory_xact_lock($1, hashtext($2))";
    tx.one(sql, &[&lock::PLAN, &id]).await?;
    let sql = "SELECT 1 FROM shows s WHERE s.show = $1 AND NOT EXISTS \
         (SELECT 1 FROM show_fates f WHERE f.show = s.show AND f.fate = 'cancelled')";
    if tx.first(sql, &[&id]).await?.is_none() {
        return Ok(false);
    }
    let sql = "INSERT INTO show_fates (show, fate, refunds_until, at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (show) DO UPDATE SET fate = excluded.fate, refunds_until = excluded.refunds_until, at = excluded.at";
    tx.execute(sql, &[&id, &fate.word(), &fate.refunds_until_ms(), &now_ms])
        .await?;
    if let Some(starts_at) = starts_at {
        let sql = "UPDATE shows SET document = jsonb_set(document, '{starts_at}', to_jsonb($2::text)), updated_at = $3 \
             WHERE show = $1";
        tx.execute(sql, &[&id, &starts_at, &now_ms]).await?;
        let sql = "SELECT document::text FROM shows WHERE show = $1";
        let document: ShowDocument = json(text(&tx.one(sql, &[&id]).await?, 0)?)?;
        terms::note(tx, &[(id, SaleTerms::of(&document))], now_ms).await?;
    }
    // Departures are followed by their numbers: a new one tells of the change.
    let sql = "WITH given AS (UPDATE departure_numbers SET last = last + 1 \
             WHERE EXISTS (SELECT 1 FROM shows WHERE show = $1 AND departure IS NOT NULL) RETURNING last) \
         UPDATE shows SET departure = given.last FROM given WHERE show = $1";
    tx.execute(sql, &[&id]).await?;
    changed(tx).await?;
    Ok(true)
}

async fn figures(tx: &Tx, show: &ShowId) -> Result<RefundFigures> {
    let sql = format!(
        "WITH of_show AS (SELECT r.* FROM refunds r JOIN orders o ON o.order_id = r.order_id WHERE o.show = $1) \
         SELECT (SELECT COUNT(*) FROM orders o WHERE o.show = $1 AND {HAS_LEFT}), \
         (SELECT COUNT(*) FROM orders WHERE show = $1 AND state IN ('refunded', 'partly_refunded')), \
         (SELECT COUNT(*) FROM tickets WHERE show = $1 AND scanned_at IS NOT NULL), \
         COUNT(*) FILTER (WHERE done_at IS NULL AND failed_at IS NULL), \
         COALESCE(SUM(amount) FILTER (WHERE done_at IS NULL AND failed_at IS NULL), 0)::bigint, \
         COUNT(*) FILTER (WHERE done_at IS NOT NULL), \
         COALESCE(SUM(amount) FILTER (WHERE done_at IS NOT NULL), 0)::bigint, \
         COUNT(*) FILTER (WHERE done_at IS NULL AND failed_at IS NOT NULL), \
         COALESCE(SUM(amount) FILTER (WHERE done_at IS NULL AND failed_at IS NOT NULL), 0)::bigint, \
         COALESCE(SUM(fee), 0)::bigint FROM of_show"
    );
    let row = tx.one(&sql, &[&show.as_str()]).await?;
    let sum = |at: usize| -> Result<Sum> {
        Ok(Sum {
            count: count(&row, at)?,
            amount: row.try_get(at + 1)?,
        })
    };
    Ok(RefundFigures {
        orders_left: count(&row, 0)?,
        orders_refunded: count(&row, 1)?,
        scanned: count(&row, 2)?,
        on_its_way: sum(3)?,
        done: sum(5)?,
        failed: sum(7)?,
        fees: row.try_get(9)?,
    })
}
