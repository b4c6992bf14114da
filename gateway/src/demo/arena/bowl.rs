//! The bowl: the lower tier, the boxes and the upper tier. It is open behind the stage.

use super::document::{ArenaCategory, ArenaSection};
use super::oval::junction;
use super::stand::{BowlSection, CHAIR, ROW, WHEELCHAIR_ROW};

/// The angle (degrees) at which the bowl ends on the right of the stage.
const END_ANGLE: f64 = -68.0;
/// The width of the aisles.
const AISLE: f64 = 44.0;
const LOWER_ROWS: u32 = 18;
const UPPER_ROWS: u32 = 20;
/// The first of the upper tier's cheaper rows. Rows are counted from 0 at the front.
const UPPER_REAR: u32 = 10;
/// The distance from the back of the lower tier to the boxes, and from them to the upper tier.
const PASSAGE: f64 = 95.0;
const BOX_ROWS: u32 = 2;
const BOX_CHAIR: f64 = 24.0;
const BOX_ROW: f64 = 34.0;
/// The distance from the chairs of one box to those of the next.
const BOX_GAP: f64 = 60.0;

/// The distance of the boxes' first row from the oval.
const BOXES_AT: f64 = (LOWER_ROWS - 1) as f64 * ROW + WHEELCHAIR_ROW + PASSAGE;
/// The distance of the upper tier's first row from the oval.
const UPPER_AT: f64 = BOXES_AT + (BOX_ROWS - 1) as f64 * BOX_ROW + PASSAGE;

/// Returns the sections of the lower tier, 101 and up, clockwise from the right of the stage.
pub fn lower_tier() -> Vec<ArenaSection> {
    let ends = ring(true, 5, 3);
    let count = ends.len();
    let section = |(at, ends): (usize, (f64, f64))| {
        let from_stage = at.min(count - 1 - at);
        let beside_stage = from_stage == 0;
        let category = match from_stage {
            0 => ArenaCategory::Cat5,
            2..=4 => ArenaCategory::Cat2,
            _ => ArenaCategory::Cat3,
        };
        let section = BowlSection {
            label: (101 + at).to_string(),
            ends,
            outwards: 0.0,
            rows: LOWER_ROWS,
            chair: CHAIR,
            row: ROW,
            aisle: AISLE,
            category,
            rear: None,
            entrance: false,
            wheelchairs: !beside_stage,
            restricted_view: beside_stage,
        };
        section.section()
    };
    ends.into_iter().enumerate().map(section).collect()
}

/// Returns the boxes between the tiers.
pub fn boxes() -> Vec<ArenaSection> {
    let section = |(at, ends): (usize, (f64, f64))| {
        let section = BowlSection {
            label: format!("Box {}", at + 1),
            ends,
            outwards: BOXES_AT,
            rows: BOX_ROWS,
            chair: BOX_CHAIR,
            row: BOX_ROW,
            aisle: BOX_GAP,
            category: ArenaCategory::Cat1,
            rear: None,
            entrance: false,
            wheelchairs: false,
            restricted_view: false,
        };
        section.section()
    };
    ring(false, 11, 6)
        .into_iter()
        .enumerate()
        .map(section)
        .collect()
}

/// Returns the sections of the upper tier, 201 and up, clockwise from the right of the stage.
pub fn upper_tier() -> Vec<ArenaSection> {
    let ends = ring(true, 7, 4);
    let count = ends.len();
    let section = |(at, ends): (usize, (f64, f64))| {
        let beside_stage = at == 0 || at == count - 1;
        let section = BowlSection {
            label: (201 + at).to_string(),
            ends,
            outwards: UPPER_AT,
            rows: UPPER_ROWS,
            chair: CHAIR,
            row: ROW,
            aisle: AISLE,
            category: if beside_stage {
                ArenaCategory::Cat5
            } else {
                ArenaCategory::Cat4
            },
            rear: Some((UPPER_REAR, ArenaCategory::Cat5)),
            entrance: true,
            wheelchairs: false,
            restricted_view: beside_stage,
        };
        section.section()
    };
    ends.into_iter().enumerate().map(section).collect()
}

/// Cuts the ring around the floor into sections, and returns the angles (degrees) of each section's
/// two ends. Each long side has `on_side` sections, and the end that faces the stage has `at_end`
/// sections. With `beside_stage`, there is one more section on each side of the stage. Every
/// section is on a single arc.
fn ring(beside_stage: bool, on_side: u32, at_end: u32) -> Vec<(f64, f64)> {
    let junction = junction();
    let cut = |from: f64, to: f64, parts: u32| {
        (1..=parts).map(move |part| from + (to - from) * f64::from(part) / f64::from(parts))
    };
    let mut cuts = vec![-junction];
    cuts.extend(cut(-junction, junction, on_side));
    cuts.extend(cut(junction, 180.0 - junction, at_end));
    cuts.extend(cut(180.0 - junction, 180.0 + junction, on_side));
    if beside_stage {
        cuts.insert(0, END_ANGLE);
        cuts.push(180.0 - END_ANGLE);
    }
    cuts.windows(2).map(|ends| (ends[0], ends[1])).collect()
}
