//! The map as one wish sees it: for every cell whether it is free, whether the wish may have it,
//! and how far it is from where the wish looks. Read once, so that the searches ask nobody twice.

use crate::choosing::wish::Wish;
use crate::plans::seatmap::{Kind, Point, Seat, SeatMap};

/// What a cell is to a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Held, sold, or not for sale.
    Taken,
    /// Free, but not for this wish.
    Other,
    /// An ordinary seat for it.
    Seat,
    /// An accessible seat for it.
    Accessible,
}

impl Class {
    /// Whether the wish may have it.
    pub fn eligible(self) -> bool {
        matches!(self, Self::Seat | Self::Accessible)
    }
}

/// How many cells the wish may have.
pub struct Count {
    /// Ordinary seats on benches.
    pub seats: u32,
    /// Accessible seats on benches.
    pub accessible: u32,
    /// Standing places, where the wish leads to them.
    pub standing: u32,
}

/// See the module.
pub struct View<'a> {
    /// The map.
    pub map: &'a SeatMap,
    class: Vec<Class>,
    /// From the focal point; 0 where the class is not eligible.
    distance: Vec<f32>,
}

impl<'a> View<'a> {
    /// Reads the picture.
    pub fn of(map: &'a SeatMap, free: &dyn Fn(u32) -> bool, wish: &Wish) -> Self {
        let focus = Focus::of(map, wish);
        let mut class = Vec::with_capacity(map.seats.len());
        let mut distance = Vec::with_capacity(map.seats.len());
        for (cell, seat) in (0..).zip(&map.seats) {
            let seen = if free(cell) {
                classify(cell, seat, wish)
            } else {
                Class::Taken
            };
            class.push(seen);
            distance.push(if seen.eligible() {
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

    /// What a cell is.
    pub fn class(&self, cell: u32) -> Class {
        self.class[cell as usize]
    }

    /// Whether a cell is free, for this wish or another.
    pub fn is_free(&self, cell: u32) -> bool {
        self.class(cell) != Class::Taken
    }

    /// From the focal point, in the plan's units.
    pub fn distance(&self, cell: u32) -> f32 {
        self.distance[cell as usize]
    }

    /// Adds up what the wish may have.
    pub fn count(&self) -> Count {
        let mut count = Count {
            seats: 0,
            accessible: 0,
            standing: 0,
        };
        for (seat, class) in self.map.seats.iter().zip(&self.class) {
            match class {
                Class::Seat if seat.kind == Kind::Standing => count.standing += 1,
                Class::Seat if seat.row.is_some() => count.seats += 1,
                Class::Accessible if seat.row.is_some() => count.accessible += 1,
                _ => {}
            }
        }
        count
    }
}

/// Whether the wish may have a free seat.
fn classify(cell: u32, seat: &Seat, wish: &Wish) -> Class {
    let led_to_stand =
        wish.accessible == 0 && (wish.categories.is_some() || wish.sections.is_some());
    let fits = wish
        .categories
        .as_ref()
        .is_none_or(|any| any.contains(&seat.category))
        && wish
            .sections
            .as_ref()
            .is_none_or(|any| seat.section.is_some_and(|own| any.contains(&own)))
        && (wish.zone.is_none() || wish.zone == seat.zone)
        && wish.only.as_ref().is_none_or(|only| only.contains(cell))
        && wish
            .blocked
            .as_ref()
            .is_none_or(|blocked| !blocked.contains(cell))
        && (wish.accessible > 0 || !seat.accessible && !seat.companion)
        && match seat.kind {
            Kind::Seat | Kind::Table => true,
            Kind::Standing => led_to_stand,
            Kind::Booth => false,
        };
    match (fits, seat.accessible) {
        (false, _) => Class::Other,
        (true, false) => Class::Seat,
        (true, true) => Class::Accessible,
    }
}

/// Where a wish looks from its seats.
enum Focus<'a> {
    At(Point),
    /// Each seat at its zone's, or at this point.
    OwnZone(&'a SeatMap, Point),
}

impl<'a> Focus<'a> {
    fn of(map: &'a SeatMap, wish: &Wish) -> Self {
        let zone = wish
            .zone
            .and_then(|zone| map.zones.get(usize::from(zone))?.focal);
        if let Some(point) = wish.near.or(zone).or(map.focal) {
            return Self::At(point);
        }
        let bounds = map.bounds();
        Self::OwnZone(
            map,
            Point {
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
            Point {
                x: seat.x,
                y: seat.y,
            },
            point,
        )
    }
}

/// Straight distance. Not `hypot`: its care for overflow costs more than all else here, and
/// coordinates are bounded.
pub fn apart(a: Point, b: Point) -> f32 {
    let (x, y) = (a.x - b.x, a.y - b.y);
    (x * x + y * y).sqrt()
}
