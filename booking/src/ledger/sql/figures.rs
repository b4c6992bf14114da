//! The figures of a ledger file that no process uses, for backups.

use std::path::Path;

use fairgate_databases::snapshot_of_file;

use super::rows::{Result, count};
use crate::ledger::LedgerFigures;

/// Counts the orders and tickets in a ledger file.
///
/// # Errors
/// Returns an error if the file cannot be read, or is no ledger of booking.
pub fn figures_of_file(path: &Path) -> Result<LedgerFigures> {
    snapshot_of_file(path, (), |tx, ()| {
        Box::pin(async move {
            let sql = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM tickets)";
            let row = tx.query_one(sql, &[]).await?;
            Ok(LedgerFigures {
                orders: count(&row, 0)?,
                tickets: count(&row, 1)?,
            })
        })
    })
}
