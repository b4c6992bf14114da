//! The numbers without a visitor, in memory.

use std::sync::Arc;

use super::places::index;
use crate::store::NumberSet;

/// The numbers without a visitor: void numbers, and numbers whose visitor left.
#[derive(Default)]
pub(super) struct AbsentNumbers {
    bits: Arc<Vec<u64>>,
    count: u64,
    /// How many of the numbers are void. The other numbers had a visitor who left.
    void_count: u64,
}

impl AbsentNumbers {
    /// Notes that the number's visitor left.
    pub(super) fn mark_left(&mut self, number: u64) {
        self.mark_absent(number);
    }

    /// Notes that the number is void.
    pub(super) fn mark_void(&mut self, number: u64) {
        self.void_count += u64::from(self.mark_absent(number));
    }

    /// Marks the number, and returns whether it was not marked before.
    fn mark_absent(&mut self, number: u64) -> bool {
        let bits = Arc::make_mut(&mut self.bits);
        let word = index(number / 64);
        if bits.len() <= word {
            bits.resize(word + 1, 0);
        }
        let bit = 1 << (number % 64);
        let is_new = bits[word] & bit == 0;
        self.count += u64::from(is_new);
        bits[word] |= bit;
        is_new
    }

    /// Returns how many numbers are void.
    pub(super) fn voids(&self) -> u64 {
        self.void_count
    }

    /// Returns how many numbers had a visitor who left.
    pub(super) fn left_count(&self) -> u64 {
        self.count - self.void_count
    }

    pub(super) fn numbers(&self) -> NumberSet {
        NumberSet(Arc::clone(&self.bits))
    }
}
