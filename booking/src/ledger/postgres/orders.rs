//! Orders and claims: transactions 1 and 2, and the deadline.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use fairgate_databases::Tx;
use fairgate_pass::Holder;

use super::rows::{
    self, ORDER_COLUMNS, Result, as_i64, corrupt, find_order, items_text, lock_order, seat_word,
    text,
};
use super::{PostgresLedger, claims, late, outbox, settle, tickets};
use crate::clock::rfc3339;
use crate::ids::{OrderId, ShowId};
use crate::ledger::{Applied, ClaimBasis, ClaimRefused, OrderLedger, OverdueClaim, ShowPicture};
use crate::orders::transition::{Claims, Decision, EffectKind, Happening, Owed, decide};
use crate::orders::{Order, OrderRecord, OrderState, Step};
use crate::payments::{Payment, PaymentState};
use crate::store::SeatRow;

/// Orders whose claim is over by $1, and of whose payment nothing that was told in time waits to be settled.
const OVERDUE: &str = "o.state IN ('pending', 'awaiting_consent') AND o.claim_until <= $1 \
     AND NOT EXISTS (SELECT 1 FROM provider_events e WHERE e.payment = o.payment AND e.settled_at IS NULL \
         AND e.received_at <= o.claim_until)";

#[async_trait]
impl OrderLedger for PostgresLedger {
    async fn next_incarnation(&self, show: &ShowId) -> Result<u64> {
        let show = Arc::new(show.clone());
        self.database
            .write(move |tx| {
                let show = Arc::clone(&show);
                async move {
                    let sql = "UPDATE shows SET incarnation = incarnation + 1 WHERE show = $1 RETURNING incarnation";
                    let row = tx.first(sql, &[&show.as_str()]).await?;
                    row.map_or(Ok(1), |row| rows::count(&row, 0))
                }
            })
            .await
    }

    async fn open_show(&self, show: &ShowId, lost: Option<u64>) -> Result<ShowPicture> {
        let show = Arc::new(show.clone());
        self.database
            .write(move |tx| {
                let show = Arc::clone(&show);
                async move { outbox::picture(&tx, &show, lost).await }
            })
            .await
    }

    async fn claim(
        &self,
        order: Order,
        payment: Payment,
        basis: ClaimBasis,
    ) -> std::result::Result<Order, ClaimRefused> {
        let given = Arc::new((order, payment));
        self.database
            .write(move |tx| {
                let given = Arc::clone(&given);
                async move {
                    let order = claims::claim(&tx, &given.0, &given.1, basis).await?;
                    Ok(settle::nothing_to_pay(&tx, order).await?)
                }
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
        self.database
            .read(async move |tx: Tx| claims::order_over(&tx, &show, visitor, &legs).await)
            .await
    }

    async fn order(&self, order: &OrderId) -> Result<Option<OrderRecord>> {
        let order = order.clone();
        // One snapshot, so that state, history, tickets and payment agree.
        self.database
            .snapshot(async move |tx: Tx| record(&tx, &order).await)
            .await
    }

    async fn happen(
        &self,
        order: &OrderId,
        happening: Happening,
        now_ms: i64,
    ) -> Result<Option<Applied>> {
        let order = Arc::new(order.clone());
        self.database
            .write(move |tx| {
                let order = Arc::clone(&order);
                async move {
                    match lock_order(&tx, order.as_str()).await? {
                        Some(order) => Ok(Some(apply(&tx, order, happening, now_ms).await?)),
                        None => Ok(None),
                    }
                }
            })
            .await
    }

    async fn expire_due(&self, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>> {
        // Every node looks, several times a second, and nearly always in vain.
        let looked = self.database.read(async move |tx: Tx| {
            let sql = format!("SELECT 1 FROM orders o WHERE {OVERDUE} LIMIT 1");
            tx.first(&sql, &[&now_ms]).await
        });
        if looked.await?.is_none() {
            return Ok(Vec::new());
        }
        self.database
            .write(move |tx| async move { expire(&tx, now_ms, batch_max).await })
            .await
    }

    async fn overdue_claims(
        &self,
        now_ms: i64,
        after: Option<(i64, OrderId)>,
        batch_max: u32,
    ) -> Result<Vec<OverdueClaim>> {
        self.database
            .read(async move |tx: Tx| outbox::overdue(&tx, now_ms, after, batch_max).await)
            .await
    }

    async fn number_seat_rows(&self) -> Result<Vec<(ShowId, u64)>> {
        outbox::number(&self.database).await
    }

    async fn seat_rows(&self, show: &ShowId, after: u64, batch_max: u32) -> Result<Vec<SeatRow>> {
        let (show, after) = (show.clone(), as_i64(after));
        self.database
            .read(async move |tx: Tx| outbox::rows(&tx, &show, after, batch_max).await)
            .await
    }

    async fn seat_rows_delivered(&self, show: &ShowId, upto: u64) -> Result<()> {
        let (show, upto) = (Arc::new(show.clone()), as_i64(upto));
        self.database
            .write(move |tx| {
                let show = Arc::clone(&show);
                async move {
                    let sql =
                        "UPDATE seat_marks SET delivered = $2 WHERE show = $1 AND delivered < $2";
                    tx.execute(sql, &[&show.as_str(), &upto]).await?;
                    Ok(())
                }
            })
            .await
    }

    async fn seat_cursor(&self, show: &ShowId) -> Result<u64> {
        let show = show.clone();
        self.database
            .read(async move |tx: Tx| {
                let sql = "SELECT numbered FROM seat_marks WHERE show = $1";
                let row = tx.first(sql, &[&show.as_str()]).await?;
                row.map_or(Ok(0), |row| rows::count(&row, 0))
            })
            .await
    }

    async fn finished(&self, after: u64, shows: Vec<ShowId>) -> Result<Vec<(u64, Holder)>> {
        outbox::finished(&self.database, as_i64(after), shows).await
    }
}

/// What another node is expiring or confirming at this moment is left to it, and looked at again the next time.
async fn expire(tx: &Tx, now_ms: i64, batch_max: u32) -> Result<Vec<OrderId>> {
    let sql = format!(
        "SELECT {ORDER_COLUMNS} FROM orders o WHERE {OVERDUE} ORDER BY o.claim_until LIMIT $2 FOR UPDATE OF o SKIP LOCKED"
    );
    let due = tx.query(&sql, &[&now_ms, &i64::from(batch_max)]).await?;
    let mut expired = Vec::with_capacity(due.len());
    for row in &due {
        let order = rows::order(row, 0)?;
        expired.push(order.id.clone());
        apply(tx, order, Happening::DeadlinePassed, now_ms).await?;
    }
    Ok(expired)
}

/// Carries out what [`decide`] says. The caller has locked the order's row.
///
/// The outbox row's id is drawn here, after the claims of the order were made in an earlier transaction or an earlier
/// statement. So of two rows about one cell, the later one's id is larger: a cell is claimed again only after the
/// transaction that gave it up has ended, for the claims' unique key makes the second one wait.
pub(super) async fn apply(
    tx: &Tx,
    mut order: Order,
    happening: Happening,
    now_ms: i64,
) -> Result<Applied> {
    let Some(decision) = decide(order.state, happening) else {
        return Ok(Applied {
            order,
            changed: false,
        });
    };
    let Decision {
        state,
        reason,
        claims,
        seats,
        owed,
        late: searches,
    } = decision;
    // Only orders that have expired once can have other seats than those they were made for.
    let late = match order.state {
        OrderState::Pending => None,
        _ => late::given(tx, &order.id).await?,
    };
    let kept = late.as_ref();
    let (hold, items) = kept.map_or((&order.hold, &order.items), |kept| {
        (&kept.hold, &kept.items)
    });
    // Whoever asks may have read its clock before another's step was committed; a step never lies before the last one.
    let sql = "WITH moved AS (UPDATE orders SET state = $2, reason = $3 WHERE order_id = $1 AND state = $4 \
             RETURNING order_id, show, visitor), \
         noted AS (INSERT INTO order_history (order_id, step, at, state, reason) \
             SELECT order_id, (SELECT COALESCE(MAX(step), 0) + 1 FROM order_history WHERE order_id = $1), \
             GREATEST($5, (SELECT MAX(at) FROM order_history WHERE order_id = $1)), $2, $3 FROM moved), \
         freed AS (DELETE FROM claims WHERE $9 AND order_id IN (SELECT order_id FROM moved)), \
         told AS (INSERT INTO seat_outbox (show, kind, order_id, hold, visitor, items) \
             SELECT show, $6::text, order_id, $7, visitor, $8 FROM moved WHERE $6::text IS NOT NULL) \
         SELECT COUNT(*) FROM moved";
    let row = tx
        .one(
            sql,
            &[
                &order.id.as_str(),
                &state.word(),
                &reason,
                &order.state.word(),
                &now_ms,
                &seats.map(seat_word),
                &hold.as_str(),
                &items_text(items)?,
                &(claims == Claims::Drop),
            ],
        )
        .await?;
    if row.try_get::<_, i64>(0)? != 1 {
        return Err(corrupt("an order that moved while its row was locked"));
    }
    if happening == Happening::Consented
        && let Some(kept) = late
    {
        order.items = kept.items;
        let sql = "UPDATE orders SET items = $2 WHERE order_id = $1";
        let with = items_text(&order.items)?;
        tx.execute(sql, &[&order.id.as_str(), &with]).await?;
    }
    if let Some(owed) = owed {
        owe(tx, &order.id, owed, now_ms).await?;
    }
    if searches {
        late::search(tx, &order.id, now_ms).await?;
    }
    order.state = state;
    reason.clone_into(&mut order.reason);
    Ok(Applied {
        order,
        changed: true,
    })
}

/// Writes what is owed to the provider, as one compare-and-set of the payment: a capture is owed only where nothing else
/// was, and whatever brings the money back takes its place for good.
pub(super) async fn owe(tx: &Tx, order: &OrderId, owed: Owed, now_ms: i64) -> Result<()> {
    let sql = "SELECT state FROM payments WHERE order_id = $1 FOR UPDATE";
    let row = tx.one(sql, &[&order.as_str()]).await?;
    let state = PaymentState::of_word(text(&row, 0)?);
    let kind = owed.effect(state.ok_or_else(|| corrupt("a payment's state"))?);
    let sql = match kind {
        EffectKind::Capture => "UPDATE payments SET owes = $2 WHERE order_id = $1 AND owes IS NULL",
        EffectKind::Void => {
            "UPDATE payments SET owes = $2 WHERE order_id = $1 AND owes IS DISTINCT FROM 'refund'"
        }
        EffectKind::Refund => "UPDATE payments SET owes = $2 WHERE order_id = $1",
    };
    if tx.execute(sql, &[&order.as_str(), &kind.word()]).await? != 1 {
        return Err(corrupt("a payment of which two things are asked at once"));
    }
    let sql = "INSERT INTO effects (order_id, kind, due_at) VALUES ($1, $2, $3) ON CONFLICT (order_id, kind) DO NOTHING";
    tx.execute(sql, &[&order.as_str(), &kind.word(), &now_ms])
        .await?;
    Ok(())
}

async fn record(tx: &Tx, id: &OrderId) -> Result<Option<OrderRecord>> {
    let Some(order) = find_order(tx, id).await? else {
        return Ok(None);
    };
    let sql = "SELECT at, state, reason FROM order_history WHERE order_id = $1 ORDER BY step";
    let history = tx.query(sql, &[&id.as_str()]).await?;
    let step = |row| {
        let state = OrderState::of_word(text(row, 1)?);
        Ok(Step {
            at: rfc3339(row.try_get(0)?),
            state: state.ok_or_else(|| corrupt("a step's state"))?,
            reason: text(row, 2)?.to_owned(),
        })
    };
    let history = history.iter().map(step).collect::<Result<_>>()?;
    let tickets = tickets::of_order(tx, &order).await?;
    let sql = "SELECT state FROM payments WHERE order_id = $1";
    let payment = tx.one(sql, &[&id.as_str()]).await?;
    let payment = PaymentState::of_word(text(&payment, 0)?);
    let offer = match order.state {
        OrderState::AwaitingConsent => late::given(tx, id).await?,
        _ => None,
    };
    Ok(Some(OrderRecord {
        refunds: super::refunds::of_order(tx, id).await?,
        exchanges: super::exchanges::of_order(tx, id).await?,
        offer,
        order,
        history,
        tickets,
        payment: payment.ok_or_else(|| corrupt("a payment's state"))?,
    }))
}
