//! Chooses units in general admission areas. All units of an area are alike, so a party may get any
//! free ones. The search begins at a random unit, because otherwise a crowd of buyers would all try
//! the area's first free unit.

use rand::{Rng, RngExt};

use super::{SeatArrangement, SeatChoice, SeatsNotFound};
use crate::choosing::view::{CellEligibility, WishSeatView};
use crate::choosing::wish::BestSeatsWish;
use crate::plans::seatmap::{AdmissionArea, SeatMap};

/// Takes `quantity` free units of the area, beginning at a random one.
///
/// # Errors
/// [`SeatsNotFound::Capacity`] if fewer are free.
pub fn pick_area(
    map: &SeatMap,
    is_free: &dyn Fn(u32) -> bool,
    area: &AdmissionArea,
    quantity: u32,
    rng: &mut impl Rng,
) -> Result<Vec<u32>, SeatsNotFound> {
    let cells = area.first..area.cells().end.min(map.cell_count());
    if quantity == 0 || quantity > area.capacity || cells.is_empty() {
        return Err(SeatsNotFound::Capacity);
    }
    let start = rng.random_range(cells.clone());
    let mut taken: Vec<u32> = (start..cells.end)
        .chain(cells.start..start)
        .filter(|cell| is_free(*cell))
        .take(quantity as usize)
        .collect();
    if taken.len() < quantity as usize {
        return Err(SeatsNotFound::Capacity);
    }
    taken.sort_unstable();
    Ok(taken)
}

/// Chooses units of the nearest area that has enough free units for the whole party. Returns `None`
/// if there is no such area, or if the wish does not allow standing.
pub fn nearest(
    view: &WishSeatView<'_>,
    wish: &BestSeatsWish,
    rng: &mut impl Rng,
) -> Option<SeatChoice> {
    let open = |cell: u32| view.class(cell) == CellEligibility::Seat;
    let mut areas: Vec<(f32, &AdmissionArea)> = view
        .map
        .areas
        .iter()
        .filter_map(|area| Some((view.distance(area.cells().find(|cell| open(*cell))?), area)))
        .collect();
    areas.sort_by(|a, b| a.0.total_cmp(&b.0));
    areas.into_iter().find_map(|(_, area)| {
        let cells = pick_area(view.map, &open, area, wish.quantity, rng).ok()?;
        Some(SeatChoice {
            cells,
            next_to_each_other: true,
            manner: SeatArrangement::Standing,
        })
    })
}
