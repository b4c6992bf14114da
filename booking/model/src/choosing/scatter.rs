//! Preferences 3 and 4 of [`super`]: the party cannot sit side by side. A stretch is a run of free
//! seats side by side on a bench. In each section, groups are grown around a few anchors: the
//! stretches nearest to the wish's focal point, and the longest ones. If the wish asks for
//! accessible seats, the anchors are the nearest accessible seats. The best group wins. Anchors of
//! the whole house are tried only if no section has enough seats.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rand::Rng;

use super::{SeatArrangement, SeatChoice};
use crate::choosing::pick::{SeatCandidate, equal_up_to, keep_cells_apart, pick_candidate};
use crate::choosing::stretch::{BenchStretch, NearStretches, cell_position, stretches, without};
use crate::choosing::view::{CellEligibility, WishSeatView, apart, distance_key};
use crate::choosing::wish::{BestSeatsWish, CellSet};
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
    type KeptSeats = CellSet;

    fn rank(&self) -> u32 {
        self.alone
    }
    fn score(&self) -> f32 {
        self.score
    }
    fn keep_apart(&self, kept: &mut CellSet) -> bool {
        keep_cells_apart(&self.cells, kept)
    }
}

/// The seats that may be combined: those of one section, or of the whole house.
#[derive(Default)]
struct ScatterScope {
    stretches: Vec<BenchStretch>,
    /// Accessible seats; empty if the wish asks for none.
    accessible: Vec<u32>,
}

impl ScatterScope {
    /// Returns the distance of the seat that is nearest to the focal point.
    fn distance(&self, view: &WishSeatView<'_>) -> f32 {
        let seats = self
            .stretches
            .iter()
            .flat_map(|stretch| stretch.cells(view));
        let distances = seats
            .chain(&self.accessible)
            .map(|cell| view.distance(*cell));
        distances.min_by(f32::total_cmp).unwrap_or(f32::INFINITY)
    }
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
    let groups = in_sections(view, &sections, wish, spread);
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

/// Grows groups in the sections, nearest section first. Leaves out the sections that are too far
/// away to have one of the best `spread` groups.
fn in_sections(
    view: &WishSeatView<'_>,
    sections: &BTreeMap<Option<u32>, ScatterScope>,
    wish: &BestSeatsWish,
    spread: usize,
) -> Vec<SeatGroup> {
    let mut by_distance: Vec<(f32, &ScatterScope)> = sections
        .values()
        .map(|scope| (scope.distance(view), scope))
        .collect();
    by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut groups = Vec::new();
    // For each section, the score of its best group in which nobody sits alone.
    let mut best_scores: Vec<f32> = Vec::new();
    for (distance, scope) in by_distance {
        // Groups of different sections share no seat, and no group has a better score than the
        // distance of its nearest seat.
        let better = best_scores
            .iter()
            .filter(|score| equal_up_to(**score) < distance);
        if better.count() >= spread.max(1) {
            break;
        }
        let found = around_anchors(view, scope, wish);
        let scores = found.iter().filter(|group| group.alone == 0);
        best_scores.extend(scores.map(SeatGroup::score).min_by(f32::total_cmp));
        groups.extend(found);
    }
    groups
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
                let near = NearStretches::new(&scope.stretches, point);
                near.pick_seats(view, ordinary, false)
                    .or_else(|| near.pick_seats(view, ordinary, true))
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
    let mut nearest: Vec<(u32, u32)> = scope
        .accessible
        .iter()
        .map(|cell| {
            (
                distance_key(apart(cell_position(view, *cell), point)),
                *cell,
            )
        })
        .collect();
    let wanted = wish.accessible as usize;
    nearest.select_nth_unstable(wanted - 1);
    let accessible: Vec<u32> = nearest[..wanted].iter().map(|seat| seat.1).collect();
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
            let used: CellSet = cells.iter().copied().collect();
            let open = without(view, &scope.stretches, &used);
            let near = NearStretches::new(&open, point);
            cells.extend(near.pick_seats(view, ordinary_count - beside_count, allow_alone)?);
            Some(cells)
        })
}

/// Returns up to `most` ordinary seats that form unbroken rows with the seats in `from`.
fn beside(view: &WishSeatView<'_>, from: &[u32], most: usize, point: PlanPoint) -> Vec<u32> {
    // Companion seats come first, then the seats nearest to the point.
    let beside = |cell: u32| {
        let free = neighbours(view, cell);
        let free = free.filter(|seat| view.class(*seat) == CellEligibility::Seat);
        free.map(|seat| {
            let is_other = !view.map.seats[seat as usize].companion;
            let distance = apart(cell_position(view, seat), point);
            Reverse((is_other, distance_key(distance), seat))
        })
    };
    let mut reached: BinaryHeap<_> = from.iter().flat_map(|cell| beside(*cell)).collect();
    let mut taken: CellSet = from.iter().copied().collect();
    let mut grown = Vec::new();
    while grown.len() < most {
        let Some(Reverse((_, _, next))) = reached.pop() else {
            break;
        };
        if !taken.contains(next) {
            taken.insert(next);
            grown.push(next);
            reached.extend(beside(next));
        }
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

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};
    use serde_json::json;

    use super::*;
    use crate::plans::parse_fairgate;
    use crate::plans::seatmap::SeatMap;

    /// Returns a house of 40 sections, each of which has 8 rows of 10 seats, in five tiers.
    fn house() -> SeatMap {
        let section = |n: u32| {
            let (x, y) = (n % 8 * 300, n / 8 * 300);
            let row = |r: u32| {
                json!({"label": r.to_string(), "count": 10,
                "from": [x, y + r * 24], "to": [x + 180, y + r * 24]})
            };
            json!({"label": format!("S{n}"), "category": "all", "rows": (0..8).map(row).collect::<Vec<_>>()})
        };
        let plan = json!({"name": "House", "focal": [1_140, -60],
            "categories": [{"key": "all", "label": "All"}],
            "sections": (0..40).map(section).collect::<Vec<_>>()});
        parse_fairgate(&plan.to_string()).expect("a valid plan")
    }

    /// The sections of a house, as a wish sees them.
    fn sections(view: &WishSeatView<'_>) -> BTreeMap<Option<u32>, ScatterScope> {
        let mut sections: BTreeMap<_, ScatterScope> = BTreeMap::new();
        for stretch in stretches(view) {
            let scope = sections.entry(stretch.section).or_default();
            scope.stretches.push(stretch);
        }
        sections
    }

    #[test]
    fn sections_that_are_too_far_away_are_not_searched() {
        let (map, wish) = (house(), BestSeatsWish::party(40));
        let view = WishSeatView::for_wish(&map, &|_| true, &wish);
        let sections = sections(&view);
        let most = (NEAREST + LONGEST) * sections.len();
        let searched = |spread| in_sections(&view, &sections, &wish, spread).len();
        assert!(searched(0) * 8 < most, "{} of {most}", searched(0));
        assert!(searched(8) * 2 < most, "{} of {most}", searched(8));
    }

    #[test]
    fn whoever_leaves_out_far_sections_picks_among_the_same_best_groups() {
        let (map, wish) = (house(), BestSeatsWish::party(24));
        for seed in 0..20 {
            let mut rng = SmallRng::seed_from_u64(seed);
            let sold = f64::from(u32::try_from(seed).expect("a few")) / 25.0;
            let taken: Vec<bool> = map.seats.iter().map(|_| rng.random_bool(sold)).collect();
            let view = WishSeatView::for_wish(&map, &|cell| !taken[cell as usize], &wish);
            let sections = sections(&view);
            for spread in [0, 1, 3, 12] {
                let all = sections
                    .values()
                    .flat_map(|scope| around_anchors(&view, scope, &wish));
                let picked = |groups: Vec<SeatGroup>| {
                    let mut rng = SmallRng::seed_from_u64(seed);
                    pick_candidate(groups, spread, usize::MAX, &mut rng)
                        .map(|group| (group.alone, group.score.to_bits()))
                };
                let few = in_sections(&view, &sections, &wish, spread);
                assert_eq!(
                    picked(few),
                    picked(all.collect()),
                    "seed {seed}, spread {spread}"
                );
            }
        }
    }
}
