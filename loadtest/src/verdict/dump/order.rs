//! An order of the dump: its life, and which seats it had when.

use serde::Deserialize;

use super::DumpedExchange;

/// An order.
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
    /// The version of its show's terms that it goes by.
    pub terms: u64,
    /// What each of its seats cost, those that were given back among them.
    pub items: Vec<DumpedOrderItem>,
    /// What it would have cost more, and was too little to be charged.
    #[serde(default)]
    pub let_go: i64,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
    /// The seats it was made for, where late money bought it others.
    #[serde(default)]
    pub made_for: Option<DumpedSeats>,
    /// The seats that late money was offered, whatever became of the offer.
    #[serde(default)]
    pub offered: Option<DumpedSeats>,
    pub created_ms: f64,
    pub pay_until_ms: f64,
    pub claim_until_ms: f64,
    pub history: Vec<DumpedOrderStep>,
    /// The seats of it that were given back, by its refunds.
    #[serde(skip)]
    pub given_back: Vec<ReturnedSeats>,
    /// The exchange that it was made in.
    #[serde(skip)]
    pub made_in: Option<DumpedExchange>,
}

/// Seats that were given back.
#[derive(Debug)]
pub struct ReturnedSeats {
    /// When.
    pub at_ms: f64,
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
}

/// A seat of an order and what it cost.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedOrderItem {
    /// Its position in the plan.
    pub seat: u32,
    /// The first leg.
    pub from: u16,
    /// The leg behind the last one.
    pub to: u16,
    pub amount: i64,
}

/// Some seats.
#[derive(Debug, Clone, Deserialize)]
pub struct DumpedSeats {
    pub cells: Vec<u32>,
    pub labels: Vec<String>,
}

/// A stretch of time over which an order has the same seats.
pub struct OrderSeatSpan<'a> {
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
pub struct DumpedOrderStep {
    pub at_ms: f64,
    pub state: String,
}

impl DumpedOrder {
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

    /// Whether there was nothing to pay: its seats are free, or others' seats paid for them.
    pub fn nothing_to_pay(&self) -> bool {
        self.amount == 0
    }

    /// The seats of some cells, with what they cost: of a train's seat all legs count as one.
    pub fn items_over(&self, seats: usize, cells: &[u32]) -> Vec<&DumpedOrderItem> {
        let cell = |item: &DumpedOrderItem| {
            u32::from(item.from) * u32::try_from(seats).unwrap_or(0) + item.seat
        };
        let items = self.items.iter();
        items.filter(|item| cells.contains(&cell(item))).collect()
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
        let (_, labels) = self.seats_kept_now();
        self.without_labels(labels)
    }

    /// The cells that are kept for it now, while it lives.
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

    /// When it had which seats, by its history. An order that expired has seats again when late
    /// money buys some.
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

    /// Until the swap it has only what the order before it did not have.
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

    /// What was given back of the last stay ended when it was.
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
