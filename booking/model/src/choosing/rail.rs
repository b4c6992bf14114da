//! Choosing on a train: among the seats that are free over the whole stretch, those whose free
//! interval fits it tightest, so that A→B and C→D do not strand B→C (best fit, as for memory:
//! Knuth, TAOCP 1, 2.5). Pure, as its neighbours.
//!
//! Order of preference:
//! 1. side by side on one bench; 2. in one row; 3. in one carriage (a section of the plan); 4.
//!    anywhere.
//!
//! Within a preference: the fewest free legs left over beside the stretch; then, for one traveller,
//! the seat with the fewest free neighbours, so that pairs stay for pairs; then the dice.
//! Accessible and companion seats are for those who name them.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::Rng;
use rand::seq::SliceRandom;

use super::{Choice, Manner, NotFound};
use crate::choosing::pick::{Candidate, pick};
use crate::grid::{CellState, Grid};
use crate::plans::seatmap::{Kind, Seat, SeatMap};

/// Who travels together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    /// How many, 1 or more.
    pub quantity: u32,
    /// The class: a category of the plan.
    pub class: u16,
}

/// A train as it is sold at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Train<'a> {
    /// Its carriages.
    pub map: &'a SeatMap,
    /// Its shape.
    pub grid: Grid,
    /// The state of each cell.
    pub states: &'a [CellState],
}

impl Train<'_> {
    /// Whether the seat is free over all these legs.
    #[must_use]
    pub fn is_free(&self, seat: u32, legs: &Range<u16>) -> bool {
        seat < self.grid.seats
            && legs.end <= self.grid.legs
            && self
                .grid
                .cells_of(seat, legs.clone())
                .all(|cell| self.states.get(cell as usize) == Some(&CellState::Free))
    }

    /// How many free legs of the seat lie beside these, without a gap: what a traveller over them
    /// leaves over.
    fn left_over(&self, seat: u32, legs: &Range<u16>) -> u16 {
        let is_free = |leg: &u16| self.is_free(seat, &(*leg..*leg + 1));
        let before = (0..legs.start).rev().take_while(is_free).count();
        let behind = (legs.end..self.grid.legs).take_while(is_free).count();
        u16::try_from(before + behind).unwrap_or(u16::MAX)
    }

    /// Free neighbours on the bench.
    fn free_beside(&self, seat: u32, legs: &Range<u16>) -> u16 {
        let Some((bench, at)) = self.map.bench_of(seat) else {
            return 0;
        };
        let cells = self.map.on_bench(bench);
        let beside = [at.checked_sub(1), at.checked_add(1)];
        let beside = beside.into_iter().flatten().filter_map(|at| cells.get(at));
        let free = beside.filter(|seat| self.is_free(**seat, legs)).count();
        u16::try_from(free).unwrap_or(u16::MAX)
    }
}

/// A seat that could be had.
#[derive(Debug, Clone, Copy)]
struct Fit {
    seat: u32,
    left_over: u16,
}

/// Seats that could be had together.
struct Group {
    seats: Vec<u32>,
    left_over: u32,
    beside: u16,
}

impl Candidate for Group {
    fn rank(&self) -> u32 {
        0
    }

    fn score(&self) -> f32 {
        // A leg left over outweighs any number of neighbours that a seat can have.
        const LEG: f32 = 16.0;
        self.left_over as f32 * LEG + f32::from(self.beside)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.seats.iter().any(|seat| other.seats.contains(seat))
    }
}

/// Chooses seats of the class for the party over these legs. `spread` as for [`super::choose`].
///
/// # Errors
/// [`NotFound::Capacity`] where fewer seats are free over all of the legs.
pub fn choose(
    train: &Train<'_>,
    legs: &Range<u16>,
    party: Party,
    spread: usize,
    rng: &mut impl Rng,
) -> Result<Choice, NotFound> {
    let quantity = party.quantity as usize;
    let mut fits = fitting(train, legs, party.class);
    if quantity == 0 || fits.len() < quantity {
        return Err(NotFound::Capacity);
    }
    if quantity == 1 {
        let alone = |fit: Fit| Group {
            seats: vec![fit.seat],
            left_over: fit.left_over.into(),
            beside: train.free_beside(fit.seat, legs),
        };
        let all = fits.into_iter().map(alone).collect();
        return picked(all, spread, 1, Manner::Block, rng);
    }
    let together = side_by_side(train, &fits, quantity);
    if !together.is_empty() {
        return picked(together, spread, 2 * quantity - 1, Manner::Block, rng);
    }
    // Equals in one row or carriage are as good as each other, whatever their place in the plan.
    fits.shuffle(rng);
    fits.sort_by_key(|fit| fit.left_over);
    let seat_of = |fit: &Fit| train.map.seats.get(fit.seat as usize);
    let in_rows = grouped(&fits, quantity, |fit| seat_of(fit)?.row);
    if !in_rows.is_empty() {
        return picked(in_rows, spread, 1, Manner::AcrossRows, rng);
    }
    let in_carriages = grouped(&fits, quantity, |fit| seat_of(fit)?.section);
    if !in_carriages.is_empty() {
        return picked(in_carriages, spread, 1, Manner::AcrossRows, rng);
    }
    let anywhere = grouped(&fits, quantity, |_| Some(0));
    picked(anywhere, spread, 1, Manner::AcrossSections, rng)
}

/// Whether a seat is given to whoever asks for its class; all others are for those who name them.
#[must_use]
pub fn is_offered(seat: &Seat) -> bool {
    !seat.accessible && !seat.companion && seat.kind != Kind::Booth
}

/// Whether as many seats of the class are free over all of these legs, wherever they are.
#[must_use]
pub fn has_room(train: &Train<'_>, legs: &Range<u16>, party: Party) -> bool {
    let quantity = party.quantity as usize;
    free(train, legs, party.class).take(quantity).count() == quantity
}

/// The seats of the class that are given to whoever asks for it.
pub fn of_class(map: &SeatMap, class: u16) -> impl Iterator<Item = u32> + '_ {
    let seats = (0..).zip(&map.seats);
    let offered = seats.filter(move |(_, seat)| seat.category == class && is_offered(seat));
    offered.map(|(seat, _)| seat)
}

/// Those of them that are free over all of these legs.
fn free<'a>(
    train: &'a Train<'_>,
    legs: &'a Range<u16>,
    class: u16,
) -> impl Iterator<Item = u32> + 'a {
    of_class(train.map, class).filter(|seat| train.is_free(*seat, legs))
}

fn fitting(train: &Train<'_>, legs: &Range<u16>, class: u16) -> Vec<Fit> {
    free(train, legs, class)
        .map(|seat| Fit {
            seat,
            left_over: train.left_over(seat, legs),
        })
        .collect()
}

/// Every run of so many neighbours on a bench.
fn side_by_side(train: &Train<'_>, fits: &[Fit], quantity: usize) -> Vec<Group> {
    let left_over: BTreeMap<u32, u16> = fits.iter().map(|fit| (fit.seat, fit.left_over)).collect();
    let mut groups = Vec::new();
    for bench in train.map.benches() {
        for seats in train.map.on_bench(bench).windows(quantity) {
            let sum = seats
                .iter()
                .map(|seat| left_over.get(seat).copied().map(u32::from));
            if let Some(left_over) = sum.sum::<Option<u32>>() {
                groups.push(Group {
                    seats: seats.to_vec(),
                    left_over,
                    beside: 0,
                });
            }
        }
    }
    groups
}

/// The tightest so many of each group that has as many; `fits` come tightest first.
fn grouped(fits: &[Fit], quantity: usize, of: impl Fn(&Fit) -> Option<u32>) -> Vec<Group> {
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for fit in fits {
        let Some(group) = of(fit) else { continue };
        let group = groups.entry(group).or_insert_with(|| Group {
            seats: Vec::new(),
            left_over: 0,
            beside: 0,
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

fn picked(
    groups: Vec<Group>,
    spread: usize,
    width: usize,
    manner: Manner,
    rng: &mut impl Rng,
) -> Result<Choice, NotFound> {
    let Group { mut seats, .. } = pick(groups, spread, width, rng).ok_or(NotFound::Capacity)?;
    seats.sort_unstable();
    Ok(Choice {
        cells: seats,
        next_to_each_other: manner == Manner::Block,
        manner,
    })
}
