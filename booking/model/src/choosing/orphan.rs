//! Single empty seats: finds those that a hold of named seats would leave, and decides whether the
//! visitor could have avoided them. A visitor who takes a whole gap leaves none. A visitor who has
//! no better choice may leave one.

use std::collections::HashSet;

use super::block;
use crate::choosing::view::WishSeatView;
use crate::choosing::wish::BestSeatsWish;
use crate::plans::seatmap::SeatMap;

/// Returns the free seats that have a free neighbour now and would have none once `cells` are
/// taken, in ascending order.
#[must_use]
pub fn orphans_of(map: &SeatMap, is_free: &dyn Fn(u32) -> bool, cells: &[u32]) -> Vec<u32> {
    let taken: HashSet<u32> = cells.iter().copied().collect();
    let stays_free = |cell: u32| is_free(cell) && !taken.contains(&cell);
    let mut orphans = Vec::new();
    for cell in cells {
        let Some((bench, at)) = map.bench_of(*cell) else {
            continue;
        };
        let row = map.on_bench(bench);
        let near = |at: Option<usize>| at.and_then(|at| row.get(at)).copied();
        for beside in [at.checked_sub(1), Some(at + 1)] {
            let Some(single) = near(beside).filter(|cell| stays_free(*cell)) else {
                continue;
            };
            let at = beside.expect("a seat was found there");
            let company = [near(at.checked_sub(1)), near(Some(at + 1))]
                .into_iter()
                .flatten()
                .any(stays_free);
            if !company {
                orphans.push(single);
            }
        }
    }
    orphans.sort_unstable();
    orphans.dedup();
    orphans
}

/// Returns the new single seats that a hold of `cells` would leave. Shows that refuse single empty
/// seats use this if a visitor names the seats of a hold.
///
/// Returns `None` if there are none. It also returns `None` if the visitor has no better choice: if
/// every block for a party of this size, in these categories and with as many accessible seats,
/// leaves a single seat.
#[must_use]
pub fn would_orphan(
    map: &SeatMap,
    is_free: &dyn Fn(u32) -> bool,
    cells: &[u32],
) -> Option<Vec<u32>> {
    let orphans = orphans_of(map, is_free, cells);
    if orphans.is_empty() {
        return None;
    }
    let wish = similar_wish(map, cells)?;
    let view = WishSeatView::for_wish(map, is_free, &wish);
    block::has_clean(&view, &wish).then_some(orphans)
}

/// Makes a wish for as many seats as `cells` has, of the same categories and with as many
/// accessible ones. Returns `None` if `cells` has no seat of a row.
pub fn similar_wish(map: &SeatMap, cells: &[u32]) -> Option<BestSeatsWish> {
    let mut wish = BestSeatsWish::party(0);
    let mut categories = Vec::new();
    for cell in cells {
        let seat = map
            .seats
            .get(*cell as usize)
            .filter(|seat| seat.row.is_some());
        let Some(seat) = seat else { continue };
        wish.quantity += 1;
        wish.accessible += u32::from(seat.accessible);
        if !categories.contains(&seat.category) {
            categories.push(seat.category);
        }
    }
    wish.categories = Some(categories);
    (wish.quantity > 0).then_some(wish)
}
