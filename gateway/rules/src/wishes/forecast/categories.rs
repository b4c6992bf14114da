//! Finds the categories that a wish names. Each name is looked up once. A walk uses only indices.

use std::collections::HashMap;

use super::super::{CategorySupply, SeatWish};

/// A set of at most this many categories is also kept as a list.
const FEW: u32 = 4;

/// A set of categories. Each category has the bit of its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategorySet(Vec<u64>);

impl CategorySet {
    /// Makes an empty set that has room for `categories` categories.
    pub fn empty(categories: usize) -> Self {
        Self(vec![0; categories.div_ceil(64)])
    }

    /// Puts a category in, or takes it out.
    pub fn set(&mut self, category: usize, is_in: bool) {
        let bit = 1 << (category % 64);
        if is_in {
            self.0[category / 64] |= bit;
        } else {
            self.0[category / 64] &= !bit;
        }
    }

    /// Returns whether a category is in the set.
    pub fn has(&self, category: usize) -> bool {
        self.0[category / 64] >> (category % 64) & 1 == 1
    }

    /// Returns the number of categories in the set.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the categories in the set.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone {
        bits(self.0.iter().copied())
    }

    /// Returns the categories that are in both sets.
    pub fn both(&self, other: &Self) -> impl Iterator<Item = usize> {
        bits(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(word, other)| word & other),
        )
    }

    fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Keeps only the categories that are also in `other`.
    pub fn keep(&mut self, other: &Self) {
        for (word, kept) in self.0.iter_mut().zip(&other.0) {
            *word &= kept;
        }
    }

    /// Copies another set of the same length into this set, without new memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

/// Returns the indices of all bits that are 1.
fn bits(words: impl Iterator<Item = u64> + Clone) -> impl Iterator<Item = usize> + Clone {
    words.enumerate().flat_map(|(at, word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            Some(at * 64 + bit as usize)
        })
    })
}

/// The seats that a wish needs, all of one category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSeats {
    /// The number of seats that are not accessible.
    pub ordinary: u32,
    /// The number of accessible seats.
    pub accessible: u32,
    /// The categories that suit the wish.
    pub from: CategorySet,
    /// The same categories as a list, because a list is faster to read. It is empty if there are
    /// more than `FEW` categories.
    pub few: Vec<usize>,
}

impl NeededSeats {
    /// Describes a need for seats of any one category in `from`.
    pub fn new(ordinary: u32, accessible: u32, from: CategorySet) -> Self {
        let few = if from.len() <= FEW {
            from.iter().collect()
        } else {
            Vec::new()
        };
        Self {
            ordinary,
            accessible,
            from,
            few,
        }
    }
}

/// Finds the categories of all shows by show and by key.
#[derive(Debug, Clone, Default)]
pub struct CategoryIndex {
    all: CategorySet,
    by_show: HashMap<String, CategorySet>,
    by_key: HashMap<String, CategorySet>,
}

impl CategoryIndex {
    /// Makes the index of these categories.
    pub fn new(supply: &[CategorySupply]) -> Self {
        let empty = CategorySet::empty(supply.len());
        let mut index = Self {
            all: empty.clone(),
            ..Self::default()
        };
        for (category, one) in supply.iter().enumerate() {
            index.all.set(category, true);
            let named = [
                (&mut index.by_show, &one.show),
                (&mut index.by_key, &one.key),
            ];
            for (sets, name) in named {
                let set = sets.entry(name.clone()).or_insert_with(|| empty.clone());
                set.set(category, true);
            }
        }
        index
    }

    /// Returns the number of categories.
    pub fn len(&self) -> usize {
        self.all.len() as usize
    }

    /// Returns the seats that a wish needs. Unknown keys of categories are ignored. No category
    /// suits a wish for an unknown show.
    pub fn needed(&self, wish: &SeatWish) -> NeededSeats {
        let mut from = CategorySet::empty(self.len());
        if wish.categories.is_empty() {
            from.add(&self.all);
        }
        for set in wish
            .categories
            .iter()
            .filter_map(|key| self.by_key.get(key))
        {
            from.add(set);
        }
        if let Some(show) = &wish.show {
            match self.by_show.get(show) {
                Some(of_show) => from.keep(of_show),
                None => from = CategorySet::empty(self.len()),
            }
        }
        let accessible = wish.accessible.min(wish.quantity);
        NeededSeats::new(wish.quantity - accessible, accessible, from)
    }
}
