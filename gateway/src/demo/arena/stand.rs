//! One section of the bowl: rows along the oval between two aisles.

use super::document::{ArenaCategory, ArenaRow, ArenaSection, DocumentPoint};
use super::oval::{OvalArc, arc_at};

/// The distance from chair to chair.
pub const CHAIR: f64 = 20.0;
/// The distance from row to row.
pub const ROW: f64 = 28.0;
/// The distance from a place for a wheelchair to the companion's seat beside it.
const WHEELCHAIR: f64 = 32.0;
/// The distance from the last ordinary row to the row of places for wheelchairs.
pub const WHEELCHAIR_ROW: f64 = 46.0;
/// The label of the row of places for wheelchairs.
const WHEELCHAIR_LABEL: &str = "W";
/// The distance from the middles of the outermost chairs to the outline.
pub const BORDER: f64 = 20.0;
/// The rows that an entrance interrupts, counted from 0 at the front.
const ENTRANCE_ROWS: std::ops::Range<u32> = 3..8;
/// The distance between the chairs on both sides of an entrance.
const ENTRANCE: f64 = 110.0;
/// The number of straight pieces that make up one edge of an outline.
const OUTLINE_PIECES: u32 = 10;

/// A section of the bowl.
pub struct BowlSection {
    pub label: String,
    /// The angles of the section's two ends in degrees, clockwise.
    pub ends: (f64, f64),
    /// The distance of the first row from the oval.
    pub outwards: f64,
    pub rows: u32,
    /// The distance from chair to chair.
    pub chair: f64,
    /// The distance from row to row.
    pub row: f64,
    /// The width of the aisle between this section and the next.
    pub aisle: f64,
    pub category: ArenaCategory,
    /// The first rear row, and the category of the rear rows.
    pub rear: Option<(u32, ArenaCategory)>,
    /// Whether an entrance interrupts rows.
    pub entrance: bool,
    /// Whether places for wheelchairs are behind the last row.
    pub wheelchairs: bool,
    pub restricted_view: bool,
}

impl BowlSection {
    /// Returns the section as a part of the document.
    pub fn section(&self) -> ArenaSection {
        let arc = arc_at(f64::midpoint(self.ends.0, self.ends.1));
        let mut rows: Vec<ArenaRow> = (0..self.rows)
            .flat_map(|row| self.ordinary_row(&arc, row))
            .collect();
        let mut last = self.outwards + f64::from(self.rows - 1) * self.row;
        if self.wheelchairs {
            last += WHEELCHAIR_ROW;
            rows.push(self.wheelchair_row(&arc, last));
        }
        ArenaSection {
            label: self.label.clone(),
            category: self.category,
            outline: self.outline(&arc, self.outwards - BORDER, last + BORDER),
            rows,
        }
    }

    /// Returns one row, or its parts on both sides of the entrance. Seats are numbered from the
    /// left of a person who sits in the row and looks at the floor.
    fn ordinary_row(&self, arc: &OvalArc, row: u32) -> Vec<ArenaRow> {
        let outwards = self.outwards + f64::from(row) * self.row;
        let (right, left) = self.chairs_between(arc, outwards);
        let category = self.rear.filter(|(first, _)| row >= *first);
        let parts = if self.entrance && ENTRANCE_ROWS.contains(&row) {
            let half = ENTRANCE / 2.0 / arc.radius_at(outwards);
            let middle = f64::midpoint(right, left);
            vec![(middle + half, left), (right, middle - half)]
        } else {
            vec![(right, left)]
        };
        let mut first = 1;
        let mut rows = Vec::with_capacity(parts.len());
        for angles in parts {
            let part = ArenaRow {
                label: row_letter(row),
                category: category.map(|(_, category)| category),
                first,
                restricted_view: self.restricted_view,
                ..arc_row(arc, outwards, angles, self.chair)
            };
            first += part.count;
            rows.push(part);
        }
        rows
    }

    /// Returns the row of places for wheelchairs, each with the seat of a companion beside it.
    fn wheelchair_row(&self, arc: &OvalArc, outwards: f64) -> ArenaRow {
        let row = arc_row(
            arc,
            outwards,
            self.chairs_between(arc, outwards),
            WHEELCHAIR,
        );
        let count = row.count / 2 * 2;
        ArenaRow {
            label: WHEELCHAIR_LABEL.to_owned(),
            count,
            accessible: (1..=count).step_by(2).collect(),
            companion: (2..=count).step_by(2).collect(),
            ..row
        }
    }

    /// Returns the angles (radians) of the outermost chairs of a row. Their distance from the
    /// section's ends makes the aisle equally wide at every row.
    fn chairs_between(&self, arc: &OvalArc, outwards: f64) -> (f64, f64) {
        let margin = f64::midpoint(self.aisle, self.chair) / arc.radius_at(outwards);
        (
            self.ends.0.to_radians() + margin,
            self.ends.1.to_radians() - margin,
        )
    }

    fn outline(&self, arc: &OvalArc, inner: f64, outer: f64) -> Vec<DocumentPoint> {
        let edge = |outwards: f64| {
            // Half the aisle and half a chair are between the section's end and the middle of its
            // outermost chair. The border takes a part of this space.
            let margin = (f64::midpoint(self.aisle, self.chair) - BORDER).max(0.0);
            let turn = (margin / arc.radius_at(outwards)).asin();
            let (right, left) = (
                self.ends.0.to_radians() + turn,
                self.ends.1.to_radians() - turn,
            );
            (0..=OUTLINE_PIECES).map(move |piece| {
                let share = f64::from(piece) / f64::from(OUTLINE_PIECES);
                DocumentPoint(arc.point(right + (left - right) * share, outwards))
            })
        };
        let outer: Vec<_> = edge(outer).collect();
        edge(inner).chain(outer.into_iter().rev()).collect()
    }
}

/// Returns a row of as many chairs as fit on an arc between two angles (radians). The row begins at
/// the larger angle, so it bends to the right.
fn arc_row(arc: &OvalArc, outwards: f64, (right, left): (f64, f64), chair: f64) -> ArenaRow {
    let radius = arc.radius_at(outwards);
    ArenaRow {
        label: String::new(),
        category: None,
        count: chairs_on((left - right) * radius, chair),
        first: 1,
        from: DocumentPoint(arc.point(left, outwards)),
        to: DocumentPoint(arc.point(right, outwards)),
        bend: radius * (1.0 - ((left - right) / 2.0).cos()),
        accessible: Vec::new(),
        companion: Vec::new(),
        restricted_view: false,
    }
}

/// Returns how many chairs fit on `length`, which is measured from the middle of the first chair to
/// the middle of the last.
pub fn chairs_on(length: f64, chair: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lengths within the arena are positive and far below 2^32"
    )]
    let gaps = (length / chair).floor() as u32;
    gaps + 1
}

/// Returns the letter of a row: A at the front.
fn row_letter(row: u32) -> String {
    let letter = u8::try_from(row).expect("a section has fewer than 26 rows");
    char::from(b'A' + letter).to_string()
}
