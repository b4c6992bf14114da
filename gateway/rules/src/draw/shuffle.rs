//! Makes the line from a seed with the Fisher–Yates shuffle, from the highest index down. The
//! random words come from ChaCha20 (20 rounds, zero nonce, block counter from 0, little-endian).
//! Each step needs a number below a bound, and takes the next word modulo the bound. A word is
//! rejected if it is not below the largest multiple of the bound that is at most 2³².
//!
//! The inverse can be made without the line. A series of swaps is undone by the same swaps in the
//! opposite order. So [`ranks`] first stores, in cell `i`, the index with which step `i` swaps.
//! Then it makes the swaps from the lowest cell up. The line and its inverse need only the seed, so
//! [`line_and_ranks`] makes them on two threads, each with its own keystream. On one core it is
//! cheaper to invert the finished line.

use std::thread;

use fairgate_pass::Digest;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};

/// Up to this many numbers, a second thread costs more time than it saves.
const ONE_THREAD_MAX: u32 = 1 << 16;

/// A line and its inverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShuffledLine {
    /// The number at each rank: `line[rank]`.
    pub line: Vec<u32>,
    /// The rank of each number: `ranks[number]`.
    pub ranks: Vec<u32>,
}

/// Returns the number at each rank: `line[rank]`. Takes 4 bytes a number.
pub fn shuffled_line(seed: &Digest, n: u32) -> Vec<u32> {
    let mut keystream = Keystream::new(seed);
    let mut line: Vec<u32> = (0..n).collect();
    for i in (1..n).rev() {
        line.swap(i as usize, keystream.below(i + 1) as usize);
    }
    line
}

/// Returns each number's rank: `ranks[number]`. This is the inverse of [`shuffled_line`], at the
/// same cost, and takes 4 bytes a number.
pub fn ranks(seed: &Digest, n: u32) -> Vec<u32> {
    let mut keystream = Keystream::new(seed);
    let mut ranks = vec![0; n as usize];
    for (i, cell) in (0..n).zip(ranks.iter_mut()).skip(1).rev() {
        *cell = keystream.below(i + 1);
    }
    // The cells from i on still hold indices. The cells below i hold the inverse of the swaps so
    // far.
    for i in 1..n as usize {
        let j = ranks[i] as usize;
        ranks[i] = ranks[j];
        ranks[j] = i as u32;
    }
    ranks
}

/// Returns the line and its inverse. Uses two threads if there are two cores and enough numbers.
/// Takes 8 bytes a number.
pub fn line_and_ranks(seed: &Digest, n: u32) -> ShuffledLine {
    if threads_for(n) == 1 {
        line_and_ranks_alone(seed, n)
    } else {
        line_and_ranks_on_two_threads(seed, n)
    }
}

fn line_and_ranks_on_two_threads(seed: &Digest, n: u32) -> ShuffledLine {
    thread::scope(|scope| {
        let line_thread = scope.spawn(|| shuffled_line(seed, n));
        let ranks = ranks(seed, n);
        let line = line_thread
            .join()
            .expect("the shuffle indexes only below n, so its thread does not panic");
        ShuffledLine { line, ranks }
    })
}

/// Returns how many threads [`line_and_ranks`] uses for n numbers on this machine.
pub fn threads_for(n: u32) -> usize {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    if n <= ONE_THREAD_MAX { 1 } else { cores.min(2) }
}

/// Does the same as [`line_and_ranks`], on this thread alone.
pub fn line_and_ranks_alone(seed: &Digest, n: u32) -> ShuffledLine {
    let line = shuffled_line(seed, n);
    let mut ranks = vec![0; n as usize];
    for (rank, number) in (0..n).zip(&line) {
        ranks[*number as usize] = rank;
    }
    ShuffledLine { line, ranks }
}

/// The random words that follow from a seed. The generator has its own buffer, so this type needs
/// none.
struct Keystream {
    rng: ChaCha20Rng,
}

impl Keystream {
    fn new(seed: &Digest) -> Self {
        Self {
            rng: ChaCha20Rng::from_seed(seed.0),
        }
    }

    /// Draws a number from `0..bound` (`bound` ≥ 2), each with the same probability.
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        loop {
            if let Some(number) = number_of_word(self.rng.next_u32(), bound) {
                return number;
            }
        }
    }
}

/// Returns the number below `bound` (≥ 2) that a word gives, or `None` if the word is rejected. The
/// 2³² possible words are divided into runs of `bound` words. If the last run is incomplete, its
/// words are rejected. The comparison needs only 32 bits.
#[inline]
fn number_of_word(word: u32, bound: u32) -> Option<u32> {
    let remainder = word % bound;
    (word - remainder <= bound.wrapping_neg()).then_some(remainder)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::draw::tests::vectors;

    #[test]
    fn the_line_agrees_with_the_published_vectors() {
        for case in vectors() {
            let drawn = line_and_ranks(&case.seed, case.n as u32);
            assert_eq!(drawn.line[..case.line_first.len()], case.line_first);
            let bytes: Vec<u8> = drawn
                .line
                .iter()
                .flat_map(|number| number.to_be_bytes())
                .collect();
            assert_eq!(
                Digest::of_bytes(&bytes),
                case.line_sha256_be32,
                "n = {}",
                case.n
            );
        }
    }

    #[test]
    fn two_threads_draw_the_same_line_as_one() {
        let (seed, n) = (Digest::of_bytes(b"wide"), ONE_THREAD_MAX + 1);
        // Calls the function for two threads itself, because a machine may have only one core.
        let drawn = line_and_ranks_on_two_threads(&seed, n);
        assert_eq!(drawn, line_and_ranks_alone(&seed, n));
    }

    #[test]
    fn words_are_rejected_exactly_from_the_largest_multiple_of_the_bound_on() {
        for bound in [
            2u32,
            3,
            1000,
            65_537,
            1 << 31,
            (1 << 31) + 1,
            u32::MAX - 1,
            u32::MAX,
        ] {
            let limit = (1u64 << 32) / u64::from(bound) * u64::from(bound);
            for word in [
                0,
                bound - 1,
                bound,
                u32::MAX,
                u32::MAX - 1,
                (limit - 1) as u32,
                limit as u32,
            ] {
                let expected = (u64::from(word) < limit).then(|| word % bound);
                let number = number_of_word(word, bound);
                assert_eq!(number, expected, "bound {bound}, word {word}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_line_is_a_permutation_and_ranks_its_inverse(seed: [u8; 32], n in 0u32..3000) {
            let drawn = line_and_ranks(&Digest(seed), n);
            prop_assert_eq!(&drawn.ranks, &ranks(&Digest(seed), n));
            prop_assert_eq!((drawn.line.len(), drawn.ranks.len()), (n as usize, n as usize));
            for (rank, number) in drawn.line.iter().enumerate() {
                prop_assert_eq!(drawn.ranks[*number as usize] as usize, rank);
            }
        }
    }
}
