//! Counts the free seats of every category while the people of a walk take them.

use rand::{Rng, RngExt};

use super::super::CategorySupply;
use super::categories::{CategorySet, NeededSeats};

/// If somebody chooses among at most this many categories, the free seats of all of them are added
/// up.
const WEIGHED_MAX: u32 = 16;
/// If somebody chooses among more categories, a seat is drawn at most this many times. After that,
/// the first category with room is taken.
const DRAWS_MAX: usize = 8;

/// The free seats by category.
#[derive(Debug, Clone)]
pub struct FreeSeats {
    /// The free seats of each category that are not accessible.
    pub ordinary: Vec<u32>,
    /// The free accessible seats of each category.
    pub accessible: Vec<u32>,
    /// The number of all free seats.
    pub total: u64,
    /// The categories that have a free seat that is not accessible.
    has_ordinary: CategorySet,
    /// The categories that have a free accessible seat.
    has_accessible: CategorySet,
    /// For each category, how many seats of both kinds were free at the beginning in this category
    /// and all categories before it.
    initial_sums: Vec<u64>,
    /// The categories among which [`FreeSeats::choose`] chooses. The set is a field so that a
    /// choice needs no new memory.
    suiting: CategorySet,
}

impl FreeSeats {
    /// Begins with the free seats of each category.
    pub fn new(supply: &[CategorySupply]) -> Self {
        let capped = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let mut seats = Self {
            ordinary: supply.iter().map(|one| capped(one.free)).collect(),
            accessible: supply.iter().map(|one| capped(one.accessible)).collect(),
            total: 0,
            has_ordinary: CategorySet::empty(supply.len()),
            has_accessible: CategorySet::empty(supply.len()),
            initial_sums: Vec::new(),
            suiting: CategorySet::empty(supply.len()),
        };
        for category in 0..supply.len() {
            seats.total += u64::from(seats.ordinary[category]);
            seats.total += u64::from(seats.accessible[category]);
            seats.initial_sums.push(seats.total);
            seats.update_sets(category);
        }
        seats
    }

    fn update_sets(&mut self, category: usize) {
        self.has_ordinary.set(category, self.ordinary[category] > 0);
        self.has_accessible
            .set(category, self.accessible[category] > 0);
    }

    /// Returns how many parties with this need find seats in a category.
    fn room_for(&self, needed: &NeededSeats, category: usize) -> u32 {
        let parties_for = |free: u32, need: u32| free.checked_div(need).unwrap_or(u32::MAX);
        parties_for(self.ordinary[category], needed.ordinary)
            .min(parties_for(self.accessible[category], needed.accessible))
    }

    /// Returns whether a party with this need finds seats in any category.
    pub fn has_room(&self, needed: &NeededSeats) -> bool {
        if needed.category_list.is_empty() {
            let with_seats = if needed.ordinary > 0 {
                &self.has_ordinary
            } else {
                &self.has_accessible
            };
            let mut candidates = needed.categories.intersection(with_seats);
            candidates.any(|at| self.room_for(needed, at) > 0)
        } else {
            needed
                .category_list
                .iter()
                .any(|at| self.room_for(needed, *at) > 0)
        }
    }

    /// Takes seats for at most `parties` parties, all from one category. If several categories
    /// suit, one is chosen at random in proportion to its free seats. Returns the category and how
    /// many parties took seats, or `None` if no category has room.
    pub fn take(
        &mut self,
        needed: &NeededSeats,
        parties: u32,
        rng: &mut impl Rng,
    ) -> Option<(usize, u32)> {
        let category = self.choose(needed, rng)?;
        let parties = parties.min(self.room_for(needed, category));
        let (ordinary, accessible) = (parties * needed.ordinary, parties * needed.accessible);
        self.ordinary[category] -= ordinary;
        self.accessible[category] -= accessible;
        self.total -= u64::from(ordinary) + u64::from(accessible);
        self.update_sets(category);
        Some((category, parties))
    }

    /// Puts seats back.
    pub fn put_back(&mut self, category: usize, ordinary: u32, accessible: u32) {
        self.ordinary[category] += ordinary;
        self.accessible[category] += accessible;
        self.total += u64::from(ordinary) + u64::from(accessible);
        self.update_sets(category);
    }

    fn choose(&mut self, needed: &NeededSeats, rng: &mut impl Rng) -> Option<usize> {
        if let [only_category] = needed.category_list[..] {
            return (self.room_for(needed, only_category) > 0).then_some(only_category);
        }
        if !needed.category_list.is_empty() {
            return self.weigh(needed, needed.category_list.iter().copied(), rng);
        }
        let mut candidates = std::mem::take(&mut self.suiting);
        candidates.copy_from(&needed.categories);
        if needed.ordinary > 0 {
            candidates.intersect(&self.has_ordinary);
        }
        if needed.accessible > 0 {
            candidates.intersect(&self.has_accessible);
        }
        let category = if candidates.len() <= WEIGHED_MAX {
            self.weigh(needed, candidates.iter(), rng)
        } else {
            self.draw(needed, &candidates, rng)
        };
        self.suiting = candidates;
        category
    }

    fn weight(&self, needed: &NeededSeats, category: usize) -> u64 {
        if self.room_for(needed, category) == 0 {
            0
        } else if needed.ordinary > 0 {
            u64::from(self.ordinary[category])
        } else {
            u64::from(self.accessible[category])
        }
    }

    /// Adds up the free seats of the categories that suit, draws one of the seats, and returns its
    /// category.
    fn weigh(
        &self,
        needed: &NeededSeats,
        candidates: impl Iterator<Item = usize> + Clone,
        rng: &mut impl Rng,
    ) -> Option<usize> {
        let total: u64 = candidates.clone().map(|at| self.weight(needed, at)).sum();
        if total == 0 {
            return None;
        }
        let mut remaining = rng.random_range(0..total);
        for category in candidates {
            let weight = self.weight(needed, category);
            if remaining < weight {
                return Some(category);
            }
            remaining -= weight;
        }
        None
    }

    /// Draws seats that were free at the beginning until one of them is still free, and returns its
    /// category. Each free seat is as likely as in a draw among the free seats only, but this draw
    /// does not look at every category.
    fn draw(
        &self,
        needed: &NeededSeats,
        candidates: &CategorySet,
        rng: &mut impl Rng,
    ) -> Option<usize> {
        let seats = self.initial_sums.last().copied().unwrap_or(0);
        for _ in 0..DRAWS_MAX.min(seats as usize) {
            let seat = rng.random_range(0..seats);
            let category = self.initial_sums.partition_point(|until| *until <= seat);
            let first_seat = category
                .checked_sub(1)
                .map_or(0, |before| self.initial_sums[before]);
            if candidates.contains(category) && seat - first_seat < self.weight(needed, category) {
                return Some(category);
            }
        }
        let mut with_room = candidates
            .iter()
            .filter(|at| self.room_for(needed, *at) > 0);
        with_room.next()
    }
}
