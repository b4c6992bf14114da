//! Reads an order of the dump: its history, and which seats it had when.

use serde::Deserialize;

use super::DumpedExchange;

/// An order of the ledger.
#[derive(Debug, Deserialize)]
pub struct DumpedOrder {
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
    /// The version of the show's terms that apply to the order.
    pub terms: u64,
    /// The price of each seat, including seats that were given back.
    pub items: Vec<DumpedOrderItem>,
    /// The part of the price that was too little to be charged.
    #[serde(default)]
    pub let_go: i64,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
    /// The seats that the order was first made for, if late money bought it others.
    #[serde(default)]
    pub made_for: Option<DumpedSeats>,
    /// The seats that late money was offered, whatever became of the offer.
    #[serde(default)]
    pub offered: Option<DumpedSeats>,
    pub created_ms: f64,
    pub pay_until_ms: f64,
    pub claim_until_ms: f64,
    pub history: Vec<DumpedOrderStep>,
    /// The seats of the order that were given back, by refund.
    #[serde(skip)]
    pub given_back: Vec<ReturnedSeats>,
    /// The exchange in which the order was made.
    #[serde(skip)]
    pub made_in: Option<DumpedExchange>,
}

/// Seats that were given back.
#[derive(Debug)]
pub struct ReturnedSeats {
    /// When the seats were given back.
    pub at_ms: f64,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
}

/// A seat of an order with its price.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedOrderItem {
    /// The seat's position in the plan.
    pub seat: u32,
    /// The first leg.
    pub from: u16,
    /// One behind the last leg.
    pub to: u16,
    pub amount: i64,
}

/// A set of seats, as labels and as cells.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedSeats {
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
}

/// A span of time in which an order has the same seats.
pub struct OrderSeatSpan<'a> {
    /// The start of the span.
    pub from_ms: f64,
    /// The end of the span; infinite if the order still has the seats.
    pub until_ms: f64,
    /// The cells of the seats.
    pub cells: Vec<u32>,
    /// The labels of the seats.
    pub labels: Vec<&'a str>,
}

/// One step of an order's history.
#[derive(Debug, Deserialize)]
pub struct DumpedOrderStep {
    pub at_ms: f64,
    pub state: String,
}

impl DumpedOrder {
    /// Returns whether the order has its cells now.
    pub fn lives(&self) -> bool {
        matches!(
            self.state.as_str(),
            "pending" | "confirmed" | "ticketed" | "awaiting_consent" | "partly_refunded"
        )
    }

    /// Returns whether the seats are sold.
    pub fn sold(&self) -> bool {
        matches!(
            self.state.as_str(),
            "confirmed" | "ticketed" | "partly_refunded"
        )
    }

    /// Returns the price of the seats. Of seats that others were given for, the order paid only the
    /// difference.
    pub fn cost(&self) -> i64 {
        self.amount
            + self
                .made_in
                .as_ref()
                .map_or(0, |exchange| exchange.price - self.amount)
    }

    /// Returns whether there was nothing to pay, because the seats are free or other seats paid for
    /// them.
    pub fn nothing_to_pay(&self) -> bool {
        self.amount == 0
    }

    /// Returns the seats of some cells with their prices. All legs of a train's seat count as one.
    pub fn items_over(&self, seats: usize, cells: &[u32]) -> Vec<&DumpedOrderItem> {
        let cell = |item: &DumpedOrderItem| {
            u32::from(item.from) * u32::try_from(seats).unwrap_or(0) + item.seat
        };
        let items = self.items.iter();
        items.filter(|item| cells.contains(&cell(item))).collect()
    }

    /// Returns when the order first came into a state.
    pub fn first(&self, state: &str) -> Option<f64> {
        self.history
            .iter()
            .find(|step| step.state == state)
            .map(|step| step.at_ms)
    }

    /// Returns the labels that the order was made for.
    pub fn made_labels(&self) -> &[String] {
        self.made_for
            .as_ref()
            .map_or(&self.labels, |seats| &seats.labels)
    }

    /// Returns the cells that the order was made for.
    pub fn made_cells(&self) -> &[u32] {
        self.made_for
            .as_ref()
            .map_or(&self.cells, |seats| &seats.cells)
    }

    /// Returns the labels that are kept for the order now, while it is live.
    pub fn kept_labels(&self) -> Vec<&str> {
        let (_, labels) = self.seats_kept_now();
        self.without_labels(labels)
    }

    /// Returns the cells that are kept for the order now, while it is live.
    pub fn kept_cells(&self) -> Vec<u32> {
        let (cells, _) = self.seats_kept_now();
        self.without_cells(cells)
    }

    fn seats_kept_now(&self) -> (&[u32], &[String]) {
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

    /// Works out when the order had which seats, from its history. An expired order has seats again
    /// when late money buys some.
    pub fn stays(&self) -> Vec<OrderSeatSpan<'_>> {
        let mut stays: Vec<OrderSeatSpan<'_>> = Vec::new();
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
                    stays.push(OrderSeatSpan {
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

    /// Begins with the seats that the old order did not have: until the swap the new order has no
    /// others.
    fn begin_with_what_is_gained<'a>(&'a self, stays: &mut Vec<OrderSeatSpan<'a>>) {
        let Some(exchange) = &self.made_in else {
            return;
        };
        let (Some(done_ms), Some(first)) = (exchange.done_ms, stays.first_mut()) else {
            return;
        };
        let before = OrderSeatSpan {
            from_ms: first.from_ms,
            until_ms: done_ms,
            cells: exchange.gained.cells.clone(),
            labels: exchange.gained.labels.iter().map(String::as_str).collect(),
        };
        first.from_ms = done_ms;
        stays.insert(0, before);
    }

    /// Ends the last stay of seats that were given back at the time they were.
    fn end_early<'a>(&'a self, stays: &mut Vec<OrderSeatSpan<'a>>) {
        let Some(last) = stays.last_mut() else { return };
        if self.given_back.is_empty() {
            return;
        }
        last.cells = self.without_cells(&last.cells);
        last.labels = self.without_labels(&self.labels);
        let (from_ms, until_ms) = (last.from_ms, last.until_ms);
        stays.extend(self.given_back.iter().map(|back| OrderSeatSpan {
            from_ms,
            until_ms: until_ms.min(back.at_ms),
            cells: back.cells.clone(),
            labels: back.labels.iter().map(String::as_str).collect(),
        }));
    }
}
