//! Chooses seats for a party that fits into no row. It takes several pieces from the stretches of
//! seats nearest to a point. Nobody sits alone if that can be avoided.
//!
//! A piece is 2 or more neighbouring seats. Suppose that every stretch has 2 or more seats, and all
//! of them together have `t` seats. If one stretch has 3 or more seats, every number of seats from
//! 2 to `t` can be taken in pieces. Otherwise, every even number up to `t` can. The search can
//! therefore be greedy: the nearest stretch gives as many seats as it can, as long as the rest can
//! still be taken in pieces.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::choosing::block::single_sides;
use crate::choosing::view::{CellEligibility, WishSeatView, apart, distance_key};
use crate::choosing::wish::CellSet;
use crate::plans::seatmap::PlanPoint;

/// Neighbouring ordinary seats on a bench, all of which the wish may have. A stretch is always as
/// long as possible.
#[derive(Debug, Clone, Copy)]
pub struct BenchStretch {
    /// Index into the map's benches.
    pub bench: u32,
    /// Position of the first seat on the bench.
    pub start: usize,
    /// How many seats it has.
    pub len: usize,
    /// The section that the bench stands in.
    pub section: Option<u32>,
    ends: (PlanPoint, PlanPoint),
}

/// Lists every stretch of the house.
pub fn stretches(view: &WishSeatView<'_>) -> Vec<BenchStretch> {
    let mut found = Vec::new();
    for (number, bench) in (0..).zip(view.map.benches()) {
        let cells = view.map.on_bench(bench);
        let section = view.map.rows[bench.row as usize].section;
        let whole = BenchStretch {
            bench: number,
            start: 0,
            len: cells.len(),
            section,
            ends: end_points(view, cells),
        };
        whole.push_open_parts(
            view,
            &|cell| view.class(cell) == CellEligibility::Seat,
            &mut found,
        );
    }
    found
}

/// Returns the same stretches without the seats in `used`.
pub fn without(
    view: &WishSeatView<'_>,
    stretches: &[BenchStretch],
    used: &CellSet,
) -> Vec<BenchStretch> {
    let mut found = Vec::with_capacity(stretches.len());
    for stretch in stretches {
        stretch.push_open_parts(view, &|cell| !used.contains(cell), &mut found);
    }
    found
}

fn end_points(view: &WishSeatView<'_>, cells: &[u32]) -> (PlanPoint, PlanPoint) {
    (
        cell_position(view, cells[0]),
        cell_position(view, cells[cells.len() - 1]),
    )
}

/// Returns where a cell is, in the plan's units.
pub fn cell_position(view: &WishSeatView<'_>, cell: u32) -> PlanPoint {
    let seat = &view.map.seats[cell as usize];
    PlanPoint {
        x: seat.x,
        y: seat.y,
    }
}

impl BenchStretch {
    /// Returns the stretch's cells, in bench order.
    pub fn cells<'a>(&self, view: &WishSeatView<'a>) -> &'a [u32] {
        &view.map.on_bench(&view.map.benches()[self.bench as usize])
            [self.start..self.start + self.len]
    }

    /// Cuts the stretch at the cells that are not `open`, and adds what remains to `found`.
    fn push_open_parts(
        &self,
        view: &WishSeatView<'_>,
        open: &dyn Fn(u32) -> bool,
        found: &mut Vec<Self>,
    ) {
        let mut start = self.start;
        for run in self.cells(view).chunk_by(|a, b| open(*a) == open(*b)) {
            if open(run[0]) {
                found.push(Self {
                    start,
                    len: run.len(),
                    ends: end_points(view, run),
                    ..*self
                });
            }
            start += run.len();
        }
    }

    /// Returns the distance from a point to the nearest seat, as if the row were straight.
    pub fn distance(&self, point: PlanPoint) -> f32 {
        let (a, b) = self.ends;
        let (x, y) = (b.x - a.x, b.y - a.y);
        let square = x * x + y * y;
        if square <= 0.0 {
            return apart(a, point);
        }
        let along = (((point.x - a.x) * x + (point.y - a.y) * y) / square).clamp(0.0, 1.0);
        apart(
            PlanPoint {
                x: a.x + along * x,
                y: a.y + along * y,
            },
            point,
        )
    }

    /// Returns the piece of `len` seats that leaves the fewest single seats. Among equals, the one
    /// nearest to the point wins.
    fn piece<'a>(&self, view: &WishSeatView<'a>, len: usize, point: PlanPoint) -> &'a [u32] {
        let bench = view.map.on_bench(&view.map.benches()[self.bench as usize]);
        let far = |start: usize| -> f32 {
            bench[start..start + len]
                .iter()
                .map(|cell| apart(cell_position(view, *cell), point))
                .sum()
        };
        let start = (self.start..=self.start + self.len - len)
            .map(|start| {
                (
                    single_sides(view, bench, start, start + len),
                    far(start),
                    start,
                )
            })
            .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
            .map_or(self.start, |best| best.2);
        &bench[start..start + len]
    }
}

/// Returns whether `wanted` seats can be taken in pieces of 2 or more from stretches of 2 or more
/// seats with `total` seats in all. `has_three_or_more` is true if one of the stretches has 3 or
/// more seats.
fn can_deal(wanted: usize, total: usize, has_three_or_more: bool) -> bool {
    wanted == 0 || (2..=total).contains(&wanted) && (has_three_or_more || wanted.is_multiple_of(2))
}

/// Stretches by their distance from a point. They are put in order only as far as a party needs
/// them, because a large hall has thousands.
pub struct NearStretches<'s> {
    stretches: &'s [BenchStretch],
    point: PlanPoint,
    /// For each stretch, the key of its distance, and its index.
    distances: Vec<(u32, usize)>,
    /// How many seats the stretches of 2 or more seats have.
    total: usize,
    /// How many stretches have 3 or more seats.
    threes: usize,
}

impl<'s> NearStretches<'s> {
    /// Measures how far the stretches are from the point.
    pub fn new(stretches: &'s [BenchStretch], point: PlanPoint) -> Self {
        let distance = |stretch: &BenchStretch| distance_key(stretch.distance(point));
        let with_company = stretches.iter().map(|stretch| stretch.len);
        Self {
            stretches,
            point,
            distances: stretches.iter().map(distance).zip(0..).collect(),
            total: with_company.filter(|len| *len >= 2).sum(),
            threes: stretches.iter().filter(|stretch| stretch.len >= 3).count(),
        }
    }

    /// Returns the stretches whose length fits, nearest first.
    fn in_order(&self, fits: impl Fn(usize) -> bool) -> impl Iterator<Item = &'s BenchStretch> {
        let fitting = self.distances.iter().copied();
        let fitting = fitting.filter(|(_, index)| fits(self.stretches[*index].len));
        let mut far: BinaryHeap<_> = fitting.map(Reverse).collect();
        let stretches = self.stretches;
        std::iter::from_fn(move || far.pop().map(|Reverse((_, index))| &stretches[index]))
    }

    /// Returns `wanted` seats near the point, or `None` if that is not possible. If `allow_alone`
    /// is false, everybody gets a neighbour of their party. If it is true, as few people as
    /// possible sit without one.
    pub fn pick_seats(
        &self,
        view: &WishSeatView<'_>,
        wanted: usize,
        allow_alone: bool,
    ) -> Option<Vec<u32>> {
        let together = self.count_together(wanted, allow_alone)?;
        let mut dealt = self.pieces(view, together);
        let missing = wanted - together;
        if missing == 0 {
            return Some(dealt);
        }
        let taken: CellSet = dealt.iter().copied().collect();
        let singles = self
            .in_order(|len| len < 2)
            .chain(self.in_order(|len| len >= 2));
        let cells = singles.flat_map(|stretch| stretch.cells(view).iter().copied());
        dealt.extend(cells.filter(|cell| !taken.contains(*cell)).take(missing));
        (dealt.len() == wanted).then_some(dealt)
    }

    /// Returns how many of the wanted seats are taken in pieces of 2 or more.
    fn count_together(&self, wanted: usize, allow_alone: bool) -> Option<usize> {
        let can_take = |wanted| can_deal(wanted, self.total, self.threes > 0);
        if can_take(wanted) {
            return Some(wanted);
        }
        // `wanted` is too large, or it is 1, or it is odd and no stretch has 3 seats. The largest
        // number that can be taken in pieces is then the smaller of `wanted` and `total`, or one
        // less.
        let most = self.total.min(wanted);
        allow_alone.then_some(if can_take(most) { most } else { most - 1 })
    }

    /// Takes `wanted` seats in pieces from the stretches, nearest first. [`can_deal`] must allow
    /// this number.
    fn pieces(&self, view: &WishSeatView<'_>, wanted: usize) -> Vec<u32> {
        let mut dealt = Vec::with_capacity(wanted);
        let mut remaining = wanted;
        // What the stretches after the present one have.
        let (mut total, mut threes) = (self.total, self.threes);
        for stretch in self.in_order(|len| len >= 2) {
            if remaining == 0 {
                break;
            }
            total -= stretch.len;
            threes -= usize::from(stretch.len >= 3);
            let most = stretch.len.min(remaining);
            if let Some(len) = (2..=most)
                .rev()
                .find(|len| can_deal(remaining - len, total, threes > 0))
            {
                dealt.extend_from_slice(stretch.piece(view, len, self.point));
                remaining -= len;
            }
        }
        dealt
    }
}
