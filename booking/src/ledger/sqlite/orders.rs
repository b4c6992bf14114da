//! Orders, claims, the seat outbox: transactions 1 and 2, expiry, and the picture of a show.

use std::collections::HashMap;

use async_trait::async_trait;
use fairgate_pass::Holder;
use fairgate_writer::LedgerError;
use fairgate_writer::rusqlite::Connection;

use super::SqliteLedger;
use super::rows::{
    self, ORDER_COLUMNS, Result, as_hold, as_i64, collect, corrupt, find_order, first, given_up,
    parsed, seat_kind, seat_word,
};
use crate::clock::rfc3339;
use crate::holds::{Held, Hold, cells_of};
use crate::ids::{OrderId, ShowId};
use crate::inventory::Grid;
use crate::ledger::{Applied, ClaimRefused, OrderLedger, ShowPicture};
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
    async fn open_show(&self, show: &ShowId) -> Result<ShowPicture> {
        let show = show.clone();
        self.writer.write(move |tx| picture(tx, &show)).await
    }

    async fn claim(
        &self,
        order: Order,
        payment: Payment,
        grid: Grid,
        limit: u32,
    ) -> std::result::Result<Order, ClaimRefused> {
        self.writer
            .write(move |tx| claim(tx, order, &payment, grid, limit))
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

    async fn number_seat_rows(&self) -> Result<Vec<(ShowId, u64)>> {
        // Rows are numbered where they are made; what is left to do is to find the shows.
        self.writer
            .read(|connection| {
                collect(
                    connection,
                    "SELECT show, delivered FROM seat_marks WHERE numbered > delivered",
                    [],
                    |row| {
                        let show: String = row.get(0)?;
                        Ok((parsed(&show)?, row.get::<_, i64>(1)?.unsigned_abs()))
                    },
                )
            })
            .await
    }

    async fn seat_rows(&self, show: &ShowId, after: u64, batch_max: u32) -> Result<Vec<SeatRow>> {
        let show = show.clone();
        self.writer
            .read(move |connection| {
                let sql = "SELECT s.number, s.kind, s.hold, s.items, o.visitor FROM seat_outbox s \
                     JOIN orders o ON o.order_id = s.order_id WHERE s.show = ?1 AND s.number > ?2 ORDER BY s.number LIMIT ?3";
                let with = (show.as_str(), as_i64(after), batch_max);
                collect(connection, sql, with, |row| {
                    let kind: String = row.get(1)?;
                    let items = rows::items(&row.get::<_, String>(3)?)?;
                    Ok(SeatRow {
                        seq: row.get::<_, i64>(0)?.unsigned_abs(),
                        kind: seat_kind(&kind)?,
                        items: items.into_iter().map(|item| item.held).collect(),
                        hold: parsed(&row.get::<_, String>(2)?)?,
                        visitor: rows::holder(&row.get::<_, Vec<u8>>(4)?)?,
                    })
                })
            })
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
            .read(move |connection| cursor(connection, &show))
            .await
    }

    async fn finished(&self, after: u64, shows: Vec<ShowId>) -> Result<Vec<(u64, Holder)>> {
        let shows = serde_json::to_string(&shows).map_err(|error| corrupt(&error.to_string()))?;
        self.writer
            .read(move |connection| {
                // The shows are chosen before the rows are counted, so that other shows' rows never hide these.
                collect(
                    connection,
                    "SELECT seq, visitor FROM finished WHERE seq > ?1 AND show IN (SELECT value FROM json_each(?2)) \
                     ORDER BY seq LIMIT 10000",
                    (as_i64(after), &shows),
                    |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), rows::holder(&row.get::<_, Vec<u8>>(1)?)?)),
                )
            })
            .await
    }
}

fn cursor(connection: &Connection, show: &ShowId) -> Result<u64> {
    let sql = "SELECT numbered FROM seat_marks WHERE show = ?1";
    let newest: Option<i64> = first(connection, sql, [show.as_str()])?;
    Ok(newest.unwrap_or(0).unsigned_abs())
}

fn picture(tx: &Connection, show: &ShowId) -> Result<ShowPicture> {
    tx.execute(
        "UPDATE shows SET incarnation = incarnation + 1 WHERE show = ?1",
        [show.as_str()],
    )?;
    let incarnation: Option<i64> = first(
        tx,
        "SELECT incarnation FROM shows WHERE show = ?1",
        [show.as_str()],
    )?;
    let sql = format!(
        "SELECT {ORDER_COLUMNS} FROM orders WHERE show = ?1 AND state IN ('pending', 'awaiting_consent', 'confirmed', 'ticketed')"
    );
    let mut sold: HashMap<Holder, Vec<_>> = HashMap::new();
    let mut ordered = Vec::new();
    for order in collect(tx, &sql, [show.as_str()], rows::order)? {
        if order.state == OrderState::Pending {
            ordered.push(as_hold(&order));
        } else if order.state == OrderState::AwaitingConsent {
            let kept = kept(tx, &order)?;
            ordered.push(Hold {
                id: kept.hold,
                items: kept.items.iter().map(|item| item.held.clone()).collect(),
                ..as_hold(&order)
            });
        } else {
            sold.entry(order.visitor).or_default().extend(order.held());
        }
    }
    Ok(ShowPicture {
        incarnation: incarnation.unwrap_or(1).unsigned_abs(),
        sold: sold.into_iter().collect(),
        ordered,
        cursor: cursor(tx, show)?,
    })
}

fn claim(
    tx: &Connection,
    order: Order,
    payment: &Payment,
    grid: Grid,
    limit: u32,
) -> std::result::Result<Order, ClaimRefused> {
    if let Some(present) = find_order(tx, &order.id)? {
        return Ok(present);
    }
    let barred: Option<i64> = first(
        tx,
        "SELECT 1 FROM given_up WHERE hold = ?1 AND at >= ?2",
        (order.hold.as_str(), order.created_at_ms),
    )?;
    if barred.is_some() {
        return Err(given_up().into());
    }
    check_plan_and_limit(tx, &order, limit)?;
    insert_order(tx, &order)?;
    insert_claims(tx, &order, &order.held(), grid)?;
    tx.prepare_cached("INSERT INTO payments (payment, order_id, provider, amount, currency, state, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        .and_then(|mut statement| {
            statement.execute((
                payment.id.as_str(),
                order.id.as_str(),
                &payment.provider,
                payment.amount.amount,
                payment.amount.currency.as_str(),
                payment.state.word(),
                order.created_at_ms,
            ))
        })
        .map_err(LedgerError::from)?;
    note(
        tx,
        &order.id,
        order.state,
        &order.reason,
        order.created_at_ms,
    )?;
    Ok(order)
}

/// Refuses what may not be claimed whatever cells are free.
pub(super) fn check_plan_and_limit(
    tx: &Connection,
    order: &Order,
    limit: u32,
) -> std::result::Result<(), ClaimRefused> {
    let pinned: Option<u32> = first(
        tx,
        "SELECT plan_version FROM shows WHERE show = ?1",
        [order.show.as_str()],
    )?;
    if pinned != Some(order.plan_version) {
        return Err(ClaimRefused::PlanChanged);
    }
    let have: Option<u32> = first(
        tx,
        "SELECT COUNT(DISTINCT seat) FROM claims WHERE show = ?1 AND visitor = ?2",
        (order.show.as_str(), order.visitor.0),
    )?;
    let have = have.unwrap_or(0);
    if have.saturating_add(u32::try_from(order.items.len()).unwrap_or(u32::MAX)) > limit {
        return Err(ClaimRefused::Limit { have, limit });
    }
    Ok(())
}

fn insert_order(tx: &Connection, order: &Order) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO orders (order_id, show, hold, visitor, room, buyer_name, buyer_email, currency, total, items, \
         plan_version, payment, state, reason, created_at, pay_until, claim_until) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?
    .execute(fairgate_writer::rusqlite::params![
        order.id.as_str(),
        order.show.as_str(),
        order.hold.as_str(),
        order.visitor.0,
        order.room,
        order.buyer.name,
        order.buyer.email,
        order.currency.as_str(),
        order.total,
        rows::items_text(&order.items)?,
        order.plan_version,
        order.payment.as_str(),
        order.state.word(),
        order.reason,
        order.created_at_ms,
        order.pay_until_ms,
        order.claim_until_ms,
    ])?;
    Ok(())
}

/// `UNIQUE (show, seat, leg)` decides; all refused cells are named, and the savepoint takes the rest back.
pub(super) fn insert_claims(
    tx: &Connection,
    order: &Order,
    items: &[Held],
    grid: Grid,
) -> std::result::Result<(), ClaimRefused> {
    let mut insert = tx
        .prepare_cached("INSERT OR IGNORE INTO claims (show, seat, leg, order_id, visitor) VALUES (?1, ?2, ?3, ?4, ?5)")
        .map_err(LedgerError::from)?;
    let mut taken = Vec::new();
    for cell in cells_of(items, grid) {
        let inserted = insert
            .execute((
                order.show.as_str(),
                grid.seat_of(cell),
                grid.leg_of(cell),
                order.id.as_str(),
                order.visitor.0,
            ))
            .map_err(LedgerError::from)?;
        if inserted == 0 {
            taken.push(cell);
        }
    }
    if taken.is_empty() {
        Ok(())
    } else {
        Err(ClaimRefused::Taken(taken))
    }
}

fn note(
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
        tell_store(tx, &order, seat_word(kind))?;
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

/// A row in the show's seat outbox. It has its own hold and seats: those of the order may be others when it is delivered.
fn tell_store(tx: &Connection, order: &Order, kind: &str) -> Result<()> {
    let kept = kept(tx, order)?;
    let number: i64 = tx
        .prepare_cached(
            "INSERT INTO seat_marks (show, numbered) VALUES (?1, 1) \
             ON CONFLICT (show) DO UPDATE SET numbered = numbered + 1 RETURNING numbered",
        )?
        .query_row([order.show.as_str()], |row| row.get(0))?;
    tx.prepare_cached(
        "INSERT INTO seat_outbox (show, number, kind, order_id, hold, items) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        order.show.as_str(),
        number,
        kind,
        order.id.as_str(),
        kept.hold.as_str(),
        rows::items_text(&kept.items)?,
    ))?;
    Ok(())
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
        order,
        history,
        tickets,
        payment,
        offer,
    }))
}
