//! Finds the categories that a wish names. Names are looked up once; a walk only uses indices.

use std::collections::HashMap;

use super::super::{CategorySupply, SeatWish};

/// Up to so many categories are also listed.
const FEW: u32 = 4;

/// A set of categories by their index, as bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategorySet(Vec<u64>);

impl CategorySet {
    /// Makes an empty set for so many categories.
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

    /// Returns whether a category is in.
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

    /// Makes this set equal to another one of the same length, without new memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

/// Returns the places of all bits that are set.
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

/// What a wish takes: seats of both kinds, all of one category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSeats {
    /// Seats that are not accessible ones.
    pub ordinary: u32,
    /// Accessible seats.
    pub accessible: u32,
    /// The categories that will do.
    pub from: CategorySet,
    /// The same ones if there are only a few, because that is faster to read; otherwise empty.
    pub few: Vec<usize>,
}

impl NeededSeats {
    /// Makes a need of seats from one of these categories.
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

/// The categories of all shows by their names.
#[derive(Debug, Clone, Default)]
pub struct CategoryIndex {
    all: CategorySet,
    by_show: HashMap<String, CategorySet>,
    by_key: HashMap<String, CategorySet>,
}

impl CategoryIndex {
    /// Reads the names.
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

    /// Returns what a wish takes. Names that are not known are ignored.
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
