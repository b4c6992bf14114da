//! Counts the free seats of a train over each stretch, by class. The seats are counted once for
//! each picture of the train, and all searches use these counts.

use std::collections::BTreeMap;
use std::ops::Range;

use fairgate_model::choosing::rail::{TrainSeatStates, is_offered};

/// Free seats by class and stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeSeatTally {
    classes: Vec<String>,
    /// How many times the train stops: the number of its legs plus one.
    stop_count: usize,
    /// The counts, indexed by class, by the first leg, and by the leg after the last.
    free: Vec<u32>,
}

impl FreeSeatTally {
    /// Counts a train's free seats. Seats that travellers must choose by name, such as wheelchair
    /// spaces, are not counted.
    #[must_use]
    pub fn from_train(train: &TrainSeatStates<'_>) -> Self {
        let (map, legs) = (train.map, train.grid.legs);
        let stop_count = usize::from(legs) + 1;
        let classes = map.categories.iter().map(|category| category.key.clone());
        let mut tally = Self {
            classes: classes.collect(),
            stop_count,
            free: vec![0; map.categories.len() * stop_count * stop_count],
        };
        for (at, seat) in (0..).zip(&map.seats).filter(|(_, seat)| is_offered(seat)) {
            let mut start = 0;
            for leg in 0..=legs {
                if leg == legs || !train.is_free(at, &(leg..leg + 1)) {
                    tally.add_free_seat(usize::from(seat.category), &(start..leg));
                    start = leg + 1;
                }
            }
        }
        tally
    }

    /// Adds a seat that is free over exactly these legs. It is free over every stretch within them.
    fn add_free_seat(&mut self, class: usize, legs: &Range<u16>) {
        for from in legs.clone() {
            for to in from + 1..=legs.end {
                let at = self.slot_index(class, from, to);
                if let Some(count) = self.free.get_mut(at) {
                    *count += 1;
                }
            }
        }
    }

    fn slot_index(&self, class: usize, from: u16, to: u16) -> usize {
        (class * self.stop_count + usize::from(from)) * self.stop_count + usize::from(to)
    }

    /// Returns the number of seats that are free over all these legs, by class. Every number is 0
    /// if the train does not have these legs.
    #[must_use]
    pub fn free_by_class(&self, legs: &Range<u16>) -> BTreeMap<String, u32> {
        let legs_exist = usize::from(legs.end) < self.stop_count && !legs.is_empty();
        let count = |class: usize| {
            let at = self.slot_index(class, legs.start, legs.end);
            self.free
                .get(at)
                .filter(|_| legs_exist)
                .copied()
                .unwrap_or(0)
        };
        let classes = self.classes.iter().enumerate();
        classes
            .map(|(class, key)| (key.clone(), count(class)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use fairgate_model::grid::{CellGrid, CellState};
    use fairgate_model::plans::parse_grid;

    const LEGS: u16 = 6;

    proptest! {
        #[test]
        fn the_tally_equals_a_count_of_every_seat(taken in proptest::collection::vec(0_u32..24 * 6, 0..90)) {
            let map = parse_grid("4x6").expect("a grid");
            let grid = CellGrid { seats: map.cell_count(), legs: LEGS };
            let mut states = vec![CellState::Free; grid.cell_count() as usize];
            for cell in taken {
                states[cell as usize] = CellState::Sold;
            }
            let train = TrainSeatStates { map: &map, grid, states: &states };
            let tally = FreeSeatTally::from_train(&train);
            for from in 0..LEGS {
                for to in from + 1..=LEGS {
                    let free = tally.free_by_class(&(from..to));
                    for (class, category) in (0..).zip(&map.categories) {
                        let fits = (0..grid.seats).filter(|seat| {
                            map.seats[*seat as usize].category == class && train.is_free(*seat, &(from..to))
                        });
                        prop_assert_eq!(free[&category.key] as usize, fits.count());
                    }
                }
            }
            let nowhere = tally.free_by_class(&(0..LEGS + 1));
            prop_assert!(nowhere.values().all(|count| *count == 0));
        }
    }
}
