//! Stores and settles the providers' events, lends the effects that are owed, and records their
//! results.

use fairgate_databases::{SqlDialect, SqlRow, SqlTransaction, ToSqlValue};
use fairgate_model::ids::{PaymentId, RefundId};
use fairgate_model::orders::Order;
use fairgate_model::orders::transition::{EffectKind, OrderEvent, OwedProviderCall};
use fairgate_model::payments::{CreatedPayment, ParsedProviderEvent, Payment, PaymentState};

use super::lent_work::LentWork;
use super::order_changes::{apply_to_order, record_owed_effect};
use super::payment_rows::{find_by_reference, find_payment, has_ended, move_payment};
use super::rows::{self, PAYMENT_COLUMNS, Result, corrupt, count, lock_order, small, text};
use super::settle::{apply_provider_event, ticket_order};
use super::{Ledger, sandbox};
use crate::ledger::{DuePaymentEffect, EFFECT_LENT_MS, EVENT_LENT_MS, StoredProviderEvent};

/// Payments: the providers' events that are to be settled, and the owed calls to providers.
impl Ledger {
    /// Returns a payment.
    pub async fn payment(&self, payment: &PaymentId) -> Result<Option<Payment>> {
        self.installation
            .read(payment.clone(), |tx, payment| {
                Box::pin(find_payment(tx, payment.as_str()))
            })
            .await
    }

    /// Returns the payment that has this id at its provider.
    pub async fn payment_of_reference(
        &self,
        provider: &'static str,
        reference: String,
    ) -> Result<Option<Payment>> {
        self.installation
            .read(reference, move |tx, reference| {
                Box::pin(find_by_reference(tx, provider, reference))
            })
            .await
    }

    /// Returns whether an earlier attempt to pay had this id at the provider, and ended.
    pub async fn has_ended(&self, payment: &PaymentId, reference: String) -> Result<bool> {
        self.installation
            .read((payment.clone(), reference), |tx, (payment, reference)| {
                Box::pin(has_ended(tx, payment, reference))
            })
            .await
    }

    /// Stores a raw event under its id, with the payment that it names. Returns false if the event
    /// was stored before.
    pub async fn keep_event(
        &self,
        provider: &'static str,
        event: String,
        payment: Option<PaymentId>,
        body: Vec<u8>,
        now_ms: i64,
    ) -> Result<bool> {
        let payment = payment.map(|payment| payment.to_string());
        self.installation
            .write((event, payment, body), move |tx, (event, payment, body)| {
                Box::pin(async move {
                    let sql = "INSERT INTO provider_events \
                         (provider, event, body, received_at, payment) VALUES ($1, $2, $3, $4, $5) \
                         ON CONFLICT (provider, event) DO NOTHING";
                    let values: [&(dyn ToSqlValue + Sync); 5] =
                        [&provider, event, body, &now_ms, payment];
                    Ok(tx.execute(sql, &values).await? == 1)
                })
            })
            .await
    }

    /// Stores the id that the provider gave to a payment, and the data that the payment page needs.
    /// The values of the first call stay: later calls return them and store nothing. So does a call
    /// about an earlier attempt to pay.
    pub async fn record_created_payment(
        &self,
        (payment, attempt): (&PaymentId, u32),
        made: CreatedPayment,
    ) -> Result<CreatedPayment> {
        self.installation
            .write((payment.clone(), made), move |tx, (payment, made)| {
                Box::pin(store_created(tx, (payment.as_str(), attempt), made))
            })
            .await
    }

    /// Returns whether any payment was made at this provider.
    pub async fn has_payments_at(&self, provider: &'static str) -> Result<bool> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT 1 FROM payments WHERE provider = $1 LIMIT 1";
                    Ok(tx.first(sql, &[&provider]).await?.is_some())
                })
            })
            .await
    }

    /// Returns the last event that was read from the provider's own list.
    pub async fn event_cursor(&self, provider: &'static str) -> Result<Option<String>> {
        self.installation
            .read((), move |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT event FROM provider_cursors WHERE provider = $1";
                    let row = tx.first(sql, &[&provider]).await?;
                    row.map(|row| row.get(0)).transpose()
                })
            })
            .await
    }

    /// Stores the last event that was read from the provider's own list.
    pub async fn move_event_cursor(&self, provider: &'static str, event: String) -> Result<()> {
        self.installation
            .write(event, move |tx, event| {
                Box::pin(async move {
                    let sql = "INSERT INTO provider_cursors (provider, event) VALUES ($1, $2) \
                         ON CONFLICT (provider) DO UPDATE SET event = excluded.event";
                    tx.execute(sql, &[&provider, event]).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Returns stored events that are to be settled, oldest first, and lends them to the caller: no
    /// other caller gets them for [`EVENT_LENT_MS`].
    pub async fn due_events(
        &self,
        now_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<StoredProviderEvent>> {
        // Every node asks once a second, and mostly finds nothing due.
        if !self.is_work_due(LentWork::ProviderEvents, now_ms).await? {
            return Ok(Vec::new());
        }
        self.installation
            .write((), move |tx, ()| {
                Box::pin(lend_events(tx, now_ms, batch_max))
            })
            .await
    }

    /// Lends the oldest event that is not settled, if it is due and not lent to another caller. As
    /// long as nobody asks for [`Self::due_events`], events are settled one after the other.
    pub async fn oldest_event(&self, now_ms: i64) -> Result<Vec<StoredProviderEvent>> {
        self.installation
            .write((), move |tx, ()| Box::pin(lend_oldest_event(tx, now_ms)))
            .await
    }

    /// Puts off settling an event to `due_at_ms`, and counts one more attempt.
    pub async fn put_off_event(
        &self,
        provider: String,
        event: String,
        due_at_ms: i64,
        now_ms: i64,
    ) -> Result<()> {
        self.installation
            .write((provider, event), move |tx, (provider, event)| {
                Box::pin(async move {
                    let sql = "UPDATE provider_events SET attempts = attempts + 1, due_at = $3, \
                         due_set_at = $4 WHERE provider = $1 AND event = $2";
                    tx.execute(sql, &[provider, event, &due_at_ms, &now_ms])
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Settles an event, as [`fairgate_model::orders::settling`] decides, and returns the outcome
    /// as a stable code. Writes the payment's state, the order's step and the outcome in one
    /// transaction. Also checks the limit of the card that paid. Until the transaction ends, no
    /// other transaction can sell seats of the show to this card.
    pub async fn settle(
        &self,
        provider: String,
        event: String,
        parsed: ParsedProviderEvent,
        now_ms: i64,
    ) -> Result<&'static str> {
        self.installation
            .write(
                (provider, event, parsed),
                move |tx, (provider, event, parsed)| {
                    Box::pin(settle_event(tx, (provider, event), parsed, now_ms))
                },
            )
            .await
    }

    /// Returns effects that are due, and lends them to the caller: no other caller gets them for
    /// [`EFFECT_LENT_MS`].
    pub async fn due_effects(&self, now_ms: i64, batch_max: u32) -> Result<Vec<DuePaymentEffect>> {
        if !self.is_work_due(LentWork::Effects, now_ms).await? {
            return Ok(Vec::new());
        }
        self.installation
            .write((), move |tx, ()| {
                Box::pin(lend_effects(tx, now_ms, batch_max))
            })
            .await
    }

    /// Renews the loan of an effect that is still being carried out, for [`EFFECT_LENT_MS`] from
    /// now.
    pub async fn renew_lease(&self, effect: i64, now_ms: i64) -> Result<()> {
        let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
        self.installation
            .write((), move |tx, ()| {
                Box::pin(async move {
                    LentWork::Effects.call_in(tx, now_ms).await?;
                    let sql = "UPDATE effects SET due_at = GREATEST(due_at, $2), due_set_at = $3 \
                         WHERE effect = $1 AND done_at IS NULL";
                    tx.execute(sql, &[&effect, &until_ms, &now_ms]).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Records a successful capture: the payment is captured, the effect is done, the order is
    /// ticketed and its tickets are issued. For the successor of an exchange, the capture swaps the
    /// seats ([`Self::exchange`]).
    pub async fn captured(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.installation
            .write((), move |tx, ()| {
                Box::pin(async move {
                    let Some(order) = finish_effect(tx, effect, None, now_ms).await? else {
                        return Ok(());
                    };
                    move_payment(tx, &order.id, PaymentState::Captured, now_ms).await?;
                    ticket_order(tx, order, now_ms).await
                })
            })
            .await
    }

    /// Records that the provider refused the capture for good: the order is `capture_failed`, its
    /// seats are free, and the effect is done.
    pub async fn capture_refused(&self, effect: i64, why: String, now_ms: i64) -> Result<()> {
        self.installation
            .write(why, move |tx, why| {
                Box::pin(async move {
                    if let Some(order) = finish_effect(tx, effect, Some(why), now_ms).await? {
                        apply_to_order(tx, order, OrderEvent::CaptureRefused, now_ms).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    /// Records that the authorisation was voided: the payment is voided, and the effect is done.
    pub async fn voided(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.installation
            .write((), move |tx, ()| {
                Box::pin(async move {
                    match finish_effect(tx, effect, None, now_ms).await? {
                        Some(order) => {
                            move_payment(tx, &order.id, PaymentState::Voided, now_ms).await
                        }
                        None => Ok(()),
                    }
                })
            })
            .await
    }

    /// Records that the provider captured the payment before the void. The payment is captured, the
    /// effect is done, and a refund is owed instead.
    pub async fn refund_instead(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.installation
            .write((), move |tx, ()| {
                Box::pin(refund_instead(tx, effect, now_ms))
            })
            .await
    }

    /// Records that the provider could not refund the money. The effect is tried again at
    /// `due_at_ms`. Until the effect is done, the reconciler reports it as a finding.
    pub async fn refund_failed(
        &self,
        effect: i64,
        due_at_ms: i64,
        why: String,
        now_ms: i64,
    ) -> Result<()> {
        self.installation
            .write(why, move |tx, why| {
                Box::pin(async move {
                    let sql = "UPDATE effects SET attempts = attempts + 1, due_at = $2, note = $3, \
                         due_set_at = $4, failed_at = COALESCE(failed_at, $4) \
                         WHERE effect = $1 AND done_at IS NULL";
                    tx.execute(sql, &[&effect, &due_at_ms, why, &now_ms])
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Records that all the captured money was refunded: the payment is refunded, and the effect is
    /// done.
    pub async fn refunded(&self, effect: i64, now_ms: i64) -> Result<()> {
        self.installation
            .write((), move |tx, ()| {
                Box::pin(async move {
                    let Some(order) = finish_effect(tx, effect, None, now_ms).await? else {
                        return Ok(());
                    };
                    let sql = "UPDATE payments SET refunded = amount WHERE order_id = $1";
                    tx.execute(sql, &[&order.id.as_str()]).await?;
                    move_payment(tx, &order.id, PaymentState::Refunded, now_ms).await
                })
            })
            .await
    }

    /// Puts off an effect to `due_at_ms`, and counts one more attempt.
    pub async fn put_off(
        &self,
        effect: i64,
        due_at_ms: i64,
        why: String,
        now_ms: i64,
    ) -> Result<()> {
        self.installation
            .write(why, move |tx, why| {
                Box::pin(async move {
                    let sql = "UPDATE effects SET attempts = attempts + 1, due_at = $2, note = $3, \
                         due_set_at = $4 WHERE effect = $1 AND done_at IS NULL";
                    tx.execute(sql, &[&effect, &due_at_ms, why, &now_ms])
                        .await?;
                    Ok(())
                })
            })
            .await
    }

    /// Sets the sandbox's own state of a payment to `to`, if the state is one of `from`. Returns
    /// the state afterwards. A new payment is `open`.
    pub async fn sandbox_move(
        &self,
        payment: &PaymentId,
        from: &'static [&'static str],
        to: &'static str,
    ) -> Result<String> {
        self.installation
            .write(payment.clone(), move |tx, payment| {
                Box::pin(sandbox::change_state(tx, payment, from, to))
            })
            .await
    }

    /// Refunds a part of captured money in the sandbox, once per refund id, and never more than was
    /// captured. Returns the sum of all refunds so far. Returns `None` and refunds nothing if
    /// nothing was captured or too little is left.
    pub async fn sandbox_refund(
        &self,
        payment: &PaymentId,
        refund: &RefundId,
        amount: i64,
        captured: i64,
    ) -> Result<Option<i64>> {
        self.installation
            .write(
                (payment.clone(), refund.clone()),
                move |tx, (payment, refund)| {
                    Box::pin(sandbox::give_back(tx, payment, refund, (amount, captured)))
                },
            )
            .await
    }

    /// Returns the sum of a payment's partial refunds in the sandbox.
    pub async fn sandbox_refunded(&self, payment: &PaymentId) -> Result<i64> {
        self.installation
            .read(payment.clone(), |tx, payment| {
                Box::pin(sandbox::given_back(tx, payment))
            })
            .await
    }

    /// Returns two numbers for metrics: the events that are not settled, and the effects and
    /// refunds that are not done.
    pub async fn backlog(&self) -> Result<(u64, u64)> {
        self.installation
            .read((), |tx, ()| {
                Box::pin(async move {
                    let sql = "SELECT \
                         (SELECT COUNT(*) FROM provider_events WHERE settled_at IS NULL), \
                         (SELECT COUNT(*) FROM effects WHERE done_at IS NULL) \
                             + (SELECT COUNT(*) FROM refunds WHERE done_at IS NULL)";
                    let row = tx.query_one(sql, &[]).await?;
                    Ok((count(&row, 0)?, count(&row, 1)?))
                })
            })
            .await
    }
}

async fn store_created(
    tx: &SqlTransaction,
    (payment, attempt): (&str, u32),
    made: &CreatedPayment,
) -> Result<CreatedPayment> {
    let sql = "UPDATE payments SET reference = $2, client = $3 \
         WHERE payment = $1 AND reference IS NULL AND attempt = $4";
    tx.execute(sql, &[&payment, &made.reference, &made.client, &attempt])
        .await?;
    let stored = find_payment(tx, payment).await?;
    let stored = stored.ok_or_else(|| corrupt("a payment that is not there"))?;
    Ok(match (stored.reference, stored.client) {
        (Some(reference), Some(client)) => CreatedPayment { reference, client },
        _ => made.clone(),
    })
}

async fn settle_event(
    tx: &SqlTransaction,
    (provider, event): (&str, &str),
    parsed: &ParsedProviderEvent,
    now_ms: i64,
) -> Result<&'static str> {
    let sql = "SELECT 1 FROM provider_events WHERE provider = $1 AND event = $2 \
         AND settled_at IS NULL FOR UPDATE";
    if tx.first(sql, &[&provider, &event]).await?.is_none() {
        return Ok("repeated");
    }
    let outcome = match parsed {
        ParsedProviderEvent::Event(provider_event) => {
            apply_provider_event(tx, provider, provider_event, now_ms).await?
        }
        // An event whose payment was not found is settled as ignored.
        ParsedProviderEvent::ReturnOf { .. } | ParsedProviderEvent::Ignored => "ignored",
        ParsedProviderEvent::Unreadable => "unreadable",
    };
    let sql = "UPDATE provider_events SET settled_at = $3, outcome = $4 \
         WHERE provider = $1 AND event = $2";
    tx.execute(sql, &[&provider, &event, &now_ms, &outcome])
        .await?;
    Ok(outcome)
}

/// Lends events that are due and are not lent to another worker, oldest first. Events of the same
/// millisecond are in the order in which they were stored.
async fn lend_events(
    tx: &SqlTransaction,
    now_ms: i64,
    batch_max: u32,
) -> Result<Vec<StoredProviderEvent>> {
    macro_rules! lend_by {
        ($position:literal) => {
            concat!(
                "UPDATE provider_events SET due_at = $3, due_set_at = $1 WHERE ",
                $position,
                " = ANY (ARRAY (SELECT ",
                $position,
                " FROM provider_events WHERE settled_at IS NULL AND due_at <= $1 \
                 ORDER BY received_at, ",
                $position,
                " LIMIT $2 FOR UPDATE SKIP LOCKED)) \
                 RETURNING provider, event, body, attempts, received_at, ",
                $position
            )
        };
    }
    let sql = match tx.dialect() {
        SqlDialect::Postgres => lend_by!("position"),
        SqlDialect::Sqlite => lend_by!("rowid"),
    };
    LentWork::ProviderEvents.call_in(tx, now_ms).await?;
    let until_ms = now_ms.saturating_add(EVENT_LENT_MS);
    let rows = tx.query(sql, &[&now_ms, &batch_max, &until_ms]).await?;
    let read = |row: &SqlRow| Ok((row.get::<i64>(4)?, row.get::<i64>(5)?, stored_event(row)?));
    let mut events: Vec<_> = rows.iter().map(read).collect::<Result<_>>()?;
    events.sort_by_key(|(received_at_ms, position, _)| (*received_at_ms, *position));
    Ok(events.into_iter().map(|(.., event)| event).collect())
}

async fn lend_oldest_event(tx: &SqlTransaction, now_ms: i64) -> Result<Vec<StoredProviderEvent>> {
    let position = match tx.dialect() {
        SqlDialect::Postgres => "position",
        SqlDialect::Sqlite => "rowid",
    };
    let sql = format!(
        "UPDATE provider_events SET due_at = $2, due_set_at = $1 WHERE {position} = \
             (SELECT {position} FROM provider_events WHERE settled_at IS NULL \
              ORDER BY received_at, {position} LIMIT 1) AND settled_at IS NULL AND due_at <= $1 \
         RETURNING provider, event, body, attempts"
    );
    LentWork::ProviderEvents.call_in(tx, now_ms).await?;
    let until_ms = now_ms.saturating_add(EVENT_LENT_MS);
    let rows = tx.query(&sql, &[&now_ms, &until_ms]).await?;
    rows.iter().map(stored_event).collect()
}

/// Reads an event from the first four columns of a row.
fn stored_event(row: &SqlRow) -> Result<StoredProviderEvent> {
    Ok(StoredProviderEvent {
        provider: text(row, 0)?.to_owned(),
        event: text(row, 1)?.to_owned(),
        body: row.get(2)?,
        attempts: small(row, 3)?,
    })
}

/// Lends effects that are due and are not lent to another worker.
async fn lend_effects(
    tx: &SqlTransaction,
    now_ms: i64,
    batch_max: u32,
) -> Result<Vec<DuePaymentEffect>> {
    LentWork::Effects.call_in(tx, now_ms).await?;
    let until_ms = now_ms.saturating_add(EFFECT_LENT_MS);
    let due = if tx.is_postgres() {
        lend_effects_fused(tx, now_ms, batch_max, until_ms).await?
    } else {
        let sql = format!(
            "SELECT e.effect, e.kind, e.attempts, {PAYMENT_COLUMNS} \
             FROM effects e JOIN payments p ON p.order_id = e.order_id \
             WHERE e.done_at IS NULL AND e.due_at <= $1 AND e.kind = p.owes \
             AND (e.kind <> 'refund' OR p.dispute IS DISTINCT FROM 'open') \
             ORDER BY e.due_at, e.effect LIMIT $2"
        );
        tx.query(&sql, &[&now_ms, &batch_max]).await?
    };
    let read = |row: &SqlRow| {
        let kind = EffectKind::parse(text(row, 1)?);
        Ok(DuePaymentEffect {
            id: row.get(0)?,
            kind: kind.ok_or_else(|| corrupt("an effect's kind"))?,
            attempts: small(row, 2)?,
            payment: rows::payment(row, 3)?,
        })
    };
    let due: Vec<DuePaymentEffect> = due.iter().map(read).collect::<Result<_>>()?;
    if !tx.is_postgres() {
        let ids: Vec<i64> = due.iter().map(|effect| effect.id).collect();
        let sql = "UPDATE effects SET due_at = $2, due_set_at = $3 WHERE effect = ANY ($1)";
        tx.execute(sql, &[&ids, &until_ms, &now_ms]).await?;
    }
    Ok(due)
}

/// Finds and lends effects in one round trip instead of two. Skips effects that another node is
/// lending at this moment, so no effect is lent twice.
async fn lend_effects_fused(
    tx: &SqlTransaction,
    now_ms: i64,
    batch_max: u32,
    until_ms: i64,
) -> Result<Vec<SqlRow>> {
    let sql = format!(
        "WITH due AS (SELECT x.effect FROM effects x JOIN payments q ON q.order_id = x.order_id \
             WHERE x.done_at IS NULL AND x.due_at <= $1 AND x.kind = q.owes \
             AND (x.kind <> 'refund' OR q.dispute IS DISTINCT FROM 'open') \
             ORDER BY x.due_at, x.effect LIMIT $2 FOR UPDATE OF x SKIP LOCKED), \
         lent AS (UPDATE effects e SET due_at = $3, due_set_at = $1 FROM due WHERE e.effect = due.effect \
             RETURNING e.effect, e.kind, e.attempts, e.order_id) \
         SELECT e.effect, e.kind, e.attempts, {PAYMENT_COLUMNS} \
         FROM lent e JOIN payments p ON p.order_id = e.order_id ORDER BY e.effect"
    );
    tx.query(&sql, &[&now_ms, &batch_max, &until_ms]).await
}

async fn refund_instead(tx: &SqlTransaction, effect: i64, now_ms: i64) -> Result<()> {
    let Some(order) = finish_effect(tx, effect, None, now_ms).await? else {
        return Ok(());
    };
    move_payment(tx, &order.id, PaymentState::Captured, now_ms).await?;
    // The capture succeeded, but its answer was lost.
    let sql = "UPDATE effects SET done_at = $2 WHERE order_id = $1 AND kind = 'capture' \
         AND done_at IS NULL";
    tx.execute(sql, &[&order.id.as_str(), &now_ms]).await?;
    record_owed_effect(tx, &order.id, OwedProviderCall::MoneyBack, now_ms).await
}

/// Locks the effect's order, marks the effect as done, and returns the order. Returns `None` if the
/// effect was done already or does not exist.
async fn finish_effect(
    tx: &SqlTransaction,
    effect: i64,
    note: Option<&str>,
    now_ms: i64,
) -> Result<Option<Order>> {
    let sql = "SELECT order_id FROM effects WHERE effect = $1";
    let Some(row) = tx.first(sql, &[&effect]).await? else {
        return Ok(None);
    };
    let order = lock_order(tx, text(&row, 0)?).await?;
    let sql = "UPDATE effects SET done_at = $2, note = COALESCE($3, note) \
         WHERE effect = $1 AND done_at IS NULL";
    if tx.execute(sql, &[&effect, &now_ms, &note]).await? == 0 {
        return Ok(None);
    }
    order
        .map(Some)
        .ok_or_else(|| corrupt("an effect without an order"))
}
