//! Forecasts the odds that each wish of a visitor can be met when the visitor's turn comes. The
//! code walks along the line 64 times. In each walk, the people of the line take the seats that
//! they wish for, one after the other. Each walk makes new guesses about what is not known: who
//! comes, who buys, and what people without wishes want. The odds of a wish are the share of walks
//! in which enough seats are left in one category that suits it.
//!
//! At up to 250 places of the line, each walk stores how many seats are left. It stores one byte
//! for each kind of seat of each category. For a million people, all walks together need 120 kB for
//! four categories, and 18 MB for six hundred. A long line is read in steps that grow, so a walk
//! along a million people has at most 113,000 steps. [`WishForecast::make`] was measured on one of
//! two cores that also did other work. It took 8 ms for 20,000 people and 2,000 seats. It took 0.1
//! to 0.2 s for a million people and 50,000 seats in six categories, and 0.4 s with a hundred such
//! shows. To read the odds of a wish for one category takes half a millisecond before the draw, and
//! about a microsecond after it. Before the draw the odds are the same for everybody, so a caller
//! should read them once for each wish.

mod categories;
mod line;
mod stock;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::VecDeque;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};

use super::{CategorySupply, SeatWish};
use crate::odds::{CHANCE, GUESS_WEIGHT, SeatDemand};
use categories::{CategoryIndex, CategorySet};
use line::ReadLine;
use stock::FreeSeats;
use walk::{LineWalk, ReturningSeats, WalkGuess};

/// The number of walks.
const WALKS: usize = 64;
/// The seats that are left are stored at every place of the line up to this place.
const PLACES_ONE_BY_ONE: u64 = 16;
/// Behind that, the distance from one stored place to the next is this share of the place.
const PLACES_APART: f64 = 0.05;
/// The doubt about how many people come is this share of the doubt about the seats that people
/// take. It also applies to people whose wishes are known.
const DOUBT_OF_COMING: f64 = 0.25;
/// People do not choose seats exactly in the order in which they are called. They choose earlier or
/// later by up to this share of the time for which a basket lasts: 21 s of five minutes.
const CHOOSES_WITHIN: f64 = 0.07;
/// How long people choose seats, as a share of the time for which a basket lasts: 40 s of five
/// minutes. People who find nothing count as choosing for the same time.
const CHOOSES_FOR: f64 = 0.13;
/// If many people have stated wishes, at least this share of the other people wants the same.
const ALIKE_MIN: f64 = 0.4;
/// At least this share of the doubt about the size of parties stays, even if many people have
/// stated wishes. The others may be different.
const DOUBT_OF_SILENT: f64 = 0.25;
/// A guess is at least this share of its mean.
const GUESS_MIN: f64 = 0.2;

/// The people who wait, and how they are called.
#[derive(Debug, Clone, Copy)]
pub struct WishingLine<'a> {
    /// The wishes of the present people whose ranks are not released yet, in the order of their
    /// ranks. A list is empty if its person has not stated wishes.
    pub people: &'a [&'a [SeatWish]],
    /// Whether the order is known. Before the draw each walk takes the people in another order, and
    /// the odds are those of a random place.
    pub is_drawn: bool,
    /// The number of people of the line who are called until an abandoned basket runs out: the pace
    /// multiplied by this time.
    pub basket_people: u64,
}

/// The odds of wishes at every place of the line.
#[derive(Debug, Clone)]
pub struct WishForecast {
    index: CategoryIndex,
    is_drawn: bool,
    /// For each walk, by how many people later in the line a visitor chooses seats; negative if
    /// earlier.
    shifts: Vec<i64>,
    /// The places of the line for which `free_seats` has seats, as numbers of people ahead,
    /// ascending.
    places: Vec<u64>,
    /// The seats that are left, by walk, place, kind of seat and category. A number above 255 is
    /// stored as 255.
    free_seats: Vec<u8>,
}

impl WishForecast {
    /// Walks along the line, and stores the seats that are left. `supply` has the categories of all
    /// shows.
    #[must_use]
    pub fn make(
        supply: &[CategorySupply],
        demand: &SeatDemand,
        line: &WishingLine,
        rng: &mut impl Rng,
    ) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(rng.next_u64());
        let index = CategoryIndex::new(supply);
        let read_line = ReadLine::new(line.people, &index);
        let places = places_of(line.people.len() as u64);
        let mut forecast = Self {
            free_seats: vec![0; WALKS * places.len() * 2 * supply.len()],
            index,
            is_drawn: line.is_drawn,
            shifts: (0..WALKS).map(|walk| shift(walk, line)).collect(),
            places,
        };
        let seats = FreeSeats::new(supply);
        let mut all_categories = CategorySet::empty(supply.len());
        (0..supply.len()).for_each(|category| all_categories.set(category, true));
        let step_lists: Vec<Option<u32>> = read_line.steps.iter().map(|step| step.list).collect();
        for walk in 0..WALKS {
            let guess = guess(walk, demand, &read_line, line.basket_people as f64);
            let returning = returning(supply, demand.kept, &guess, &mut rng);
            let mut order = (!line.is_drawn).then(|| step_lists.clone());
            let mut line_walk = LineWalk::new(
                &read_line,
                guess,
                seats.clone(),
                returning,
                &all_categories,
                &mut rng,
            );
            let mut recorded = 0;
            line_walk.walk(order.as_deref_mut(), |at, seats| {
                let is_passed = |place: &u64| at.is_none_or(|at| *place <= at);
                while forecast.places.get(recorded).is_some_and(is_passed) {
                    forecast.record(walk, recorded, seats);
                    recorded += 1;
                }
            });
        }
        forecast
    }

    fn row(&self, walk: usize, place: usize) -> std::ops::Range<usize> {
        let length = 2 * self.index.len();
        let from = (walk * self.places.len() + place) * length;
        from..from + length
    }

    fn record(&mut self, walk: usize, place: usize, seats: &FreeSeats) {
        let row = self.row(walk, place);
        let counts = seats.ordinary.iter().chain(&seats.accessible);
        for (stored, count) in self.free_seats[row].iter_mut().zip(counts) {
            *stored = (*count).min(u32::from(u8::MAX)) as u8;
        }
    }

    /// Returns the odds that a wish can be met when a visitor's turn comes, 0 to 1. `ahead` is the
    /// number of present people in front. Before the draw it is ignored, and the odds of a wish are
    /// the same for everybody.
    #[must_use]
    pub fn odds(&self, wish: &SeatWish, ahead: u64) -> f64 {
        let needed = self.index.needed(wish);
        let capped = |count: u32| u8::try_from(count).unwrap_or(u8::MAX);
        let (ordinary, accessible) = (capped(needed.ordinary), capped(needed.accessible));
        let categories: Vec<usize> = needed.categories.iter().collect();
        let is_met = |walk: usize, place: usize| {
            let row = &self.free_seats[self.row(walk, place)];
            let (free, free_accessible) = row.split_at(self.index.len());
            let has_seats =
                |at: &usize| free[*at] >= ordinary && free_accessible[*at] >= accessible;
            categories.iter().any(has_seats)
        };
        if !self.is_drawn {
            return self.mean(|place| share_of(|walk| is_met(walk, place)));
        }
        share_of(|walk| {
            let ahead = ahead.saturating_add_signed(self.shifts[walk]);
            is_met(walk, self.nearest_place(ahead))
        })
    }

    /// Returns the odds to show to a visitor. They are rounded to tenths, because more digits would
    /// promise too much.
    #[must_use]
    pub fn told_odds(&self, wish: &SeatWish, ahead: u64) -> f64 {
        (self.odds(wish, ahead) * 10.0).round() / 10.0
    }

    fn nearest_place(&self, ahead: u64) -> usize {
        let after = self.places.partition_point(|place| *place <= ahead);
        let before = after.saturating_sub(1);
        match self.places.get(after) {
            Some(next) if next - ahead < ahead - self.places[before] => after,
            _ => before,
        }
    }

    /// Returns the mean of a value over all places of the line.
    fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        let values: Vec<f64> = (0..self.places.len()).map(value).collect();
        let people = self.places.last().copied().unwrap_or(0);
        if people == 0 {
            return values.first().copied().unwrap_or(0.0);
        }
        let spans = self.places.windows(2).zip(values.windows(2));
        let sum: f64 = spans
            .map(|(places, values)| {
                (places[1] - places[0]) as f64 * f64::midpoint(values[0], values[1])
            })
            .sum();
        sum / people as f64
    }
}

/// Returns the places at which the seats that are left are stored, in a line of `people` people.
fn places_of(people: u64) -> Vec<u64> {
    let mut places = Vec::new();
    let mut place = 0;
    while place < people {
        places.push(place);
        place += if place < PLACES_ONE_BY_ONE {
            1
        } else {
            (place as f64 * PLACES_APART).ceil() as u64
        };
    }
    places.push(people);
    places
}

/// Returns the share of the walks for which `is_true` holds.
fn share_of(is_true: impl Fn(usize) -> bool) -> f64 {
    (0..WALKS).filter(|walk| is_true(*walk)).count() as f64 / WALKS as f64
}

/// Returns a number between 0 and 1 for a walk. The numbers of all walks are spread evenly. Another
/// odd `factor` gives them another order.
fn quantile(walk: usize, factor: usize) -> f64 {
    ((walk * factor + factor / 2) % WALKS) as f64 / WALKS as f64 + 0.5 / WALKS as f64
}

/// Returns by how many people later in the line a visitor chooses seats in this walk; negative if
/// earlier.
fn shift(walk: usize, line: &WishingLine) -> i64 {
    let part = 2.0 * quantile(walk, 23) - 1.0;
    (part * CHOOSES_WITHIN * line.basket_people as f64) as i64
}

/// Returns the guesses of a walk. The guesses of all walks are spread evenly over the likely
/// values, so 64 walks are enough.
fn guess(walk: usize, demand: &SeatDemand, line: &ReadLine, basket_people: f64) -> WalkGuess {
    let normal_deviate = |factor: usize| {
        let share = quantile(walk, factor);
        (share / (1.0 - share)).ln() / 1.702
    };
    let vary = |mean: f64, error: f64, factor: usize| {
        mean * (1.0 + error * normal_deviate(factor)).max(GUESS_MIN)
    };
    let doubt_of_coming = demand.doubt * DOUBT_OF_COMING;
    let doubt_of_buying = ((1.0 - CHANCE) / CHANCE / GUESS_WEIGHT).sqrt();
    // People who have not stated wishes are likely to want as many seats as the others.
    let stated = line.stated_lists.len() as f64;
    let party = (demand.party * GUESS_WEIGHT + line.stated_seats) / (GUESS_WEIGHT + stated);
    let doubt_of_party = (GUESS_WEIGHT / (GUESS_WEIGHT + stated)).sqrt();
    let party = vary(
        party,
        demand.doubt * doubt_of_party.max(DOUBT_OF_SILENT),
        11,
    );
    let buys = vary(CHANCE, doubt_of_buying, 37).min(1.0);
    WalkGuess {
        choosing: vary(demand.choosing, demand.doubt, 29),
        comes: vary(demand.show_up, doubt_of_coming, 1).min(1.0),
        buys,
        alike: ALIKE_MIN + (1.0 - ALIKE_MIN) * quantile(walk, 7),
        party,
        basket_people,
        seats_wanted: CHOOSES_FOR * basket_people * party * buys,
    }
}

/// Draws which of the seats in baskets come back, and when. The time is the number of people of the
/// line who are called before, at the room's pace.
fn returning(
    supply: &[CategorySupply],
    kept: f64,
    guess: &WalkGuess,
    rng: &mut impl Rng,
) -> VecDeque<ReturningSeats> {
    let party = guess.party.round().max(1.0);
    let mut returning_seats = Vec::new();
    for (category, category_supply) in supply
        .iter()
        .enumerate()
        .filter(|(_, category_supply)| category_supply.held > 0)
    {
        let parties = category_supply.held as f64 * (1.0 - kept) / party;
        for _ in 0..(parties + rng.random::<f64>()) as u64 {
            returning_seats.push(ReturningSeats {
                at: guess.basket_people * rng.random::<f64>(),
                category,
                ordinary: party as u32,
                accessible: 0,
            });
        }
    }
    returning_seats.sort_unstable_by(|one, other| one.at.total_cmp(&other.at));
    returning_seats.into()
}
