//! Keeps in memory which baskets visitors made, for as long as baskets can live.

use std::collections::{HashMap, HashSet};

use crate::store::{BASKET_KNOWN_MS, NotedBasket};

/// How often old baskets are forgotten, in milliseconds.
const FORGET_EVERY_MS: i64 = 60_000;

/// The baskets of one room's visitors.
#[derive(Default)]
pub(super) struct LineBaskets {
    by_number: HashMap<u64, Vec<NotedBasket>>,
    /// The baskets in `by_number` that have lapsed.
    lapsed: HashSet<String>,
    forgotten_at: i64,
}

impl LineBaskets {
    pub(super) fn note(&mut self, number: u64, basket: NotedBasket) {
        self.forget_old(basket.at);
        let baskets = self.by_number.entry(number).or_default();
        // A repeated call does not make a basket anew.
        if !baskets.iter().any(|known| known.hold == basket.hold) {
            baskets.push(basket);
        }
    }

    pub(super) fn note_checkout(&mut self, number: u64, at: i64) {
        let baskets = self.by_number.get_mut(&number).into_iter().flatten();
        let earlier = baskets.filter(|basket| basket.at <= at);
        earlier.for_each(|basket| basket.in_checkout = true);
    }

    /// Notes that a basket of a number has lapsed. Returns whether this was not known yet, or
    /// `None` if the number has no such basket.
    pub(super) fn note_lapsed(&mut self, number: u64, hold: &str) -> Option<bool> {
        let mut baskets = self.by_number.get(&number)?.iter();
        baskets.find(|basket| basket.hold == hold)?;
        Some(self.lapsed.insert(hold.to_owned()))
    }

    pub(super) fn of_number(&self, number: u64, now: i64) -> Vec<NotedBasket> {
        let baskets = self.by_number.get(&number).into_iter().flatten();
        let known = baskets.filter(|basket| now - basket.at < BASKET_KNOWN_MS);
        known.cloned().collect()
    }

    fn forget_old(&mut self, now: i64) {
        if now - self.forgotten_at < FORGET_EVERY_MS {
            return;
        }
        self.forgotten_at = now;
        let lapsed = &mut self.lapsed;
        self.by_number.retain(|_, baskets| {
            baskets.retain(|basket| {
                let is_known = now - basket.at < BASKET_KNOWN_MS;
                if !is_known {
                    lapsed.remove(&basket.hold);
                }
                is_known
            });
            !baskets.is_empty()
        });
    }
}
