//! Reads from the ledger for the reconciler, and makes its repairs.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;

use fairgate_databases::{NamedLock, SqlRow, SqlTransaction, ToSqlValue};
use fairgate_model::findings::{MissingOrderPart, OrderFacts, missing_for_order};
use fairgate_model::ids::{HoldId, OrderId, ShowId};
use fairgate_model::orders::OrderState;
use fairgate_model::orders::transition::EffectKind;
use fairgate_model::payments::{Payment, PaymentState};

use super::order_changes::record_owed_effect;
use super::rows::{
    self, PAYMENT_COLUMNS, READ_FOR_MS, Result, corrupt, count, items, lock_order, parsed, small,
    text, unsearched,
};
use super::tickets::issue;
use super::{Ledger, dump, lock};
use crate::dump::DumpRecord;
use crate::dump::lines::{DumpFailed, DumpLines};
use crate::ledger::{ClaimedCell, TAKEN_QUIET_MS, TAKEN_READ_FOR_MS};

/// The reads and the repairs of the reconciler.
impl Ledger {
    /// Returns orders that wait for payment, consent or their capture, and orders with a failed
    /// refund. Also returns orders whose payment changed since `since_ms` and whose state does not
    /// fit the payment or the tickets. `batch_max` limits each of these kinds. If there are
    /// more, the oldest are returned.
    pub async fn order_facts(&self, since_ms: i64, batch_max: u32) -> Result<Vec<OrderFacts>> {
        // One statement reads everything, so all facts are of one snapshot.
        self.installation
            .read((), move |tx, ()| Box::pin(facts(tx, since_ms, batch_max)))
            .await
    }

    /// Returns payments that may still change but have not changed for `quiet_ms`, each with the
    /// time of its last change. The payments that have been due the longest are chosen first. Also
    /// puts off each returned payment: it is due again when it has been unchanged for twice as
    /// long. A captured or refunded payment can change only by a refund that succeeds or fails, so
    /// it is first due after [`TAKEN_QUIET_MS`]. A batch has up to a quarter of `batch_max` such
    /// payments, and up to `batch_max` other payments.
    pub async fn quiet_payments(
        &self,
        now_ms: i64,
        quiet_ms: i64,
        batch_max: u32,
    ) -> Result<Vec<(Payment, i64)>> {
        self.installation
            .write((), move |tx, ()| {
                Box::pin(async move {
                    if tx.is_postgres() {
                        quiet_payments_fused(tx, now_ms, quiet_ms, batch_max).await
                    } else {
                        quiet_payments(tx, now_ms, quiet_ms, batch_max).await
                    }
                })
            })
            .await
    }

    /// Returns those of `holds` that belong to no order, and that no undecided search for seats may
    /// still use. Such a search looks for seats that late money can buy.
    pub async fn without_order(&self, holds: Vec<HoldId>) -> Result<Vec<HoldId>> {
        self.installation
            .read(holds, |tx, holds| Box::pin(without_order(tx, holds)))
            .await
    }

    /// Gives up a hold: an order of this hold that was made at `now_ms` or earlier can no longer
    /// claim seats, and gets [`LedgerError::Unavailable`]. Returns false and changes nothing if the
    /// order exists.
    pub async fn give_up(&self, hold: &HoldId, now_ms: i64) -> Result<bool> {
        self.installation
            .write(hold.clone(), move |tx, hold| {
                Box::pin(give_up(tx, hold, now_ms))
            })
            .await
    }

    /// Returns shows with unfinished work: orders that are not done, undelivered rows of the seat
    /// outbox, unsettled events, or undecided late money.
    pub async fn busy_shows(&self) -> Result<Vec<ShowId>> {
        self.installation
            .read((), |tx, ()| Box::pin(busy_shows(tx)))
            .await
    }

    /// Returns all claimed cells of a show.
    pub async fn claimed(&self, show: &ShowId) -> Result<Vec<ClaimedCell>> {
        self.installation
            .read(show.clone(), |tx, show| Box::pin(claimed_cells(tx, show)))
            .await
    }

    /// Returns which of these shows have claimed cells. A show without a row in the ledger has
    /// none.
    pub async fn claimed_shows(&self, shows: Vec<ShowId>) -> Result<BTreeSet<ShowId>> {
        let shows: Vec<String> = shows.iter().map(ToString::to_string).collect();
        self.installation
            .read(shows, |tx, shows| Box::pin(claimed_shows(tx, shows)))
            .await
    }

    /// Records the owed effect or issues the tickets that the order's state needs, if they are
    /// missing. Returns false if nothing was missing.
    pub async fn mend(&self, order: &OrderId, now_ms: i64) -> Result<bool> {
        self.installation
            .write(order.clone(), move |tx, order| {
                Box::pin(mend_order(tx, order, now_ms))
            })
            .await
    }

    /// Writes every record of the dump into `out`, and returns `out`. The ledger is read in one
    /// snapshot. `now_ms` is the time of this reading.
    pub async fn write_dump(
        &self,
        out: File,
        now_ms: i64,
    ) -> std::result::Result<File, DumpFailed> {
        let lines = DumpLines::new(out);
        let read = self.installation.read_snapshot((), move |tx, ()| {
            Box::pin(async move {
                let mut lines = lines;
                let mut add = |record: &DumpRecord| lines.add(record);
                let read = dump::read_records(tx, now_ms, &mut add).await;
                Ok((lines, read))
            })
        });
        let (lines, read) = read.await.map_err(DumpFailed::Read)?;
        lines.finish(read)
    }
}

/// Returns payments that have not changed for a while, and writes when each is due again.
async fn quiet_payments(
    tx: &SqlTransaction,
    now_ms: i64,
    quiet_ms: i64,
    batch_max: u32,
) -> Result<Vec<(Payment, i64)>> {
    let open = "p.state IN ('created', 'declined', 'authorised') \
         AND (p.state = 'authorised' OR p.updated_at > $1 - $3)";
    let taken = "p.state IN ('captured', 'refunded') AND p.updated_at > $1 - $3";
    let due = [
        (open, quiet_ms, READ_FOR_MS, batch_max),
        (taken, TAKEN_QUIET_MS, TAKEN_READ_FOR_MS, batch_max / 4),
    ];
    let mut quiet = Vec::new();
    for (which, quiet_ms, read_for_ms, most) in due {
        let sql = format!(
            "SELECT {PAYMENT_COLUMNS}, p.updated_at FROM payments p \
             WHERE p.read_due <= $1 AND p.updated_at <= $1 - $2 AND {which} \
             ORDER BY p.read_due LIMIT $4"
        );
        let found = tx
            .query(&sql, &[&now_ms, &quiet_ms, &read_for_ms, &most])
            .await?;
        for row in &found {
            let (payment, changed_ms) = quiet_payment(row)?;
            let pause_ms = (now_ms - changed_ms).max(quiet_ms);
            let sql = "UPDATE payments SET read_due = $2 WHERE payment = $1";
            tx.execute(sql, &[&payment.id.as_str(), &(now_ms + pause_ms)])
                .await?;
            quiet.push((payment, changed_ms));
        }
    }
    Ok(quiet)
}

fn quiet_payment(row: &SqlRow) -> Result<(Payment, i64)> {
    Ok((rows::payment(row, 0)?, row.get(11)?))
}

/// Does the work of [`quiet_payments`] in one round trip, instead of one for each payment. Skips
/// payments that another node is reading at this moment.
async fn quiet_payments_fused(
    tx: &SqlTransaction,
    now_ms: i64,
    quiet_ms: i64,
    batch_max: u32,
) -> Result<Vec<(Payment, i64)>> {
    let sql = format!(
        "WITH open AS (SELECT payment FROM payments \
             WHERE state IN ('created', 'declined', 'authorised') AND read_due <= $1 \
             AND updated_at <= $1 - $2 AND (state = 'authorised' OR updated_at > $1 - $3) \
             ORDER BY read_due LIMIT $4 FOR UPDATE SKIP LOCKED), \
         taken AS (SELECT payment FROM payments \
             WHERE state IN ('captured', 'refunded') AND read_due <= $1 \
             AND updated_at <= $1 - $5 AND updated_at > $1 - $6 \
             ORDER BY read_due LIMIT $4 / 4 FOR UPDATE SKIP LOCKED) \
         UPDATE payments p SET read_due = $1 + GREATEST($1 - p.updated_at, \
             CASE WHEN p.state IN ('captured', 'refunded') THEN $5 ELSE $2 END) \
         FROM (SELECT payment FROM open UNION ALL SELECT payment FROM taken) AS due \
         WHERE p.payment = due.payment RETURNING {PAYMENT_COLUMNS}, p.updated_at"
    );
    let with: [&(dyn ToSqlValue + Sync); 6] = [
        &now_ms,
        &quiet_ms,
        &READ_FOR_MS,
        &batch_max,
        &TAKEN_QUIET_MS,
        &TAKEN_READ_FOR_MS,
    ];
    let quiet = tx.query(&sql, &with).await?;
    quiet.iter().map(quiet_payment).collect()
}

async fn busy_shows(tx: &SqlTransaction) -> Result<Vec<ShowId>> {
    let sql = "SELECT show FROM orders WHERE state IN ('pending', 'awaiting_consent', 'confirmed') \
         UNION SELECT show FROM seat_outbox WHERE number IS NULL \
         UNION SELECT show FROM seat_marks WHERE numbered > delivered \
         UNION SELECT o.show FROM late_money l JOIN orders o ON o.order_id = l.order_id \
             WHERE l.outcome IS NULL \
         UNION SELECT o.show FROM provider_events e JOIN orders o ON o.payment = e.payment \
             WHERE e.settled_at IS NULL";
    let shows = tx.query(sql, &[]).await?;
    shows.iter().map(|row| parsed(text(row, 0)?)).collect()
}

async fn claimed_cells(tx: &SqlTransaction, show: &ShowId) -> Result<Vec<ClaimedCell>> {
    let sql = "SELECT c.seat, c.leg, o.state IN ('confirmed', 'ticketed', 'partly_refunded') \
         FROM claims c JOIN orders o ON o.order_id = c.order_id WHERE c.show = $1";
    let claims = tx.query(sql, &[&show.as_str()]).await?;
    let read = |row: &SqlRow| Ok((small(row, 0)?, small(row, 1)?, row.get(2)?));
    claims.iter().map(read).collect()
}

async fn claimed_shows(tx: &SqlTransaction, shows: &[String]) -> Result<BTreeSet<ShowId>> {
    let sql = "SELECT s.show FROM shows s WHERE s.show = ANY ($1) \
         AND EXISTS (SELECT 1 FROM claims c WHERE c.show = s.show)";
    let claimed = tx.query(sql, &[&shows]).await?;
    claimed.iter().map(|row| parsed(text(row, 0)?)).collect()
}

const FACTS: &str = "SELECT o.order_id, o.state, o.claim_until, o.items, p.payment, p.state, \
     (SELECT MAX(at) FROM order_history h WHERE h.order_id = o.order_id), \
     (SELECT COUNT(*) FROM tickets t WHERE t.order_id = o.order_id), \
     (SELECT string_agg(kind, ',') FROM effects e \
         WHERE e.order_id = o.order_id AND e.done_at IS NULL), \
     EXISTS (SELECT 1 FROM late_money l WHERE l.order_id = o.order_id AND l.outcome IS NULL), \
     (EXISTS (SELECT 1 FROM effects e WHERE e.order_id = o.order_id \
             AND e.failed_at IS NOT NULL AND e.done_at IS NULL) \
         OR EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.order_id \
             AND r.failed_at IS NOT NULL AND r.done_at IS NULL)) \
     FROM orders o JOIN payments p ON p.order_id = o.order_id WHERE o.order_id IN ( \
     SELECT order_id FROM (SELECT order_id FROM orders \
         WHERE state IN ('pending', 'awaiting_consent') ORDER BY claim_until LIMIT $2) AS waiting \
     UNION SELECT order_id FROM (SELECT order_id FROM orders \
         WHERE state = 'confirmed' ORDER BY created_at, order_id LIMIT $2) AS confirmed \
     UNION SELECT order_id FROM (SELECT order_id FROM effects \
         WHERE failed_at IS NOT NULL AND done_at IS NULL \
         ORDER BY failed_at, effect LIMIT $2) AS failed_effects \
     UNION SELECT order_id FROM (SELECT order_id FROM refunds \
         WHERE failed_at IS NOT NULL AND done_at IS NULL \
         ORDER BY failed_at, refund LIMIT $2) AS failed_refunds \
     UNION SELECT order_id FROM (SELECT q.order_id FROM payments q \
         JOIN orders r ON r.order_id = q.order_id WHERE q.updated_at >= $1 \
         AND ((q.state IN ('authorised', 'captured') \
             AND r.state IN ('expired', 'cancelled', 'capture_failed')) \
         OR (r.state = 'ticketed' AND NOT EXISTS \
             (SELECT 1 FROM tickets t WHERE t.order_id = r.order_id))) \
         ORDER BY q.updated_at, q.order_id LIMIT $2) AS misfits)";

async fn facts(tx: &SqlTransaction, since_ms: i64, batch_max: u32) -> Result<Vec<OrderFacts>> {
    let found = tx.query(FACTS, &[&since_ms, &batch_max]).await?;
    let read = |row| {
        let state = OrderState::parse(text(row, 1)?);
        let money = PaymentState::parse(text(row, 5)?);
        let owed: Option<&str> = row.get(8)?;
        let items = items(text(row, 3)?)?;
        Ok(OrderFacts {
            order: parsed(text(row, 0)?)?,
            state: state.ok_or_else(|| corrupt("an order's state"))?,
            changed_ms: row.get(6)?,
            claim_until_ms: row.get(2)?,
            seats: u32::try_from(items.len()).unwrap_or(u32::MAX),
            tickets: small(row, 7)?,
            payment: parsed(text(row, 4)?)?,
            money: money.ok_or_else(|| corrupt("a payment's state"))?,
            owed: owed
                .unwrap_or_default()
                .split(',')
                .filter_map(EffectKind::parse)
                .collect(),
            late: row.get(9)?,
            refund_failed: row.get(10)?,
        })
    };
    found.iter().map(read).collect()
}

/// Does the work of [`Ledger::without_order`]. The searches are read first. If a search is decided
/// between the two statements, the second statement reads the hold that the decision wrote.
async fn without_order(tx: &SqlTransaction, holds: &[HoldId]) -> Result<Vec<HoldId>> {
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
    let names: Vec<&str> = holds.iter().map(HoldId::as_str).collect();
    let sql = "SELECT hold FROM late_money WHERE hold = ANY ($1) \
         UNION ALL SELECT order_id FROM orders WHERE order_id = ANY ($2)";
    let used = tx.query(sql, &[&names, &orders]).await?;
    let used: HashSet<&str> = used.iter().map(|row| text(row, 0)).collect::<Result<_>>()?;
    let is_unused = |(hold, order): &(&HoldId, &String)| {
        !used.contains(hold.as_str()) && !used.contains(order.as_str())
    };
    let unused = holds.iter().zip(&orders).filter(is_unused);
    Ok(unsearched(
        unused.map(|(hold, _)| hold.clone()).collect(),
        &searches,
    ))
}

/// Gives up a hold while it has the lock [`lock::ORDER`] of the hold's order. If a claim of the
/// order has begun, this call waits until the claim has ended. A later claim sees that the hold was
/// given up.
async fn give_up(tx: &SqlTransaction, hold: &HoldId, now_ms: i64) -> Result<bool> {
    let order = OrderId::of_hold(hold);
    tx.lock(&[NamedLock::alone(lock::ORDER, order.as_str())])
        .await?;
    let sql = "SELECT 1 FROM orders WHERE order_id = $1";
    if tx.first(sql, &[&order.as_str()]).await?.is_some() {
        return Ok(false);
    }
    let sql = "INSERT INTO given_up AS g (hold, at) VALUES ($1, $2) \
         ON CONFLICT (hold) DO UPDATE SET at = GREATEST(g.at, excluded.at)";
    tx.execute(sql, &[&hold.as_str(), &now_ms]).await?;
    Ok(true)
}

async fn mend_order(tx: &SqlTransaction, id: &OrderId, now_ms: i64) -> Result<bool> {
    let Some(order) = lock_order(tx, id.as_str()).await? else {
        return Ok(false);
    };
    let sql = "SELECT EXISTS (SELECT 1 FROM effects WHERE order_id = $1 AND done_at IS NULL), \
         EXISTS (SELECT 1 FROM late_money WHERE order_id = $1 AND outcome IS NULL), \
         EXISTS (SELECT 1 FROM payments WHERE order_id = $1 AND state IN ('authorised', 'captured'))";
    let row = tx.query_one(sql, &[&id.as_str()]).await?;
    let (owes, late, money): (bool, bool, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let owed = match missing_for_order(order.state, owes, late, money) {
        None => return Ok(false),
        Some(MissingOrderPart::Owed(owed)) => owed,
        Some(MissingOrderPart::Tickets) => {
            let before = count_tickets(tx, id).await?;
            issue(tx, &order, now_ms).await?;
            return Ok(before != count_tickets(tx, id).await?);
        }
    };
    // An effect that was done once is requested again. The provider recognises the repeated call by
    // its key.
    let sql = "UPDATE payments SET owes = NULL WHERE order_id = $1";
    tx.execute(sql, &[&id.as_str()]).await?;
    record_owed_effect(tx, id, owed, now_ms).await?;
    let sql = "UPDATE effects SET done_at = NULL, due_at = $2, due_set_at = $2 \
         WHERE order_id = $1 AND kind = (SELECT owes FROM payments WHERE order_id = $1)";
    tx.execute(sql, &[&id.as_str(), &now_ms]).await?;
    Ok(true)
}

async fn count_tickets(tx: &SqlTransaction, order: &OrderId) -> Result<u64> {
    let sql = "SELECT COUNT(*) FROM tickets WHERE order_id = $1";
    count(&tx.query_one(sql, &[&order.as_str()]).await?, 0)
}
