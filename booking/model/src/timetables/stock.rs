//! Rolling stock: classes, carriages, and the seating plan made from them. Carriages are the plan's
//! sections, and classes are its categories. Code that works for halls therefore works for trains,
//! too.

use serde::{Deserialize, Serialize};

use crate::plans::seatmap::{
    PriceCategory, Seat, SeatKind, SeatMap, SeatMapError, SeatMapParts, SeatingRow,
};
use crate::runs::DistanceRate;

/// How many seats one train has, at most.
pub const SEATS_MAX: u32 = 5_000;

/// Units from chair to chair.
const CHAIR: f32 = 20.0;
/// Units from row to row.
const ROW: f32 = 24.0;
/// Units that are added between two carriages.
const COUPLING: f32 = 60.0;

/// A class of travel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TravelClass {
    /// The key, such as `second`. Requests for holds give it as the class.
    pub key: String,
    /// The name that people read.
    pub label: String,
    /// A CSS colour.
    pub color: String,
    /// Its price by distance, for trains without a table of fares.
    pub rate: DistanceRate,
    /// What the class costs, in per cent of a feed's fares. Feeds have no classes.
    pub feed_pct: u32,
}

/// A kind of train: its carriages, and the trains that use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollingStock {
    /// The id. The venue's slug is `rail-` and this id.
    pub id: String,
    /// The kinds of trains that use it. If the list is empty, trains of all other kinds use it.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The carriages, from the front.
    pub carriages: Vec<Carriage>,
}

/// Consecutive carriages of one shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carriage {
    /// The key of the class.
    pub class: String,
    /// How many rows of seats a carriage has.
    pub rows: u32,
    /// The letters of a row's seats from window to window, with spaces for aisles: `ABC DF`.
    pub seats: String,
    /// How many carriages of this shape follow each other.
    #[serde(default = "default_count")]
    pub count: u32,
}

const fn default_count() -> u32 {
    1
}

impl Carriage {
    /// Returns how many seats a row has.
    #[must_use]
    pub fn seats_per_row(&self) -> u32 {
        let letters = self.seats.chars().filter(|letter| *letter != ' ').count();
        u32::try_from(letters).unwrap_or(u32::MAX)
    }

    /// Returns the number of seats in all carriages of this shape.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        let rows = self.rows.saturating_mul(self.count);
        rows.saturating_mul(self.seats_per_row())
    }
}

impl RollingStock {
    /// Returns how many seats a class has.
    #[must_use]
    pub fn capacity(&self, class: &str) -> u32 {
        let of_class = self
            .carriages
            .iter()
            .filter(|carriage| carriage.class == class);
        of_class.fold(0, |sum, carriage| sum.saturating_add(carriage.capacity()))
    }

    /// Returns the number of all seats.
    #[must_use]
    pub fn seat_count(&self) -> u32 {
        let capacities = self.carriages.iter().map(Carriage::capacity);
        capacities.fold(0, u32::saturating_add)
    }

    /// Makes the seating plan. `3-12F` is seat F of row 12 in carriage 3. The train lies along x,
    /// with its front to the left.
    ///
    /// # Errors
    /// [`SeatMapError`] if two seats of a row have the same letter, or the class of a carriage is
    /// not among `classes`.
    pub fn seat_map(&self, classes: &[TravelClass]) -> Result<SeatMap, SeatMapError> {
        let mut parts = SeatMapParts {
            name: self.id.clone(),
            categories: classes.iter().map(category).collect(),
            ..SeatMapParts::default()
        };
        let mut x = 0.0;
        for carriage in &self.carriages {
            let class = classes.iter().position(|class| class.key == carriage.class);
            let class = class.and_then(|at| u16::try_from(at).ok());
            let class = class.ok_or(SeatMapError::Dangling {
                what: "class of carriage",
                at: parts.sections.len(),
            })?;
            for _ in 0..carriage.count {
                x = add_carriage(&mut parts, carriage, class, x) + COUPLING;
            }
        }
        SeatMap::new(parts)
    }
}

fn category(class: &TravelClass) -> PriceCategory {
    PriceCategory {
        key: class.key.clone(),
        label: class.label.clone(),
        color: class.color.clone(),
    }
}

/// Adds a carriage that begins at `x`, and returns where it ends.
fn add_carriage(parts: &mut SeatMapParts, carriage: &Carriage, class: u16, mut x: f32) -> f32 {
    let section = u32::try_from(parts.sections.len()).unwrap_or(u32::MAX);
    let name = (parts.sections.len() + 1).to_string();
    for row in 1..=carriage.rows {
        let at = u32::try_from(parts.rows.len()).unwrap_or(u32::MAX);
        let mut cells = Vec::new();
        let mut y = 0.0;
        for letter in carriage.seats.chars() {
            if letter != ' ' {
                cells.push(u32::try_from(parts.seats.len()).unwrap_or(u32::MAX));
                parts.seats.push(Seat {
                    label: format!("{name}-{row}{letter}"),
                    x,
                    y,
                    category: class,
                    section: Some(section),
                    zone: None,
                    row: Some(at),
                    number: format!("{row}{letter}"),
                    accessible: false,
                    companion: false,
                    restricted_view: false,
                    kind: SeatKind::Seat,
                });
            }
            // An aisle is one and a half times as wide as a chair.
            y += if letter == ' ' { CHAIR * 1.5 } else { CHAIR };
        }
        parts.rows.push(SeatingRow {
            section: Some(section),
            label: row.to_string(),
            cells,
        });
        x += ROW;
    }
    parts.sections.push(name);
    x
}

#[cfg(test)]
mod tests {
    use crate::timetables::settings::RailFile;

    #[test]
    fn carriages_are_sections_and_classes_are_categories() {
        let file = RailFile::default();
        let stock = &file.stock[0];
        let map = stock.seat_map(&file.class).expect("sound");
        assert_eq!(map.sections.len(), 8);
        assert_eq!(map.cell_count(), stock.seat_count());
        let keys: Vec<_> = map.categories.iter().map(|of| of.key.as_str()).collect();
        assert_eq!(keys, ["business", "first", "second"]);
        for (at, class) in (0_u16..).zip(&file.class) {
            let seats = map.seats.iter().filter(|seat| seat.category == at).count();
            assert_eq!(u32::try_from(seats), Ok(stock.capacity(&class.key)));
        }
        let last = map.seats.last().expect("seats");
        assert_eq!(last.label, "8-17F");
        let benches = map.benches().iter().filter(|bench| {
            let first = map.on_bench(bench)[0];
            map.seats[first as usize].label.starts_with("8-17")
        });
        let sizes: Vec<_> = benches.map(|bench| map.on_bench(bench).len()).collect();
        assert_eq!(sizes, [3, 2], "the aisle divides a row");
    }
}
