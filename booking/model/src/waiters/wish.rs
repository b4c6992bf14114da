//! Resolves a party's wish on a show: which seats suit the party, and over which legs.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::Rng;

use super::{PartySaleEnd, WaitlistParty};
use crate::choosing::rail::{self, TrainSeatStates};
use crate::choosing::{self, BestSeatsRequest, BestSeatsWish};
use crate::grid::{CellGrid, CellState};
use crate::plans::seatmap::SeatMap;
use crate::runs::TrainRun;
use crate::shows::Show;

/// The parts of a show that are needed to share out seats: its seats, and its stops if it is a
/// train.
#[derive(Debug, Clone, Copy)]
pub struct ShowLayout<'a> {
    /// The plan of its seats.
    pub map: &'a SeatMap,
    /// Its run, if it is a train.
    pub run: Option<&'a TrainRun>,
}

/// A party's wish, resolved on a show.
#[derive(Debug)]
pub enum PartyWish {
    /// Seats of a show without stops.
    Seats(Box<BestSeatsWish>),
    /// Seats of a class over some legs.
    Stretch(rail::TrainParty, Range<u16>),
}

/// Seats that were chosen for a party.
#[derive(Debug)]
pub struct PartySeats {
    /// The indices of the seats.
    pub seats: Vec<u32>,
    /// The legs for which the seats are chosen.
    pub legs: Range<u16>,
    /// Whether the seats lie side by side.
    pub next_to_each_other: bool,
}

impl<'a> ShowLayout<'a> {
    /// Returns the layout of a show.
    #[must_use]
    pub fn for_show(show: &'a Show) -> Self {
        Self {
            map: &show.plan.map,
            run: show.run.as_deref(),
        }
    }

    /// Returns the same grid as [`Show::grid`].
    #[must_use]
    pub fn grid(self) -> CellGrid {
        CellGrid {
            seats: self.map.cell_count(),
            legs: self.run.map_or(1, |run| run.leg_count().max(1)),
        }
    }

    fn train(self, states: &'a [CellState]) -> TrainSeatStates<'a> {
        TrainSeatStates {
            map: self.map,
            grid: self.grid(),
            states,
        }
    }
}

impl WaitlistParty {
    /// Makes the party's request for seats of a show without stops, with names instead of indices.
    #[must_use]
    pub fn best_seats_request(&self, categories: Option<Vec<String>>) -> BestSeatsRequest {
        BestSeatsRequest {
            quantity: self.quantity,
            categories,
            sections: None,
            zone: None,
            channels: None,
            ignore_channels: false,
            accessible: self.accessible,
            avoid_orphans: true,
            class: None,
        }
    }

    /// Resolves the party's wish. Returns `None` if the show lacks a category, a class or a stretch
    /// that the wish names. If the show has only standing areas, every party is assumed to accept
    /// standing.
    #[must_use]
    pub fn resolve_wish(&self, layout: ShowLayout<'_>) -> Option<PartyWish> {
        let map = layout.map;
        if let Some(run) = layout.run {
            let stretch = self.stretch.as_ref()?;
            let party = rail::TrainParty {
                quantity: self.quantity,
                class: map.category_index(&stretch.class)?,
            };
            let legs = run.between(&stretch.from, &stretch.to)?;
            return Some(PartyWish::Stretch(party, legs));
        }
        let categories = (!self.categories.is_empty()).then(|| self.categories.clone());
        let request = self.best_seats_request(categories);
        let mut wish = request.resolve(map, &BTreeMap::new()).ok()?;
        if wish.categories.is_none() && map.benches().is_empty() {
            wish.categories = Some((0..).take(map.categories.len()).collect());
        }
        Some(PartyWish::Seats(Box::new(wish)))
    }

    /// Returns when the sale of seats for the party ends. On a train, it ends when the train leaves
    /// the station where the party wants to get on.
    #[must_use]
    pub fn sale_end(&self, show: &Show) -> PartySaleEnd {
        let stretch = show.run.as_ref().zip(self.stretch.as_ref());
        let Some((run, stretch)) = stretch else {
            return PartySaleEnd::Ends(show.sells_until(&show.legs()).as_millisecond());
        };
        // A train may have lost the stop where the party wanted to get on or off.
        let Some(legs) = run.between(&stretch.from, &stretch.to) else {
            return PartySaleEnd::Ends(i64::MIN);
        };
        let until = show.sells_until(&legs);
        if run.departs_at(&legs).is_some_and(|leaves| until < leaves) {
            return PartySaleEnd::Ends(until.as_millisecond());
        }
        PartySaleEnd::Leaves(until.as_millisecond())
    }

    /// Returns whether the party can ever get seats: whether there would be enough seats for the
    /// party if all held cells came free.
    #[must_use]
    pub fn may_be_served(
        &self,
        layout: ShowLayout<'_>,
        states: &[CellState],
        rng: &mut impl Rng,
    ) -> bool {
        self.can_be_seated(layout, &with_held_freed(states), rng)
    }

    /// Returns whether the free seats are enough for the party.
    pub(super) fn can_be_seated(
        &self,
        layout: ShowLayout<'_>,
        states: &[CellState],
        rng: &mut impl Rng,
    ) -> bool {
        match self.resolve_wish(layout) {
            None => false,
            Some(PartyWish::Stretch(party, legs)) => {
                rail::has_enough_seats(&layout.train(states), &legs, party)
            }
            Some(wanted) => wanted.choose_seats(layout, states, rng).is_some(),
        }
    }
}

/// Returns the states as they would be if all held cells came free.
pub(super) fn with_held_freed(states: &[CellState]) -> Vec<CellState> {
    let freed = |state: &CellState| match state {
        CellState::Held => CellState::Free,
        other => *other,
    };
    states.iter().map(freed).collect()
}

impl PartyWish {
    /// Chooses the best of the free seats. Returns `None` if there are too few.
    pub(super) fn choose_seats(
        &self,
        layout: ShowLayout<'_>,
        states: &[CellState],
        rng: &mut impl Rng,
    ) -> Option<PartySeats> {
        let (choice, legs) = match self {
            Self::Seats(wish) => {
                let is_free = |seat: u32| states.get(seat as usize) == Some(&CellState::Free);
                (choosing::choose(layout.map, &is_free, wish, 0, rng), 0..1)
            }
            Self::Stretch(party, legs) => {
                let train = layout.train(states);
                (rail::choose(&train, legs, *party, 0, rng), legs.clone())
            }
        };
        let choice = choice.ok()?;
        Some(PartySeats {
            seats: choice.cells,
            legs,
            next_to_each_other: choice.next_to_each_other,
        })
    }
}
