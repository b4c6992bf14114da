//! Reads an order of the dump. Also works out which seats the order had at which time.

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
    /// The price of each seat, including refunded seats.
    pub items: Vec<DumpedOrderItem>,
    /// The part of the price that was waived, because it was too small to be charged.
    #[serde(default)]
    pub let_go: i64,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
    /// The seats that the order was first made for, if late money bought other seats.
    #[serde(default)]
    pub made_for: Option<DumpedSeats>,
    /// The seats that late money bought, or that were offered for it, even if the buyer did not
    /// accept them.
    #[serde(default)]
    pub offered: Option<DumpedSeats>,
    pub created_ms: f64,
    pub pay_until_ms: f64,
    pub claim_until_ms: f64,
    pub history: Vec<DumpedOrderStep>,
    /// The seats of the order that were refunded, by refund.
    #[serde(skip)]
    pub given_back: Vec<ReturnedSeats>,
    /// The exchange in which the order was made.
    #[serde(skip)]
    pub made_in: Option<DumpedExchange>,
}

/// The seats of one refund.
#[derive(Debug)]
pub struct ReturnedSeats {
    /// When the seats were refunded.
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
    /// The leg after the last one.
    pub to: u16,
    pub amount: i64,
    /// The part of the price that was carried over in an exchange.
    #[serde(default)]
    pub carried: DumpedCarriedMoney,
}

/// Money that an exchange carried over to a seat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct DumpedCarriedMoney {
    pub amount: i64,
    /// How much of it a refund may return.
    pub refundable: i64,
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
    #[serde(default)]
    pub reason: String,
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

    /// Returns the price of the order's seats. The amount of an order that an exchange made is only
    /// the price difference.
    pub fn cost(&self) -> i64 {
        self.amount
            + self
                .made_in
                .as_ref()
                .map_or(0, |exchange| exchange.price - self.amount)
    }

    /// Returns whether there was nothing to pay, because the seats cost nothing or the exchanged
    /// seats covered their price.
    pub fn nothing_to_pay(&self) -> bool {
        self.amount == 0
    }

    /// Returns the items whose first cell is in `cells`. One item has all legs of a train's seat.
    pub fn items_over(&self, seats: usize, cells: &[u32]) -> Vec<&DumpedOrderItem> {
        let cell = |item: &DumpedOrderItem| {
            u32::from(item.from) * u32::try_from(seats).unwrap_or(0) + item.seat
        };
        let items = self.items.iter();
        items.filter(|item| cells.contains(&cell(item))).collect()
    }

    /// Returns whether a step of the order's history has this reason.
    pub fn had_reason(&self, reason: &str) -> bool {
        self.history.iter().any(|step| step.reason == reason)
    }

    /// Returns when the order first came into a state.
    pub fn first(&self, state: &str) -> Option<f64> {
        self.history
            .iter()
            .find(|step| step.state == state)
            .map(|step| step.at_ms)
    }

    /// Returns the labels of the seats that the order was made for.
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

    /// Returns the labels of the seats that a live order has now.
    pub fn kept_labels(&self) -> Vec<&str> {
        let (_, labels) = self.seats_kept_now();
        self.without_labels(labels)
    }

    /// Returns the cells that a live order has now.
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
        let is_returned = |cell: &u32| {
            self.given_back
                .iter()
                .any(|returned| returned.cells.contains(cell))
        };
        cells
            .iter()
            .copied()
            .filter(|cell| !is_returned(cell))
            .collect()
    }

    fn without_labels<'a>(&'a self, labels: &'a [String]) -> Vec<&'a str> {
        let is_returned = |label: &&str| {
            let mut labels_returned = self.given_back.iter().flat_map(|seats| &seats.labels);
            labels_returned.any(|returned| returned == label)
        };
        let labels = labels.iter().map(String::as_str);
        labels.filter(|label| !is_returned(label)).collect()
    }

    /// Returns when the ledger got the order again from the payment provider, if it had lost it.
    /// The first step has the time at which the order was made before. The next one follows at
    /// once.
    pub fn restored_ms(&self) -> Option<f64> {
        let [first, next, ..] = &self.history[..] else {
            return None;
        };
        (first.reason == "restored_from_provider").then_some(next.at_ms)
    }

    /// Returns the spans in which the order had its seats, from its history. An expired order has
    /// seats again if late money buys some.
    pub fn seat_spans(&self) -> Vec<OrderSeatSpan<'_>> {
        let mut spans: Vec<OrderSeatSpan<'_>> = Vec::new();
        for step in &self.history {
            let owns = !matches!(
                step.state.as_str(),
                "expired" | "cancelled" | "capture_failed" | "refunded" | "exchanged"
            );
            match (owns, spans.last_mut()) {
                (false, Some(span)) if span.until_ms.is_infinite() => span.until_ms = step.at_ms,
                (true, Some(span)) if span.until_ms.is_infinite() => {}
                (true, last) => {
                    let seats = if last.is_none() {
                        self.made_for.as_ref()
                    } else if step.state == "awaiting_consent" {
                        self.offered.as_ref()
                    } else {
                        None
                    };
                    spans.push(OrderSeatSpan {
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
        self.begin_with_what_is_gained(&mut spans);
        self.end_early(&mut spans);
        spans
    }

    /// Inserts a first span for the new order of an exchange. Until the swap, this order has only
    /// the seats that the old order did not have.
    fn begin_with_what_is_gained<'a>(&'a self, spans: &mut Vec<OrderSeatSpan<'a>>) {
        let Some(exchange) = &self.made_in else {
            return;
        };
        let (Some(done_ms), Some(first)) = (exchange.done_ms, spans.first_mut()) else {
            return;
        };
        let first_span = OrderSeatSpan {
            from_ms: first.from_ms,
            until_ms: done_ms,
            cells: exchange.gained.cells.clone(),
            labels: exchange.gained.labels.iter().map(String::as_str).collect(),
        };
        first.from_ms = done_ms;
        spans.insert(0, first_span);
    }

    /// Takes refunded seats out of the last span, and adds a span for them that ends at their
    /// refund.
    fn end_early<'a>(&'a self, spans: &mut Vec<OrderSeatSpan<'a>>) {
        let Some(last) = spans.last_mut() else { return };
        if self.given_back.is_empty() {
            return;
        }
        last.cells = self.without_cells(&last.cells);
        last.labels = self.without_labels(&self.labels);
        let (from_ms, until_ms) = (last.from_ms, last.until_ms);
        spans.extend(self.given_back.iter().map(|returned| OrderSeatSpan {
            from_ms,
            until_ms: until_ms.min(returned.at_ms),
            cells: returned.cells.clone(),
            labels: returned.labels.iter().map(String::as_str).collect(),
        }));
    }
}
