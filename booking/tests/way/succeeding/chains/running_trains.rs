//! The trains that run in a chain, and the random changes to them.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::super::*;

/// A train that runs, whatever a timetable calls it.
#[derive(Debug, Clone)]
pub(super) struct RunningTrain {
    /// Names the train in the chain.
    pub(super) key: u32,
    pub(super) train: Train,
}

impl RunningTrain {
    /// Returns the minute at which the train is at a station.
    pub(super) fn at(&self, station: &str) -> Option<u32> {
        let mut stations = self.train.stations.iter().zip(0..);
        let found = stations.find(|(known, _)| **known == station);
        found.map(|(_, nth)| self.train.leaves + 30 * nth)
    }

    /// Returns whether the train leaves every station that it shares with another one over an hour
    /// earlier or later than that.
    pub(super) fn is_far_from(&self, other: &Self) -> bool {
        let mut both = self.train.stations.iter().filter_map(|station| {
            let (own, others) = (self.at(station)?, other.at(station)?);
            Some(own.abs_diff(others) > 60)
        });
        both.all(|is_far| is_far)
    }
}

/// All trains of a timetable.
#[derive(Debug)]
pub(super) struct RunningTrains {
    pub(super) all: Vec<RunningTrain>,
    /// What a ride costs, in minor units.
    pub(super) price: i64,
    next_key: u32,
}

impl RunningTrains {
    pub(super) fn new(dice: &mut StdRng) -> Self {
        let mut trains = Self {
            all: Vec::new(),
            price: PRICE,
            next_key: 0,
        };
        for _ in 0..4 {
            trains.add(dice);
        }
        trains
    }

    /// Adds a train, which may have the number of another one, or none.
    fn add(&mut self, dice: &mut StdRng) {
        let key = self.next_key;
        self.next_key += 1;
        let numbers = ["RE 101", "RE 102", "RE 103", ""];
        let number = *numbers.choose(dice).expect("a number");
        let train = Train {
            leaves: 360 + 15 * dice.random_range(0..60),
            ..train(&format!("t{key}"), number, "06:00")
        };
        self.all.push(RunningTrain { key, train });
    }

    /// Changes one thing about the trains.
    pub(super) fn change(&mut self, dice: &mut StdRng) {
        let kind = dice.random_range(0..11);
        // A timetable without trains is refused.
        if kind == 0 || (kind == 1 && self.all.len() == 1) {
            self.add(dice);
            return;
        }
        let at = dice.random_range(0..self.all.len());
        let train = &mut self.all[at].train;
        match kind {
            1 => _ = self.all.remove(at),
            2 => {
                let mut doubled = self.all[at].clone();
                doubled.key = self.next_key;
                doubled.train.trip = format!("d{}", self.next_key);
                self.next_key += 1;
                self.all.push(doubled);
            }
            3 | 4 => {
                let by = dice.random_range(0..=90) * 2;
                train.leaves = (train.leaves + by).saturating_sub(90).max(300);
            }
            5 => train.number = format!("RE {}", 104 + at),
            6 => toggle_stop(train, train.stations.len(), "dd"),
            7 => toggle_stop(train, 1, "dd"),
            8 => toggle_stop(train, 1, "bb"),
            9 => self.price = 10 * dice.random_range(50..200),
            _ => {
                // Each edition of some feeds gives all ids anew, to other trains.
                let ids = self.all.iter().map(|one| one.train.trip.clone());
                let mut ids: Vec<String> = ids.collect();
                ids.rotate_left(1);
                for (running, id) in self.all.iter_mut().zip(ids) {
                    running.train.trip = id;
                }
            }
        }
    }
}

/// Takes a stop out of a train, or puts it in as the stop of this number.
pub(super) fn toggle_stop(train: &mut Train, nth: usize, station: &'static str) {
    let before = train.stations.len();
    train.stations.retain(|known| *known != station);
    if train.stations.len() == before {
        train.stations.insert(nth, station);
    }
}
