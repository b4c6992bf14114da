//! Orders and claims: transactions 1 and 2, and the deadline.

use std::ops::Range;

use async_trait::async_trait;
use fairgate_databases::rusqlite::Connection;
use fairgate_pass::Holder;

use super::rows::{
    self, Result, as_i64, collect, corrupt, find_order, first, parsed, seat_word, to_json,
};
use super::{SqliteLedger, claims, outbox, settle};
use crate::clock::rfc3339;
use crate::ids::{OrderId, ShowId};
use crate::ledger::{Applied, ClaimBasis, ClaimRefused, OrderLedger, OverdueClaim, ShowPicture};
use crate::orders::transition::{Claims, Decision, EffectKind, Happening, Owed, decide};
use crate::orders::{Offer, Order, OrderRecord, OrderState, Step};
use crate::payments::{Payment, PaymentState};
use crate::store::SeatRow;

/// Orders whose claim is over by ?1, and of whose payment nothing that was told in time waits to be settled.
const OVERDUE: &str = "o.state IN ('pending', 'awaiting_consent') AND o.claim_until <= ?1 \
     AND NOT EXISTS (SELECT 1 FROM provider_events e WHERE e.payment = o.payment AND e.settled_at IS NULL \
         AND e.received_at <= o.claim_until)";

#[async_trait]
impl OrderLedger for SqliteLedger {
    async fn next_incarnation(&self, show: &ShowId) -> Result<u64> {
        let show = show.clone();
        self.writer
            .write(move |tx| outbox::next_incarnation(tx, &show))
            .await
    }

    async fn open_show(&self, show: &ShowId, lost: Option<u64>) -> Result<ShowPicture> {
        let show = show.clone();
        self.writer
            .write(move |tx| outbox::picture(tx, &show, lost))
            .await
    }

    async fn claim(
        &self,
        order: Order,
        payment: Payment,
        basis: ClaimBasis,
    ) -> std::result::Result<Order, ClaimRefused> {
        self.writer
            .write(move |tx| {
                let order = claims::claim(tx, order, &payment, basis)?;
                Ok(settle::nothing_to_pay(tx, order)?)
            })
            .await
    }

    async fn order_over(
        &self,
        show: &ShowId,
        visitor: Holder,
        legs: Range<u16>,
    ) -> Result<Option<OrderId>> {
        let show = show.clone();
        self.writer
            .read(move |connection| claims::order_over(connection, &show, visitor, &legs))
            .await
    }

    async fn order(&self, order: &OrderId) -> Result<Option<OrderRecord>> {
        let order = order.clone();
        self.writer
            .read(move |connection| {
                // One snapshot, so that state, history, tickets and payment agree.
                let snapshot = connection.unchecked_transaction()?;
                record(&snapshot, &order)
            })
            .await
    }

    async fn happen(
        &self,
        order: &OrderId,
        happening: Happening,
        now_ms: i64,
    ) -> Result<Option<Applied>> {
        let order = order.clone();
        self.writer
            .write(move |tx| apply(tx, &order, happening, now_ms))
            .await
    }

    async fn expire_due(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>> {
        self.writer
            .write(move |tx| {
                let sql = format!(
                    "SELECT o.order_id FROM orders o WHERE {OVERDUE} ORDER BY o.claim_until LIMIT ?2"
                );
                let due: Vec<OrderId> = collect(tx, &sql, (now_ms, batch_max), |row| {
                    parsed(&row.get::<_, String>(0)?)
                })?;
                for order in &due {
                    apply(tx, order, Happening::DeadlinePassed, now_ms)?;
                }
                Ok(due)
            })
            .await
    }

    async fn overdue_claims(
        &self,
        now_ms: i64,
        after: Option<(i64, OrderId)>,
        batch_max: u32,
    ) -> Result<Vec<OverdueClaim>> {
        self.writer
            .read(move |connection| {
                // One snapshot, so that each claim and its show's newest row are of one moment.
                let snapshot = connection.unchecked_transaction()?;
                outbox::overdue(&snapshot, now_ms, after, batch_max)
            })
            .await
    }

    async fn number_seat_rows(&self) -> Result<Vec<(ShowId, u64)>> {
        self.writer.read(outbox::undelivered).await
    }

    async fn seat_rows(&self, show: &ShowId, after: u64, batch_max: u32) -> Result<Vec<SeatRow>> {
        let show = show.clone();
        self.writer
            .read(move |connection| outbox::rows(connection, &show, after, batch_max))
            .await
    }

    async fn seat_rows_delivered(&self, show: &ShowId, upto: u64) -> Result<()> {
        let show = show.clone();
        self.writer
            .write(move |tx| {
                tx.prepare_cached(
                    "UPDATE seat_marks SET delivered = ?2 WHERE show = ?1 AND delivered < ?2",
                )?
                .execute((show.as_str(), as_i64(upto)))?;
                Ok(())
            })
            .await
    }

    async fn seat_cursor(&self, show: &ShowId) -> Result<u64> {
        let show = show.clone();
        self.writer
            .read(move |connection| outbox::cursor(connection, &show))
            .await
    }

    async fn finished(&self, after: u64, shows: Vec<ShowId>) -> Result<Vec<(u64, Holder)>> {
        let shows = to_json(&shows)?;
        self.writer
            .read(move |connection| outbox::finished(connection, after, &shows))
            .await
    }
}

pub(super) fn note(
    tx: &Connection,
    order: &OrderId,
    state: OrderState,
    reason: &str,
    now_ms: i64,
) -> Result<()> {
    // Whoever asks may have read its clock before another's step was committed; a step never lies before the last one.
    tx.prepare_cached(
        "INSERT INTO order_history (order_id, step, at, state, reason) \
         SELECT ?1, COALESCE(MAX(step), 0) + 1, MAX(?2, COALESCE(MAX(at), ?2)), ?3, ?4 FROM order_history WHERE order_id = ?1",
    )?
    .execute((order.as_str(), now_ms, state.word(), reason))?;
    Ok(())
}

/// Carries out what [`decide`] says, in the transaction at hand.
pub(super) fn apply(
    tx: &Connection,
    id: &OrderId,
    happening: Happening,
    now_ms: i64,
) -> Result<Option<Applied>> {
    let Some(mut order) = find_order(tx, id)? else {
        return Ok(None);
    };
    let Some(decision) = decide(order.state, happening) else {
        return Ok(Some(Applied {
            order,
            changed: false,
        }));
    };
    let Decision {
        state,
        reason,
        claims,
        seats,
        owed,
        late,
    } = decision;
    let moved = tx
        .prepare_cached(
            "UPDATE orders SET state = ?2, reason = ?3 WHERE order_id = ?1 AND state = ?4",
        )?
        .execute((id.as_str(), state.word(), reason, order.state.word()))?;
    if moved != 1 {
        return Err(corrupt("an order that moved within its own transaction"));
    }
    note(tx, id, state, reason, now_ms)?;
    if claims == Claims::Drop {
        tx.prepare_cached("DELETE FROM claims WHERE order_id = ?1")?
            .execute([id.as_str()])?;
    }
    if let Some(kind) = seats {
        outbox::tell_store(tx, &order, seat_word(kind))?;
    }
    if happening == Happening::Consented {
        order.items = kept(tx, &order)?.items;
        tx.prepare_cached("UPDATE orders SET items = ?2 WHERE order_id = ?1")?
            .execute((id.as_str(), rows::items_text(&order.items)?))?;
    }
    if let Some(owed) = owed {
        owe(tx, id, owed, now_ms)?;
    }
    if late {
        super::late::search(tx, id, now_ms)?;
    }
    order.state = state;
    reason.clone_into(&mut order.reason);
    Ok(Some(Applied {
        order,
        changed: true,
    }))
}

/// The hold and the seats that are kept for an order: its own, or those that late money was given.
pub(super) fn kept(connection: &Connection, order: &Order) -> Result<Offer> {
    let own = || Offer {
        hold: order.hold.clone(),
        items: order.items.clone(),
        until_ms: order.claim_until_ms,
    };
    Ok(super::late::given(connection, &order.id)?.unwrap_or_else(own))
}

/// Writes what is owed to the provider, as one compare-and-set of the payment: a capture is owed only where nothing else
/// was, and whatever brings the money back takes its place for good.
pub(super) fn owe(tx: &Connection, order: &OrderId, owed: Owed, now_ms: i64) -> Result<()> {
    let state: Option<String> = first(
        tx,
        "SELECT state FROM payments WHERE order_id = ?1",
        [order.as_str()],
    )?;
    let state = state
        .as_deref()
        .and_then(PaymentState::of_word)
        .ok_or_else(|| corrupt("an order without a payment"))?;
    let kind = owed.effect(state);
    let set = tx
        .prepare_cached(match kind {
            EffectKind::Capture => {
                "UPDATE payments SET owes = ?2 WHERE order_id = ?1 AND owes IS NULL"
            }
            EffectKind::Void => {
                "UPDATE payments SET owes = ?2 WHERE order_id = ?1 AND (owes IS NULL OR owes <> 'refund')"
            }
            EffectKind::Refund => "UPDATE payments SET owes = ?2 WHERE order_id = ?1",
        })?
        .execute((order.as_str(), kind.word()))?;
    if set != 1 {
        return Err(corrupt("a payment of which two things are asked at once"));
    }
    tx.prepare_cached(
        "INSERT OR IGNORE INTO effects (order_id, kind, due_at) VALUES (?1, ?2, ?3)",
    )?
    .execute((order.as_str(), kind.word(), now_ms))?;
    Ok(())
}

fn record(connection: &Connection, id: &OrderId) -> Result<Option<OrderRecord>> {
    let Some(order) = find_order(connection, id)? else {
        return Ok(None);
    };
    let history = collect(
        connection,
        "SELECT at, state, reason FROM order_history WHERE order_id = ?1 ORDER BY step",
        [id.as_str()],
        |row| {
            let state: String = row.get(1)?;
            Ok(Step {
                at: rfc3339(row.get(0)?),
                state: OrderState::of_word(&state).ok_or_else(|| corrupt(&state))?,
                reason: row.get(2)?,
            })
        },
    )?;
    let tickets = super::tickets::of_order(connection, &order)?;
    let payment: Option<String> = first(
        connection,
        "SELECT state FROM payments WHERE order_id = ?1",
        [id.as_str()],
    )?;
    let payment = payment
        .as_deref()
        .and_then(PaymentState::of_word)
        .ok_or_else(|| corrupt("an order without a payment"))?;
    let offer = match order.state {
        OrderState::AwaitingConsent => super::late::given(connection, id)?,
        _ => None,
    };
    Ok(Some(OrderRecord {
        refunds: super::refunds::of_order(connection, id)?,
        exchanges: super::exchanges::of_order(connection, id)?,
        order,
        history,
        tickets,
        payment,
        offer,
    }))
}
