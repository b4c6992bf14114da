//! The numbers at which nobody stands, in memory.

use std::sync::Arc;

use super::places::index;
use crate::store::NumberSet;

/// The numbers at which nobody stands: void or left.
#[derive(Default)]
pub(super) struct AbsentNumbers {
    bits: Arc<Vec<u64>>,
    count: u64,
    /// How many of them are nobody's at all; at the others somebody stood and left.
    void_count: u64,
}

impl AbsentNumbers {
    /// Notes that somebody left the number, as far as is known.
    pub(super) fn mark_left(&mut self, number: u64) {
        self.mark_absent(number);
    }

    /// Notes that the number is nobody's at all.
    pub(super) fn mark_void(&mut self, number: u64) {
        self.void_count += u64::from(self.mark_absent(number));
    }

    /// Gives whether somebody stood there until now, as far as is known.
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

    /// How many are nobody's at all.
    pub(super) fn voids(&self) -> u64 {
        self.void_count
    }

    /// How many were left.
    pub(super) fn left_count(&self) -> u64 {
        self.count - self.void_count
    }

    pub(super) fn numbers(&self) -> NumberSet {
        NumberSet(Arc::clone(&self.bits))
    }
}
