//! A show as a grid of cells, numbered leg by leg: `cell = leg × seats + seat`. A concert has one
//! leg. A train has one leg for each stretch between neighbouring stops. The same core therefore
//! sells both.

pub mod picture;

use std::ops::Range;

/// The state of one cell. Clients get the states as these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CellState {
    /// Anybody with a pass may hold it.
    Free = 0,
    /// In a visitor's basket, claimed by an unpaid order, or kept for the waitlist.
    Held = 1,
    /// Sold.
    Sold = 2,
    /// Not for sale.
    Blocked = 3,
}

impl CellState {
    /// Returns the contract's word for the state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Held => "held",
            Self::Sold => "sold",
            Self::Blocked => "blocked",
        }
    }

    /// Reads the two lowest bits, in which states are stored and sent.
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Free,
            1 => Self::Held,
            2 => Self::Sold,
            _ => Self::Blocked,
        }
    }

    /// Returns what becomes of this state when the show is cancelled: free cells are no longer for
    /// sale.
    #[must_use]
    pub fn when_cancelled(self) -> Self {
        match self {
            Self::Free => Self::Blocked,
            taken => taken,
        }
    }

    /// Returns the state with the higher number. The order is free, held, sold, blocked. To show
    /// several legs of a seat as one state, take the highest of their states.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        if (self as u8) < (other as u8) {
            other
        } else {
            self
        }
    }
}

/// The size of a show's grid of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellGrid {
    /// How many seats.
    pub seats: u32,
    /// How many legs; at least one.
    pub legs: u16,
}

impl CellGrid {
    /// Returns the number of cells.
    #[must_use]
    pub fn cell_count(self) -> u32 {
        self.seats * u32::from(self.legs)
    }

    /// Lists the cells of one seat on these legs.
    pub fn cells_of(self, seat: u32, legs: Range<u16>) -> impl Iterator<Item = u32> {
        debug_assert!(seat < self.seats && legs.end <= self.legs);
        legs.map(move |leg| u32::from(leg) * self.seats + seat)
    }

    /// Returns the seat of a cell.
    #[must_use]
    pub fn seat_of(self, cell: u32) -> u32 {
        cell % self.seats
    }

    /// Returns the leg of a cell.
    #[must_use]
    pub fn leg_of(self, cell: u32) -> u16 {
        u16::try_from(cell / self.seats).unwrap_or(u16::MAX)
    }
}

/// A claimed cell: its seat, its leg, and whether it is sold.
pub type ClaimedCell = (u32, u16, bool);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_stretches_of_one_seat_share_no_cell() {
        let train = CellGrid {
            seats: 100,
            legs: 4,
        };
        let first: Vec<_> = train.cells_of(7, 0..2).collect();
        let second: Vec<_> = train.cells_of(7, 2..4).collect();
        assert_eq!((first, second), (vec![7, 107], vec![207, 307]));
        assert_eq!((train.seat_of(207), train.leg_of(207)), (7, 2));
    }
}
