//! Walks along the line once: person after person takes seats, until nobody finds any. Each walk
//! guesses anew what is not known.

use std::collections::VecDeque;

use rand::{Rng, RngExt};

use super::categories::{CategorySet, NeededSeats};
use super::line::ReadLine;
use super::stock::FreeSeats;

/// The weight of the guess that people without wishes take any category, in people with wishes.
const GUESS_WEIGHT: f64 = 20.0;
/// The most people with wishes whose choice those without wishes repeat in one walk.
const REPEATED_MAX: usize = 1_024;

/// How many people are asked whether they would find seats.
const ASKED: usize = 64;

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
    /// The index of their category.
    pub category: usize,
    /// Seats that are not accessible ones.
    pub ordinary: u32,
    /// Accessible seats.
    pub accessible: u32,
}

/// One walk.
pub struct LineWalk<'a, R> {
    line: &'a ReadLine,
    guess: WalkGuess,
    seats: FreeSeats,
    /// Seats that come back, the soonest first.
    returning: VecDeque<ReturningSeats>,
    /// The wishes of people of the line that people without wishes repeat.
    repeated: Vec<u32>,
    /// What people take who repeat nobody's wishes: some seats more or less, and any category.
    anything: [NeededSeats; 2],
    /// How often seats have come back.
    time: u32,
    /// After how many returns each wish of several categories could not be met. It is not looked
    /// for again before the next return.
    in_vain: Vec<u32>,
    /// How many people in a row have found nothing.
    failed: u32,
    /// The number of people before the next one.
    at: u64,
    rng: &'a mut R,
}

impl<'a, R: Rng> LineWalk<'a, R> {
    /// Begins a walk. `returning` are the seats in baskets that will not be bought, and `any` are
    /// all categories.
    pub fn new(
        line: &'a ReadLine,
        guess: WalkGuess,
        seats: FreeSeats,
        returning: VecDeque<ReturningSeats>,
        any: &CategorySet,
        rng: &'a mut R,
    ) -> Self {
        // The people who have said their wishes are a sample of all people. To draw from them with
        // repetition shows how much a small sample can mislead (the bootstrap, Efron 1979).
        let said = &line.said;
        let repeated = (0..said.len().min(REPEATED_MAX))
            .map(|_| said[rng.random_range(0..said.len())])
            .collect();
        let less = (guess.party as u32).max(1);
        Self {
            line,
            guess,
            seats,
            returning,
            repeated,
            anything: [less, less + 1].map(|some| NeededSeats::new(some, 0, any.clone())),
            time: 0,
            in_vain: vec![u32::MAX; line.wishes.len() + 2],
            failed: 0,
            at: 0,
            rng,
        }
    }

    /// Lets everybody take seats: the people before the line, and those in the line. If the order
    /// of the line is not known, `order` has the wishes of the line's steps, and is shuffled as far
    /// as the walk goes. Calls `passed` before each step with the number of people before it and
    /// the seats that are free then, and at the end with `None`: from there on they stay free.
    pub fn walk(
        &mut self,
        mut order: Option<&mut [Option<u32>]>,
        mut passed: impl FnMut(Option<u64>, &FreeSeats),
    ) {
        for _ in 0..self.some_of(self.guess.choosing) {
            self.take(None, 1);
        }
        for (nth, step) in self.line.steps.iter().enumerate() {
            if !self.bring_back() {
                break;
            }
            passed(Some(self.at), &self.seats);
            let list = match &mut order {
                None => step.list,
                Some(order) => {
                    let other = self.rng.random_range(nth..order.len());
                    order.swap(nth, other);
                    order[nth]
                }
            };
            let come = self.some_of(f64::from(step.people) * self.guess.comes);
            if come > 0 {
                self.take(list, come);
            }
            self.at += u64::from(step.people);
        }
        self.bring_back();
        passed(None, &self.seats);
    }

    /// Rounds a number up or down at random, so that its mean stays the same.
    fn some_of(&mut self, people: f64) -> u32 {
        (people + self.rng.random::<f64>()) as u32
    }

    /// Frees the seats of baskets that have run out. If nobody finds anything, the room waits for
    /// the next basket before it calls anybody. Returns whether there is one, or something is left.
    fn bring_back(&mut self) -> bool {
        loop {
            let waits = !self.is_anything_left();
            match self.returning.front() {
                Some(next) if next.at <= self.at || waits => {
                    self.seats
                        .put_back(next.category, next.ordinary, next.accessible);
                    self.returning.pop_front();
                    self.time += 1;
                    self.failed = 0;
                }
                _ => return !waits,
            }
        }
    }

    /// Returns whether somebody may find seats. After some failures, which double, people at random
    /// are asked whether they would.
    fn is_anything_left(&mut self) -> bool {
        if self.seats.total == 0 {
            return false;
        }
        if !self.failed.is_power_of_two() {
            return true;
        }
        let line = self.line;
        let anybody_is_silent = line.said.len() < line.steps.len();
        if anybody_is_silent && self.finds(line.wishes.len()) {
            return true;
        }
        (0..ASKED.min(line.said.len())).any(|_| {
            let list = line.said[self.rng.random_range(0..line.said.len())];
            let list = &line.lists[list as usize];
            list.iter().any(|wish| self.finds(*wish as usize))
        })
    }

    /// Returns whether a wish can be met. Those of [`Self::anything`] come after those of the line.
    fn finds(&self, wish: usize) -> bool {
        self.in_vain[wish] != self.time && self.seats.has_room(self.needed(wish))
    }

    fn needed(&self, wish: usize) -> &NeededSeats {
        let wishes = &self.line.wishes;
        match wishes.get(wish) {
            Some(needed) => needed,
            None => &self.anything[wish - wishes.len()],
        }
    }

    /// Lets people take the first of their wishes that can be met.
    fn take(&mut self, list: Option<u32>, people: u32) {
        let line = self.line;
        let mut left = people;
        if let Some(list) = list.or_else(|| self.repeated_list()) {
            for wish in &line.lists[list as usize] {
                left = self.take_wish(*wish as usize, left);
                if left == 0 {
                    break;
                }
            }
        } else {
            let more = usize::from(self.rng.random::<f64>() < self.guess.party.fract());
            left = self.take_wish(line.wishes.len() + more, left);
        }
        self.failed = if left == people {
            self.failed.saturating_add(1)
        } else {
            0
        };
    }

    /// Returns the wishes of somebody else that a person without wishes repeats; `None` if it takes
    /// any category.
    fn repeated_list(&mut self) -> Option<u32> {
        let weight = self.line.said.len() as f64;
        let repeats = self.rng.random::<f64>() * (weight + GUESS_WEIGHT) < weight;
        repeats.then(|| self.repeated[self.rng.random_range(0..self.repeated.len())])
    }

    /// Lets people take what they wish, and returns for how many nothing is left.
    fn take_wish(&mut self, wish: usize, people: u32) -> u32 {
        if self.in_vain[wish] == self.time {
            return people;
        }
        let wishes = &self.line.wishes;
        let needed = match wishes.get(wish) {
            Some(needed) => needed,
            None => &self.anything[wish - wishes.len()],
        };
        let mut left = people;
        while left > 0 {
            let Some((category, parties)) = self.seats.take(needed, left, self.rng) else {
                if needed.few.is_empty() {
                    self.in_vain[wish] = self.time;
                }
                break;
            };
            left -= parties;
            let back = f64::from(parties) * (1.0 - self.guess.buys);
            let back = (back + self.rng.random::<f64>()) as u32;
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
