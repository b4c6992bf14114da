//! Walks along the line once: person after person takes seats, until nobody finds any. Each walk
//! guesses anew what is not known.

use std::collections::VecDeque;

use rand::{Rng, RngExt};

use super::categories::{CategorySet, NeededSeats};
use super::line::{LineStep, ReadLine};
use super::stock::FreeSeats;

/// The weight of the guess that people without wishes take any category, in people with wishes.
const GUESS_WEIGHT: f64 = 20.0;
/// The most people with wishes whose choice those without wishes repeat in one walk.
const REPEATED_MAX: usize = 1_024;

/// What one walk guesses.
#[derive(Debug, Clone, Copy)]
pub struct WalkGuess {
    /// How many people choose seats before the line.
    pub choosing: f64,
    /// The share of people in the line who come and fill a basket.
    pub comes: f64,
    /// The share of baskets that are bought.
    pub buys: f64,
    /// How many seats a person takes who has said no wishes.
    pub party: f64,
    /// How many people of the line are called in the time in which a basket runs out.
    pub basket_people: u64,
}

/// Seats that come back from a basket.
#[derive(Debug, Clone, Copy)]
pub struct ReturningSeats {
    /// Before which person of the line they are free again.
    pub at: u64,
    pub category: usize,
    pub ordinary: u32,
    pub accessible: u32,
}

/// One walk.
pub struct LineWalk<'a, R> {
    line: &'a ReadLine,
    guess: WalkGuess,
    seats: FreeSeats,
    /// Seats that come back, the soonest first.
    returning: VecDeque<ReturningSeats>,
    /// The lists that people without wishes repeat.
    repeated: Vec<u32>,
    any: CategorySet,
    at: u64,
    rng: &'a mut R,
}

impl<'a, R: Rng> LineWalk<'a, R> {
    /// Begins a walk. `returning` are the seats in baskets that will not be bought.
    pub fn new(
        line: &'a ReadLine,
        guess: WalkGuess,
        seats: FreeSeats,
        returning: VecDeque<ReturningSeats>,
        any: CategorySet,
        rng: &'a mut R,
    ) -> Self {
        // The people who have said their wishes are a sample of all people. To draw from them with
        // repetition shows how much a small sample can mislead (the bootstrap, Efron 1979).
        let said = &line.said;
        let repeated = (0..said.len().min(REPEATED_MAX))
            .map(|_| said[rng.random_range(0..said.len())])
            .collect();
        Self {
            line,
            guess,
            seats,
            returning,
            repeated,
            any,
            at: 0,
            rng,
        }
    }

    /// Walks along these steps. Calls `passed` before each step with the number of people before
    /// it and the seats that are free then. Ends where no seat is free or can come back.
    pub fn walk(
        &mut self,
        steps: impl Iterator<Item = LineStep>,
        mut passed: impl FnMut(u64, &FreeSeats),
    ) {
        let choosing = self.some_of(self.guess.choosing);
        for _ in 0..choosing {
            self.take(None, 1);
        }
        for step in steps {
            self.bring_back();
            if self.seats.total == 0 {
                return;
            }
            passed(self.at, &self.seats);
            let come = self.some_of(f64::from(step.people) * self.guess.comes);
            if come > 0 {
                self.take(step.list, come);
            }
            self.at += u64::from(step.people);
        }
        self.bring_back();
        passed(self.at, &self.seats);
    }

    /// Rounds a number up or down at random, so that its mean stays the same.
    fn some_of(&mut self, people: f64) -> u32 {
        (people + self.rng.random::<f64>()) as u32
    }

    /// Frees the seats of baskets that have run out. If nothing is free, the room waits for the
    /// next basket before it calls anybody.
    fn bring_back(&mut self) {
        while let Some(next) = self.returning.front()
            && (next.at <= self.at || self.seats.total == 0)
        {
            self.seats
                .put_back(next.category, next.ordinary, next.accessible);
            self.returning.pop_front();
        }
    }

    /// Lets people take the first of their wishes that can be met.
    fn take(&mut self, list: Option<u32>, people: u32) {
        let line = self.line;
        let Some(list) = list.or_else(|| self.repeated_list()) else {
            let quantity = self.some_of(self.guess.party).max(1);
            let needed = NeededSeats {
                ordinary: quantity,
                accessible: 0,
                from: self.any.clone(),
            };
            self.take_wish(&needed, people);
            return;
        };
        let mut left = people;
        for wish in &line.lists[list as usize] {
            left = self.take_wish(&line.wishes[*wish as usize], left);
            if left == 0 {
                return;
            }
        }
    }

    /// Returns the wishes of somebody else that a person without wishes repeats; `None` if it takes
    /// any category.
    fn repeated_list(&mut self) -> Option<u32> {
        let weight = self.line.said.len() as f64;
        let repeats = self.rng.random::<f64>() * (weight + GUESS_WEIGHT) < weight;
        repeats.then(|| self.repeated[self.rng.random_range(0..self.repeated.len())])
    }

    /// Lets people take what they wish, and returns for how many nothing is left.
    fn take_wish(&mut self, needed: &NeededSeats, people: u32) -> u32 {
        let mut left = people;
        while left > 0
            && let Some((category, parties)) = self.seats.take(needed, left, self.rng)
        {
            left -= parties;
            let back = self.some_of(f64::from(parties) * (1.0 - self.guess.buys));
            if back > 0 {
                self.returning.push_back(ReturningSeats {
                    at: self.at + self.guess.basket_people,
                    category,
                    ordinary: back * needed.ordinary,
                    accessible: back * needed.accessible,
                });
            }
        }
        left
    }
}
