//! Counts the tickets of a train that may be given back without a fee because the train was moved.

use std::collections::{BTreeMap, BTreeSet};

use fairgate_databases::SqlTransaction;
use fairgate_model::ids::ShowId;
use fairgate_model::orders::terms::is_moved;
use fairgate_model::runs::TrainRun;
use fairgate_model::shows::terms::SaleTerms;

use super::rows::{Result, from_json, items, small, text};
use crate::ledger::SoldFigures;

/// The orders of a show that hold seats.
const ORDERS: &str = "SELECT visitor, terms, items, state, let_go FROM orders WHERE show = $1 \
     AND state IN ('pending', 'confirmed', 'ticketed', 'partly_refunded')";

/// Returns what is sold of a train at terms whose times are too far from those of `run`.
pub(super) async fn of_run(
    tx: &SqlTransaction,
    show: &ShowId,
    run: &TrainRun,
) -> Result<SoldFigures> {
    let id = show.as_str();
    let sql = "SELECT version, terms FROM terms WHERE show = $1";
    let mut versions: BTreeMap<u32, SaleTerms> = BTreeMap::new();
    for row in tx.query(sql, &[&id]).await? {
        versions.insert(small(&row, 0)?, from_json(text(&row, 1)?)?);
    }
    let mut moved = SoldFigures::default();
    let mut buyers = BTreeSet::new();
    for row in tx.query(ORDERS, &[&id]).await? {
        let seats = items(text(&row, 2)?)?;
        let sold = versions.get(&small(&row, 1)?);
        if sold.is_some_and(|terms| is_moved(terms, run, &seats)) {
            if text(&row, 3)? != "pending" {
                let price: i64 = seats.iter().map(|seat| seat.amount).sum();
                moved.tickets += seats.len() as u64;
                moved.paid += price - row.get::<i64>(4)?;
            }
            buyers.insert(row.get::<&[u8]>(0)?.to_vec());
        }
    }
    moved.buyers = buyers.len() as u64;
    Ok(moved)
}
