//! Suggests other seats if seats were refused: the same number, in the same price categories, and
//! near the refused ones.

use rand::Rng;

use super::{SeatArrangement, SeatChoice, choose, orphans_of, pick_area};
use crate::choosing::orphan::similar_wish;
use crate::plans::seatmap::{PlanPoint, SeatMap};

/// Suggests as many free cells as `refused` has. For refused seats, it suggests seats near them
/// (the same section first), in their categories and with as many accessible seats. For refused
/// standing units, it suggests units of the same areas. Cells in `refused` that are free may be
/// part of the suggestion. If `clean` is set, the suggestion leaves no single seat.
///
/// Returns `None` if there are no such cells. It also returns `None` if a booth was refused,
/// because no other booth is the same.
#[must_use]
pub fn suggest(
    map: &SeatMap,
    is_free: &dyn Fn(u32) -> bool,
    refused: &[u32],
    clean: bool,
    rng: &mut impl Rng,
) -> Option<SeatChoice> {
    let mut cells = Vec::with_capacity(refused.len());
    for area in &map.areas {
        let units = refused
            .iter()
            .filter(|cell| area.cells().contains(cell))
            .count();
        if units > 0 {
            cells.extend(pick_area(map, is_free, area, u32::try_from(units).ok()?, rng).ok()?);
        }
    }
    let seats: Vec<u32> = refused
        .iter()
        .copied()
        .filter(|cell| map.bench_of(*cell).is_some())
        .collect();
    if seats.len() + cells.len() != refused.len() {
        return None;
    }
    let Some(mut wish) = similar_wish(map, &seats) else {
        let found = SeatChoice {
            cells,
            next_to_each_other: true,
            manner: SeatArrangement::Standing,
        };
        return (!found.cells.is_empty()).then_some(found);
    };
    wish.near = Some(middle(map, &seats));
    let mut sections: Vec<u32> = seats
        .iter()
        .filter_map(|cell| map.seats[*cell as usize].section)
        .collect();
    sections.dedup();
    let mut near_wish = wish.clone();
    near_wish.sections = (!sections.is_empty()).then_some(sections);
    let is_acceptable = |choice: &SeatChoice| {
        choice.manner != SeatArrangement::Standing
            && (!clean || orphans_of(map, is_free, &choice.cells).is_empty())
    };
    let found = [near_wish, wish].iter().find_map(|wish| {
        choose(map, is_free, wish, 0, rng)
            .ok()
            .filter(is_acceptable)
    })?;
    cells.extend(&found.cells);
    cells.sort_unstable();
    Some(SeatChoice {
        next_to_each_other: found.next_to_each_other,
        manner: found.manner,
        cells,
    })
}

fn middle(map: &SeatMap, cells: &[u32]) -> PlanPoint {
    let mut sum = (0.0_f64, 0.0_f64);
    for cell in cells {
        let seat = &map.seats[*cell as usize];
        sum = (sum.0 + f64::from(seat.x), sum.1 + f64::from(seat.y));
    }
    let count =
        f64::from(u32::try_from(cells.len().max(1)).expect("no more than the map has seats"));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a mean of f32 values fits where they fit"
    )]
    PlanPoint {
        x: (sum.0 / count) as f32,
        y: (sum.1 / count) as f32,
    }
}
