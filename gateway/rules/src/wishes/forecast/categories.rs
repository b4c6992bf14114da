//! Finds the categories that a wish names. Each name is looked up once. A walk uses only indices.

use std::collections::HashMap;

use super::super::{CategorySupply, SeatWish};

/// A set of at most this many categories is also kept as a list.
const FEW_CATEGORIES: u32 = 4;

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
    pub fn contains(&self, category: usize) -> bool {
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
    pub fn intersection(&self, other: &Self) -> impl Iterator<Item = usize> {
        bits(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(word, other)| word & other),
        )
    }

    fn add_all(&mut self, other: &Self) {
        for (word, other_word) in self.0.iter_mut().zip(&other.0) {
            *word |= other_word;
        }
    }

    /// Keeps only the categories that are also in `other`.
    pub fn intersect(&mut self, other: &Self) {
        for (word, other_word) in self.0.iter_mut().zip(&other.0) {
            *word &= other_word;
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
        let mut unread_bits = word;
        std::iter::from_fn(move || {
            let bit = unread_bits.trailing_zeros();
            unread_bits &= unread_bits.checked_sub(1)?;
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
    pub categories: CategorySet,
    /// The same categories as a list, because a list is faster to read. It is empty if there are
    /// more than `FEW_CATEGORIES` categories.
    pub category_list: Vec<usize>,
}

impl NeededSeats {
    /// Describes a need for seats of any one category in `categories`.
    pub fn new(ordinary: u32, accessible: u32, categories: CategorySet) -> Self {
        let category_list = if categories.len() <= FEW_CATEGORIES {
            categories.iter().collect()
        } else {
            Vec::new()
        };
        Self {
            ordinary,
            accessible,
            categories,
            category_list,
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
        for (category, category_supply) in supply.iter().enumerate() {
            index.all.set(category, true);
            let sets_by_name = [
                (&mut index.by_show, &category_supply.show),
                (&mut index.by_key, &category_supply.key),
            ];
            for (sets, name) in sets_by_name {
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
            from.add_all(&self.all);
        }
        for set in wish
            .categories
            .iter()
            .filter_map(|key| self.by_key.get(key))
        {
            from.add_all(set);
        }
        if let Some(show) = &wish.show {
            match self.by_show.get(show) {
                Some(of_show) => from.intersect(of_show),
                None => from = CategorySet::empty(self.len()),
            }
        }
        let accessible = wish.accessible.min(wish.quantity);
        NeededSeats::new(wish.quantity - accessible, accessible, from)
    }
}
