//! Holds: cells locked for one visitor until a deadline, all or none.

pub mod ask;
pub mod http;
pub mod instead;
pub mod lapse;
mod natural;
pub mod stretch;
pub mod take;

use std::ops::Range;

use fairgate_pass::Holder;

use crate::ids::HoldId;
use crate::inventory::Grid;

/// One seat in a hold, over the legs it was asked for, at the price it was held at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The seat's index in the plan.
    pub seat: u32,
    /// The legs.
    pub legs: Range<u16>,
    /// The price, in minor units.
    pub amount: i64,
}

/// How far a hold has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It may be changed, extended, given back, and lapses.
    Basket,
    /// An order has its cells: only the ledger frees them now.
    Ordered,
}

/// A hold as the inventory store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The id, which is also the fencing value of its locks.
    pub id: HoldId,
    /// Whose it is.
    pub visitor: Holder,
    /// The room of the pass it was taken with.
    pub room: String,
    /// What it holds.
    pub items: Vec<Held>,
    /// The plan its seat indices belong to.
    pub plan_version: u32,
    /// Whether its seats lie side by side.
    pub next_to_each_other: bool,
    /// The deadline the buyer sees.
    pub expires_at_ms: i64,
    /// When the locks fall.
    pub lock_until_ms: i64,
    /// How often it may still be extended.
    pub extensions_left: u32,
    /// How far it has come.
    pub stage: Stage,
}

impl Hold {
    /// What its seats cost together.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.items.iter().map(|item| item.amount).sum()
    }

    /// All its cells.
    #[must_use]
    pub fn cells(&self, grid: Grid) -> Vec<u32> {
        cells_of(&self.items, grid)
    }
}

/// All cells of some seats.
#[must_use]
pub fn cells_of(items: &[Held], grid: Grid) -> Vec<u32> {
    items
        .iter()
        .flat_map(|item| grid.cells_of(item.seat, item.legs.clone()))
        .collect()
}
