//! Preferences 3 and 4 of [`super`]: the party cannot sit side by side. A stretch is a run of free
//! seats side by side on a bench. In each section, groups are grown around a few anchors: the
//! stretches nearest to the wish's focal point, and the longest ones. If the wish asks for
//! accessible seats, the anchors are the nearest accessible seats. The best group wins. Anchors of
//! the whole house are tried only if no section has enough seats.

use std::collections::{BTreeMap, HashSet};

use rand::Rng;

use super::{SeatArrangement, SeatChoice};
use crate::choosing::pick::{SeatCandidate, pick_candidate};
use crate::choosing::stretch::{BenchStretch, cell_position, pick_seats_near, stretches, without};
use crate::choosing::view::{CellEligibility, WishSeatView, apart};
use crate::choosing::wish::BestSeatsWish;
use crate::plans::seatmap::PlanPoint;

/// How many of the nearest stretches, or accessible seats, are tried as anchors in each scope.
const NEAREST: usize = 8;
/// How many of the longest stretches are tried as anchors in each scope.
const LONGEST: usize = 4;

struct SeatGroup {
    /// Seat indices, ascending.
    cells: Vec<u32>,
    /// How many people sit without a neighbour of their party.
    alone: u32,
    /// The mean distance from the focal point, plus the mean distance from the group's own middle.
    score: f32,
}

impl SeatCandidate for SeatGroup {
    fn rank(&self) -> u32 {
        self.alone
    }
    fn score(&self) -> f32 {
        self.score
    }
    fn overlaps(&self, other: &Self) -> bool {
        self.cells
            .iter()
            .any(|cell| other.cells.binary_search(cell).is_ok())
    }
}

/// The seats that may be combined: those of one section, or of the whole house.
#[derive(Default)]
struct ScatterScope {
    stretches: Vec<BenchStretch>,
    /// Accessible seats; empty if the wish asks for none.
    accessible: Vec<u32>,
}

/// Chooses the best group, if there are enough seats.
pub fn best(
    view: &WishSeatView<'_>,
    wish: &BestSeatsWish,
    spread: usize,
    rng: &mut impl Rng,
) -> Option<SeatChoice> {
    let mut sections: BTreeMap<Option<u32>, ScatterScope> = BTreeMap::new();
    for stretch in stretches(view) {
        sections
            .entry(stretch.section)
            .or_default()
            .stretches
            .push(stretch);
    }
    for (cell, seat) in (0..).zip(&view.map.seats) {
        if seat.row.is_some() && view.class(cell) == CellEligibility::Accessible {
            let section = seat.row.and_then(|row| view.map.rows[row as usize].section);
            sections.entry(section).or_default().accessible.push(cell);
        }
    }
    let groups: Vec<SeatGroup> = sections
        .values()
        .flat_map(|scope| around_anchors(view, scope, wish))
        .collect();
    if let Some(group) = pick_candidate(groups, spread, usize::MAX, rng) {
        return Some(SeatChoice {
            cells: group.cells,
            next_to_each_other: false,
            manner: SeatArrangement::AcrossRows,
        });
    }
    let mut house = ScatterScope::default();
    for scope in sections.into_values() {
        house.stretches.extend(scope.stretches);
        house.accessible.extend(scope.accessible);
    }
    let group = pick_candidate(around_anchors(view, &house, wish), spread, usize::MAX, rng)?;
    Some(SeatChoice {
        cells: group.cells,
        next_to_each_other: false,
        manner: SeatArrangement::AcrossSections,
    })
}

/// Grows one group around each anchor, if the scope has enough seats.
fn around_anchors(
    view: &WishSeatView<'_>,
    scope: &ScatterScope,
    wish: &BestSeatsWish,
) -> Vec<SeatGroup> {
    let ordinary = (wish.quantity - wish.accessible) as usize;
    let seats: usize = scope.stretches.iter().map(|stretch| stretch.len).sum();
    if seats < ordinary || scope.accessible.len() < wish.accessible as usize {
        return Vec::new();
    }
    let groups: Vec<Vec<u32>> = if wish.accessible == 0 {
        anchors(view, &scope.stretches)
            .into_iter()
            .filter_map(|point| {
                pick_seats_near(view, &scope.stretches, ordinary, point, false)
                    .or_else(|| pick_seats_near(view, &scope.stretches, ordinary, point, true))
            })
            .collect()
    } else {
        nearest_to_focus(view, scope.accessible.clone())
            .into_iter()
            .filter_map(|anchor| with_accessible(view, scope, wish, cell_position(view, anchor)))
            .collect()
    };
    groups
        .into_iter()
        .map(|cells| SeatGroup::from_cells(view, cells))
        .collect()
}

fn nearest_to_focus(view: &WishSeatView<'_>, mut cells: Vec<u32>) -> Vec<u32> {
    cells.sort_by(|a, b| view.distance(*a).total_cmp(&view.distance(*b)));
    cells.truncate(NEAREST);
    cells
}

/// Returns the points from which groups are grown: in each anchor stretch, the seat nearest to the
/// focal point.
fn anchors(view: &WishSeatView<'_>, stretches: &[BenchStretch]) -> Vec<PlanPoint> {
    let mut near: Vec<(f32, u32, usize)> = stretches
        .iter()
        .filter_map(|stretch| {
            let cells = stretch.cells(view).iter().copied();
            let cell = cells.min_by(|a, b| view.distance(*a).total_cmp(&view.distance(*b)))?;
            Some((view.distance(cell), cell, stretch.len))
        })
        .collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut chosen: Vec<u32> = near.iter().take(NEAREST).map(|anchor| anchor.1).collect();
    near.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.total_cmp(&b.0)));
    chosen.extend(near.iter().take(LONGEST).map(|anchor| anchor.1));
    chosen.sort_unstable();
    chosen.dedup();
    chosen
        .into_iter()
        .map(|cell| cell_position(view, cell))
        .collect()
}

/// Takes the accessible seats nearest to the point, then companion and other seats beside them, and
/// then pieces of nearby stretches for the rest of the party.
fn with_accessible(
    view: &WishSeatView<'_>,
    scope: &ScatterScope,
    wish: &BestSeatsWish,
    point: PlanPoint,
) -> Option<Vec<u32>> {
    let mut accessible = scope.accessible.clone();
    accessible.sort_by(|a, b| {
        apart(cell_position(view, *a), point).total_cmp(&apart(cell_position(view, *b), point))
    });
    accessible.truncate(wish.accessible as usize);
    let ordinary_count = (wish.quantity - wish.accessible) as usize;
    let beside = beside(view, &accessible, ordinary_count, point);
    // If one person of the rest would sit alone, one of the people beside the accessible seats
    // joins that person. If that is not possible either, somebody may sit alone.
    let fewer = beside.len().saturating_sub(1);
    [(beside.len(), false), (fewer, false), (beside.len(), true)]
        .into_iter()
        .find_map(|(beside_count, allow_alone)| {
            let mut cells = accessible.clone();
            cells.extend(&beside[..beside_count]);
            let used: HashSet<u32> = cells.iter().copied().collect();
            let open = without(view, &scope.stretches, &used);
            cells.extend(pick_seats_near(
                view,
                &open,
                ordinary_count - beside_count,
                point,
                allow_alone,
            )?);
            Some(cells)
        })
}

/// Returns up to `most` ordinary seats that form unbroken rows with the seats in `from`. Companion
/// seats come first.
fn beside(view: &WishSeatView<'_>, from: &[u32], most: usize, point: PlanPoint) -> Vec<u32> {
    let mut taken: HashSet<u32> = from.iter().copied().collect();
    let mut grown = Vec::new();
    while grown.len() < most {
        let next = taken
            .iter()
            .flat_map(|cell| neighbours(view, *cell))
            .filter(|cell| view.class(*cell) == CellEligibility::Seat && !taken.contains(cell))
            .min_by(|a, b| {
                let order = |cell: u32| {
                    (
                        !view.map.seats[cell as usize].companion,
                        apart(cell_position(view, cell), point),
                    )
                };
                let (a, b) = ((order(*a), *a), (order(*b), *b));
                a.0.0
                    .cmp(&b.0.0)
                    .then(a.0.1.total_cmp(&b.0.1))
                    .then(a.1.cmp(&b.1))
            });
        let Some(next) = next else { break };
        taken.insert(next);
        grown.push(next);
    }
    grown
}

fn neighbours(view: &WishSeatView<'_>, cell: u32) -> impl Iterator<Item = u32> {
    let found = view.map.bench_of(cell).map(|(bench, at)| {
        let row = view.map.on_bench(bench);
        [
            at.checked_sub(1).map(|at| row[at]),
            row.get(at + 1).copied(),
        ]
    });
    found.into_iter().flatten().flatten()
}

impl SeatGroup {
    fn from_cells(view: &WishSeatView<'_>, mut cells: Vec<u32>) -> Self {
        cells.sort_unstable();
        let alone = cells
            .iter()
            .filter(|cell| {
                !neighbours(view, **cell).any(|beside| cells.binary_search(&beside).is_ok())
            })
            .count();
        let mean = |values: &dyn Fn(u32) -> f32| {
            let sum: f64 = cells.iter().map(|cell| f64::from(values(*cell))).sum();
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a mean of f32 values fits where they fit"
            )]
            #[expect(
                clippy::cast_precision_loss,
                reason = "a party is far smaller than 2^52"
            )]
            let mean = (sum / cells.len() as f64) as f32;
            mean
        };
        let middle = PlanPoint {
            x: mean(&|cell| cell_position(view, cell).x),
            y: mean(&|cell| cell_position(view, cell).y),
        };
        let score = mean(&|cell| view.distance(cell))
            + mean(&|cell| apart(cell_position(view, cell), middle));
        let alone = u32::try_from(alone).expect("no more than the party");
        Self {
            cells,
            alone,
            score,
        }
    }
}
