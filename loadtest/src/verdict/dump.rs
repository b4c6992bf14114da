//! The ledger's dump as `booking dump` wrote it.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

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
    /// What was still on its way.
    pub pending: Pending,
}

/// A show and its rules.
#[derive(Debug, Deserialize)]
pub struct Show {
    show: String,
    pub grace_s: f64,
    pub seats_per_visitor: u64,
    pub labels: Vec<String>,
    /// How many times each seat is sold: a train's once for each stretch between neighbouring stops.
    legs: u16,
    #[serde(skip)]
    seats: HashMap<String, u32>,
}

impl Show {
    /// The cells of a seat over these legs, or over all of them; none where the show has no such seat.
    pub fn cells(&self, label: &str, legs: Option<&[u16]>) -> Vec<u32> {
        let Some(seat) = self.seats.get(label) else {
            return Vec::new();
        };
        let every: Vec<u16>;
        let legs = match legs {
            Some(legs) => legs,
            None => {
                every = (0..self.legs).collect();
                &every
            }
        };
        let seats = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        legs.iter()
            .map(|leg| u32::from(*leg) * seats + seat)
            .collect()
    }

    /// The label of a cell: cells are leg-major.
    pub fn label(&self, cell: u32) -> &str {
        let seats = self.labels.len().max(1);
        self.labels
            .get(cell as usize % seats)
            .map_or("?", String::as_str)
    }
}

/// An order.
#[derive(Debug, Deserialize)]
pub struct Order {
    pub order: String,
    pub show: String,
    pub hold: String,
    pub visitor: String,
    pub room: String,
    pub state: String,
    #[serde(default)]
    pub reason: String,
    pub amount: i64,
    pub currency: String,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
    /// The seats it was made for, where late money bought it others.
    #[serde(default)]
    pub made_for: Option<Seats>,
    /// The seats that late money was offered, whatever became of the offer.
    #[serde(default)]
    pub offered: Option<Seats>,
    pub created_ms: f64,
    pub pay_until_ms: f64,
    pub claim_until_ms: f64,
    pub history: Vec<Step>,
    /// The seats of it that were given back, by its refunds.
    #[serde(skip)]
    pub given_back: Vec<GivenBack>,
    /// The exchange that it was made in.
    #[serde(skip)]
    pub made_in: Option<Exchange>,
}

/// Seats that were given back.
#[derive(Debug)]
pub struct GivenBack {
    /// When.
    pub at_ms: f64,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
}

/// Some seats.
#[derive(Debug, Clone, Deserialize)]
pub struct Seats {
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
}

/// A stretch of time over which an order has the same seats.
pub struct Stay<'a> {
    /// From when.
    pub from_ms: f64,
    /// Until when; for ever, where it has them still.
    pub until_ms: f64,
    /// Which cells.
    pub cells: Vec<u32>,
    /// Their labels.
    pub labels: Vec<&'a str>,
}

/// One step of an order's life.
#[derive(Debug, Deserialize)]
pub struct Step {
    pub at_ms: f64,
    pub state: String,
}

impl Order {
    /// Whether it has its cells now.
    pub fn lives(&self) -> bool {
        matches!(
            self.state.as_str(),
            "pending" | "confirmed" | "ticketed" | "awaiting_consent" | "partly_refunded"
        )
    }

    /// Whether its seats are sold.
    pub fn sold(&self) -> bool {
        matches!(
            self.state.as_str(),
            "confirmed" | "ticketed" | "partly_refunded"
        )
    }

    /// What its seats cost: of those that others were given for, it paid the difference only.
    pub fn cost(&self) -> i64 {
        self.amount
            + self
                .made_in
                .as_ref()
                .map_or(0, |exchange| exchange.price - self.amount)
    }

    /// Whether others' seats paid all of it.
    pub fn paid_before(&self) -> bool {
        self.amount == 0 && self.made_in.is_some()
    }

    /// When it first came into a state.
    pub fn first(&self, state: &str) -> Option<f64> {
        self.history
            .iter()
            .find(|step| step.state == state)
            .map(|step| step.at_ms)
    }

    /// The labels it was made for.
    pub fn made_labels(&self) -> &[String] {
        self.made_for
            .as_ref()
            .map_or(&self.labels, |seats| &seats.labels)
    }

    /// The cells it was made for.
    pub fn made_cells(&self) -> &[u32] {
        self.made_for
            .as_ref()
            .map_or(&self.cells, |seats| &seats.cells)
    }

    /// The labels that are kept for it now, while it lives.
    pub fn kept_labels(&self) -> Vec<&str> {
        let (_, labels) = self.kept();
        self.without_labels(labels)
    }

    /// The cells that are kept for it now, while it lives.
    pub fn kept_cells(&self) -> Vec<u32> {
        let (cells, _) = self.kept();
        self.without_cells(cells)
    }

    fn kept(&self) -> (&[u32], &[String]) {
        match &self.offered {
            Some(seats) if self.state == "awaiting_consent" => (&seats.cells, &seats.labels),
            _ => (&self.cells, &self.labels),
        }
    }

    fn without_cells(&self, cells: &[u32]) -> Vec<u32> {
        let gone = |cell: &u32| self.given_back.iter().any(|back| back.cells.contains(cell));
        cells.iter().copied().filter(|cell| !gone(cell)).collect()
    }

    fn without_labels<'a>(&'a self, labels: &'a [String]) -> Vec<&'a str> {
        let gone = |label: &&str| {
            let mut back = self.given_back.iter().flat_map(|back| &back.labels);
            back.any(|gone| gone == label)
        };
        let labels = labels.iter().map(String::as_str);
        labels.filter(|label| !gone(label)).collect()
    }

    /// When it had which seats, by its history. An order that expired has seats again when late money buys some.
    pub fn stays(&self) -> Vec<Stay<'_>> {
        let mut stays: Vec<Stay<'_>> = Vec::new();
        for step in &self.history {
            let owns = !matches!(
                step.state.as_str(),
                "expired" | "cancelled" | "capture_failed" | "refunded" | "exchanged"
            );
            match (owns, stays.last_mut()) {
                (false, Some(stay)) if stay.until_ms.is_infinite() => stay.until_ms = step.at_ms,
                (true, Some(stay)) if stay.until_ms.is_infinite() => {}
                (true, before) => {
                    let seats = if before.is_none() {
                        self.made_for.as_ref()
                    } else if step.state == "awaiting_consent" {
                        self.offered.as_ref()
                    } else {
                        None
                    };
                    stays.push(Stay {
                        from_ms: step.at_ms,
                        until_ms: f64::INFINITY,
                        cells: seats.map_or(&self.cells, |seats| &seats.cells).clone(),
                        labels: seats
                            .map_or(&self.labels, |seats| &seats.labels)
                            .iter()
                            .map(String::as_str)
                            .collect(),
                    });
                }
                (false, _) => {}
            }
        }
        self.begin_with_what_is_gained(&mut stays);
        self.end_early(&mut stays);
        stays
    }

    /// Until the swap it has only what the order before it did not have.
    fn begin_with_what_is_gained<'a>(&'a self, stays: &mut Vec<Stay<'a>>) {
        let Some(exchange) = &self.made_in else {
            return;
        };
        let (Some(done_ms), Some(first)) = (exchange.done_ms, stays.first_mut()) else {
            return;
        };
        let before = Stay {
            from_ms: first.from_ms,
            until_ms: done_ms,
            cells: exchange.gained.cells.clone(),
            labels: exchange.gained.labels.iter().map(String::as_str).collect(),
        };
        first.from_ms = done_ms;
        stays.insert(0, before);
    }

    /// What was given back of the last stay ended when it was.
    fn end_early<'a>(&'a self, stays: &mut Vec<Stay<'a>>) {
        let Some(last) = stays.last_mut() else { return };
        if self.given_back.is_empty() {
            return;
        }
        last.cells = self.without_cells(&last.cells);
        last.labels = self.without_labels(&self.labels);
        let (from_ms, until_ms) = (last.from_ms, last.until_ms);
        stays.extend(self.given_back.iter().map(|back| Stay {
            from_ms,
            until_ms: until_ms.min(back.at_ms),
            cells: back.cells.clone(),
            labels: back.labels.iter().map(String::as_str).collect(),
        }));
    }
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
    #[serde(default)]
    pub provider_state: Option<String>,
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
    /// The new seats' cells that the old order did not have.
    pub gained: Seats,
    /// When they were swapped.
    pub done_ms: Option<f64>,
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
            "show" => {
                let mut show: Show = serde_json::from_str(line)?;
                show.seats = (0..)
                    .zip(&show.labels)
                    .map(|(seat, label)| (label.clone(), seat))
                    .collect();
                dump.shows.insert(show.show.clone(), show);
            }
            "order" => {
                let order: Order = serde_json::from_str(line)?;
                let again = dump.by_id.insert(order.order.clone(), dump.orders.len());
                ensure!(again.is_none(), "order {} stands twice", order.order);
                dump.orders.push(order);
            }
            "claim" => dump.claims.push(serde_json::from_str(line)?),
            "payment" => dump.payments.push(serde_json::from_str(line)?),
            "ticket" => dump.tickets.push(serde_json::from_str(line)?),
            "exchange" => {
                let exchange: Exchange = serde_json::from_str(line)?;
                let at = dump.by_id.get(&exchange.successor).copied();
                let successor = at.and_then(|at| dump.orders.get_mut(at));
                let successor = successor.with_context(|| {
                    format!(
                        "{} was exchanged for {}, which did not come before",
                        exchange.order, exchange.successor
                    )
                })?;
                successor.made_in = Some(exchange);
            }
            "effect" => dump.effects.push(serde_json::from_str(line)?),
            "refund" => {
                let refund: Refund = serde_json::from_str(line)?;
                let at = dump.by_id.get(&refund.order).copied();
                let order = at.and_then(|at| dump.orders.get_mut(at));
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
                dump.refunds.push(refund);
            }
            "pending" => {
                dump.pending = serde_json::from_str(line)?;
                ended = true;
            }
            other => bail!("no record is of kind {other:?}"),
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
    /// An order by its id.
    pub fn order(&self, id: &str) -> Option<&Order> {
        self.by_id.get(id).map(|at| &self.orders[*at])
    }
}
