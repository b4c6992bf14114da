//! The floor: the stage with its catwalk, and blocks of straight rows in front of the stage. The
//! sound desk stands between the last two blocks.

use super::document::{ArenaCategory, ArenaRow, ArenaSection, DocumentPoint, StageShape, points};
use super::oval::{ArenaPoint, half_width};
use super::stand::{BORDER, CHAIR, ROW, chairs_on};

/// The width of the walkway between the floor's outermost chairs and the bowl.
const WALKWAY: f64 = 110.0;
/// The number of chairs in a row of a block in the middle.
const MIDDLE_CHAIRS: u32 = 24;
/// The distance from the arena's axis to a block beside a middle block.
const BESIDE_MIDDLE: f64 = 290.0;
/// The distance from the arena's axis to a block beside the catwalk or the sound desk.
const BESIDE_GAP: f64 = 150.0;

/// The point of the stage that the audience looks at.
pub const FOCAL: ArenaPoint = (0.0, -830.0);
/// The corners of the stage's right half, from the back to the front, without the round end of the
/// catwalk.
const STAGE_RIGHT: [ArenaPoint; 6] = [
    (200.0, -1_290.0),
    (250.0, -1_110.0),
    (400.0, -1_070.0),
    (400.0, FOCAL.1),
    (80.0, FOCAL.1),
    (80.0, -610.0),
];
/// The middle of the catwalk's round end.
const CATWALK_END: ArenaPoint = (0.0, -540.0);
const CATWALK_RADIUS: f64 = 106.0;

/// Blocks side by side on the floor.
struct BlockLine {
    /// The y of the first row.
    y: f64,
    rows: u32,
    /// Whether there is a block in the middle.
    middle: bool,
    category: ArenaCategory,
}

const BLOCK_LINES: [BlockLine; 5] = [
    BlockLine {
        y: -740.0,
        rows: 10,
        middle: false,
        category: ArenaCategory::Cat1,
    },
    BlockLine {
        y: -390.0,
        rows: 11,
        middle: true,
        category: ArenaCategory::Cat1,
    },
    BlockLine {
        y: 10.0,
        rows: 11,
        middle: true,
        category: ArenaCategory::Cat2,
    },
    BlockLine {
        y: 410.0,
        rows: 11,
        middle: true,
        category: ArenaCategory::Cat2,
    },
    BlockLine {
        y: 800.0,
        rows: 8,
        middle: false,
        category: ArenaCategory::Cat2,
    },
];

/// Returns the stage. Its halves mirror each other.
pub fn stage() -> StageShape {
    let round = (-40..=220).step_by(20).map(|degrees| {
        let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
        (
            CATWALK_END.0 + CATWALK_RADIUS * cos,
            CATWALK_END.1 + CATWALK_RADIUS * sin,
        )
    });
    let left = STAGE_RIGHT.iter().rev().map(|(x, y)| (-x, *y));
    let corners: Vec<ArenaPoint> = STAGE_RIGHT.into_iter().chain(round).chain(left).collect();
    StageShape {
        label: "Stage",
        points: points(&corners),
    }
}

/// Returns the blocks, from the front to the back and from the left to the right.
pub fn blocks() -> Vec<ArenaSection> {
    let mut blocks: Vec<ArenaSection> = Vec::new();
    for line in &BLOCK_LINES {
        let back = line.y + f64::from(line.rows - 1) * ROW;
        let half_space = half_width(line.y).min(half_width(back)) - WALKWAY;
        let inner = if line.middle {
            BESIDE_MIDDLE
        } else {
            BESIDE_GAP
        };
        let chairs = chairs_on(half_space - inner, CHAIR);
        let middle = line
            .middle
            .then_some((-row_width(MIDDLE_CHAIRS) / 2.0, MIDDLE_CHAIRS));
        let spots = [
            Some((-inner - row_width(chairs), chairs)),
            middle,
            Some((inner, chairs)),
        ];
        for (left, chairs) in spots.into_iter().flatten() {
            let letter = u8::try_from(blocks.len()).expect("there are fewer than 26 blocks");
            let label = format!("Floor {}", char::from(b'A' + letter));
            blocks.push(block(label, line, left, chairs));
        }
    }
    blocks
}

fn block(label: String, line: &BlockLine, left: f64, chairs: u32) -> ArenaSection {
    let right = left + row_width(chairs);
    let row = |row: u32| {
        let y = line.y + f64::from(row) * ROW;
        ArenaRow {
            label: (row + 1).to_string(),
            category: None,
            count: chairs,
            first: 1,
            // The left of the plan is on the left of a person who looks at the stage.
            from: DocumentPoint((left, y)),
            to: DocumentPoint((right, y)),
            bend: 0.0,
            accessible: Vec::new(),
            companion: Vec::new(),
            restricted_view: false,
        }
    };
    let (front, back) = (line.y, line.y + f64::from(line.rows - 1) * ROW);
    ArenaSection {
        label,
        category: line.category,
        outline: points(&[
            (left - BORDER, front - BORDER),
            (right + BORDER, front - BORDER),
            (right + BORDER, back + BORDER),
            (left - BORDER, back + BORDER),
        ]),
        rows: (0..line.rows).map(row).collect(),
    }
}

/// Returns the distance from the first chair of a row to the last.
fn row_width(chairs: u32) -> f64 {
    f64::from(chairs - 1) * CHAIR
}
