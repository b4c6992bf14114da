//! Chooses seats on a train. Among the seats that are free over the whole stretch, it takes those
//! whose free interval fits the stretch most tightly (the best-fit rule of memory allocation:
//! Knuth, TAOCP 1, 2.5). This rule leaves few seats with a short free interval, such as B→C
//! between sold A→B and C→D. The module is pure.
//!
//! Order of preference:
//! 1. side by side on one bench;
//! 2. in one row;
//! 3. in one carriage (a section of the plan);
//! 4. anywhere.
//!
//! Within a preference, the choice that leaves the fewest free legs directly before and after the
//! stretch wins. Among equals, a party of one gets the seat with the fewest free neighbours, so
//! that pairs of seats stay free for pairs of travellers. Then chance decides. Accessible seats,
//! companion seats and booths are never chosen here. Travellers have to name them.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::Rng;
use rand::seq::SliceRandom;

use super::{SeatArrangement, SeatChoice, SeatsNotFound};
use crate::choosing::pick::{SeatCandidate, keep_cells_apart, pick_candidate};
use crate::choosing::wish::CellSet;
use crate::grid::{CellGrid, CellState};
use crate::plans::seatmap::{Seat, SeatKind, SeatMap};

/// The people who travel together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainParty {
    /// How many people travel, 1 or more.
    pub quantity: u32,
    /// The index of their class, which is a category of the plan.
    pub class: u16,
}

/// A train's seats and their states at one moment.
#[derive(Debug, Clone, Copy)]
pub struct TrainSeatStates<'a> {
    /// The plan of its carriages.
    pub map: &'a SeatMap,
    /// How many seats and legs it has.
    pub grid: CellGrid,
    /// The state of each cell, by cell index.
    pub states: &'a [CellState],
}

impl TrainSeatStates<'_> {
    /// Returns whether the seat is free over all these legs.
    #[must_use]
    pub fn is_free(&self, seat: u32, legs: &Range<u16>) -> bool {
        if self.grid.legs == 1 && *legs == (0..1) {
            // A fast path: nearly all shows have one leg, and this check runs for each of their
            // seats.
            return seat < self.grid.seats
                && self.states.get(seat as usize) == Some(&CellState::Free);
        }
        seat < self.grid.seats
            && legs.end <= self.grid.legs
            && self
                .grid
                .cells_of(seat, legs.clone())
                .all(|cell| self.states.get(cell as usize) == Some(&CellState::Free))
    }

    /// Counts the seat's free legs directly before and directly after these legs. They are left
    /// over if a traveller takes these legs.
    fn left_over(&self, seat: u32, legs: &Range<u16>) -> u16 {
        let is_free = |leg: &u16| self.is_free(seat, &(*leg..*leg + 1));
        let before = (0..legs.start).rev().take_while(is_free).count();
        let after = (legs.end..self.grid.legs).take_while(is_free).count();
        u16::try_from(before + after).unwrap_or(u16::MAX)
    }

    /// Counts the seat's neighbours on the bench that are free over these legs.
    fn free_beside(&self, seat: u32, legs: &Range<u16>) -> u16 {
        let Some((bench, at)) = self.map.bench_of(seat) else {
            return 0;
        };
        let seats = self.map.on_bench(bench);
        let beside = [at.checked_sub(1), at.checked_add(1)];
        let beside = beside.into_iter().flatten().filter_map(|at| seats.get(at));
        let free = beside.filter(|seat| self.is_free(**seat, legs)).count();
        u16::try_from(free).unwrap_or(u16::MAX)
    }
}

/// A seat of the class that is free over the whole stretch.
#[derive(Debug, Clone, Copy)]
struct FittingSeat {
    seat: u32,
    left_over: u16,
}

/// Seats that are free and can be chosen together.
struct TrainSeatGroup {
    seats: Vec<u32>,
    left_over: u32,
    free_neighbours: u16,
}

impl SeatCandidate for TrainSeatGroup {
    type KeptSeats = CellSet;

    fn rank(&self) -> u32 {
        0
    }

    fn score(&self) -> f32 {
        // A leg left over outweighs any number of neighbours that a seat can have.
        const LEG: f32 = 16.0;
        self.left_over as f32 * LEG + f32::from(self.free_neighbours)
    }

    fn keep_apart(&self, kept: &mut CellSet) -> bool {
        keep_cells_apart(&self.seats, kept)
    }
}

/// Chooses seats of the class for the party over these legs. `spread` means the same as for
/// [`super::choose`].
///
/// # Errors
/// [`SeatsNotFound::Capacity`] if too few seats of the class are free over all of the legs.
pub fn choose(
    train: &TrainSeatStates<'_>,
    legs: &Range<u16>,
    party: TrainParty,
    spread: usize,
    rng: &mut impl Rng,
) -> Result<SeatChoice, SeatsNotFound> {
    let quantity = party.quantity as usize;
    let mut fits = fitting(train, legs, party.class);
    if quantity == 0 || fits.len() < quantity {
        return Err(SeatsNotFound::Capacity);
    }
    if quantity == 1 {
        let alone = |fit: FittingSeat| TrainSeatGroup {
            seats: vec![fit.seat],
            left_over: fit.left_over.into(),
            free_neighbours: train.free_beside(fit.seat, legs),
        };
        let all = fits.into_iter().map(alone).collect();
        return pick_group(all, spread, 1, SeatArrangement::Block, rng);
    }
    let together = side_by_side(train, &fits, quantity);
    if !together.is_empty() {
        return pick_group(
            together,
            spread,
            2 * quantity - 1,
            SeatArrangement::Block,
            rng,
        );
    }
    // The order in the plan must not matter between equals in one row or carriage.
    fits.shuffle(rng);
    fits.sort_by_key(|fit| fit.left_over);
    let seat_of = |fit: &FittingSeat| train.map.seats.get(fit.seat as usize);
    let in_rows = grouped(&fits, quantity, |fit| seat_of(fit)?.row);
    if !in_rows.is_empty() {
        return pick_group(in_rows, spread, 1, SeatArrangement::AcrossRows, rng);
    }
    let in_carriages = grouped(&fits, quantity, |fit| seat_of(fit)?.section);
    if !in_carriages.is_empty() {
        return pick_group(in_carriages, spread, 1, SeatArrangement::AcrossRows, rng);
    }
    let anywhere = grouped(&fits, quantity, |_| Some(0));
    pick_group(anywhere, spread, 1, SeatArrangement::AcrossSections, rng)
}

/// Returns whether this module may choose the seat for somebody who asks only for its class.
/// Travellers have to name all other seats.
#[must_use]
pub fn is_offered(seat: &Seat) -> bool {
    !seat.accessible && !seat.companion && seat.kind != SeatKind::Booth
}

/// Returns whether enough seats of the class for the party are free over all of these legs,
/// wherever they are.
#[must_use]
pub fn has_enough_seats(train: &TrainSeatStates<'_>, legs: &Range<u16>, party: TrainParty) -> bool {
    let quantity = party.quantity as usize;
    free_seats(train, legs, party.class).take(quantity).count() == quantity
}

/// Lists the seats of the class that may be chosen for anybody who asks for the class.
pub fn of_class(map: &SeatMap, class: u16) -> impl Iterator<Item = u32> + '_ {
    let seats = (0..).zip(&map.seats);
    let offered = seats.filter(move |(_, seat)| seat.category == class && is_offered(seat));
    offered.map(|(seat, _)| seat)
}

/// Lists the seats of [`of_class`] that are free over all of these legs.
fn free_seats<'a>(
    train: &'a TrainSeatStates<'_>,
    legs: &'a Range<u16>,
    class: u16,
) -> impl Iterator<Item = u32> + 'a {
    of_class(train.map, class).filter(|seat| train.is_free(*seat, legs))
}

fn fitting(train: &TrainSeatStates<'_>, legs: &Range<u16>, class: u16) -> Vec<FittingSeat> {
    free_seats(train, legs, class)
        .map(|seat| FittingSeat {
            seat,
            left_over: train.left_over(seat, legs),
        })
        .collect()
}

/// Lists every group of `quantity` seats in `fits` that are side by side on a bench.
fn side_by_side(
    train: &TrainSeatStates<'_>,
    fits: &[FittingSeat],
    quantity: usize,
) -> Vec<TrainSeatGroup> {
    let left_over: BTreeMap<u32, u16> = fits.iter().map(|fit| (fit.seat, fit.left_over)).collect();
    let mut groups = Vec::new();
    for bench in train.map.benches() {
        for seats in train.map.on_bench(bench).windows(quantity) {
            let sum = seats
                .iter()
                .map(|seat| left_over.get(seat).copied().map(u32::from));
            if let Some(left_over) = sum.sum::<Option<u32>>() {
                groups.push(TrainSeatGroup {
                    seats: seats.to_vec(),
                    left_over,
                    free_neighbours: 0,
                });
            }
        }
    }
    groups
}

/// Takes the `quantity` seats that fit most tightly from each group that has enough seats. `fits`
/// must be sorted by how tightly the seats fit, tightest first.
fn grouped(
    fits: &[FittingSeat],
    quantity: usize,
    group_of: impl Fn(&FittingSeat) -> Option<u32>,
) -> Vec<TrainSeatGroup> {
    let mut groups: BTreeMap<u32, TrainSeatGroup> = BTreeMap::new();
    for fit in fits {
        let Some(group) = group_of(fit) else { continue };
        let group = groups.entry(group).or_insert_with(|| TrainSeatGroup {
            seats: Vec::new(),
            left_over: 0,
            free_neighbours: 0,
        });
        if group.seats.len() < quantity {
            group.seats.push(fit.seat);
            group.left_over += u32::from(fit.left_over);
        }
    }
    let whole = groups
        .into_values()
        .filter(|group| group.seats.len() == quantity);
    whole.collect()
}

fn pick_group(
    groups: Vec<TrainSeatGroup>,
    spread: usize,
    width: usize,
    manner: SeatArrangement,
    rng: &mut impl Rng,
) -> Result<SeatChoice, SeatsNotFound> {
    let TrainSeatGroup { mut seats, .. } =
        pick_candidate(groups, spread, width, rng).ok_or(SeatsNotFound::Capacity)?;
    seats.sort_unstable();
    Ok(SeatChoice {
        cells: seats,
        next_to_each_other: manner == SeatArrangement::Block,
        manner,
    })
}
