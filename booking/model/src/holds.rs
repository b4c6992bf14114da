//! Holds: cells that are locked for one visitor until a deadline. A hold locks all of its cells or
//! none.

use std::ops::Range;

use fairgate_pass::Holder;
use serde::{Deserialize, Serialize};

use crate::grid::CellGrid;
use crate::ids::HoldId;

/// One seat in a hold, and the legs for which it is held. [`Hold::terms`] decides what the seat
/// costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSeat {
    /// The seat's index in the plan.
    pub seat: u32,
    /// The legs that are held.
    pub legs: Range<u16>,
}

/// What a hold was made for. It cannot be used for anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldPurpose {
    /// Seats that a visitor chose; the hold may become an order.
    Basket,
    /// New cells for which an order's seats are exchanged.
    Exchange,
    /// Seats offered to a party on the waitlist. The hold becomes a basket when the offer is
    /// accepted.
    Offer,
    /// Seats that are locked for an order whose money came late.
    LateMoney,
}

impl HoldPurpose {
    /// All purposes.
    pub const ALL: [Self; 4] = [Self::Basket, Self::Exchange, Self::Offer, Self::LateMoney];

    /// Returns the purpose's word in answers and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Basket => "basket",
            Self::Exchange => "exchange",
            Self::Offer => "offer",
            Self::LateMoney => "late_money",
        }
    }

    /// Returns the purpose with this word. Any other word means a basket, because holds of earlier
    /// versions have no purpose.
    #[must_use]
    pub fn from_stored(word: &[u8]) -> Self {
        let is_it = |purpose: &Self| purpose.as_str().as_bytes() == word;
        Self::ALL.into_iter().find(is_it).unwrap_or(Self::Basket)
    }
}

/// Whether a hold is still a basket or has become an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldStage {
    /// The visitor may change, extend and release the hold, and the hold lapses at its deadline.
    Basket,
    /// The hold has become an order, and only the ledger frees its cells now.
    Ordered,
}

/// A change of a hold that is reported to its visitor at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldSignalState {
    /// Its deadline is near.
    Short,
    /// Its deadline has passed.
    Lapsed,
    /// It has become an order.
    Ordered,
    /// It was made to offer seats to a party on the waitlist.
    Offered,
}

impl HoldSignalState {
    /// All signals.
    pub const ALL: [Self; 4] = [Self::Short, Self::Lapsed, Self::Ordered, Self::Offered];

    /// Returns the signal's word in messages and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Lapsed => "lapsed",
            Self::Ordered => "ordered",
            Self::Offered => "offered",
        }
    }

    /// Returns the signal with this word. Returns `None` for the words of other changes of a hold,
    /// because visitors get no signal of those changes.
    #[must_use]
    pub fn from_stored(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A hold as the inventory store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The id, which is also the fencing value of its locks.
    pub id: HoldId,
    /// The visitor who has the hold.
    pub visitor: Holder,
    /// The room of the pass with which the hold was made.
    pub room: String,
    /// What the hold was made for.
    pub purpose: HoldPurpose,
    /// The seats it holds.
    pub items: Vec<HeldSeat>,
    /// The version number of the show's terms, which give the price of its cells. It is
    /// [`crate::shows::terms::UNNUMBERED`] if the hold was made before terms had numbers.
    pub terms: u32,
    /// The version of the plan that its seat indices belong to.
    pub plan_version: u32,
    /// Whether its seats lie side by side.
    pub next_to_each_other: bool,
    /// The deadline the buyer sees, in milliseconds since the epoch.
    pub expires_at_ms: i64,
    /// When its locks end, in milliseconds since the epoch.
    pub lock_until_ms: i64,
    /// How often it may still be extended.
    pub extensions_left: u32,
    /// Whether it is still a basket or has become an order.
    pub stage: HoldStage,
}

impl Hold {
    /// Lists all its cells.
    #[must_use]
    pub fn cells(&self, grid: CellGrid) -> Vec<u32> {
        cells_of(&self.items, grid)
    }
}

/// Lists all cells of some seats.
#[must_use]
pub fn cells_of(items: &[HeldSeat], grid: CellGrid) -> Vec<u32> {
    items
        .iter()
        .flat_map(|item| grid.cells_of(item.seat, item.legs.clone()))
        .collect()
}

/// What a row of the seat outbox does to its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatOutboxAction {
    /// Marks the cells as sold, even if they are locked by another hold.
    Sell,
    /// Frees each cell that is sold or that the row's hold has locked. A cell that another hold has
    /// locked stays locked.
    Free,
}

/// A hold whose cells are locked for an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecuredHold {
    /// The hold.
    pub hold: HoldId,
    /// The deadline the buyer sees, in milliseconds since the epoch.
    pub expires_at_ms: i64,
    /// When its locks end, in milliseconds since the epoch. Each call of `InventoryStore::secure`
    /// sets a new value.
    pub lock_until_ms: i64,
}

/// The lock lasts this many milliseconds longer than the claim. If the ledger expires the order,
/// the outbox row that frees the cells must reach the store within this time.
const LOCK_BEYOND_CLAIM_MS: i64 = 60_000;

/// Returns when the lock of an ordered hold ends, in milliseconds since the epoch.
#[must_use]
pub fn lock_until_ms(claim_until_ms: i64) -> i64 {
    claim_until_ms + LOCK_BEYOND_CLAIM_MS
}
