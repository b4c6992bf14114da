//! What the reconciler looks at, and its repairs.

use async_trait::async_trait;
use fairgate_databases::rusqlite::Connection;

use super::SqliteLedger;
use super::orders::owe;
use super::rows::{
    self, PAYMENT_COLUMNS, READ_FOR_MS, Result, collect, corrupt, find_order, first, parsed,
    unsearched,
};
use super::tickets::issue;
use crate::ids::{HoldId, OrderId, ShowId};
use crate::ledger::{AuditLedger, Claimed, TAKEN_QUIET_MS, TAKEN_READ_FOR_MS};
use crate::orders::OrderState;
use crate::orders::transition::EffectKind;
use crate::payments::{Payment, PaymentState};
use crate::reconciler::finding::OrderFacts;
use crate::reconciler::finding::{Missing, missing};

#[async_trait]
impl AuditLedger for SqliteLedger {
    async fn order_facts(&self, since_ms: i64, batch_max: u32) -> Result<Vec<OrderFacts>> {
        self.writer
            .read(move |connection| {
                let snapshot = connection.unchecked_transaction()?;
                facts(&snapshot, since_ms, batch_max)
            })
            .await
    }

    async fn quiet_payments(
        &self,
        now_ms: i64,
        quiet_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<(Payment, i64)>> {
        self.writer
            .write(move |tx| {
                let due = |which: &str, most: u32| {
                    let sql = format!(
                        "SELECT {PAYMENT_COLUMNS}, p.updated_at FROM payments p \
                         WHERE p.read_due <= ?1 AND p.updated_at <= ?1 - ?2 AND {which} ORDER BY p.read_due LIMIT {most}"
                    );
                    move |quiet_ms, read_for_ms| {
                        collect(tx, &sql, (now_ms, quiet_ms, read_for_ms), |row| {
                            Ok((rows::payment(row, 0)?, row.get(9)?))
                        })
                    }
                };
                let open = "p.state IN ('created', 'declined', 'authorised') \
                     AND (p.state = 'authorised' OR p.updated_at > ?1 - ?3)";
                let taken = "p.state = 'captured' AND p.updated_at > ?1 - ?3";
                let mut quiet: Vec<(Payment, i64)> = due(open, batch_max)(quiet_ms, READ_FOR_MS)?;
                quiet.extend(due(taken, batch_max / 4)(TAKEN_QUIET_MS, TAKEN_READ_FOR_MS)?);
                let mut lend =
                    tx.prepare_cached("UPDATE payments SET read_due = ?2 WHERE payment = ?1")?;
                for (payment, changed_ms) in &quiet {
                    let least_ms = match payment.state {
                        PaymentState::Captured => TAKEN_QUIET_MS,
                        _ => quiet_ms,
                    };
                    let pause_ms = (now_ms - changed_ms).max(least_ms);
                    lend.execute((payment.id.as_str(), now_ms + pause_ms))?;
                }
                Ok(quiet)
            })
            .await
    }

    async fn without_order(&self, holds: Vec<HoldId>) -> Result<Vec<HoldId>> {
        self.writer
            .read(move |connection| {
                let snapshot = connection.unchecked_transaction()?;
                without_order(&snapshot, holds)
            })
            .await
    }

    async fn give_up(&self, hold: &HoldId, now_ms: i64) -> Result<bool> {
        let hold = hold.clone();
        self.writer
            .write(move |tx| give_up(tx, &hold, now_ms))
            .await
    }

    async fn busy_shows(&self) -> Result<Vec<ShowId>> {
        self.writer
            .read(|connection| {
                let sql = "SELECT show FROM orders WHERE state IN ('pending', 'awaiting_consent', 'confirmed') \
                     UNION SELECT show FROM seat_marks WHERE numbered > delivered \
                     UNION SELECT o.show FROM late_money l JOIN orders o ON o.order_id = l.order_id WHERE l.outcome IS NULL \
                     UNION SELECT o.show FROM provider_events e JOIN orders o ON o.payment = e.payment WHERE e.settled_at IS NULL";
                collect(connection, sql, [], |row| parsed(&row.get::<_, String>(0)?))
            })
            .await
    }

    async fn claimed(&self, show: &ShowId) -> Result<Vec<Claimed>> {
        let show = show.clone();
        self.writer
            .read(move |connection| {
                collect(
                    connection,
                    "SELECT c.seat, c.leg, o.state FROM claims c JOIN orders o ON o.order_id = c.order_id WHERE c.show = ?1",
                    [show.as_str()],
                    |row| {
                        let state: String = row.get(2)?;
                        Ok((row.get(0)?, row.get(1)?, matches!(state.as_str(), "confirmed" | "ticketed" | "partly_refunded")))
                    },
                )
            })
            .await
    }

    async fn mend(&self, order: &OrderId, now_ms: i64) -> Result<bool> {
        let order = order.clone();
        self.writer.write(move |tx| mend(tx, &order, now_ms)).await
    }
}

fn facts(connection: &Connection, since_ms: i64, batch_max: u32) -> Result<Vec<OrderFacts>> {
    let sql = "SELECT o.order_id, o.state, o.claim_until, o.items, p.payment, p.state, \
         (SELECT MAX(at) FROM order_history h WHERE h.order_id = o.order_id), \
         (SELECT COUNT(*) FROM tickets t WHERE t.order_id = o.order_id), \
         (SELECT GROUP_CONCAT(kind) FROM effects e WHERE e.order_id = o.order_id AND e.done_at IS NULL), \
         EXISTS (SELECT 1 FROM late_money l WHERE l.order_id = o.order_id AND l.outcome IS NULL), \
         (EXISTS (SELECT 1 FROM effects e WHERE e.order_id = o.order_id AND e.failed_at IS NOT NULL AND e.done_at IS NULL) \
            OR EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.order_id AND r.failed_at IS NOT NULL AND r.done_at IS NULL)) \
         FROM orders o JOIN payments p ON p.order_id = o.order_id WHERE o.order_id IN ( \
         SELECT order_id FROM (SELECT order_id FROM orders WHERE state IN ('pending', 'awaiting_consent') ORDER BY claim_until LIMIT ?2) \
         UNION SELECT order_id FROM (SELECT order_id FROM orders WHERE state = 'confirmed' LIMIT ?2) \
         UNION SELECT order_id FROM (SELECT order_id FROM effects WHERE failed_at IS NOT NULL AND done_at IS NULL LIMIT ?2) \
         UNION SELECT order_id FROM (SELECT order_id FROM refunds WHERE failed_at IS NOT NULL AND done_at IS NULL LIMIT ?2) \
         UNION SELECT order_id FROM (SELECT q.order_id FROM payments q JOIN orders r ON r.order_id = q.order_id \
            WHERE q.updated_at >= ?1 AND ((q.state IN ('authorised', 'captured') AND r.state IN ('expired', 'cancelled', 'capture_failed')) \
            OR (r.state = 'ticketed' AND NOT EXISTS (SELECT 1 FROM tickets t WHERE t.order_id = r.order_id))) LIMIT ?2))";
    collect(connection, sql, (since_ms, batch_max), |row| {
        let text = |index: usize| -> Result<String> { Ok(row.get(index)?) };
        let (state, money) = (text(1)?, text(5)?);
        let owed: Option<String> = row.get(8)?;
        let items = rows::items(&text(3)?)?;
        Ok(OrderFacts {
            order: parsed(&text(0)?)?,
            state: OrderState::of_word(&state).ok_or_else(|| corrupt(&state))?,
            changed_ms: row.get(6)?,
            claim_until_ms: row.get(2)?,
            seats: u32::try_from(items.len()).unwrap_or(u32::MAX),
            tickets: row.get(7)?,
            payment: parsed(&text(4)?)?,
            money: PaymentState::of_word(&money).ok_or_else(|| corrupt(&money))?,
            owed: owed
                .unwrap_or_default()
                .split(',')
                .filter_map(EffectKind::of_word)
                .collect(),
            late: row.get(9)?,
            refund_failed: row.get(10)?,
        })
    })
}

fn without_order(snapshot: &Connection, holds: Vec<HoldId>) -> Result<Vec<HoldId>> {
    let searches: Vec<OrderId> = collect(
        snapshot,
        "SELECT order_id FROM late_money WHERE outcome IS NULL",
        [],
        |row| parsed(&row.get::<_, String>(0)?),
    )?;
    let sql = "SELECT 1 WHERE EXISTS (SELECT 1 FROM orders WHERE order_id = ?2) \
         OR EXISTS (SELECT 1 FROM late_money WHERE hold = ?1)";
    let mut alone = Vec::new();
    for hold in holds {
        let order = OrderId::of_hold(&hold);
        let used: Option<i64> = first(snapshot, sql, (hold.as_str(), order.as_str()))?;
        if used.is_none() {
            alone.push(hold);
        }
    }
    Ok(unsearched(alone, &searches))
}

fn give_up(tx: &Connection, hold: &HoldId, now_ms: i64) -> Result<bool> {
    if find_order(tx, &OrderId::of_hold(hold))?.is_some() {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO given_up (hold, at) VALUES (?1, ?2) ON CONFLICT (hold) DO UPDATE SET at = MAX(at, excluded.at)",
        (hold.as_str(), now_ms),
    )?;
    Ok(true)
}

fn mend(tx: &Connection, id: &OrderId, now_ms: i64) -> Result<bool> {
    let Some(order) = find_order(tx, id)? else {
        return Ok(false);
    };
    let facts = |sql: &str| -> Result<bool> {
        let found: Option<i64> = first(tx, sql, [id.as_str()])?;
        Ok(found.is_some())
    };
    let owes = facts("SELECT 1 FROM effects WHERE order_id = ?1 AND done_at IS NULL")?;
    let late = facts("SELECT 1 FROM late_money WHERE order_id = ?1 AND outcome IS NULL")?;
    let money = facts(
        "SELECT 1 FROM payments WHERE order_id = ?1 AND state IN ('authorised', 'captured')",
    )?;
    let owed = match missing(order.state, owes, late, money) {
        None => return Ok(false),
        Some(Missing::Owed(owed)) => owed,
        Some(Missing::Tickets) => {
            let before: Option<i64> = tickets(tx, id)?;
            issue(tx, &order, now_ms)?;
            return Ok(before != tickets(tx, id)?);
        }
    };
    // What was done once is asked once more: the provider knows the call by its key.
    tx.execute(
        "UPDATE payments SET owes = NULL WHERE order_id = ?1",
        [id.as_str()],
    )?;
    owe(tx, id, owed, now_ms)?;
    tx.execute(
        "UPDATE effects SET done_at = NULL, due_at = ?2 WHERE order_id = ?1 \
         AND kind = (SELECT owes FROM payments WHERE order_id = ?1)",
        (id.as_str(), now_ms),
    )?;
    Ok(true)
}

fn tickets(tx: &Connection, order: &OrderId) -> Result<Option<i64>> {
    first(
        tx,
        "SELECT COUNT(*) FROM tickets WHERE order_id = ?1",
        [order.as_str()],
    )
}
