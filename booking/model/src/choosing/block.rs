//! Preferences 1 and 2 of [`super`]: the whole party sits side by side. A window has as many
//! neighbouring seats as the party has people. The search looks at each window on each bench once,
//! and keeps running sums. Its time is therefore linear in the number of seats.

use std::collections::BTreeSet;

use rand::Rng;

use super::{SeatArrangement, SeatChoice, orphans_of};
use crate::choosing::pick::{CandidateShortlist, SeatCandidate};
use crate::choosing::view::{CellEligibility, WishSeatView};
use crate::choosing::wish::BestSeatsWish;
use crate::plans::seatmap::SeatBench;

struct SeatBlock {
    bench: u32,
    start: u32,
    len: u32,
    orphans: u32,
    score: f32,
}

impl SeatCandidate for SeatBlock {
    /// The bench and the first seat of each block. All blocks of one search are equally long.
    type KeptSeats = BTreeSet<(u32, u32)>;

    fn rank(&self) -> u32 {
        self.orphans
    }
    fn score(&self) -> f32 {
        self.score
    }
    fn keep_apart(&self, kept: &mut Self::KeptSeats) -> bool {
        let first = self.start.saturating_sub(self.len - 1);
        let overlapping = (self.bench, first)..(self.bench, self.start + self.len);
        kept.range(overlapping).next().is_none() && kept.insert((self.bench, self.start))
    }
}

/// Chooses the best block. Returns `None` if the party cannot sit side by side.
pub fn best(
    view: &WishSeatView<'_>,
    wish: &BestSeatsWish,
    spread: usize,
    rng: &mut impl Rng,
) -> Option<SeatChoice> {
    let len = wish.quantity as usize;
    let mut windows = CandidateShortlist::new(spread, len.saturating_mul(2));
    for (number, bench) in (0..).zip(view.map.benches()) {
        on_bench(view, wish, number, bench, |window| windows.add(window));
    }
    let chosen = windows.pick(rng)?;
    let bench = &view.map.benches()[chosen.bench as usize];
    let mut cells = view.map.on_bench(bench)[chosen.start as usize..][..len].to_vec();
    let leaves_single = !orphans_of(view.map, &|cell| view.is_free(cell), &cells).is_empty();
    cells.sort_unstable();
    let manner = if leaves_single {
        SeatArrangement::BlockLeavingSingle
    } else {
        SeatArrangement::Block
    };
    Some(SeatChoice {
        cells,
        next_to_each_other: true,
        manner,
    })
}

/// Returns whether the wish has a block that leaves no single empty seat.
pub fn has_clean(view: &WishSeatView<'_>, wish: &BestSeatsWish) -> bool {
    (0..).zip(view.map.benches()).any(|(number, bench)| {
        let mut is_clean = false;
        on_bench(view, wish, number, bench, |window| {
            is_clean |= window.orphans == 0;
        });
        is_clean
    })
}

/// Calls `found` with each block for the wish on a bench.
fn on_bench(
    view: &WishSeatView<'_>,
    wish: &BestSeatsWish,
    number: u32,
    bench: &SeatBench,
    mut found: impl FnMut(SeatBlock),
) {
    let cells = view.map.on_bench(bench);
    let len = wish.quantity as usize;
    if cells.len() < len {
        return;
    }
    let (mut barred, mut accessible, mut sum) = (0_usize, 0_u32, 0.0_f64);
    for (end, cell) in cells.iter().enumerate() {
        let class = view.class(*cell);
        barred += usize::from(!class.eligible());
        accessible += u32::from(class == CellEligibility::Accessible);
        sum += f64::from(view.distance(*cell));
        if end + 1 < len {
            continue;
        }
        let start = end + 1 - len;
        if barred == 0 && accessible == wish.accessible {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the mean of f32 distances is no larger than the largest of them"
            )]
            let score = (sum / f64::from(wish.quantity)) as f32;
            let orphans = if wish.avoid_orphans {
                single_sides(view, cells, start, end + 1)
            } else {
                0
            };
            let start = u32::try_from(start).expect("a bench is no longer than the map");
            found(SeatBlock {
                bench: number,
                start,
                len: wish.quantity,
                orphans,
                score,
            });
        }
        let class = view.class(cells[start]);
        barred -= usize::from(!class.eligible());
        accessible -= u32::from(class == CellEligibility::Accessible);
        sum -= f64::from(view.distance(cells[start]));
    }
}

/// Counts the sides (0 to 2) on which a party in `start..end` would leave a single free seat. The
/// free seat beside the party is single if the next seat is not free or the bench ends there.
pub fn single_sides(view: &WishSeatView<'_>, cells: &[u32], start: usize, end: usize) -> u32 {
    let free = |at: Option<usize>| {
        at.and_then(|at| cells.get(at))
            .is_some_and(|cell| view.is_free(*cell))
    };
    let left = free(start.checked_sub(1)) && !free(start.checked_sub(2));
    let right = free(Some(end)) && !free(Some(end + 1));
    u32::from(left) + u32::from(right)
}
