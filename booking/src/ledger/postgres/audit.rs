//! What the reconciler looks at, and its repairs.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;

use super::orders::owe;
use super::rows::{
    self, PAYMENT_COLUMNS, READ_FOR_MS, Result, corrupt, count, items, lock_order, parsed, small,
    text, unsearched,
};
use super::tickets::issue;
use super::{PostgresLedger, lock};
use crate::ids::{HoldId, OrderId, ShowId};
use crate::ledger::{AuditLedger, Claimed, TAKEN_QUIET_MS, TAKEN_READ_FOR_MS};
use crate::orders::OrderState;
use crate::orders::transition::EffectKind;
use crate::payments::{Payment, PaymentState};
use crate::reconciler::finding::OrderFacts;
use crate::reconciler::finding::{Missing, missing};

#[async_trait]
impl AuditLedger for PostgresLedger {
    async fn order_facts(&self, since_ms: i64, batch_max: u32) -> Result<Vec<OrderFacts>> {
        // One statement, and so one snapshot.
        self.database
            .read(async move |tx: Tx| facts(&tx, since_ms, batch_max).await)
            .await
    }

    async fn quiet_payments(
        &self,
        now_ms: i64,
        quiet_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<(Payment, i64)>> {
        self.database
            .write(move |tx| async move {
                let sql = format!(
                    "WITH open AS (SELECT payment FROM payments \
                         WHERE state IN ('created', 'declined', 'authorised') AND read_due <= $1 AND updated_at <= $1 - $2 \
                         AND (state = 'authorised' OR updated_at > $1 - $3) ORDER BY read_due LIMIT $4 FOR UPDATE SKIP LOCKED), \
                     taken AS (SELECT payment FROM payments \
                         WHERE state = 'captured' AND read_due <= $1 AND updated_at <= $1 - $5 AND updated_at > $1 - $6 \
                         ORDER BY read_due LIMIT $4 / 4 FOR UPDATE SKIP LOCKED) \
                     UPDATE payments p SET read_due = $1 + GREATEST($1 - p.updated_at, CASE p.state WHEN 'captured' THEN $5 ELSE $2 END) \
                     FROM (SELECT payment FROM open UNION ALL SELECT payment FROM taken) AS due \
                     WHERE p.payment = due.payment RETURNING {PAYMENT_COLUMNS}, p.updated_at"
                );
                let with: [&(dyn fairgate_databases::tokio_postgres::types::ToSql + Sync); 6] = [
                    &now_ms,
                    &quiet_ms,
                    &READ_FOR_MS,
                    &i64::from(batch_max),
                    &TAKEN_QUIET_MS,
                    &TAKEN_READ_FOR_MS,
                ];
                let quiet = tx.query(&sql, &with).await?;
                let read = |row| Ok((rows::payment(row, 0)?, row.try_get(9)?));
                quiet.iter().map(read).collect()
            })
            .await
    }

    async fn without_order(&self, holds: Vec<HoldId>) -> Result<Vec<HoldId>> {
        self.database
            .read(async move |tx: Tx| without_order(&tx, &holds).await)
            .await
    }

    async fn give_up(&self, hold: &HoldId, now_ms: i64) -> Result<bool> {
        let hold = Arc::new(hold.clone());
        self.database
            .write(move |tx| {
                let hold = Arc::clone(&hold);
                async move { give_up(&tx, &hold, now_ms).await }
            })
            .await
    }

    async fn busy_shows(&self) -> Result<Vec<ShowId>> {
        self.database
            .read(async |tx: Tx| {
                let sql = "SELECT show FROM orders WHERE state IN ('pending', 'awaiting_consent', 'confirmed') \
                     UNION SELECT show FROM seat_outbox WHERE number IS NULL \
                     UNION SELECT show FROM seat_marks WHERE numbered > delivered \
                     UNION SELECT o.show FROM late_money l JOIN orders o ON o.order_id = l.order_id WHERE l.outcome IS NULL \
                     UNION SELECT o.show FROM provider_events e JOIN orders o ON o.payment = e.payment WHERE e.settled_at IS NULL";
                let shows = tx.query(sql, &[]).await?;
                shows.iter().map(|row| parsed(text(row, 0)?)).collect()
            })
            .await
    }

    async fn claimed(&self, show: &ShowId) -> Result<Vec<Claimed>> {
        let show = show.clone();
        self.database
            .read(async move |tx: Tx| {
                let sql = "SELECT c.seat, c.leg, o.state IN ('confirmed', 'ticketed', 'partly_refunded') FROM claims c \
                     JOIN orders o ON o.order_id = c.order_id WHERE c.show = $1";
                let claims = tx.query(sql, &[&show.as_str()]).await?;
                let read = |row| Ok((small(row, 0)?, small(row, 1)?, row.try_get(2)?));
                claims.iter().map(read).collect()
            })
            .await
    }

    async fn mend(&self, order: &OrderId, now_ms: i64) -> Result<bool> {
        let order = Arc::new(order.clone());
        self.database
            .write(move |tx| {
                let order = Arc::clone(&order);
                async move { mend(&tx, &order, now_ms).await }
            })
            .await
    }
}

async fn facts(tx: &Tx, since_ms: i64, batch_max: u32) -> Result<Vec<OrderFacts>> {
    let sql = "SELECT o.order_id, o.state, o.claim_until, o.items, p.payment, p.state, \
         (SELECT MAX(at) FROM order_history h WHERE h.order_id = o.order_id), \
         (SELECT COUNT(*) FROM tickets t WHERE t.order_id = o.order_id), \
         (SELECT string_agg(kind, ',') FROM effects e WHERE e.order_id = o.order_id AND e.done_at IS NULL), \
         EXISTS (SELECT 1 FROM late_money l WHERE l.order_id = o.order_id AND l.outcome IS NULL), \
         (EXISTS (SELECT 1 FROM effects e WHERE e.order_id = o.order_id AND e.failed_at IS NOT NULL AND e.done_at IS NULL) \
            OR EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.order_id AND r.failed_at IS NOT NULL AND r.done_at IS NULL)) \
         FROM orders o JOIN payments p ON p.order_id = o.order_id WHERE o.order_id IN ( \
         (SELECT order_id FROM orders WHERE state IN ('pending', 'awaiting_consent') ORDER BY claim_until LIMIT $2) \
         UNION (SELECT order_id FROM orders WHERE state = 'confirmed' LIMIT $2) \
         UNION (SELECT order_id FROM effects WHERE failed_at IS NOT NULL AND done_at IS NULL LIMIT $2) \
         UNION (SELECT order_id FROM refunds WHERE failed_at IS NOT NULL AND done_at IS NULL LIMIT $2) \
         UNION (SELECT q.order_id FROM payments q JOIN orders r ON r.order_id = q.order_id \
            WHERE q.updated_at >= $1 AND ((q.state IN ('authorised', 'captured') AND r.state IN ('expired', 'cancelled', 'capture_failed')) \
            OR (r.state = 'ticketed' AND NOT EXISTS (SELECT 1 FROM tickets t WHERE t.order_id = r.order_id))) LIMIT $2))";
    let found = tx.query(sql, &[&since_ms, &i64::from(batch_max)]).await?;
    let read = |row| {
        let state = OrderState::of_word(text(row, 1)?);
        let money = PaymentState::of_word(text(row, 5)?);
        let owed: Option<&str> = row.try_get(8)?;
        let items = items(text(row, 3)?)?;
        Ok(OrderFacts {
            order: parsed(text(row, 0)?)?,
            state: state.ok_or_else(|| corrupt("an order's state"))?,
            changed_ms: row.try_get(6)?,
            claim_until_ms: row.try_get(2)?,
            seats: u32::try_from(items.len()).unwrap_or(u32::MAX),
            tickets: small(row, 7)?,
            payment: parsed(text(row, 4)?)?,
            money: money.ok_or_else(|| corrupt("a payment's state"))?,
            owed: owed
                .unwrap_or_default()
                .split(',')
                .filter_map(EffectKind::of_word)
                .collect(),
            late: row.try_get(9)?,
            refund_failed: row.try_get(10)?,
        })
    };
    found.iter().map(read).collect()
}

/// The searches are read first: one that is decided in between has written its hold by the second statement.
async fn without_order(tx: &Tx, holds: &[HoldId]) -> Result<Vec<HoldId>> {
    let sql = "SELECT order_id FROM late_money WHERE outcome IS NULL";
    let searches = tx.query(sql, &[]).await?;
    let searches: Vec<OrderId> = searches
        .iter()
        .map(|row| parsed(text(row, 0)?))
        .collect::<Result<_>>()?;
    let orders: Vec<String> = holds
        .iter()
        .map(|hold| OrderId::of_hold(hold).to_string())
        .collect();
    let names: Vec<String> = holds.iter().map(ToString::to_string).collect();
    let sql = "SELECT w.hold FROM unnest($1::text[], $2::text[]) AS w (hold, order_id) \
         WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.order_id = w.order_id) \
         AND NOT EXISTS (SELECT 1 FROM late_money l WHERE l.hold = w.hold)";
    let alone = tx.query(sql, &[&names, &orders]).await?;
    let alone = alone.iter().map(|row| parsed(text(row, 0)?));
    Ok(unsearched(alone.collect::<Result<_>>()?, &searches))
}

/// Under the lock of the order's making: a claim that has begun is waited for, and one that begins later sees this.
async fn give_up(tx: &Tx, hold: &HoldId, now_ms: i64) -> Result<bool> {
    let order = OrderId::of_hold(hold);
    let sql = "SELECT pg_advisory_xact_lock($1, hashtext($2))";
    tx.one(sql, &[&lock::ORDER, &order.as_str()]).await?;
    let sql = "SELECT 1 FROM orders WHERE order_id = $1";
    if tx.first(sql, &[&order.as_str()]).await?.is_some() {
        return Ok(false);
    }
    let sql = "INSERT INTO given_up AS g (hold, at) VALUES ($1, $2) \
         ON CONFLICT (hold) DO UPDATE SET at = GREATEST(g.at, excluded.at)";
    tx.execute(sql, &[&hold.as_str(), &now_ms]).await?;
    Ok(true)
}

async fn mend(tx: &Tx, id: &OrderId, now_ms: i64) -> Result<bool> {
    let Some(order) = lock_order(tx, id.as_str()).await? else {
        return Ok(false);
    };
    let sql = "SELECT EXISTS (SELECT 1 FROM effects WHERE order_id = $1 AND done_at IS NULL), \
         EXISTS (SELECT 1 FROM late_money WHERE order_id = $1 AND outcome IS NULL), \
         EXISTS (SELECT 1 FROM payments WHERE order_id = $1 AND state IN ('authorised', 'captured'))";
    let row = tx.one(sql, &[&id.as_str()]).await?;
    let (owes, late, money): (bool, bool, bool) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let owed = match missing(order.state, owes, late, money) {
        None => return Ok(false),
        Some(Missing::Owed(owed)) => owed,
        Some(Missing::Tickets) => {
            let before = tickets(tx, id).await?;
            issue(tx, &order, now_ms).await?;
            return Ok(before != tickets(tx, id).await?);
        }
    };
    // What was done once is asked once more: the provider knows the call by its key.
    let sql = "UPDATE payments SET owes = NULL WHERE order_id = $1";
    tx.execute(sql, &[&id.as_str()]).await?;
    owe(tx, id, owed, now_ms).await?;
    let sql = "UPDATE effects SET done_at = NULL, due_at = $2 WHERE order_id = $1 \
         AND kind = (SELECT owes FROM payments WHERE order_id = $1)";
    tx.execute(sql, &[&id.as_str(), &now_ms]).await?;
    Ok(true)
}

async fn tickets(tx: &Tx, order: &OrderId) -> Result<u64> {
    let sql = "SELECT COUNT(*) FROM tickets WHERE order_id = $1";
    count(&tx.one(sql, &[&order.as_str()]).await?, 0)
}
