//! Work that the ledger lends to workers. Each piece has the time at which it is due next, and the
//! time at which that was written. If the second lies in the future, the clock that wrote it was
//! ahead, and the first would keep the piece from everybody until then. Such a piece is due at
//! once.

use fairgate_databases::SqlTransaction;

use super::rows::Result;

/// The clocks of two nodes may differ by so much without being wrong, in milliseconds.
pub(super) const CLOCKS_DIFFER_MS: i64 = 1_000;

/// A table of lent work.
#[derive(Clone, Copy)]
pub(super) enum LentWork {
    Effects,
    Refunds,
    ProviderEvents,
    LateMoney,
}

impl LentWork {
    /// Returns the table, and the condition of its pieces that are not done.
    fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Effects => ("effects", "done_at IS NULL"),
            Self::Refunds => ("refunds", "done_at IS NULL"),
            Self::ProviderEvents => ("provider_events", "settled_at IS NULL"),
            Self::LateMoney => ("late_money", "outcome IS NULL"),
        }
    }

    /// Returns whether a piece is due.
    pub(super) async fn is_due(self, tx: &SqlTransaction, now_ms: i64) -> Result<bool> {
        let (table, open) = self.table();
        let sql = format!(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM {table} WHERE {open} AND due_at <= $1) \
             OR EXISTS (SELECT 1 FROM {table} WHERE {open} AND due_set_at > $2)"
        );
        let latest_ms = now_ms.saturating_add(CLOCKS_DIFFER_MS);
        Ok(tx.first(&sql, &[&now_ms, &latest_ms]).await?.is_some())
    }

    /// Makes the pieces due whose due time was written by a clock that was ahead of `now_ms`. Every
    /// transaction that lends pieces or renews a loan does this first.
    pub(super) async fn call_in(self, tx: &SqlTransaction, now_ms: i64) -> Result<()> {
        let (table, open) = self.table();
        let sql = format!(
            "UPDATE {table} SET due_at = $1, due_set_at = $1 WHERE {open} AND due_set_at > $2"
        );
        let latest_ms = now_ms.saturating_add(CLOCKS_DIFFER_MS);
        tx.execute(&sql, &[&now_ms, &latest_ms]).await?;
        Ok(())
    }
}
