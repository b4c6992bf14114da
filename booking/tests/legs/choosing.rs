//! Tests the rules by which seats on trains are chosen. One test uses random states of the seats.

use std::ops::Range;

use fairgate_model::choosing::SeatsNotFound;
use fairgate_model::choosing::rail::{TrainParty, TrainSeatStates, choose};
use fairgate_model::grid::{CellGrid, CellState};
use fairgate_model::plans::seatmap::SeatMap;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::train::carriages;

const LEGS: u16 = 5;

/// A train with rows of five seats. Some seats are taken on some legs.
struct Picture {
    map: SeatMap,
    states: Vec<CellState>,
}

impl Picture {
    fn new(seats: u32, taken: &[(u32, Range<u16>)]) -> Self {
        let map = carriages(seats);
        let grid = grid(&map);
        let mut states = vec![CellState::Free; grid.cell_count() as usize];
        for (seat, legs) in taken {
            for cell in grid.cells_of(*seat, legs.clone()) {
                states[cell as usize] = CellState::Held;
            }
        }
        Self { map, states }
    }

    fn train(&self) -> TrainSeatStates<'_> {
        TrainSeatStates {
            map: &self.map,
            grid: grid(&self.map),
            states: &self.states,
        }
    }

    fn chosen(
        &self,
        legs: Range<u16>,
        quantity: u32,
        seed: u64,
    ) -> Result<Vec<u32>, SeatsNotFound> {
        let mut dice = StdRng::seed_from_u64(seed);
        let party = TrainParty { quantity, class: 0 };
        let choice = choose(&self.train(), &legs, party, 0, &mut dice)?;
        Ok(choice.cells)
    }
}

fn grid(map: &SeatMap) -> CellGrid {
    CellGrid {
        seats: map.cell_count(),
        legs: LEGS,
    }
}

#[test]
fn a_seat_that_is_free_only_between_two_journeys_is_preferred_to_an_empty_seat() {
    // The train calls at A to F. Seat 3 is taken from A to B and from D to F, so a journey from B
    // to D fits there more tightly than anywhere else.
    let picture = Picture::new(10, &[(3, 0..1), (3, 3..5), (7, 0..1)]);
    for seed in 0..20 {
        assert_eq!(picture.chosen(1..3, 1, seed), Ok(vec![3]));
        assert_eq!(picture.chosen(2..5, 1, seed), Ok(vec![7]));
    }
}

#[test]
fn equally_good_seats_are_chosen_at_random() {
    let picture = Picture::new(50, &[]);
    let seats: std::collections::BTreeSet<_> = (0..50)
        .flat_map(|seed| picture.chosen(0..2, 1, seed))
        .collect();
    assert!(seats.len() > 10, "{seats:?}");
}

#[test]
fn a_party_sits_side_by_side_else_in_one_row_else_anywhere() {
    let free = Picture::new(10, &[]);
    let seats = free.chosen(0..5, 3, 1).expect("the train is empty");
    assert!(
        seats.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{seats:?}"
    );
    assert_eq!(seats[0] / 5, seats[2] / 5, "one row: {seats:?}");
    // In the first row two seats are free. In the second row every second seat is free.
    let taken: Vec<_> = [0, 2, 3, 6, 8].map(|seat| (seat, 0..5)).into();
    let scattered = Picture::new(10, &taken);
    assert_eq!(scattered.chosen(0..5, 3, 1), Ok(vec![5, 7, 9]));
    assert_eq!(scattered.chosen(0..5, 5, 1), Ok(vec![1, 4, 5, 7, 9]));
    assert_eq!(scattered.chosen(0..5, 6, 1), Err(SeatsNotFound::Capacity));
}

#[test]
fn a_single_traveller_does_not_split_free_neighbours_if_another_seat_is_as_good() {
    let taken: Vec<_> = [1, 2, 3, 4].map(|seat| (seat, 0..5)).into();
    let picture = Picture::new(10, &taken);
    for seed in 0..20 {
        assert_eq!(picture.chosen(0..5, 1, seed), Ok(vec![0]));
    }
}

proptest! {
    #[test]
    fn a_choice_is_free_on_every_leg_and_a_party_is_refused_only_if_it_does_not_fit(
        taken in proptest::collection::vec((0_u32..30, 0_u16..LEGS, 1_u16..=LEGS), 0..60),
        (from, long) in (0_u16..LEGS, 1_u16..=LEGS),
        quantity in 1_u32..7,
        spread in prop_oneof![Just(0_usize), Just(8), Just(2_048)],
        seed: u64,
    ) {
        let taken: Vec<_> = taken
            .into_iter()
            .map(|(seat, from, long)| (seat, from..(from + long).min(LEGS)))
            .collect();
        let picture = Picture::new(30, &taken);
        let (train, legs) = (picture.train(), from..(from + long).min(LEGS));
        let free = (0..30).filter(|seat| train.is_free(*seat, &legs)).count();
        let mut dice = StdRng::seed_from_u64(seed);
        let party = TrainParty { quantity, class: 0 };
        match choose(&train, &legs, party, spread, &mut dice) {
            Ok(choice) => {
                prop_assert_eq!(choice.cells.len(), quantity as usize);
                prop_assert!(choice.cells.windows(2).all(|pair| pair[0] < pair[1]), "a seat twice");
                prop_assert!(choice.cells.iter().all(|seat| train.is_free(*seat, &legs)));
            }
            Err(refused) => {
                prop_assert_eq!(refused, SeatsNotFound::Capacity);
                prop_assert!(free < quantity as usize);
            }
        }
        let other = TrainParty { quantity, class: 1 };
        prop_assert!(choose(&train, &legs, other, spread, &mut dice).is_err(), "the train has no such class");
    }
}
