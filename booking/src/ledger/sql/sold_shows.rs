//! Reads what is sold of many shows at once, and who waits for them.

use std::collections::BTreeMap;

use fairgate_databases::{SqlRow, SqlTransaction};
use fairgate_model::ids::ShowId;
use fairgate_model::waiters::WaitlistParty;

use super::rows::{Result, from_json, items, parsed, text};
use crate::ledger::SoldFigures;

/// How many tickets of each show are valid.
const TICKETS: &str = "SELECT show, COUNT(*) FROM tickets \
     WHERE show = ANY ($1) AND voided_at IS NULL GROUP BY show";
/// How many orders of each show hold seats.
const ORDERS: &str = "SELECT show, COUNT(*) FROM orders WHERE show = ANY ($1) \
     AND state IN ('pending', 'confirmed', 'ticketed', 'partly_refunded') GROUP BY show";
/// How many people have such an order.
const BUYERS: &str = "SELECT show, COUNT(DISTINCT visitor) FROM orders WHERE show = ANY ($1) \
     AND state IN ('pending', 'confirmed', 'ticketed', 'partly_refunded') GROUP BY show";
/// The paid orders of each show, with their seats.
const PAID: &str = "SELECT show, items, let_go FROM orders WHERE show = ANY ($1) \
     AND state IN ('confirmed', 'ticketed', 'partly_refunded')";

/// What is sold of some shows, and who waits for them.
pub(super) struct SoldShows {
    tickets: BTreeMap<ShowId, i64>,
    orders: BTreeMap<ShowId, i64>,
    buyers: BTreeMap<ShowId, i64>,
    paid: BTreeMap<ShowId, i64>,
    waiting: BTreeMap<ShowId, Vec<WaitlistParty>>,
}

impl SoldShows {
    /// Reads the shows with these ids.
    pub(super) async fn read(tx: &SqlTransaction, ids: &[&str]) -> Result<Self> {
        Ok(Self {
            tickets: sums(tx, ids, TICKETS).await?,
            orders: sums(tx, ids, ORDERS).await?,
            buyers: sums(tx, ids, BUYERS).await?,
            paid: paid(tx, ids).await?,
            waiting: waiting_parties(tx, ids).await?,
        })
    }

    /// Returns what is sold of a show.
    pub(super) fn figures(&self, show: &ShowId) -> SoldFigures {
        let counted = |sums: &BTreeMap<ShowId, i64>| {
            let sum = sums.get(show).copied().unwrap_or_default();
            u64::try_from(sum).unwrap_or_default()
        };
        SoldFigures {
            buyers: counted(&self.buyers),
            tickets: counted(&self.tickets),
            paid: self.paid.get(show).copied().unwrap_or_default(),
        }
    }

    /// Returns the parties that wait for seats of a show.
    pub(super) fn waiting(&self, show: &ShowId) -> &[WaitlistParty] {
        self.waiting.get(show).map_or(&[], Vec::as_slice)
    }

    /// Returns whether somebody has an order for a show or waits for its seats.
    pub(super) fn is_in_use(&self, show: &ShowId) -> bool {
        let orders = self.orders.get(show).copied().unwrap_or_default();
        orders > 0 || !self.waiting(show).is_empty()
    }
}

async fn waiting_parties(
    tx: &SqlTransaction,
    ids: &[&str],
) -> Result<BTreeMap<ShowId, Vec<WaitlistParty>>> {
    let sql = "SELECT show, party FROM waiters WHERE show = ANY ($1) AND ended_at IS NULL";
    let mut parties: BTreeMap<ShowId, Vec<WaitlistParty>> = BTreeMap::new();
    for row in tx.query(sql, &[&ids]).await? {
        let of_show = parties.entry(parsed(text(&row, 0)?)?).or_default();
        of_show.push(from_json(text(&row, 1)?)?);
    }
    Ok(parties)
}

/// Returns what buyers would get back for the seats of each show that they still have. For seats
/// that came by an exchange, earlier orders paid a part of it.
async fn paid(tx: &SqlTransaction, ids: &[&str]) -> Result<BTreeMap<ShowId, i64>> {
    let mut paid: BTreeMap<ShowId, i64> = BTreeMap::new();
    for row in tx.query(PAID, &[&ids]).await? {
        let seats = items(text(&row, 1)?)?;
        let price: i64 = seats.iter().map(|seat| seat.amount).sum();
        *paid.entry(parsed(text(&row, 0)?)?).or_default() += price - row.get::<i64>(2)?;
    }
    Ok(paid)
}

/// Runs a statement that returns shows and a number for each.
async fn sums(tx: &SqlTransaction, ids: &[&str], sql: &str) -> Result<BTreeMap<ShowId, i64>> {
    let read = |row: &SqlRow| Ok((parsed(text(row, 0)?)?, row.get(1)?));
    let rows = tx.query(sql, &[&ids]).await?;
    rows.iter().map(read).collect()
}
