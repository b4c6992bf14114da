//! "Best available": decides which of the free seats a party gets. The free seats, the wish and the
//! random numbers are arguments, so the module is pure. The caller locks the chosen seats. If
//! somebody else has locked one of them first, the caller chooses again with a larger `spread`.
//!
//! Order of preference:
//! 1. one row, side by side, no single empty seat left, nearest the focal point;
//! 2. the same, leaving as few single seats as possible;
//! 3. across rows of one section, as few people alone as possible, near the focal point and each
//!    other;
//! 4. the same across sections;
//! 5. one standing area, if the wish names categories or sections and asks for no accessible seats.
//!    Other parties have not asked for standing, and get seats only.
//!
//! What the words mean here:
//! - *Nearest*: with the smallest mean distance of the party's seats from the focal point. If the
//!   wish names a zone that has a focal point, that point counts. Otherwise the map's focal point
//!   counts. If the map has none, each seat is measured from the focal point of its own zone. If
//!   that zone has none either, the seat is measured from the middle of the map's upper edge.
//! - *Side by side*: neighbours on a bench, so never across an aisle.
//! - *Single empty seat*: a free seat without a free neighbour on its bench. A neighbour that is
//!   not taken counts as free even if this party cannot have it: for example an accessible seat, or
//!   a seat of another channel.
//! - A party gets exactly as many *accessible* seats as it asks for. Companion seats go only to
//!   parties that ask for accessible seats. Booths are never chosen.
//!
//! Chance decides between equally good choices. Choices that differ only by rounding count as
//! equal. The order of the plan does not matter.

mod area;
mod block;
mod orphan;
mod pick;
pub mod rail;
mod scatter;
mod stretch;
mod suggest;
mod view;
mod wish;

use rand::Rng;
use serde::Serialize;

pub use area::pick_area;
pub use orphan::{orphans_of, would_orphan};
pub use suggest::suggest;
pub use wish::{BestSeatsRequest, BestSeatsWish, BestSeatsWishFault, CellSet};

use crate::plans::seatmap::SeatMap;
use view::WishSeatView;

/// The seats for a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatChoice {
    /// Seat indices, ascending, as many as were wished.
    pub cells: Vec<u32>,
    /// Whether all seats are side by side in one row, or all units are in one standing area.
    pub next_to_each_other: bool,
    /// Which preference the choice satisfies.
    pub manner: SeatArrangement,
}

/// The ways in which a party can be seated, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeatArrangement {
    /// Side by side, leaving no single seat.
    Block,
    /// Side by side, leaving one or more single seats.
    BlockLeavingSingle,
    /// In several rows of one section.
    AcrossRows,
    /// In several sections.
    AcrossSections,
    /// In one general-admission area.
    Standing,
}

/// Why no seats were chosen. Clients get it as the refusal's `reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum SeatsNotFound {
    /// The free seats and standing units that suit the wish are fewer than it asks for.
    #[error(
        "fewer places are free than you asked for; nothing was held; ask for fewer or widen the wish"
    )]
    Capacity,
    /// The free seats and standing units together are enough. But the seats alone are too few, and
    /// no standing area has enough units.
    #[error(
        "enough places are free, but not together; nothing was held; ask for fewer or widen the wish"
    )]
    NoBlock,
}

/// Counts the seats and standing units that the wish may have, among the cells for which
/// `is_included` is true. They need not be near each other.
#[must_use]
pub fn count_fitting(
    map: &SeatMap,
    is_included: &dyn Fn(u32) -> bool,
    wish: &BestSeatsWish,
) -> usize {
    let count = WishSeatView::for_wish(map, is_included, wish).count_eligible();
    count.seats as usize + count.accessible as usize + count.standing as usize
}

/// Chooses seats for the wish among the seats for which `is_free` is true.
///
/// With `spread` 0 or 1 the best choice wins, and chance only decides between equals. With a larger
/// `spread`, chance decides between the best `spread` choices. All of them satisfy the same
/// preference, and no two of them share a seat. Raise `spread` after each refused lock, so that
/// many buyers who see the same free seats do not all try the same ones.
///
/// # Errors
/// [`SeatsNotFound`] if nothing fits.
///
/// # Panics
/// Never. A wish that was resolved on another map may name categories that this map lacks. No seat
/// matches those.
pub fn choose(
    map: &SeatMap,
    is_free: &dyn Fn(u32) -> bool,
    wish: &BestSeatsWish,
    spread: usize,
    rng: &mut impl Rng,
) -> Result<SeatChoice, SeatsNotFound> {
    if wish.quantity == 0 || wish.accessible > wish.quantity {
        return Err(SeatsNotFound::Capacity);
    }
    let view = WishSeatView::for_wish(map, is_free, wish);
    let count = view.count_eligible();
    if count.accessible >= wish.accessible && count.seats >= wish.quantity - wish.accessible {
        if let Some(choice) = block::best(&view, wish, spread, rng) {
            return Ok(choice);
        }
        if let Some(choice) = scatter::best(&view, wish, spread, rng) {
            return Ok(choice);
        }
    }
    if let Some(choice) = area::nearest(&view, wish, rng) {
        return Ok(choice);
    }
    let enough =
        wish.accessible == 0 && count.seats.saturating_add(count.standing) >= wish.quantity;
    Err(if enough {
        SeatsNotFound::NoBlock
    } else {
        SeatsNotFound::Capacity
    })
}
