//! The ledger's dump as `booking dump` wrote it.

mod order;
mod show;

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

pub use order::{GivenBack, Item, Order, Seats, Stay};
pub use show::{Category, Cheaper, ExchangeRule, Show, Terms};

use super::lines::{each_line, kind_of};

/// The version of the form that is read.
const VERSION: u32 = 1;

/// The whole ledger.
#[derive(Default)]
pub struct Dump {
    /// When it was read.
    pub at_ms: f64,
    /// By slug.
    pub shows: HashMap<String, Show>,
    /// In the order of the file.
    pub orders: Vec<Order>,
    /// Positions in `orders`.
    by_id: HashMap<String, usize>,
    /// Cells that orders have.
    pub claims: Vec<Claim>,
    /// One an order.
    pub payments: Vec<Payment>,
    /// All that were issued.
    pub tickets: Vec<Ticket>,
    /// What is or was owed to the provider.
    pub effects: Vec<Effect>,
    /// What was given back of orders, and the money of it.
    pub refunds: Vec<Refund>,
    /// Parties of the waitlists.
    pub waiters: Vec<Waiter>,
    /// What was still on its way.
    pub pending: Pending,
}

/// A cell that an order has.
#[derive(Debug, Deserialize)]
pub struct Claim {
    pub show: String,
    pub cell: u32,
    pub order: String,
}

/// A payment.
#[derive(Debug, Deserialize)]
pub struct Payment {
    pub payment: String,
    pub order: String,
    pub state: String,
    pub amount: i64,
    pub currency: String,
    pub captured: i64,
    pub refunded: i64,
    pub provider: String,
    #[serde(default)]
    pub provider_state: Option<String>,
    /// What the sandbox's own records say went back; nothing where another provider keeps them.
    #[serde(default)]
    pub provider_refunds: Option<Vec<ProviderRefund>>,
    /// Hashes of what the provider tells the cards apart by that paid for the order, or for what
    /// was exchanged for it.
    pub cards: Vec<String>,
}

/// A refund in the sandbox's own records.
#[derive(Debug, Deserialize)]
pub struct ProviderRefund {
    pub refund: String,
    pub amount: i64,
}

/// A ticket.
#[derive(Debug, Deserialize)]
pub struct Ticket {
    pub ticket: String,
    pub order: String,
    pub show: String,
    pub label: String,
    pub legs: Vec<u16>,
    pub issued_ms: f64,
    /// When it was given back; it is good while this is absent.
    #[serde(default)]
    pub void_ms: Option<f64>,
    /// When somebody went in on it.
    #[serde(default)]
    pub scanned_ms: Option<f64>,
}

/// Tickets that were given back.
#[derive(Debug, Deserialize)]
pub struct Refund {
    pub refund: String,
    /// The later order's refund that it is a part of.
    #[serde(default)]
    pub part_of: Option<String>,
    pub order: String,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
    /// What they had cost.
    pub paid: i64,
    pub amount: i64,
    pub fee: i64,
    pub reason: String,
    pub at_ms: f64,
    pub done_ms: Option<f64>,
}

/// An order's seats for another's.
#[derive(Debug, Deserialize)]
pub struct Exchange {
    /// The order that was made for the new seats.
    successor: String,
    /// The order whose seats are given.
    pub order: String,
    /// What the given seats had cost.
    pub credit: i64,
    /// What the new seats cost.
    pub price: i64,
    /// What the exchange itself cost.
    #[serde(default)]
    pub fee: i64,
    /// The seats that are given.
    pub given: Seats,
    /// The new seats' cells that the old order did not have.
    pub gained: Seats,
    /// When it was begun.
    pub at_ms: f64,
    /// When they were swapped.
    pub done_ms: Option<f64>,
}

/// A party that waits for seats of a show, or has waited.
#[derive(Debug, Deserialize)]
pub struct Waiter {
    pub waiter: String,
    pub show: String,
    /// Whose it is: its holder.
    pub visitor: String,
    /// Where it stands: lower numbers are served first.
    pub number: u64,
    /// When it came.
    pub since_ms: f64,
    /// How many seats it wants.
    pub quantity: u64,
    /// Whether any seats will do.
    pub any: bool,
    /// Offers that it was made.
    pub offers: u64,
    /// The offer that it has, or the one that it took.
    pub offer: Option<Offer>,
    /// When it waited no longer.
    pub ended_ms: Option<f64>,
}

/// Seats that are held for a party.
#[derive(Debug, Deserialize)]
pub struct Offer {
    pub hold: String,
    /// Since when.
    pub made_ms: f64,
}

/// Something owed to the provider.
#[derive(Debug, Deserialize)]
pub struct Effect {
    pub order: String,
    pub what: String,
    pub done_ms: Option<f64>,
}

/// What was still on its way.
#[derive(Debug, Default, Deserialize)]
pub struct Pending {
    pub seat_rows: Option<u64>,
    pub effects: u64,
    pub events: u64,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
    at_ms: f64,
}

/// Reads a dump.
///
/// # Errors
/// The first line that is not as the form wants it; a dump without its first or last record.
pub fn read(name: &str, text: impl BufRead) -> anyhow::Result<Dump> {
    let mut dump = Dump::default();
    let (mut begun, mut ended) = (false, false);
    each_line(name, text, |_, line| {
        let kind = kind_of(line)?.kind;
        ensure!(
            begun || kind == "dump",
            "the first record must be \"dump\", and is \"{kind}\""
        );
        ensure!(
            !ended,
            "a record behind \"pending\", which must be the last"
        );
        match kind.as_str() {
            "dump" => {
                ensure!(!begun, "a second \"dump\"");
                let head: Head = serde_json::from_str(line)?;
                ensure!(
                    head.version == VERSION,
                    "version {} is not known, {VERSION} is",
                    head.version
                );
                dump.at_ms = head.at_ms;
                begun = true;
            }
            "pending" => {
                dump.pending = serde_json::from_str(line)?;
                ended = true;
            }
            kind => dump.take(kind, line)?,
        }
        Ok(())
    })?;
    ensure!(
        begun && ended,
        "{name}: the dump is cut off: it begins with \"dump\" and ends with \"pending\""
    );
    Ok(dump)
}

impl Dump {
    /// Takes a record that is neither the first nor the last.
    fn take(&mut self, kind: &str, line: &str) -> anyhow::Result<()> {
        match kind {
            "show" => {
                let mut show: Show = serde_json::from_str(line)?;
                show.seats = (0..)
                    .zip(&show.labels)
                    .map(|(seat, label)| (label.clone(), seat))
                    .collect();
                self.shows.insert(show.show.clone(), show);
            }
            "terms" => {
                let terms: Terms = serde_json::from_str(line)?;
                let show = self.shows.get_mut(&terms.show);
                let show = show.with_context(|| {
                    format!("terms of {}, which did not come before them", terms.show)
                })?;
                let again = show.terms.insert(terms.version, terms);
                ensure!(again.is_none(), "a version of terms stands twice");
            }
            "waiter" => self.waiters.push(serde_json::from_str(line)?),
            "order" => {
                let order: Order = serde_json::from_str(line)?;
                let again = self.by_id.insert(order.order.clone(), self.orders.len());
                ensure!(again.is_none(), "order {} stands twice", order.order);
                self.orders.push(order);
            }
            "claim" => self.claims.push(serde_json::from_str(line)?),
            "payment" => self.payments.push(serde_json::from_str(line)?),
            "ticket" => self.tickets.push(serde_json::from_str(line)?),
            "exchange" => self.take_exchange(line)?,
            "effect" => self.effects.push(serde_json::from_str(line)?),
            "refund" => self.take_refund(line)?,
            other => bail!("no record is of kind {other:?}"),
        }
        Ok(())
    }

    fn take_exchange(&mut self, line: &str) -> anyhow::Result<()> {
        let exchange: Exchange = serde_json::from_str(line)?;
        let at = self.by_id.get(&exchange.successor).copied();
        let successor = at.and_then(|at| self.orders.get_mut(at));
        let successor = successor.with_context(|| {
            format!(
                "{} was exchanged for {}, which did not come before",
                exchange.order, exchange.successor
            )
        })?;
        successor.made_in = Some(exchange);
        Ok(())
    }

    fn take_refund(&mut self, line: &str) -> anyhow::Result<()> {
        let refund: Refund = serde_json::from_str(line)?;
        let at = self.by_id.get(&refund.order).copied();
        let order = at.and_then(|at| self.orders.get_mut(at));
        let order = order.with_context(|| {
            format!(
                "{} is of {}, which did not come before it",
                refund.refund, refund.order
            )
        })?;
        order.given_back.push(GivenBack {
            at_ms: refund.at_ms,
            cells: refund.cells.clone(),
            labels: refund.labels.clone(),
        });
        self.refunds.push(refund);
        Ok(())
    }

    /// An order by its id.
    pub fn order(&self, id: &str) -> Option<&Order> {
        self.by_id.get(id).map(|at| &self.orders[*at])
    }
}
