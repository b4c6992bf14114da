//! Payments: the inbox of events, transaction 2, and the effects outbox.

use async_trait::async_trait;
use fairgate_databases::rusqlite::Connection;

use super::SqliteLedger;
use super::orders::{apply, owe};
use super::rows::{self, PAYMENT_COLUMNS, Result, collect, corrupt, first, parsed};
use super::settle::{move_payment, outcome_of, ticket};
use crate::ids::{OrderId, PaymentId, RefundId};
use crate::ledger::{EFFECT_LENT_MS, EVENT_LENT_MS, Effect, PaymentLedger, StoredEvent};
use crate::orders::transition::{EffectKind, Happening, Owed};
use crate::payments::{Made, Payment, PaymentState, Said};

#[async_trait]
impl PaymentLedger for SqliteLedger {
    async fn payment(&self, payment: &PaymentId) -> Result<Option<Payment>> {
        let payment = payment.to_string();
        self.writer
            .read(move |connection| find_payment(connection, &payment))
            .await
    }

    async fn keep_event(
        &self,
        provider: &'static str,
        event: String,
        about: Option<PaymentId>,
        body: Vec<u8>,
        now_ms: i64,
    ) -> Result<bool> {
        let about = about.map(|payment| payment.to_string());
        self.writer
            .write(move |tx| {
                let inserted = tx
                    .prepare_cached("INSERT OR IGNORE INTO provider_events (provider, event, body, received_at, payment) VALUES (?1, ?2, ?3, ?4, ?5)")?
                    .execute((provider, &event, &body, now_ms, &about))?;
                Ok(inserted == 1)
            })
            .await
    }

    async fn payment_made(&self, payment: &PaymentId, made: Made) -> Result<Made> {
        let payment = payment.to_string();
        self.writer
            .write(move |tx| {
                tx.prepare_cached("UPDATE payments SET reference = ?2, client = ?3 WHERE payment = ?1 AND reference IS NULL")?
                    .execute((&payment, &made.reference, &made.client))?;
                let kept = find_payment(tx, &payment)?.ok_or_else(|| corrupt(&payment))?;
                Ok(match (kept.reference, kept.client) {
                    (Some(reference), Some(client)) => Made { reference, client },
                    _ => made,
                })
            })
            .await
    }

    async fn due_events(&self, now_ms: i64, batch_max: u32) -> Result<Vec<StoredEvent>> {
        self.writer
            .write(move |tx| {
                let due = collect(
                    tx,
                    "SELECT provider, event, body, attempts FROM provider_events WHERE settled_at IS NULL AND due_at <= ?1 \
                     ORDER BY received_at, rowid LIMIT ?2",
                    (now_ms, batch_max),
                    |row| {
                        Ok(StoredEvent {
                            provider: row.get(0)?,
                            event: row.get(1)?,
                            body: row.get(2)?,
                            attempts: row.get(3)?,
                        })
                    },
                )?;
                let mut lend = tx
                    .prepare_cached("UPDATE provider_events SET due_at = ?3 WHERE provider = ?1 AND event = ?2")?;
                for kept in &due {
                    lend.execute((&kept.provider, &kept.event, now_ms.saturating_add(EVENT_LENT_MS)))?;
                }
                Ok(due)
            })
            .await
    }

    async fn put_off_event(&self, provider: String, event: String, due_at_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| {
                tx.prepare_cached("UPDATE provider_events SET attempts = attempts + 1, due_at = ?3 WHERE provider = ?1 AND event = ?2")?
                    .execute((&provider, &event, due_at_ms))?;
                Ok(())
            })
            .await
    }

    async fn settle(
        &self,
        provider: String,
        event: String,
        says: Said,
        now_ms: i64,
    ) -> Result<&'static str> {
        self.writer
            .write(move |tx| {
                let open: Option<i64> = first(
                    tx,
                    "SELECT 1 FROM provider_events WHERE provider = ?1 AND event = ?2 AND settled_at IS NULL",
                    (&provider, &event),
                )?;
                if open.is_none() {
                    return Ok("repeated");
                }
                let outcome = match says {
                    Said::Event(says) => outcome_of(tx, &provider, &says, now_ms)?,
                    Said::Ignored => "ignored",
                    Said::Unreadable => "unreadable",
                };
                tx.prepare_cached("UPDATE provider_events SET settled_at = ?3, outcome = ?4 WHERE provider = ?1 AND event = ?2")?
                    .execute((&provider, &event, now_ms, outcome))?;
                Ok(outcome)
            })
            .await
    }

    async fn due_effects(&self, now_ms: i64, batch_max: u32) -> Result<Vec<Effect>> {
        self.writer
            .write(move |tx| {
                let sql = format!(
                    "SELECT e.effect, e.kind, e.attempts, {PAYMENT_COLUMNS} FROM effects e JOIN payments p ON p.order_id = e.order_id \
                     WHERE e.done_at IS NULL AND e.due_at <= ?1 AND e.kind = p.owes ORDER BY e.due_at, e.effect LIMIT ?2"
                );
                let due = collect(tx, &sql, (now_ms, batch_max), |row| {
                    let kind: String = row.get(1)?;
                    Ok(Effect {
                        id: row.get(0)?,
                        kind: EffectKind::of_word(&kind).ok_or_else(|| corrupt(&kind))?,
                        attempts: row.get(2)?,
                        payment: rows::payment(row, 3)?,
                    })
                })?;
                let mut lend = tx.prepare_cached("UPDATE effects SET due_at = ?2 WHERE effect = ?1")?;
                for effect in &due {
                    lend.execute((effect.id, now_ms.saturating_add(EFFECT_LENT_MS)))?;
                }
                Ok(due)
            })
            .await
    }

    async fn lend_on(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| {
                tx.prepare_cached("UPDATE effects SET due_at = MAX(due_at, ?2) WHERE effect = ?1 AND done_at IS NULL")?
                    .execute((effect, now_ms.saturating_add(EFFECT_LENT_MS)))?;
                Ok(())
            })
            .await
    }

    async fn captured(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| {
                let Some(order) = finish(tx, effect, now_ms)? else {
                    return Ok(());
                };
                move_payment(tx, &order, PaymentState::Captured, now_ms)?;
                ticket(tx, &order, now_ms)
            })
            .await
    }

    async fn capture_refused(&self, effect: i64, why: String, now_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| {
                let Some(order) = finish(tx, effect, now_ms)? else {
                    return Ok(());
                };
                tx.execute(
                    "UPDATE effects SET note = ?2 WHERE effect = ?1",
                    (effect, &why),
                )?;
                apply(tx, &order, Happening::CaptureRefused, now_ms)?;
                Ok(())
            })
            .await
    }

    async fn voided(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| match finish(tx, effect, now_ms)? {
                Some(order) => move_payment(tx, &order, PaymentState::Voided, now_ms),
                None => Ok(()),
            })
            .await
    }

    async fn refund_instead(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| {
                let Some(order) = finish(tx, effect, now_ms)? else {
                    return Ok(());
                };
                move_payment(tx, &order, PaymentState::Captured, now_ms)?;
                // That it had been captured was not heard when it was asked for.
                tx.prepare_cached(
                    "UPDATE effects SET done_at = ?2 WHERE order_id = ?1 AND kind = 'capture' AND done_at IS NULL",
                )?
                .execute((order.as_str(), now_ms))?;
                owe(tx, &order, Owed::MoneyBack, now_ms)
            })
            .await
    }

    async fn refund_failed(
        &self,
        effect: i64,
        due_at_ms: i64,
        why: String,
        now_ms: i64,
    ) -> Result<()> {
        self.writer
            .write(move |tx| {
                tx.prepare_cached(
                    "UPDATE effects SET attempts = attempts + 1, due_at = ?2, note = ?3, \
                     failed_at = COALESCE(failed_at, ?4) WHERE effect = ?1 AND done_at IS NULL",
                )?
                .execute((effect, due_at_ms, &why, now_ms))?;
                Ok(())
            })
            .await
    }

    async fn refunded(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.writer
            .write(move |tx| {
                let Some(order) = finish(tx, effect, now_ms)? else {
                    return Ok(());
                };
                tx.prepare_cached("UPDATE payments SET refunded = amount WHERE order_id = ?1")?
                    .execute([order.as_str()])?;
                move_payment(tx, &order, PaymentState::Refunded, now_ms)
            })
            .await
    }

    async fn put_off(&self, effect: i64, due_at_ms: i64, why: String) -> Result<()> {
        self.writer
            .write(move |tx| {
                tx.prepare_cached("UPDATE effects SET attempts = attempts + 1, due_at = ?2, note = ?3 WHERE effect = ?1 AND done_at IS NULL")?
                    .execute((effect, due_at_ms, &why))?;
                Ok(())
            })
            .await
    }

    async fn sandbox_move(
        &self,
        payment: &PaymentId,
        from: &'static [&'static str],
        to: &'static str,
    ) -> Result<String> {
        let payment = payment.to_string();
        self.writer
            .write(move |tx| {
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO sandbox_payments (payment, state) VALUES (?1, 'open')",
                )?
                .execute([&payment])?;
                let state: Option<String> = first(
                    tx,
                    "SELECT state FROM sandbox_payments WHERE payment = ?1",
                    [&payment],
                )?;
                let state = state.unwrap_or_default();
                if !from.contains(&state.as_str()) {
                    return Ok(state);
                }
                tx.prepare_cached("UPDATE sandbox_payments SET state = ?2 WHERE payment = ?1")?
                    .execute((&payment, to))?;
                Ok(to.to_owned())
            })
            .await
    }

    async fn sandbox_refund(
        &self,
        payment: &PaymentId,
        refund: &RefundId,
        amount: i64,
        captured: i64,
    ) -> Result<Option<i64>> {
        let (payment, refund) = (payment.to_string(), refund.to_string());
        self.writer
            .write(move |tx| {
                let state: Option<String> = first(
                    tx,
                    "SELECT state FROM sandbox_payments WHERE payment = ?1",
                    [&payment],
                )?;
                if !matches!(state.as_deref(), Some("captured" | "refunded")) {
                    return Ok(None);
                }
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO sandbox_refunds (refund, payment, amount) SELECT ?1, ?2, ?3 \
                     WHERE ?3 + (SELECT COALESCE(SUM(amount), 0) FROM sandbox_refunds WHERE payment = ?2) <= ?4",
                )?
                .execute((&refund, &payment, amount, captured))?;
                let back = given_back(tx, &payment)?;
                if back >= captured {
                    tx.prepare_cached("UPDATE sandbox_payments SET state = 'refunded' WHERE payment = ?1")?
                        .execute([&payment])?;
                }
                let known: Option<i64> = first(tx, "SELECT 1 FROM sandbox_refunds WHERE refund = ?1", [&refund])?;
                Ok(known.map(|_| back))
            })
            .await
    }

    async fn sandbox_refunded(&self, payment: &PaymentId) -> Result<i64> {
        let payment = payment.to_string();
        self.writer
            .read(move |connection| given_back(connection, &payment))
            .await
    }

    async fn backlog(&self) -> Result<(u64, u64)> {
        self.writer
            .read(|connection| {
                let events: Option<i64> = first(
                    connection,
                    "SELECT COUNT(*) FROM provider_events WHERE settled_at IS NULL",
                    [],
                )?;
                let effects: Option<i64> = first(
                    connection,
                    "SELECT (SELECT COUNT(*) FROM effects WHERE done_at IS NULL) + (SELECT COUNT(*) FROM refunds WHERE done_at IS NULL)",
                    [],
                )?;
                Ok((
                    events.unwrap_or(0).unsigned_abs(),
                    effects.unwrap_or(0).unsigned_abs(),
                ))
            })
            .await
    }
}

pub(super) fn find_payment(connection: &Connection, payment: &str) -> Result<Option<Payment>> {
    let sql = format!("SELECT {PAYMENT_COLUMNS} FROM payments p WHERE p.payment = ?1");
    Ok(collect(connection, &sql, [payment], |row| rows::payment(row, 0))?.pop())
}

/// What the sandbox gave back of a payment in parts.
fn given_back(connection: &Connection, payment: &str) -> Result<i64> {
    let sql = "SELECT COALESCE(SUM(amount), 0) FROM sandbox_refunds WHERE payment = ?1";
    Ok(first(connection, sql, [payment])?.unwrap_or(0))
}

/// Marks an effect as done; `None` if it was done already.
fn finish(tx: &Connection, effect: i64, now_ms: i64) -> Result<Option<OrderId>> {
    let done = tx
        .prepare_cached("UPDATE effects SET done_at = ?2 WHERE effect = ?1 AND done_at IS NULL")?
        .execute((effect, now_ms))?;
    if done == 0 {
        return Ok(None);
    }
    let order: Option<String> = first(
        tx,
        "SELECT order_id FROM effects WHERE effect = ?1",
        [effect],
    )?;
    let order = order.ok_or_else(|| corrupt("an effect without a row"))?;
    Ok(Some(parsed(&order)?))
}
