//! Holds a bitmap of the ranks after the release counter. It says at which of these ranks somebody
//! is present. Two look-ups in the bitmap are enough to count the people ahead of a visitor.

use super::pace::RankPresence;

/// The ranks from `from` up to `end`. One bit for each rank says whether somebody is present.
/// Running sums say how many people are present before each 64-bit word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresenceBitmap {
    from: u64,
    end: u64,
    present_bits: Vec<u64>,
    /// The number of people who are present before each word of `present_bits`.
    present_before: Vec<u64>,
}

impl PresenceBitmap {
    /// Builds the bitmap of the ranks `from..end`.
    #[must_use]
    pub fn from_presence(from: u64, end: u64, presence_at: impl Fn(u64) -> RankPresence) -> Self {
        let ranks = end.saturating_sub(from);
        let words = usize::try_from(ranks.div_ceil(64)).unwrap_or(0);
        let (mut present_bits, mut present_before) =
            (Vec::with_capacity(words), Vec::with_capacity(words));
        let mut people = 0;
        for first in (from..end).step_by(64) {
            let word = (first..end.min(first + 64))
                .filter(|rank| presence_at(*rank) == RankPresence::Here)
                .fold(0_u64, |word, rank| word | 1 << (rank - first));
            present_before.push(people);
            present_bits.push(word);
            people += u64::from(word.count_ones());
        }
        Self {
            from,
            end: end.max(from),
            present_bits,
            present_before,
        }
    }

    /// Returns how many people are present in `from..rank`. Ranks after the end of the bitmap count
    /// as present, because their visitors joined after the bitmap was built.
    fn people_before(&self, rank: u64) -> u64 {
        let offset = rank.clamp(self.from, self.end) - self.from;
        let word_at = usize::try_from(offset / 64).unwrap_or(usize::MAX);
        let in_bitmap = match (
            self.present_bits.get(word_at),
            self.present_before.get(word_at),
        ) {
            (Some(bits), Some(before)) => {
                before + u64::from((bits & ((1 << (offset % 64)) - 1)).count_ones())
            }
            _ => self.people_total(),
        };
        in_bitmap + rank.saturating_sub(self.end)
    }

    /// Returns whether the bitmap has the rank, and nobody is present there.
    #[must_use]
    pub fn lacks(&self, rank: u64) -> bool {
        (self.from..self.end).contains(&rank) && {
            let offset = rank - self.from;
            let word = usize::try_from(offset / 64).ok();
            let bits = word.and_then(|at| self.present_bits.get(at));
            bits.is_some_and(|bits| bits >> (offset % 64) & 1 == 0)
        }
    }

    /// Iterates over the ranks of the people who are present, in rising order.
    pub fn ranks(&self) -> impl Iterator<Item = u64> + '_ {
        let first_ranks = (self.from..).step_by(64);
        first_ranks
            .zip(&self.present_bits)
            .flat_map(|(first, bits)| {
                (0..64)
                    .filter(move |bit| bits >> bit & 1 == 1)
                    .map(move |bit| first + bit)
            })
    }

    fn people_total(&self) -> u64 {
        match (self.present_bits.last(), self.present_before.last()) {
            (Some(bits), Some(before)) => before + u64::from(bits.count_ones()),
            _ => 0,
        }
    }

    /// Returns how many people are present in `released..rank`.
    #[must_use]
    pub fn between(&self, released: u64, rank: u64) -> u64 {
        self.people_before(rank)
            .saturating_sub(self.people_before(released))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn between_counts_the_people_one_by_one(
            line in proptest::collection::vec(any::<bool>(), 0..400), from in 0_u64..150, released in 0_u64..400, ahead in 0_u64..300,
        ) {
            let end = line.len() as u64;
            let at = |rank: u64| line.get(usize::try_from(rank).expect("small")).copied();
            let crowd = PresenceBitmap::from_presence(from, end, |rank| if at(rank) == Some(true) { RankPresence::Here } else { RankPresence::Nobody });
            let (released, rank) = (released.max(from), released.max(from) + ahead);
            // Every rank after the end of the bitmap counts as present.
            let expected = (released..rank).filter(|rank| at(*rank).unwrap_or(true) || *rank < from).count() as u64;
            prop_assert_eq!(crowd.between(released, rank), expected);
            let present: Vec<u64> = (from..end).filter(|rank| at(*rank) == Some(true)).collect();
            prop_assert!((0..500).all(|rank| crowd.lacks(rank) == (rank >= from && at(rank) == Some(false))));
            prop_assert_eq!(crowd.ranks().collect::<Vec<_>>(), present);
        }
    }
}
