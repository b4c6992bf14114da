//! The plan `grid:ROWSxSEATS`: a plain hall made from two numbers, for demos, trials and load
//! tests.
//!
//! Rows are lettered `A` … `Z`, `AA` … from the front, and seats are numbered from the left: `A-1`.
//! Aisles cut a row of more than 40 seats into blocks of nearly equal width, as in a real hall. The
//! blocks are the sections (`Block 1` … from the left). Labels do not name the block, since row and
//! number already identify a seat. The category depends on the distance from the stage: the front
//! half of the rows is `cat1`, and the rest is `cat2`. The example of an on-sale file has prices
//! for these categories. The focal point is in the middle, in front of row A.

use super::{PlanFault, PlanImportResult};
use crate::plans::draft::SeatMapDraft;
use crate::plans::foreign_json::PlanFaults;
use crate::plans::seatmap::{PlanPoint, PriceCategory, Seat, SeatKind, SeatingRow};

/// How many seats a grid has, at most.
const SEATS_MAX: u32 = 200_000;
/// How many rows a grid has, and how many seats a row has, at most.
const SIDE_MAX: u32 = 2_000;
/// How many seats are side by side without an aisle, at most.
const BLOCK_MAX: u32 = 40;
/// Units from chair to chair.
const CHAIR: f32 = 20.0;
/// Units from row to row.
const ROW: f32 = 24.0;
/// Units that an aisle adds between two chairs.
const AISLE: f32 = 40.0;
/// Units from the focal point to the first row.
const STAGE: f32 = 72.0;
/// Okabe–Ito colours, which nearly everybody can tell apart.
const COLORS: [&str; 2] = ["#0072b2", "#e69f00"];
/// The number of bands of rows, each with a category of its own.
const BANDS: u32 = 2;

/// Makes the plan of `ROWSxSEATS`, such as `50x400`.
///
/// # Errors
/// A fault if the text is not two whole numbers with an `x` between them, or the hall is empty or
/// too large.
pub fn parse_grid(text: &str) -> PlanImportResult {
    let (rows, columns) = sides(text)?;
    let blocks = columns.div_ceil(BLOCK_MAX);
    let mut draft = SeatMapDraft::default();
    let mut faults = PlanFaults::default();
    draft.parts.name = format!("Grid {rows} × {columns}");
    draft.parts.categories = (1..=BANDS)
        .zip(COLORS)
        .map(|(band, color)| PriceCategory {
            key: format!("cat{band}"),
            label: format!("Category {band}"),
            color: color.to_owned(),
        })
        .collect();
    for row in 0..rows {
        let letters = letters(row);
        let category = u16::try_from(row * BANDS / rows).expect("there are two bands");
        for block in 0..blocks {
            let section = (blocks > 1).then(|| draft.section(&format!("Block {}", block + 1)));
            let index = u32::try_from(draft.parts.rows.len())
                .expect("there are at most 200,000 rows of blocks");
            let mut cells = Vec::new();
            for column in block * columns / blocks..(block + 1) * columns / blocks {
                let number = (column + 1).to_string();
                let seat = Seat {
                    label: format!("{letters}-{number}"),
                    x: across(column, block),
                    y: scaled(row, ROW),
                    category,
                    section,
                    zone: None,
                    row: Some(index),
                    number,
                    accessible: false,
                    companion: false,
                    restricted_view: false,
                    kind: SeatKind::Seat,
                };
                cells.extend(draft.add_seat(seat, String::new, &mut faults));
            }
            draft.parts.rows.push(SeatingRow {
                section,
                label: letters.clone(),
                cells,
            });
        }
    }
    draft.parts.focal = Some(PlanPoint {
        x: across(columns - 1, blocks - 1) / 2.0,
        y: -STAGE,
    });
    draft.finish(faults)
}

fn sides(text: &str) -> Result<(u32, u32), Vec<PlanFault>> {
    let refuse = |code, message: String| {
        vec![PlanFault {
            at: format!("grid:{}", text.escape_debug()),
            code,
            message,
        }]
    };
    let number = |part: &str| {
        part.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| part.parse::<u32>().ok())
            .flatten()
    };
    let Some((Some(rows), Some(columns))) = text
        .split_once('x')
        .map(|(rows, columns)| (number(rows), number(columns)))
    else {
        return Err(refuse(
            "bad_grid",
            "Expected two whole numbers with an x between, rows first: 50x400.".to_owned(),
        ));
    };
    if rows == 0 || columns == 0 {
        return Err(refuse(
            "no_seats",
            "A hall needs at least one row of at least one seat.".to_owned(),
        ));
    }
    if rows > SIDE_MAX || columns > SIDE_MAX || rows * columns > SEATS_MAX {
        let message = format!(
            "A grid has at most {SIDE_MAX} rows, {SIDE_MAX} seats a row and {SEATS_MAX} seats in all."
        );
        return Err(refuse("too_many_seats", message));
    }
    Ok((rows, columns))
}

/// Multiplies a whole number of at most a few thousand by a length. The result is exact in an
/// `f32`.
fn scaled(count: u32, unit: f32) -> f32 {
    f32::from(u16::try_from(count).expect("a side has at most 2,000 seats")) * unit
}

fn across(column: u32, aisles: u32) -> f32 {
    scaled(column, CHAIR) + scaled(aisles, AISLE)
}

/// Returns the letters of a row: `A` … `Z`, `AA`, `AB` … as spreadsheets count.
fn letters(row: u32) -> String {
    let mut rest = row + 1;
    let mut reversed = Vec::new();
    while rest > 0 {
        let digit = u8::try_from((rest - 1) % 26).expect("a remainder of 26");
        reversed.push(char::from(b'A' + digit));
        rest = (rest - 1) / 26;
    }
    reversed.iter().rev().collect()
}
