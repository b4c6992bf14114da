//! The sale after the ledger went back to an older state: which shows are closed, and which were
//! reopened.

use fairgate_databases::{
    CountedOutside, CounterFile, LedgerCounter, LedgerError, LedgerSetBack, SqlRow, SqlTransaction,
};
use fairgate_model::ids::{OrderId, ShowId};
use fairgate_model::orders::order_copy::RESTORED;
use fairgate_model::orders::refund::RefundReason;
use fairgate_model::payments::kind::ProviderKind;
use fairgate_model::shows::closure::SaleClosure;

use super::Ledger;
use super::catalogue::raise_version;
use super::rows::{Result, count, parsed, text};

/// Whether show `$1` is closed. A glob of the table matches as in the rooms' lists of shows.
pub(super) const IS_CLOSED: &str = r"EXISTS (SELECT 1 FROM ledger_set_backs b WHERE NOT EXISTS
     (SELECT 1 FROM reopened_shows r WHERE r.set_back >= b.counter
          AND $1 LIKE replace(replace(r.pattern, '_', '\_'), '*', '%') ESCAPE '\'))";

/// Whether the ledger went back, and the payment provider has not told since then what it knows.
/// Until it has, an order that waits for its payment may have been paid, and tickets may have been
/// given back.
const IS_UNASKED: &str =
    "EXISTS (SELECT 1 FROM ledger_set_backs b, provider_asked a WHERE b.counter > a.set_back)";

/// Returns the condition that order `o` has to wait until its payment provider was asked what it
/// knows. Providers that keep no orders cannot be asked.
pub(super) fn waits_for_provider() -> String {
    let keepers = ProviderKind::ORDER_KEEPERS.map(|name| format!("'{name}'"));
    format!(
        "({IS_UNASKED} AND EXISTS (SELECT 1 FROM payments q WHERE q.order_id = o.order_id \
             AND q.provider IN ({})))",
        keepers.join(", ")
    )
}

/// Refuses to give tickets of an order back as long as its payment provider was not asked.
pub(super) async fn refuse_unasked(tx: &SqlTransaction, order: &OrderId) -> Result<()> {
    let sql = format!(
        "SELECT 1 FROM orders o WHERE o.order_id = $1 AND {}",
        waits_for_provider()
    );
    match tx.first(&sql, &[&order.as_str()]).await? {
        Some(_) => Err(LedgerError::SetBack(CLOSED.to_owned())),
        None => Ok(()),
    }
}

/// The sale after the ledger went back.
impl Ledger {
    /// Notes that the payment provider told everything that it knows, and that all of it is
    /// settled. `closure` was read before the provider was asked.
    pub async fn note_provider_asked(&self, closure: &SaleClosure) -> Result<()> {
        let noticed_at_ms = closure.noticed_at_ms;
        self.installation
            .write((), move |tx, ()| {
                Box::pin(async move {
                    let sql = "UPDATE provider_asked SET set_back = (SELECT MAX(counter) \
                         FROM ledger_set_backs WHERE noticed_at <= $1) WHERE set_back < \
                         (SELECT MAX(counter) FROM ledger_set_backs WHERE noticed_at <= $1)";
                    if tx.execute(sql, &[&noticed_at_ms]).await? > 0 {
                        raise_version(tx).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    /// Returns which shows are closed because the ledger went back, or `None` if it never did.
    pub async fn sale_closure(&self) -> Result<Option<SaleClosure>> {
        self.installation
            .read_snapshot((), |tx, ()| Box::pin(sale_closure(tx)))
            .await
    }

    /// Reopens the shows that match a pattern, until the ledger goes back another time. Returns
    /// false if nothing was closed.
    pub async fn reopen_shows(&self, pattern: String, now_ms: i64) -> Result<bool> {
        self.installation
            .write(pattern, move |tx, pattern| {
                Box::pin(async move {
                    let sql = "INSERT INTO reopened_shows (pattern, set_back, at) \
                         SELECT $1::text, MAX(counter), $2::bigint FROM ledger_set_backs WHERE TRUE \
                         HAVING COUNT(*) > 0 ON CONFLICT (pattern) DO UPDATE \
                         SET set_back = excluded.set_back, at = excluded.at";
                    let reopened = tx.execute(sql, &[pattern, &now_ms]).await?;
                    raise_version(tx).await?;
                    Ok(reopened > 0)
                })
            })
            .await
    }

    /// Returns how many orders of the shows that match a pattern were restored from the payment
    /// provider's copies since this time.
    pub async fn restored_orders(&self, pattern: String, since_ms: i64) -> Result<u64> {
        self.installation
            .read_snapshot(pattern, move |tx, pattern| {
                Box::pin(async move {
                    // The first step has the time at which the order was made before it was lost.
                    let sql = r"SELECT COUNT(*) FROM order_history h
                         JOIN order_history n ON n.order_id = h.order_id AND n.step = 2
                         JOIN orders o ON o.order_id = h.order_id
                         WHERE h.step = 1 AND h.reason = $1 AND n.at >= $2 AND o.show LIKE
                         replace(replace($3, '_', '\_'), '*', '%') ESCAPE '\'";
                    let row = tx.query_one(sql, &[&RESTORED, &since_ms, pattern]).await?;
                    count(&row, 0)
                })
            })
            .await
    }

    /// Returns those of the shows that orders were refunded for because they were cancelled, and
    /// that are not cancelled. The provider knew of the refunds, and the ledger has lost the rest.
    pub async fn shows_cancelled_before(&self, shows: Vec<ShowId>) -> Result<Vec<ShowId>> {
        self.installation
            .read_snapshot(shows, |tx, shows| {
                Box::pin(async move {
                    let sql = "SELECT DISTINCT o.show FROM refunds r \
                         JOIN orders o ON o.order_id = r.order_id WHERE r.reason = $1 \
                         AND NOT EXISTS (SELECT 1 FROM show_fates f WHERE f.show = o.show \
                             AND f.fate = 'cancelled') ORDER BY o.show";
                    let reason = RefundReason::ShowCancelled.as_str();
                    let found = tx.query(sql, &[&reason]).await?;
                    let named = found.iter().map(|row| parsed(text(row, 0)?));
                    let mut named: Vec<ShowId> = named.collect::<Result<_>>()?;
                    named.retain(|show| shows.contains(show));
                    Ok(named)
                })
            })
            .await
    }

    /// Returns the file outside the ledger that remembers how far it got, if there is one.
    #[must_use]
    pub fn counter_file(&self) -> Option<&CounterFile> {
        self.installation.counter_file()
    }

    /// Compares the ledger with a counter that was read outside it before this call. If the ledger
    /// is behind, or only now learns how many orders it lost, stores that and returns it.
    pub async fn note_outside_counter(
        &self,
        outside: CountedOutside,
    ) -> Result<Option<LedgerSetBack>> {
        self.installation.note_outside_counter(outside).await
    }

    /// Raises the counter of a ledger that several processes share, and returns it once that is
    /// durable.
    pub async fn raise_counter(&self) -> Result<LedgerCounter> {
        self.installation.raise_counter().await
    }

    /// Tells all nodes to read again which shows are closed.
    pub async fn announce_closure(&self) -> Result<()> {
        self.installation
            .write((), |tx, ()| Box::pin(raise_version(tx)))
            .await
    }
}

async fn sale_closure(tx: &SqlTransaction) -> Result<Option<SaleClosure>> {
    let sql = format!(
        "SELECT counter, noticed_at, lacking, last_commit_at, is_restored, orders_lost, \
         {IS_UNASKED} FROM ledger_set_backs ORDER BY counter DESC LIMIT 1"
    );
    let Some(newest) = tx.first(&sql, &[]).await? else {
        return Ok(None);
    };
    let sql = "SELECT pattern FROM reopened_shows WHERE set_back >= $1 ORDER BY pattern";
    let reopened = tx.query(sql, &[&newest.get::<i64>(0)?]).await?;
    Ok(Some(SaleClosure {
        noticed_at_ms: newest.get(1)?,
        lacking: count(&newest, 2)?,
        last_commit_at_ms: newest.get(3)?,
        is_restored: newest.get(4)?,
        orders_lost: newest.get(5)?,
        is_provider_asked: !newest.get::<bool>(6)?,
        reopened: reopened
            .iter()
            .map(|row| row.get(0))
            .collect::<Result<_>>()?,
    }))
}

/// Refuses a claim of a closed show. `row` has the value of [`IS_CLOSED`] in this column.
pub(super) fn refuse_closed(row: &SqlRow, column: usize) -> Result<()> {
    if row.get(column)? {
        return Err(LedgerError::SetBack(CLOSED.to_owned()));
    }
    Ok(())
}

/// Why a claim is refused by a node that has not yet read that the ledger went back.
const CLOSED: &str = "The records of this sale went back to an older state";
