//! Finds which seats are side by side, by cutting rows at their aisles. Only seats on one bench can
//! be neighbours when seats are chosen.

use std::ops::Range;

use super::{SeatKind, SeatMapParts, SeatingRow};

/// A gap of more than this many times a row's usual spacing is an aisle. People on its two sides do
/// not sit side by side. Straight and curved rows alike stay within 1 % of their usual spacing. A
/// missing chair leaves a gap of 2.0 times the spacing.
const AISLE_GAP: f32 = 1.75;

/// The chairs between two aisles. Neighbours in `cells` sit side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatBench {
    /// Index into [`SeatMapParts::rows`].
    pub row: u32,
    /// The bench's part of the row's cells, as positions in the row.
    pub cells: Range<u32>,
}

/// Returns the cells of a bench, from one end to the other.
pub fn bench_cells<'a>(parts: &'a SeatMapParts, bench: &SeatBench) -> &'a [u32] {
    &parts.rows[bench.row as usize].cells[bench.cells.start as usize..bench.cells.end as usize]
}

/// Cuts rows at their aisles. Tables are not cut: their chairs are not in a straight line, but
/// belong together.
pub fn benches(parts: &SeatMapParts) -> Vec<SeatBench> {
    let seat = |cell: u32| &parts.seats[cell as usize];
    let gaps = |row: &SeatingRow| -> Vec<f32> {
        row.cells
            .windows(2)
            .map(|pair| {
                (seat(pair[0]).x - seat(pair[1]).x).hypot(seat(pair[0]).y - seat(pair[1]).y)
            })
            .collect()
    };
    let house_gap = usual(&parts.rows.iter().flat_map(gaps).collect::<Vec<f32>>());
    let mut found = Vec::with_capacity(parts.rows.len());
    for (number, row) in (0..).zip(&parts.rows) {
        let gaps = gaps(row);
        let is_table = row
            .cells
            .first()
            .is_some_and(|cell| seat(*cell).kind == SeatKind::Table);
        // Two or three chairs do not show the usual spacing, because one of their gaps may be the
        // aisle itself. For them, the usual spacing is at most that of the house.
        let usual_gap = if gaps.len() < 3 {
            usual(&gaps).min(house_gap)
        } else {
            usual(&gaps)
        };
        let widest = if is_table {
            f32::INFINITY
        } else {
            usual_gap * AISLE_GAP
        };
        let mut start = 0;
        for (end, gap) in (1..).zip(&gaps) {
            if *gap > widest {
                found.push(SeatBench {
                    row: number,
                    cells: start..end,
                });
                start = end;
            }
        }
        let end =
            u32::try_from(row.cells.len()).expect("a row has at most as many seats as the map");
        if start < end {
            found.push(SeatBench {
                row: number,
                cells: start..end,
            });
        }
    }
    found
}

/// Returns the lower median of the gaps. It is infinite if there are no gaps, or if the median is 0
/// because chairs lie on top of each other.
fn usual(gaps: &[f32]) -> f32 {
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    match sorted.get(sorted.len().saturating_sub(1) / 2) {
        Some(gap) if *gap > 0.0 => *gap,
        _ => f32::INFINITY,
    }
}
