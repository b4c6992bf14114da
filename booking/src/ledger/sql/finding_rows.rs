//! Reads and changes the stored findings about money that somebody has to settle.

use fairgate_databases::{SqlRow, SqlTransaction, ToSqlValue};
use fairgate_model::ids::OrderId;
use fairgate_model::money::{Currency, Money};

use super::rows::{Result, corrupt, parsed, text};
use crate::ledger::{MoneyFinding, MoneyFindingKind};

/// A finding that is to be stored.
pub(super) struct NewMoneyFinding<'a> {
    /// The provider's id of the money.
    pub id: &'a str,
    pub kind: MoneyFindingKind,
    pub provider: &'a str,
    pub payment: &'a str,
    pub order: Option<&'a str>,
    pub sum: Money,
}

/// Stores a finding. If it is stored already, its sum grows to the new one, and a larger sum opens
/// it again.
pub(super) async fn add(
    tx: &SqlTransaction,
    finding: &NewMoneyFinding<'_>,
    now_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO money_findings (finding, kind, provider, payment, order_id, amount, \
         currency, first_seen) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (finding) DO UPDATE SET amount = excluded.amount, settled_at = NULL, \
         settled_as = NULL WHERE money_findings.amount < excluded.amount";
    let with: [&(dyn ToSqlValue + Sync); 8] = [
        &finding.id,
        &finding.kind.as_str(),
        &finding.provider,
        &finding.payment,
        &finding.order,
        &finding.sum.amount,
        &finding.sum.currency.as_str(),
        &now_ms,
    ];
    tx.execute(sql, &with).await?;
    Ok(())
}

/// Stores a finding that may have been stored and settled before, as another kind.
pub(super) async fn open_again(
    tx: &SqlTransaction,
    finding: &NewMoneyFinding<'_>,
    now_ms: i64,
) -> Result<()> {
    tx.execute(
        "DELETE FROM money_findings WHERE finding = $1",
        &[&finding.id],
    )
    .await?;
    add(tx, finding, now_ms).await
}

/// Settles one finding. Returns false if it was not open.
pub(super) async fn close(
    tx: &SqlTransaction,
    id: &str,
    settled_as: &str,
    note: &str,
    now_ms: i64,
) -> Result<bool> {
    let sql = "UPDATE money_findings SET settled_at = $2, settled_as = $3, note = $4 \
         WHERE finding = $1 AND settled_at IS NULL";
    Ok(tx.execute(sql, &[&id, &now_ms, &settled_as, &note]).await? == 1)
}

/// Settles an order's findings of refunds in part. Returns whether any was open.
pub(super) async fn close_in_part(
    tx: &SqlTransaction,
    order: &OrderId,
    settled_as: &str,
    note: &str,
    now_ms: i64,
) -> Result<bool> {
    let sql = "UPDATE money_findings SET settled_at = $2, settled_as = $3, note = $4 \
         WHERE order_id = $1 AND settled_at IS NULL AND kind = 'refunded_in_part'";
    let with: [&(dyn ToSqlValue + Sync); 4] = [&order.as_str(), &now_ms, &settled_as, &note];
    Ok(tx.execute(sql, &with).await? > 0)
}

/// Returns whether a refund of a part of an order's money is not settled.
pub(super) async fn any_in_part(tx: &SqlTransaction, order: &OrderId) -> Result<bool> {
    let sql = "SELECT 1 FROM money_findings WHERE order_id = $1 AND settled_at IS NULL \
         AND kind = 'refunded_in_part' LIMIT 1";
    Ok(tx.first(sql, &[&order.as_str()]).await?.is_some())
}

/// Returns how much of an order's money went back at the provider and is not settled, in minor
/// units.
pub(super) async fn sum_in_part(tx: &SqlTransaction, order: &OrderId) -> Result<i64> {
    let sql = "SELECT COALESCE(SUM(amount), 0)::bigint FROM money_findings \
         WHERE order_id = $1 AND settled_at IS NULL AND kind = 'refunded_in_part'";
    tx.query_one(sql, &[&order.as_str()]).await?.get(0)
}

/// Moves the open findings of an order to the order that its seats were exchanged for.
pub(super) async fn move_to_successor(
    tx: &SqlTransaction,
    old: &OrderId,
    new: &OrderId,
) -> Result<()> {
    let sql = "UPDATE money_findings SET order_id = $2 WHERE order_id = $1 AND settled_at IS NULL";
    tx.execute(sql, &[&old.as_str(), &new.as_str()]).await?;
    Ok(())
}

const OPEN: &str = "SELECT finding, kind, provider, payment, order_id, amount, currency, first_seen \
     FROM money_findings WHERE settled_at IS NULL";

/// Refunds that failed, and disputes. They are read where they stand, because they end by
/// themselves. A refund of a disputed payment only waits for the bank.
pub(super) const ENDING_BY_THEMSELVES: &str = "SELECT r.refund AS finding, 'refund_failed' AS kind, \
         p.provider, p.payment, r.order_id, r.amount, p.currency, r.failed_at AS first_seen \
         FROM refunds r JOIN payments p ON p.order_id = r.order_id \
         WHERE r.done_at IS NULL AND r.failed_at IS NOT NULL AND p.dispute IS DISTINCT FROM 'open' \
     UNION ALL SELECT p.payment, 'refund_failed', p.provider, p.payment, p.order_id, \
         p.amount - p.refunded, p.currency, e.failed_at \
         FROM effects e JOIN payments p ON p.order_id = e.order_id \
         WHERE e.done_at IS NULL AND e.kind = 'refund' AND e.failed_at IS NOT NULL \
         AND p.dispute IS DISTINCT FROM 'open' \
     UNION ALL SELECT p.payment, 'disputed', p.provider, p.payment, p.order_id, \
         p.amount - p.refunded, p.currency, p.updated_at FROM payments p WHERE p.dispute = 'open'";

/// Returns the findings that are not settled, oldest first, and at most `most`.
pub(super) async fn open(tx: &SqlTransaction, most: u32) -> Result<Vec<MoneyFinding>> {
    read_all(tx, OPEN, most).await
}

/// Returns the findings that are not settled, the refunds that failed and the open disputes, oldest
/// first, and at most `most`.
pub(super) async fn all_for_people(tx: &SqlTransaction, most: u32) -> Result<Vec<MoneyFinding>> {
    let all = format!("{OPEN} UNION ALL {ENDING_BY_THEMSELVES}");
    read_all(tx, &all, most).await
}

async fn read_all(tx: &SqlTransaction, all: &str, most: u32) -> Result<Vec<MoneyFinding>> {
    let sql = format!("SELECT * FROM ({all}) AS open ORDER BY first_seen, finding LIMIT $1");
    let found = tx.query(&sql, &[&most]).await?;
    let read = |row: &SqlRow| {
        let kind = MoneyFindingKind::parse(text(row, 1)?);
        let currency = Currency::parse(text(row, 6)?);
        let order: Option<&str> = row.get(4)?;
        Ok(MoneyFinding {
            id: text(row, 0)?.to_owned(),
            kind: kind.ok_or_else(|| corrupt("a finding's kind"))?,
            provider: text(row, 2)?.to_owned(),
            payment: text(row, 3)?.to_owned(),
            order: order.map(parsed).transpose()?,
            sum: Money {
                amount: row.get(5)?,
                currency: currency.ok_or_else(|| corrupt("currency"))?,
            },
            first_seen_ms: row.get(7)?,
        })
    };
    found.iter().map(read).collect()
}
