//! Walks along the line once: person after person takes seats, until nobody finds any. Each walk
//! makes new guesses about what is not known.

use std::collections::VecDeque;

use rand::{Rng, RngExt};

use super::categories::{CategorySet, NeededSeats};
use super::line::ReadLine;
use super::stock::FreeSeats;
use crate::odds::GUESS_WEIGHT;

/// In one walk, people without wishes repeat the wishes of at most this many people with wishes.
const REPEATED_MAX: usize = 1_024;

/// While no more visitors are wanted, a room calls people at its pace divided by this.
const TRICKLE_PART: f64 = 100.0;
/// To check whether anybody would find seats, at most this many people are drawn at random.
const TESTED_MAX: usize = 64;

/// What one walk guesses.
#[derive(Debug, Clone, Copy)]
pub struct WalkGuess {
    /// How many people choose seats before the first person of the line.
    pub choosing: f64,
    /// The share of people in the line who come and fill a basket.
    pub comes: f64,
    /// The share of baskets that are bought.
    pub buys: f64,
    /// The share of people without wishes who want the same as people with wishes, if many people
    /// have wishes.
    pub alike: f64,
    /// How many seats a person without wishes takes.
    pub party: f64,
    /// The number of people of the line who are called until a basket runs out, at the room's pace.
    pub basket_people: f64,
    /// How many seats the people want who choose at the same time, if the room calls at its pace.
    pub seats_wanted: f64,
}

/// Seats that come back from a basket.
#[derive(Debug, Clone, Copy)]
pub struct ReturningSeats {
    /// When they are free again. The unit is the time between two calls at the room's pace.
    pub at: f64,
    /// The index of their category.
    pub category: usize,
    /// The number of seats that are not accessible.
    pub ordinary: u32,
    /// The number of accessible seats.
    pub accessible: u32,
}

/// One walk.
pub struct LineWalk<'a, R> {
    line: &'a ReadLine,
    guess: WalkGuess,
    seats: FreeSeats,
    /// Seats that come back, in the order of their times.
    returning: VecDeque<ReturningSeats>,
    /// The lists of wishes that people without wishes repeat, as indices of [`ReadLine::lists`].
    repeated: Vec<u32>,
    /// People who repeat nobody's wishes take one of these: the mean party rounded down, or one
    /// seat more, of any category.
    unstated_needs: [NeededSeats; 2],
    /// How often seats have come back.
    returns: u32,
    /// For each wish of more than a few categories, the value of `returns` at which it could not be
    /// met. The wish is not tried again before the next return.
    failed_at_return: Vec<u32>,
    /// How many steps in a row have found no seats.
    failed_steps: u32,
    /// The number of people of the line before the next step.
    at: u64,
    /// The time since the start of the line. The unit is the time between two calls at the room's
    /// pace.
    time: f64,
    rng: &'a mut R,
}

impl<'a, R: Rng> LineWalk<'a, R> {
    /// Begins a walk. `returning` has the seats in baskets that will not be bought.
    pub fn new(
        line: &'a ReadLine,
        guess: WalkGuess,
        seats: FreeSeats,
        returning: VecDeque<ReturningSeats>,
        all_categories: &CategorySet,
        rng: &'a mut R,
    ) -> Self {
        // The people who have said their wishes are a sample of all people. Drawing from this
        // sample with replacement shows how much a small sample can mislead (the bootstrap, Efron
        // 1979).
        let stated = &line.stated_lists;
        let repeated = (0..stated.len().min(REPEATED_MAX))
            .map(|_| stated[rng.random_range(0..stated.len())])
            .collect();
        let party_min = (guess.party as u32).max(1);
        Self {
            line,
            guess,
            seats,
            returning,
            repeated,
            unstated_needs: [party_min, party_min + 1]
                .map(|some| NeededSeats::new(some, 0, all_categories.clone())),
            returns: 0,
            failed_at_return: vec![u32::MAX; line.wishes.len() + 2],
            failed_steps: 0,
            at: 0,
            time: 0.0,
            rng,
        }
    }

    /// Lets everybody take seats: the people before the line, and those in the line. If the order
    /// of the line is not known, `order` has the wishes of the line's steps, and is shuffled as far
    /// as the walk goes. Before each step, calls `note_place` with the number of people before the
    /// step and the free seats. At the end, calls `note_place` with `None`: the seats that are free
    /// then stay free.
    pub fn walk(
        &mut self,
        mut order: Option<&mut [Option<u32>]>,
        mut note_place: impl FnMut(Option<u64>, &FreeSeats),
    ) {
        for _ in 0..self.round_at_random(self.guess.choosing) {
            self.take(None, 1);
        }
        for (nth, step) in self.line.steps.iter().enumerate() {
            self.bring_back();
            if self.returning.is_empty() && !self.is_anything_left() {
                break;
            }
            note_place(Some(self.at), &self.seats);
            let list = match &mut order {
                None => step.list,
                Some(order) => {
                    let swapped = self.rng.random_range(nth..order.len());
                    order.swap(nth, swapped);
                    order[nth]
                }
            };
            let coming = self.round_at_random(f64::from(step.people) * self.guess.comes);
            if coming > 0 {
                self.take(list, coming);
            }
            self.at += u64::from(step.people);
            self.time += f64::from(step.people) * self.slowness();
        }
        self.bring_back();
        note_place(None, &self.seats);
    }

    /// Rounds a number up or down at random, so that its mean stays the same.
    fn round_at_random(&mut self, people: f64) -> u32 {
        (people + self.rng.random::<f64>()) as u32
    }

    /// Returns how many times slower than its pace the room calls people. If the people who choose
    /// want more seats than are free, the room calls more slowly in proportion, down to the
    /// trickle.
    fn slowness(&self) -> f64 {
        let free = self.seats.total.max(1) as f64;
        (self.guess.seats_wanted / free).clamp(1.0, TRICKLE_PART)
    }

    /// Frees the seats of baskets that have run out.
    fn bring_back(&mut self) {
        while let Some(next) = self.returning.front()
            && next.at <= self.time
        {
            self.seats
                .put_back(next.category, next.ordinary, next.accessible);
            self.returning.pop_front();
            self.returns += 1;
            self.failed_steps = 0;
        }
    }

    /// Returns whether somebody may still find seats. After 1, 2, 4, 8… failures in a row, tests
    /// the wishes of people who are drawn at random. Otherwise only checks whether any seat is
    /// free.
    fn is_anything_left(&mut self) -> bool {
        if self.seats.total == 0 {
            return false;
        }
        if !self.failed_steps.is_power_of_two() {
            return true;
        }
        let line = self.line;
        let anybody_is_silent = line.stated_lists.len() < line.steps.len();
        if anybody_is_silent && self.has_seats_for(line.wishes.len()) {
            return true;
        }
        (0..TESTED_MAX.min(line.stated_lists.len())).any(|_| {
            let list = line.stated_lists[self.rng.random_range(0..line.stated_lists.len())];
            let list = &line.lists[list as usize];
            list.iter().any(|wish| self.has_seats_for(*wish as usize))
        })
    }

    /// Returns whether a wish can be met. The indices of [`Self::anything`] come after those of the
    /// line's wishes.
    fn has_seats_for(&self, wish: usize) -> bool {
        self.failed_at_return[wish] != self.returns && self.seats.has_room(self.needed(wish))
    }

    fn needed(&self, wish: usize) -> &NeededSeats {
        let wishes = &self.line.wishes;
        match wishes.get(wish) {
            Some(needed) => needed,
            None => &self.unstated_needs[wish - wishes.len()],
        }
    }

    /// Lets people take the first of their wishes that can be met.
    fn take(&mut self, list: Option<u32>, people: u32) {
        let line = self.line;
        let mut people_left = people;
        if let Some(list) = list.or_else(|| self.repeated_list()) {
            for wish in &line.lists[list as usize] {
                people_left = self.take_wish(*wish as usize, people_left);
                if people_left == 0 {
                    break;
                }
            }
        } else {
            let larger_party = usize::from(self.rng.random::<f64>() < self.guess.party.fract());
            people_left = self.take_wish(line.wishes.len() + larger_party, people_left);
        }
        self.failed_steps = if people_left == people {
            self.failed_steps.saturating_add(1)
        } else {
            0
        };
    }

    /// Returns the list of another person's wishes that a person without wishes repeats, or `None`
    /// if the person takes any category.
    fn repeated_list(&mut self) -> Option<u32> {
        let weight = self.line.stated_lists.len() as f64;
        let share = self.guess.alike * weight / (weight + GUESS_WEIGHT);
        let repeats = self.rng.random::<f64>() < share;
        repeats.then(|| self.repeated[self.rng.random_range(0..self.repeated.len())])
    }

    /// Lets people take what they wish, and returns how many of them found no seats.
    fn take_wish(&mut self, wish: usize, people: u32) -> u32 {
        if self.failed_at_return[wish] == self.returns {
            return people;
        }
        let wishes = &self.line.wishes;
        let needed = match wishes.get(wish) {
            Some(needed) => needed,
            None => &self.unstated_needs[wish - wishes.len()],
        };
        let mut people_left = people;
        while people_left > 0 {
            let Some((category, parties)) = self.seats.take(needed, people_left, self.rng) else {
                if needed.category_list.is_empty() {
                    self.failed_at_return[wish] = self.returns;
                }
                break;
            };
            people_left -= parties;
            let parties_back = f64::from(parties) * (1.0 - self.guess.buys);
            let parties_back = (parties_back + self.rng.random::<f64>()) as u32;
            if parties_back > 0 {
                self.returning.push_back(ReturningSeats {
                    at: self.time + self.guess.basket_people,
                    category,
                    ordinary: parties_back * needed.ordinary,
                    accessible: parties_back * needed.accessible,
                });
            }
        }
        people_left
    }
}
