//! Payments: the inbox of events, transaction 2, and the effects outbox.

use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;

use super::PostgresLedger;
use super::orders::{apply, owe};
use super::rows::{self, PAYMENT_COLUMNS, Result, corrupt, count, lock_order, small, text};
use super::settle::{move_payment, outcome_of, ticket};
use crate::ids::{PaymentId, RefundId};
use crate::ledger::{EFFECT_LENT_MS, EVENT_LENT_MS, Effect, PaymentLedger, StoredEvent};
use crate::orders::Order;
use crate::orders::transition::{EffectKind, Happening, Owed};
use crate::payments::{Made, Payment, PaymentState, Said};

#[async_trait]
impl PaymentLedger for PostgresLedger {
    async fn payment(&self, payment: &PaymentId) -> Result<Option<Payment>> {
        let payment = payment.to_string();
        self.database
            .read(async move |tx: Tx| find_payment(&tx, &payment).await)
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
        let given = Arc::new((event, body, about.map(|payment| payment.to_string())));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let sql = "INSERT INTO provider_events (provider, event, body, received_at, payment) VALUES ($1, $2, $3, $4, $5) \
                         ON CONFLICT (provider, event) DO NOTHING";
                    let kept = tx
                        .execute(sql, &[&provider, &given.0, &given.1, &now_ms, &given.2])
                        .await?;
                    Ok(kept == 1)
                }
            })
            .await
    }

    async fn payment_made(&self, payment: &PaymentId, made: Made) -> Result<Made> {
        let given = Arc::new((payment.to_string(), made));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let (payment, made) = &*given;
                    let sql = "UPDATE payments SET reference = $2, client = $3 WHERE payment = $1 AND reference IS NULL";
                    tx.execute(sql, &[payment, &made.reference, &made.client]).await?;
                    let kept = find_payment(&tx, payment).await?;
                    let kept = kept.ok_or_else(|| corrupt("a payment that is not there"))?;
                    Ok(match (kept.reference, kept.client) {
                        (Some(reference), Some(client)) => Made { reference, client },
                        _ => made.clone(),
                    })
                }
            })
            .await
    }

    async fn due_events(&self, now_ms: i64, batch_max: u32) -> Result<Vec<StoredEvent>> {
        // Every node looks once a second, and mostly in vain.
        let due = self.database.read(async move |tx: Tx| {
            let sql =
                "SELECT 1 FROM provider_events WHERE settled_at IS NULL AND due_at <= $1 LIMIT 1";
            tx.first(sql, &[&now_ms]).await
        });
        if due.await?.is_none() {
            return Ok(Vec::new());
        }
        self.database
            .write(move |tx| async move { lend_events(&tx, now_ms, batch_max).await })
            .await
    }

    async fn put_off_event(&self, provider: String, event: String, due_at_ms: i64) -> Result<()> {
        let given = Arc::new((provider, event));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let sql = "UPDATE provider_events SET attempts = attempts + 1, due_at = $3 WHERE provider = $1 AND event = $2";
                    tx.execute(sql, &[&given.0, &given.1, &due_at_ms]).await?;
                    Ok(())
                }
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
        let given = Arc::new((provider, event, says));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let (provider, event, says) = &*given;
                    let sql = "SELECT 1 FROM provider_events WHERE provider = $1 AND event = $2 AND settled_at IS NULL FOR UPDATE";
                    if tx.first(sql, &[provider, event]).await?.is_none() {
                        return Ok("repeated");
                    }
                    let outcome = match says {
                        Said::Event(says) => outcome_of(&tx, provider, says, now_ms).await?,
                        Said::Ignored => "ignored",
                        Said::Unreadable => "unreadable",
                    };
                    let sql = "UPDATE provider_events SET settled_at = $3, outcome = $4 WHERE provider = $1 AND event = $2";
                    tx.execute(sql, &[provider, event, &now_ms, &outcome]).await?;
                    Ok(outcome)
                }
            })
            .await
    }

    async fn due_effects(&self, now_ms: i64, batch_max: u32) -> Result<Vec<Effect>> {
        let due = self.database.read(async move |tx: Tx| {
            let sql = "SELECT 1 FROM effects WHERE done_at IS NULL AND due_at <= $1 LIMIT 1";
            tx.first(sql, &[&now_ms]).await
        });
        if due.await?.is_none() {
            return Ok(Vec::new());
        }
        self.database
            .write(move |tx| async move { lend(&tx, now_ms, batch_max).await })
            .await
    }

    async fn lend_on(&self, effect: i64, now_ms: i64) -> Result<()> {
        let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
        self.database
            .write(move |tx| async move {
                let sql = "UPDATE effects SET due_at = GREATEST(due_at, $2) WHERE effect = $1 AND done_at IS NULL";
                tx.execute(sql, &[&effect, &until_ms]).await?;
                Ok(())
            })
            .await
    }

    async fn captured(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.database
            .write(move |tx| async move {
                let Some(order) = finish(&tx, effect, None, now_ms).await? else {
                    return Ok(());
                };
                move_payment(&tx, &order.id, PaymentState::Captured, now_ms).await?;
                ticket(&tx, order, now_ms).await
            })
            .await
    }

    async fn capture_refused(&self, effect: i64, why: String, now_ms: i64) -> Result<()> {
        let why = Arc::new(why);
        self.database
            .write(move |tx| {
                let why = Arc::clone(&why);
                async move {
                    if let Some(order) = finish(&tx, effect, Some(&why), now_ms).await? {
                        apply(&tx, order, Happening::CaptureRefused, now_ms).await?;
                    }
                    Ok(())
                }
            })
            .await
    }

    async fn voided(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.database
            .write(move |tx| async move {
                match finish(&tx, effect, None, now_ms).await? {
                    Some(order) => move_payment(&tx, &order.id, PaymentState::Voided, now_ms).await,
                    None => Ok(()),
                }
            })
            .await
    }

    async fn refund_instead(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.database
            .write(move |tx| async move {
                let Some(order) = finish(&tx, effect, None, now_ms).await? else {
                    return Ok(());
                };
                move_payment(&tx, &order.id, PaymentState::Captured, now_ms).await?;
                // That it had been captured was not heard when it was asked for.
                let sql = "UPDATE effects SET done_at = $2 WHERE order_id = $1 AND kind = 'capture' AND done_at IS NULL";
                tx.execute(sql, &[&order.id.as_str(), &now_ms]).await?;
                owe(&tx, &order.id, Owed::MoneyBack, now_ms).await
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
        let why = Arc::new(why);
        self.database
            .write(move |tx| {
                let why = Arc::clone(&why);
                async move {
                    let sql = "UPDATE effects SET attempts = attempts + 1, due_at = $2, note = $3, \
                         failed_at = COALESCE(failed_at, $4) WHERE effect = $1 AND done_at IS NULL";
                    tx.execute(sql, &[&effect, &due_at_ms, &*why, &now_ms])
                        .await?;
                    Ok(())
                }
            })
            .await
    }

    async fn refunded(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.database
            .write(move |tx| async move {
                let Some(order) = finish(&tx, effect, None, now_ms).await? else {
                    return Ok(());
                };
                let sql = "UPDATE payments SET refunded = amount WHERE order_id = $1";
                tx.execute(sql, &[&order.id.as_str()]).await?;
                move_payment(&tx, &order.id, PaymentState::Refunded, now_ms).await
            })
            .await
    }

    async fn put_off(&self, effect: i64, due_at_ms: i64, why: String) -> Result<()> {
        let why = Arc::new(why);
        self.database
            .write(move |tx| {
                let why = Arc::clone(&why);
                async move {
                    let sql = "UPDATE effects SET attempts = attempts + 1, due_at = $2, note = $3 \
                         WHERE effect = $1 AND done_at IS NULL";
                    tx.execute(sql, &[&effect, &due_at_ms, &*why]).await?;
                    Ok(())
                }
            })
            .await
    }

    async fn sandbox_move(
        &self,
        payment: &PaymentId,
        from: &'static [&'static str],
        to: &'static str,
    ) -> Result<String> {
        let payment = Arc::new(payment.to_string());
        self.database
            .write(move |tx| {
                let payment = Arc::clone(&payment);
                async move {
                    let sql = "INSERT INTO sandbox_payments (payment, state) VALUES ($1, 'open') ON CONFLICT (payment) DO NOTHING";
                    tx.execute(sql, &[&*payment]).await?;
                    let sql = "SELECT state FROM sandbox_payments WHERE payment = $1 FOR UPDATE";
                    let row = tx.one(sql, &[&*payment]).await?;
                    let state = text(&row, 0)?;
                    if !from.contains(&state) {
                        return Ok(state.to_owned());
                    }
                    let sql = "UPDATE sandbox_payments SET state = $2 WHERE payment = $1";
                    tx.execute(sql, &[&*payment, &to]).await?;
                    Ok(to.to_owned())
                }
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
        let given = Arc::new((payment.to_string(), refund.to_string()));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let (payment, refund) = &*given;
                    let sql = "SELECT 1 FROM sandbox_payments WHERE payment = $1 AND state IN ('captured', 'refunded') FOR UPDATE";
                    if tx.first(sql, &[payment]).await?.is_none() {
                        return Ok(None);
                    }
                    let sql = "INSERT INTO sandbox_refunds (refund, payment, amount) SELECT $1::text, $2::text, $3::bigint \
                         WHERE $3::bigint + (SELECT COALESCE(SUM(amount), 0) FROM sandbox_refunds WHERE payment = $2)::bigint <= $4::bigint \
                         ON CONFLICT (refund) DO NOTHING";
                    tx.execute(sql, &[refund, payment, &amount, &captured]).await?;
                    let back = given_back(&tx, payment).await?;
                    if back >= captured {
                        let sql = "UPDATE sandbox_payments SET state = 'refunded' WHERE payment = $1";
                        tx.execute(sql, &[payment]).await?;
                    }
                    let sql = "SELECT 1 FROM sandbox_refunds WHERE refund = $1";
                    let known = tx.first(sql, &[refund]).await?;
                    Ok(known.map(|_| back))
                }
            })
            .await
    }

    async fn sandbox_refunded(&self, payment: &PaymentId) -> Result<i64> {
        let payment = payment.to_string();
        self.database
            .read(async move |tx: Tx| given_back(&tx, &payment).await)
            .await
    }

    async fn backlog(&self) -> Result<(u64, u64)> {
        self.database
            .read(async |tx: Tx| {
                let sql = "SELECT (SELECT COUNT(*) FROM provider_events WHERE settled_at IS NULL), \
                     (SELECT COUNT(*) FROM effects WHERE done_at IS NULL) + (SELECT COUNT(*) FROM refunds WHERE done_at IS NULL)";
                let row = tx.one(sql, &[]).await?;
                Ok((count(&row, 0)?, count(&row, 1)?))
            })
            .await
    }
}

pub(super) async fn find_payment(tx: &Tx, payment: &str) -> Result<Option<Payment>> {
    let sql = format!("SELECT {PAYMENT_COLUMNS} FROM payments p WHERE p.payment = $1");
    let row = tx.first(&sql, &[&payment]).await?;
    row.as_ref().map(|row| rows::payment(row, 0)).transpose()
}

/// What the sandbox gave back of a payment in parts.
async fn given_back(tx: &Tx, payment: &str) -> Result<i64> {
    let sql = "SELECT COALESCE(SUM(amount), 0)::bigint FROM sandbox_refunds WHERE payment = $1";
    Ok(tx.one(sql, &[&payment]).await?.try_get(0)?)
}

/// Lends events that are due and that no other worker is just being lent.
async fn lend_events(tx: &Tx, now_ms: i64, batch_max: u32) -> Result<Vec<StoredEvent>> {
    let sql = "WITH due AS (SELECT provider, event FROM provider_events WHERE settled_at IS NULL AND due_at <= $1 \
             ORDER BY received_at, position LIMIT $2 FOR UPDATE SKIP LOCKED), \
         lent AS (UPDATE provider_events e SET due_at = $3 FROM due WHERE e.provider = due.provider AND e.event = due.event \
             RETURNING e.provider, e.event, e.body, e.attempts, e.received_at, e.position) \
         SELECT provider, event, body, attempts FROM lent ORDER BY received_at, position";
    let until_ms = now_ms.saturating_add(EVENT_LENT_MS);
    let lent = tx
        .query(sql, &[&now_ms, &i64::from(batch_max), &until_ms])
        .await?;
    let read = |row| {
        Ok(StoredEvent {
            provider: text(row, 0)?.to_owned(),
            event: text(row, 1)?.to_owned(),
            body: row.try_get(2)?,
            attempts: small(row, 3)?,
        })
    };
    lent.iter().map(read).collect()
}

/// Lends effects that are due and that no other worker is just being lent.
async fn lend(tx: &Tx, now_ms: i64, batch_max: u32) -> Result<Vec<Effect>> {
    let sql = format!(
        "WITH due AS (SELECT x.effect FROM effects x JOIN payments q ON q.order_id = x.order_id \
             WHERE x.done_at IS NULL AND x.due_at <= $1 AND x.kind = q.owes \
             ORDER BY x.due_at, x.effect LIMIT $2 FOR UPDATE OF x SKIP LOCKED), \
         lent AS (UPDATE effects e SET due_at = $3 FROM due WHERE e.effect = due.effect \
             RETURNING e.effect, e.kind, e.attempts, e.order_id) \
         SELECT e.effect, e.kind, e.attempts, {PAYMENT_COLUMNS} \
         FROM lent e JOIN payments p ON p.order_id = e.order_id ORDER BY e.effect"
    );
    let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
    let with = i64::from(batch_max);
    let lent = tx.query(&sql, &[&now_ms, &with, &until_ms]).await?;
    let read = |row| {
        let kind = EffectKind::of_word(text(row, 1)?);
        Ok(Effect {
            id: row.try_get(0)?,
            kind: kind.ok_or_else(|| corrupt("an effect's kind"))?,
            attempts: small(row, 2)?,
            payment: rows::payment(row, 3)?,
        })
    };
    lent.iter().map(read).collect()
}

/// Locks the effect's order and marks the effect as done; `None` if it was done already.
async fn finish(tx: &Tx, effect: i64, note: Option<&str>, now_ms: i64) -> Result<Option<Order>> {
    let sql = "SELECT order_id FROM effects WHERE effect = $1";
    let Some(row) = tx.first(sql, &[&effect]).await? else {
        return Ok(None);
    };
    let order = lock_order(tx, text(&row, 0)?).await?;
    let sql = "UPDATE effects SET done_at = $2, note = COALESCE($3, note) WHERE effect = $1 AND done_at IS NULL";
    if tx.execute(sql, &[&effect, &now_ms, &note]).await? == 0 {
        return Ok(None);
    }
    order
        .map(Some)
        .ok_or_else(|| corrupt("an effect without an order"))
}
