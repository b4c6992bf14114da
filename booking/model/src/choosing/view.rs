//! The map as one wish sees it: for every cell, whether the cell is free, whether the wish may have
//! it, and its distance from the wish's focal point. The view is computed once for all searches.

use crate::choosing::wish::BestSeatsWish;
use crate::plans::seatmap::{PlanPoint, Seat, SeatKind, SeatMap};

/// What a cell means to a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellEligibility {
    /// Held, sold, or not for sale.
    Taken,
    /// Free, but not for this wish.
    Other,
    /// An ordinary seat that the wish may have.
    Seat,
    /// An accessible seat that the wish may have.
    Accessible,
}

impl CellEligibility {
    /// Returns whether the wish may have the cell.
    pub fn eligible(self) -> bool {
        matches!(self, Self::Seat | Self::Accessible)
    }
}

/// How many cells the wish may have.
pub struct EligibleCounts {
    /// Ordinary seats on benches.
    pub seats: u32,
    /// Accessible seats on benches.
    pub accessible: u32,
    /// Standing units, if the wish allows them.
    pub standing: u32,
}

/// The map as one wish sees it, computed once.
pub struct WishSeatView<'a> {
    /// The map of the plan.
    pub map: &'a SeatMap,
    class: Vec<CellEligibility>,
    /// The distance from the focal point, in the plan's units; 0 if the wish may not have the cell.
    distance: Vec<f32>,
}

impl<'a> WishSeatView<'a> {
    /// Computes the view from the map and the free cells.
    pub fn for_wish(map: &'a SeatMap, is_free: &dyn Fn(u32) -> bool, wish: &BestSeatsWish) -> Self {
        let focus = WishFocus::for_wish(map, wish);
        let mut class = Vec::with_capacity(map.seats.len());
        let mut distance = Vec::with_capacity(map.seats.len());
        for (cell, seat) in (0..).zip(&map.seats) {
            let eligibility = if is_free(cell) {
                classify(cell, seat, wish)
            } else {
                CellEligibility::Taken
            };
            class.push(eligibility);
            distance.push(if eligibility.eligible() {
                focus.distance(seat)
            } else {
                0.0
            });
        }
        Self {
            map,
            class,
            distance,
        }
    }

    /// Returns what a cell means to this wish.
    pub fn class(&self, cell: u32) -> CellEligibility {
        self.class[cell as usize]
    }

    /// Returns whether a cell is free, even if this wish may not have it.
    pub fn is_free(&self, cell: u32) -> bool {
        self.class(cell) != CellEligibility::Taken
    }

    /// Returns the distance from the focal point, in the plan's units.
    pub fn distance(&self, cell: u32) -> f32 {
        self.distance[cell as usize]
    }

    /// Counts the cells that the wish may have.
    pub fn count_eligible(&self) -> EligibleCounts {
        let mut count = EligibleCounts {
            seats: 0,
            accessible: 0,
            standing: 0,
        };
        for (seat, class) in self.map.seats.iter().zip(&self.class) {
            match class {
                CellEligibility::Seat if seat.kind == SeatKind::Standing => count.standing += 1,
                CellEligibility::Seat if seat.row.is_some() => count.seats += 1,
                CellEligibility::Accessible if seat.row.is_some() => count.accessible += 1,
                _ => {}
            }
        }
        count
    }
}

/// Returns what a free seat means to the wish.
fn classify(cell: u32, seat: &Seat, wish: &BestSeatsWish) -> CellEligibility {
    let may_stand = wish.accessible == 0 && (wish.categories.is_some() || wish.sections.is_some());
    let fits = wish
        .categories
        .as_ref()
        .is_none_or(|categories| categories.contains(&seat.category))
        && wish.sections.as_ref().is_none_or(|sections| {
            seat.section
                .is_some_and(|section| sections.contains(&section))
        })
        && (wish.zone.is_none() || wish.zone == seat.zone)
        && wish.only.as_ref().is_none_or(|only| only.contains(cell))
        && wish
            .blocked
            .as_ref()
            .is_none_or(|blocked| !blocked.contains(cell))
        && (wish.accessible > 0 || !seat.accessible && !seat.companion)
        && match seat.kind {
            SeatKind::Seat | SeatKind::Table => true,
            SeatKind::Standing => may_stand,
            SeatKind::Booth => false,
        };
    match (fits, seat.accessible) {
        (false, _) => CellEligibility::Other,
        (true, false) => CellEligibility::Seat,
        (true, true) => CellEligibility::Accessible,
    }
}

/// The point from which a wish measures distances.
enum WishFocus<'a> {
    At(PlanPoint),
    /// The focal point of each seat's own zone, or this point if there is none.
    OwnZone(&'a SeatMap, PlanPoint),
}

impl<'a> WishFocus<'a> {
    fn for_wish(map: &'a SeatMap, wish: &BestSeatsWish) -> Self {
        let zone = wish
            .zone
            .and_then(|zone| map.zones.get(usize::from(zone))?.focal);
        if let Some(point) = wish.near.or(zone).or(map.focal) {
            return Self::At(point);
        }
        let bounds = map.bounds();
        Self::OwnZone(
            map,
            PlanPoint {
                x: f32::midpoint(bounds.min_x, bounds.max_x),
                y: bounds.min_y,
            },
        )
    }

    fn distance(&self, seat: &Seat) -> f32 {
        let point = match self {
            Self::At(point) => *point,
            Self::OwnZone(map, fallback) => seat
                .zone
                .and_then(|zone| map.zones[usize::from(zone)].focal)
                .unwrap_or(*fallback),
        };
        apart(
            PlanPoint {
                x: seat.x,
                y: seat.y,
            },
            point,
        )
    }
}

/// Returns the straight distance between two points. It does not use `hypot`, which is slow because
/// it prevents overflow. Coordinates are too small to overflow.
pub fn apart(a: PlanPoint, b: PlanPoint) -> f32 {
    let (x, y) = (a.x - b.x, a.y - b.y);
    (x * x + y * y).sqrt()
}

/// Returns a number for a distance. The numbers have the order of the distances, and unlike them
/// can be sorted together with other values. No distance is negative, so the order is that of the
/// bits.
pub fn distance_key(distance: f32) -> u32 {
    distance.to_bits()
}
