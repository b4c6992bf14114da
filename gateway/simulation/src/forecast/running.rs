//! Describes a sale that is running, by its figures so far.

use crate::sale::PlannedRoom;

/// A sale that is running.
#[derive(Debug, Clone)]
pub struct RunningSale {
    /// The room. Its times are seconds after the beginning of the sale.
    pub room: PlannedRoom,
    /// How long a basket keeps its seats, in seconds.
    pub hold_s: u32,
    /// The figures since the beginning of the sale, oldest first.
    pub figures: Vec<RunningFigures>,
}

/// The figures of a running sale at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunningFigures {
    /// Seconds after the beginning of the sale.
    pub at_s: f64,
    /// Visitors who have joined.
    pub joined: u64,
    /// Those of them who have left.
    pub left: u64,
    /// Visitors who wait.
    pub waiting: u64,
    /// Ranks that have been called.
    pub released: u64,
    /// Visitors who have entered.
    pub claimed: u64,
    /// Visitors who are inside.
    pub inside: u64,
    /// Visitors who have tickets.
    pub done: u64,
    /// Free cells.
    pub free: u64,
    /// Cells in baskets and unpaid orders.
    pub held: u64,
    /// Sold cells.
    pub sold: u64,
}

/// A sale is short if it will be over within this time after its beginning, in seconds.
const SHORT_S: f64 = 300.0;

impl RunningFigures {
    /// Returns whether the sale will be short if its seats keep selling as fast as so far. `first`
    /// has the figures of its beginning. While nothing is sold, the sale is not short.
    #[must_use]
    pub fn is_short_sale(&self, first: &Self) -> bool {
        let sold = self.sold.saturating_sub(first.sold) as f64;
        let left = (self.free + self.held) as f64 / sold;
        self.at_s * (1.0 + left) < SHORT_S
    }
}
