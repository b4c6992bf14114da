//! Late money: the search for what it still buys, and the transaction that ends it.

use async_trait::async_trait;
use fairgate_databases::rusqlite::Connection;

use super::SqliteLedger;
use super::claims::{allowed, insert_claims};
use super::orders::apply;
use super::rows::{self, Result, collect, corrupt, find_order, first, parsed};
use super::settle::over_card_limit;
use crate::holds::{Held, Purpose};
use crate::ids::{HoldId, OrderId};
use crate::ledger::{Applied, ClaimBasis, ClaimRefused, LateLedger, LateOutcome};
use crate::orders::transition::{Happening, LateReason, decide};
use crate::orders::{Offer, Order, OrderItem};

#[async_trait]
impl LateLedger for SqliteLedger {
    async fn late_due(
        &self,
        now_ms: i64,
        again_at_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<OrderId>> {
        self.writer
            .write(move |tx| {
                let due: Vec<OrderId> = collect(
                    tx,
                    "SELECT order_id FROM late_money WHERE outcome IS NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2",
                    (now_ms, batch_max),
                    |row| parsed(&row.get::<_, String>(0)?),
                )?;
                let mut lend =
                    tx.prepare_cached("UPDATE late_money SET due_at = ?2 WHERE order_id = ?1")?;
                for order in &due {
                    lend.execute((order.as_str(), again_at_ms))?;
                }
                Ok(due)
            })
            .await
    }

    async fn late_settle(
        &self,
        order: &OrderId,
        outcome: LateOutcome,
        basis: Option<ClaimBasis>,
        now_ms: i64,
    ) -> std::result::Result<Option<Applied>, ClaimRefused> {
        let order = order.clone();
        self.writer
            .write(move |tx| settle(tx, &order, &outcome, basis, now_ms))
            .await
    }
}

/// Begins the search, in the transaction that records the money.
pub(super) fn search(tx: &Connection, order: &OrderId, now_ms: i64) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO late_money (order_id, since, due_at) VALUES (?1, ?2, ?2)",
    )?
    .execute((order.as_str(), now_ms))?;
    Ok(())
}

/// The seats that late money was given or offered; `None` where the order had only its own.
pub(super) fn given(connection: &Connection, order: &OrderId) -> Result<Option<Offer>> {
    let found = collect(
        connection,
        "SELECT hold, items, until FROM late_money WHERE order_id = ?1 AND hold IS NOT NULL",
        [order.as_str()],
        |row| {
            Ok(Offer {
                hold: parsed(&row.get::<_, String>(0)?)?,
                items: rows::items(&row.get::<_, String>(1)?)?,
                until_ms: row.get(2)?,
            })
        },
    )?;
    Ok(found.into_iter().next())
}

fn settle(
    tx: &Connection,
    id: &OrderId,
    outcome: &LateOutcome,
    basis: Option<ClaimBasis>,
    now_ms: i64,
) -> std::result::Result<Option<Applied>, ClaimRefused> {
    let Some(order) = find_order(tx, id)? else {
        return Ok(None);
    };
    let searched: Option<i64> = first(
        tx,
        "SELECT 1 FROM late_money WHERE order_id = ?1 AND outcome IS NULL",
        [id.as_str()],
    )?;
    if searched.is_none() || decide(order.state, outcome.happening()).is_none() {
        return Ok(Some(Applied {
            order,
            changed: false,
        }));
    }
    let happening = match outcome {
        LateOutcome::Back(_) => outcome.happening(),
        _ if over_card_limit(tx, &order, None)? => Happening::LateBack(LateReason::CardLimit),
        LateOutcome::SameSeats(hold) => {
            let items = order.items.clone();
            give(tx, &order, hold, &items, order.claim_until_ms, basis)?;
            outcome.happening()
        }
        LateOutcome::OtherSeats(offer) => {
            give(tx, &order, &offer.hold, &offer.items, offer.until_ms, basis)?;
            tx.execute(
                "UPDATE orders SET claim_until = ?2 WHERE order_id = ?1",
                (id.as_str(), offer.until_ms),
            )
            .map_err(fairgate_databases::LedgerError::from)?;
            outcome.happening()
        }
    };
    let applied = apply(tx, id, happening, now_ms)?;
    let reason = applied
        .as_ref()
        .map_or("", |applied| applied.order.reason.as_str());
    tx.execute(
        "UPDATE late_money SET outcome = ?2, decided_at = ?3 WHERE order_id = ?1",
        (id.as_str(), reason, now_ms),
    )
    .map_err(fairgate_databases::LedgerError::from)?;
    Ok(applied)
}

/// Claims seats for an order that has none any more, and remembers which hold keeps them.
fn give(
    tx: &Connection,
    order: &Order,
    hold: &HoldId,
    items: &[OrderItem],
    until_ms: i64,
    basis: Option<ClaimBasis>,
) -> std::result::Result<(), ClaimRefused> {
    let basis =
        basis.ok_or_else(|| corrupt("seats are given without what their claim rests on"))?;
    if basis.purpose != Purpose::LateMoney {
        return Err(ClaimRefused::OtherPurpose(basis.purpose));
    }
    allowed(tx, order, basis)?;
    let held: Vec<Held> = items.iter().map(|item| item.held.clone()).collect();
    insert_claims(tx, order, &held, basis.grid)?;
    tx.execute(
        "UPDATE late_money SET hold = ?2, items = ?3, made_for = ?4, until = ?5 WHERE order_id = ?1",
        (
            order.id.as_str(),
            hold.as_str(),
            rows::items_text(items)?,
            rows::items_text(&order.items)?,
            until_ms,
        ),
    )
    .map_err(fairgate_databases::LedgerError::from)?;
    Ok(())
}
