//! Shows that are cancelled or postponed: their fate, the orders to be refunded, and the figures of
//! their refunds.

use fairgate_databases::{NamedLock, SqlDialect, SqlTransaction, ToSqlValue};
use fairgate_model::ids::{OrderId, ShowId};

use super::catalogue::{lock_catalogue, raise_version};
use super::departures::renumber_departure;
use super::rows::{Result, count, parsed, text};
use super::{lock, terms};
use crate::ledger::{NewFate, RefundFigures, RefundSum};

/// The condition for a paid order `o` that has something to refund.
const HAS_LEFT: &str = "(o.state = 'confirmed' OR o.state IN ('ticketed', 'partly_refunded') \
     AND EXISTS (SELECT 1 FROM tickets t WHERE t.order_id = o.order_id \
         AND t.scanned_at IS NULL AND t.voided_at IS NULL))";

/// Returns paid orders of cancelled shows that have something to refund, oldest first. Leaves out
/// an order while an exchange of it is being paid.
pub(super) async fn orders_to_refund(tx: &SqlTransaction, batch_max: u32) -> Result<Vec<OrderId>> {
    let sql = format!(
        "SELECT o.order_id FROM show_fates f JOIN orders o ON o.show = f.show \
         WHERE f.fate = 'cancelled' AND {HAS_LEFT} \
         AND NOT EXISTS (SELECT 1 FROM exchanges e JOIN orders s ON s.order_id = e.successor \
             WHERE e.order_id = o.order_id AND e.done_at IS NULL \
             AND s.state IN ('pending', 'confirmed')) \
         ORDER BY o.created_at LIMIT $1"
    );
    let rows = tx.query(&sql, &[&batch_max]).await?;
    rows.iter().map(|row| parsed(text(row, 0)?)).collect()
}

/// Returns orders of cancelled shows that wait for a payment or for the buyer's consent, oldest
/// first.
pub(super) async fn orders_to_end(tx: &SqlTransaction, batch_max: u32) -> Result<Vec<OrderId>> {
    let sql = "SELECT o.order_id FROM show_fates f JOIN orders o ON o.show = f.show \
         WHERE f.fate = 'cancelled' AND o.state IN ('pending', 'awaiting_consent') \
         ORDER BY o.created_at LIMIT $1";
    let rows = tx.query(sql, &[&batch_max]).await?;
    rows.iter().map(|row| parsed(text(row, 0)?)).collect()
}

/// Writes a show's fate, and its new beginning if it has one. Returns false if there is no such
/// show, or if it was cancelled before.
pub(super) async fn put(
    tx: &SqlTransaction,
    show: &ShowId,
    new: &NewFate,
    now_ms: i64,
) -> Result<bool> {
    lock_catalogue(tx).await?;
    let id = show.as_str();
    // This call waits for claims and refunds that are being written. Later claims and refunds see
    // the new fate.
    tx.lock(&[NamedLock::alone(lock::PLAN, id)]).await?;
    let sql = "SELECT 1 FROM shows s WHERE s.show = $1 AND NOT EXISTS \
         (SELECT 1 FROM show_fates f WHERE f.show = s.show AND f.fate = 'cancelled')";
    if tx.first(sql, &[&id]).await?.is_none() {
        return Ok(false);
    }
    let sql = "INSERT INTO show_fates (show, fate, refunds_until, at, reason) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (show) DO UPDATE SET fate = excluded.fate, \
         refunds_until = excluded.refunds_until, at = excluded.at, reason = excluded.reason";
    let (word, until_ms) = (new.fate.as_str(), new.fate.refunds_until_ms());
    let with: [&(dyn ToSqlValue + Sync); 5] = [&id, &word, &until_ms, &now_ms, &new.reason];
    tx.execute(sql, &with).await?;
    if let Some(starts_at) = new.starts_at.map(|at| at.to_string()) {
        let sql = match tx.dialect() {
            SqlDialect::Postgres => {
                "UPDATE shows SET updated_at = $3, \
                 document = jsonb_set(document, '{starts_at}', to_jsonb($2::text)) WHERE show = $1"
            }
            SqlDialect::Sqlite => {
                "UPDATE shows SET updated_at = $3, \
                 document = json_set(document, '$.starts_at', $2) WHERE show = $1"
            }
        };
        tx.execute(sql, &[&id, &starts_at, &now_ms]).await?;
        terms::record_present(tx, show, now_ms).await?;
    }
    renumber_departure(tx, show).await?;
    raise_version(tx).await?;
    Ok(true)
}

/// Returns a show's refunds in figures. A refund counts with all its parts, also if they come from
/// the payments of exchanged orders for other shows.
pub(super) async fn refund_figures(tx: &SqlTransaction, show: &ShowId) -> Result<RefundFigures> {
    let sql = format!(
        "WITH whole AS (SELECT r.* FROM refunds r JOIN orders o ON o.order_id = r.order_id \
             WHERE o.show = $1 AND r.part_of IS NULL), \
         of_show AS (SELECT * FROM whole UNION ALL \
             SELECT r.* FROM whole JOIN refunds r ON r.part_of = whole.refund) \
         SELECT (SELECT COUNT(*) FROM orders o WHERE o.show = $1 AND {HAS_LEFT}), \
         (SELECT COUNT(*) FROM orders WHERE show = $1 \
             AND state IN ('refunded', 'partly_refunded')), \
         (SELECT COUNT(*) FROM tickets WHERE show = $1 AND scanned_at IS NOT NULL), \
         COUNT(*) FILTER (WHERE done_at IS NULL AND failed_at IS NULL), \
         COALESCE(SUM(amount) FILTER (WHERE done_at IS NULL AND failed_at IS NULL), 0)::bigint, \
         COUNT(*) FILTER (WHERE done_at IS NOT NULL), \
         COALESCE(SUM(amount) FILTER (WHERE done_at IS NOT NULL), 0)::bigint, \
         COUNT(*) FILTER (WHERE done_at IS NULL AND failed_at IS NOT NULL), \
         COALESCE(SUM(amount) FILTER \
             (WHERE done_at IS NULL AND failed_at IS NOT NULL), 0)::bigint, \
         COALESCE(SUM(fee), 0)::bigint, \
         (SELECT reason FROM show_fates WHERE show = $1) FROM of_show"
    );
    let row = tx.query_one(&sql, &[&show.as_str()]).await?;
    let sum = |at: usize| -> Result<RefundSum> {
        Ok(RefundSum {
            count: count(&row, at)?,
            amount: row.get(at + 1)?,
        })
    };
    Ok(RefundFigures {
        orders_left: count(&row, 0)?,
        orders_refunded: count(&row, 1)?,
        scanned: count(&row, 2)?,
        on_its_way: sum(3)?,
        done: sum(5)?,
        failed: sum(7)?,
        fees: row.get(9)?,
        reason: row.get(10)?,
    })
}
