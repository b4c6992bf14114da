//! Reads the ledger's dump as `booking dump` wrote it.

mod order;
mod show;

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

pub use order::{
    DumpedCarriedMoney, DumpedOrder, DumpedOrderItem, DumpedSeats, OrderSeatSpan, ReturnedSeats,
};
pub use show::{DumpedCategory, DumpedCheaperRule, DumpedExchangeRule, DumpedShow, DumpedTerms};

use super::json_lines::{each_line, kind_of};

/// The version of the dump that this code reads.
const VERSION: u32 = 1;

/// The whole ledger.
#[derive(Default)]
pub struct DumpedLedger {
    /// When the dump was made.
    pub at_ms: f64,
    /// The shows by slug.
    pub shows: HashMap<String, DumpedShow>,
    /// The orders, in the order of the file.
    pub orders: Vec<DumpedOrder>,
    /// The positions in `orders` by the order's id.
    by_id: HashMap<String, usize>,
    /// The cells that belong to orders.
    pub claims: Vec<DumpedClaim>,
    /// The payments, one for each order.
    pub payments: Vec<DumpedPayment>,
    /// All tickets that were issued.
    pub tickets: Vec<DumpedTicket>,
    /// The effects: tasks for the provider, such as captures, done or still to do.
    pub effects: Vec<DumpedEffect>,
    /// The refunds, in the order of the file.
    pub refunds: Vec<DumpedRefund>,
    /// Money that somebody has to look at, or has settled.
    pub money_findings: Vec<DumpedMoneyFinding>,
    /// The parties on the waitlists.
    pub waiters: Vec<DumpedWaiter>,
    /// The work that was not finished.
    pub pending: DumpedPendingWork,
}

/// A cell that belongs to an order.
#[derive(Debug, Deserialize)]
pub struct DumpedClaim {
    pub show: String,
    pub cell: u32,
    pub order: String,
}

/// A payment for an order.
#[derive(Debug, Deserialize)]
pub struct DumpedPayment {
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
    /// The refunds in the sandbox's own records; `None` if the buyer never went to the sandbox, or
    /// if another provider took the payment.
    #[serde(default)]
    pub provider_refunds: Option<Vec<DumpedProviderRefund>>,
    /// The cards that paid for this order, or for an order that was exchanged for this order. Each
    /// is a hash of the card's fingerprint at the provider.
    pub cards: Vec<String>,
    /// Where the disputes of the payment stand: `open`, `won` or `lost`.
    #[serde(default)]
    pub dispute: Option<String>,
}

/// Money that somebody has to look at, or has settled.
#[derive(Debug, Deserialize)]
pub struct DumpedMoneyFinding {
    /// `refunded_in_part` or `unknown_money`.
    pub what: String,
    /// The order whose seats the money pays for.
    pub order: Option<String>,
    /// When it was settled.
    pub settled_ms: Option<f64>,
}

/// A refund in the sandbox's own records.
#[derive(Debug, Deserialize)]
pub struct DumpedProviderRefund {
    pub refund: String,
    pub amount: i64,
}

/// A ticket, valid or void.
#[derive(Debug, Deserialize)]
pub struct DumpedTicket {
    pub ticket: String,
    pub order: String,
    pub show: String,
    pub label: String,
    pub legs: Vec<u16>,
    pub issued_ms: f64,
    /// When the ticket was refunded or exchanged. The ticket is valid while this is absent.
    #[serde(default)]
    pub void_ms: Option<f64>,
    /// When somebody entered with the ticket.
    #[serde(default)]
    pub scanned_ms: Option<f64>,
    /// Since when it is blocked, because its payment is disputed.
    #[serde(default)]
    pub blocked_ms: Option<f64>,
}

/// A refund of tickets of an order, or of the difference of an exchange.
#[derive(Debug, Deserialize)]
pub struct DumpedRefund {
    pub refund: String,
    /// The refund that this refund is a part of. After an exchange, a refund of the later order may
    /// be paid in part from the earlier order's payment.
    #[serde(default)]
    pub part_of: Option<String>,
    pub order: String,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
    /// The price of the refunded tickets.
    pub paid: i64,
    pub amount: i64,
    pub fee: i64,
    pub reason: String,
    pub at_ms: f64,
    pub done_ms: Option<f64>,
    /// The part that is not refunded, because money went back at the provider before.
    #[serde(default)]
    pub covered: i64,
    /// Whether the money went back at the provider without a call of booking.
    #[serde(default)]
    pub at_provider: bool,
}

impl DumpedRefund {
    /// Returns whether the refund stands for money that went back at the provider, and not for a
    /// refund by the show's rules.
    pub fn is_unasked(&self) -> bool {
        matches!(
            self.reason.as_str(),
            "refunded_at_provider" | "dispute_lost"
        )
    }
}

/// An exchange of one order's seats for the seats of another order.
#[derive(Debug, Deserialize)]
pub struct DumpedExchange {
    /// The order that was made for the new seats.
    successor: String,
    /// The order whose seats are exchanged.
    pub order: String,
    /// The price that the exchanged seats had.
    pub credit: i64,
    /// The price of the new seats.
    pub price: i64,
    /// The new seats, in the order in which the money that is carried over is spread over them.
    pub items: Vec<DumpedOrderItem>,
    /// The fee of the exchange itself.
    #[serde(default)]
    pub fee: i64,
    /// The seats that are exchanged.
    pub given: DumpedSeats,
    /// The new seats, with only the cells that the old order did not have.
    pub gained: DumpedSeats,
    /// When the exchange was begun.
    pub at_ms: f64,
    /// When the seats were swapped.
    pub done_ms: Option<f64>,
}

/// A party that waits for seats of a show, or has waited.
#[derive(Debug, Deserialize)]
pub struct DumpedWaiter {
    pub waiter: String,
    pub show: String,
    /// The holder of the visitor who waits.
    pub visitor: String,
    /// The party's position in the waitlist. Lower numbers get offers first.
    pub number: u64,
    /// When the party joined the waitlist.
    pub since_ms: f64,
    /// How many seats the party wants.
    pub quantity: u64,
    /// Whether any seats will do.
    pub any: bool,
    /// How many offers the party got.
    pub offers: u64,
    /// The offer that the party has now, or the offer that it took.
    pub offer: Option<DumpedOffer>,
    /// When the party stopped waiting.
    pub ended_ms: Option<f64>,
}

/// Seats that are held for a party.
#[derive(Debug, Deserialize)]
pub struct DumpedOffer {
    pub hold: String,
    /// When the offer was made.
    pub made_ms: f64,
}

/// A task for the provider, such as a capture, done or still to do.
#[derive(Debug, Deserialize)]
pub struct DumpedEffect {
    pub order: String,
    pub what: String,
    pub done_ms: Option<f64>,
}

/// The work that was not finished when the dump was made.
#[derive(Debug, Default, Deserialize)]
pub struct DumpedPendingWork {
    pub seat_rows: Option<u64>,
    pub effects: u64,
    pub events: u64,
}

#[derive(Deserialize)]
struct DumpHeader {
    version: u32,
    at_ms: f64,
}

/// Reads a dump.
///
/// # Errors
/// If a line is no valid record (the message names the first such line), or if the dump lacks its
/// first or last record.
pub fn read(name: &str, text: impl BufRead) -> anyhow::Result<DumpedLedger> {
    let mut dump = DumpedLedger::default();
    let (mut begun, mut ended) = (false, false);
    each_line(name, text, |_, line| {
        let kind = kind_of(line)?.kind;
        ensure!(
            begun || kind == "dump",
            "the first record must be \"dump\", and is \"{kind}\""
        );
        ensure!(!ended, "a record after \"pending\", which must be the last");
        match kind.as_str() {
            "dump" => {
                ensure!(!begun, "a second \"dump\"");
                let head: DumpHeader = serde_json::from_str(line)?;
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

impl DumpedLedger {
    /// Adds a record that is neither the first nor the last.
    fn take(&mut self, kind: &str, line: &str) -> anyhow::Result<()> {
        match kind {
            "show" => {
                let mut show: DumpedShow = serde_json::from_str(line)?;
                show.seats = (0..)
                    .zip(&show.labels)
                    .map(|(seat, label)| (label.clone(), seat))
                    .collect();
                self.shows.insert(show.show.clone(), show);
            }
            "terms" => {
                let terms: DumpedTerms = serde_json::from_str(line)?;
                let show = self.shows.get_mut(&terms.show);
                let show = show.with_context(|| {
                    format!("terms of {}, which did not come before them", terms.show)
                })?;
                let replaced = show.terms.insert(terms.version, terms);
                ensure!(
                    replaced.is_none(),
                    "a version of terms is in the dump twice"
                );
            }
            "waiter" => self.waiters.push(serde_json::from_str(line)?),
            "order" => {
                let order: DumpedOrder = serde_json::from_str(line)?;
                let replaced = self.by_id.insert(order.order.clone(), self.orders.len());
                ensure!(
                    replaced.is_none(),
                    "order {} is in the dump twice",
                    order.order
                );
                self.orders.push(order);
            }
            "claim" => self.claims.push(serde_json::from_str(line)?),
            "payment" => self.payments.push(serde_json::from_str(line)?),
            "ticket" => self.tickets.push(serde_json::from_str(line)?),
            "exchange" => self.take_exchange(line)?,
            "effect" => self.effects.push(serde_json::from_str(line)?),
            "refund" => self.take_refund(line)?,
            "money_finding" => self.money_findings.push(serde_json::from_str(line)?),
            other => bail!("no record is of kind {other:?}"),
        }
        Ok(())
    }

    fn take_exchange(&mut self, line: &str) -> anyhow::Result<()> {
        let exchange: DumpedExchange = serde_json::from_str(line)?;
        let position = self.by_id.get(&exchange.successor).copied();
        let successor = position.and_then(|position| self.orders.get_mut(position));
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
        let refund: DumpedRefund = serde_json::from_str(line)?;
        let position = self.by_id.get(&refund.order).copied();
        let order = position.and_then(|position| self.orders.get_mut(position));
        let order = order.with_context(|| {
            format!(
                "{} is of {}, which did not come before it",
                refund.refund, refund.order
            )
        })?;
        order.given_back.push(ReturnedSeats {
            at_ms: refund.at_ms,
            cells: refund.cells.clone(),
            labels: refund.labels.clone(),
        });
        self.refunds.push(refund);
        Ok(())
    }

    /// Removes the records of all shows except these. The counts of unfinished work stay, because
    /// they do not name shows.
    pub fn keep_shows(&mut self, shows: &[String]) {
        let is_kept = |show: &String| shows.contains(show);
        self.shows.retain(|show, _| is_kept(show));
        self.orders.retain(|order| is_kept(&order.show));
        let positions = self.orders.iter().enumerate();
        self.by_id = positions
            .map(|(position, order)| (order.order.clone(), position))
            .collect();
        let orders = &self.by_id;
        self.claims.retain(|claim| is_kept(&claim.show));
        self.tickets.retain(|ticket| is_kept(&ticket.show));
        self.waiters.retain(|waiter| is_kept(&waiter.show));
        self.payments
            .retain(|payment| orders.contains_key(&payment.order));
        self.effects
            .retain(|effect| orders.contains_key(&effect.order));
        self.refunds
            .retain(|refund| orders.contains_key(&refund.order));
        self.money_findings.retain(|one| {
            one.order
                .as_ref()
                .is_none_or(|order| orders.contains_key(order))
        });
    }

    /// Returns an order by its id.
    pub fn order(&self, id: &str) -> Option<&DumpedOrder> {
        self.by_id.get(id).map(|position| &self.orders[*position])
    }
}
