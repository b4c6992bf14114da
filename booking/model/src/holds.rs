//! Holds: cells locked for one visitor until a deadline, all or none.

use std::ops::Range;

use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::grid::CellGrid;
use crate::ids::HoldId;

/// One seat in a hold, over the legs it was asked for. What it costs, the terms say that its hold
/// names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSeat {
    /// The seat's index in the plan.
    pub seat: u32,
    /// The legs.
    pub legs: Range<u16>,
}

/// What a hold was made for: it serves that, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldPurpose {
    /// A visitor's own choice; it may become an order.
    Basket,
    /// Cells that an order's seats are exchanged for.
    Exchange,
    /// Seats offered to somebody on the waitlist; a basket once they are accepted.
    Offer,
    /// Seats kept for an order whose money came late.
    LateMoney,
}

impl HoldPurpose {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Basket, Self::Exchange, Self::Offer, Self::LateMoney];

    /// The word in answers and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Basket => "basket",
            Self::Exchange => "exchange",
            Self::Offer => "offer",
            Self::LateMoney => "late_money",
        }
    }

    /// Reads the word back; whatever else it is, is a basket: holds had no purpose once.
    #[must_use]
    pub fn from_stored(word: &[u8]) -> Self {
        let is_it = |purpose: &Self| purpose.as_str().as_bytes() == word;
        Self::ALL.into_iter().find(is_it).unwrap_or(Self::Basket)
    }
}

/// How far a hold has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldStage {
    /// It may be changed, extended, given back, and lapses.
    Basket,
    /// An order has its cells: only the ledger frees them now.
    Ordered,
}

/// What became of a hold by itself, as its visitor is told at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldSignalState {
    /// Its deadline is near.
    Short,
    /// Its deadline has passed.
    Lapsed,
    /// An order has its cells.
    Ordered,
    /// It is an offer to somebody on the waitlist.
    Offered,
}

impl HoldSignalState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Short, Self::Lapsed, Self::Ordered, Self::Offered];

    /// The word in messages and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Lapsed => "lapsed",
            Self::Ordered => "ordered",
            Self::Offered => "offered",
        }
    }

    /// Reads the word back; none for the other changes of a hold.
    #[must_use]
    pub fn from_stored(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
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
    /// What it was made for.
    pub purpose: HoldPurpose,
    /// What it holds.
    pub items: Vec<HeldSeat>,
    /// The version of the show's terms that its cells are priced by;
    /// [`crate::shows::terms::UNNUMBERED`] where it was made before terms had numbers.
    pub terms: u32,
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
    pub stage: HoldStage,
}

impl Hold {
    /// All its cells.
    #[must_use]
    pub fn cells(&self, grid: CellGrid) -> Vec<u32> {
        cells_of(&self.items, grid)
    }
}

/// All cells of some seats.
#[must_use]
pub fn cells_of(items: &[HeldSeat], grid: CellGrid) -> Vec<u32> {
    items
        .iter()
        .flat_map(|item| grid.cells_of(item.seat, item.legs.clone()))
        .collect()
}

/// What a seat outbox row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatOutboxAction {
    /// The cells are sold, whoever's lock is on them.
    Sell,
    /// The cells are free again, where they are still this hold's.
    Free,
}

/// A hold whose cells are locked for an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecuredHold {
    /// The hold.
    pub hold: HoldId,
    /// The deadline the buyer sees.
    pub expires_at_ms: i64,
    /// When its locks fall: another one after each `secure`.
    pub lock_until_ms: i64,
}

/// How much longer than the claim the lock stands: the ledger's expiry must reach the store before
/// it falls.
const LOCK_BEYOND_CLAIM_MS: i64 = 60_000;

/// Until when the lock of an ordered hold stands.
#[must_use]
pub fn lock_until_ms(claim_until_ms: i64) -> i64 {
    claim_until_ms + LOCK_BEYOND_CLAIM_MS
}
