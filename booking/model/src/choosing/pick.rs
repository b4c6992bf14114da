//! Picks at random among the best candidates, or among the best few that do not overlap.

use rand::{Rng, RngExt};

use crate::choosing::wish::CellSet;

/// Adds seats to `kept`, unless it has one of them. Returns whether they were added.
pub fn keep_cells_apart(cells: &[u32], kept: &mut CellSet) -> bool {
    let is_apart = !cells.iter().any(|cell| kept.contains(*cell));
    if is_apart {
        cells.iter().for_each(|cell| kept.insert(*cell));
    }
    is_apart
}

/// Seats that a party could get together.
pub trait SeatCandidate {
    /// The seats of several candidates that share none.
    type KeptSeats: Default;
    /// Returns the number that is compared first. Smaller is better.
    fn rank(&self) -> u32;
    /// Returns the number that decides between candidates of the same rank, such as a distance.
    /// Smaller is better.
    fn score(&self) -> f32;
    /// Adds the candidate's seats to `kept`, unless `kept` has one of them. Returns whether they
    /// were added.
    fn keep_apart(&self, kept: &mut Self::KeptSeats) -> bool;
}

/// A list of candidates is shortened only once it has at least twice this many.
const SHORTLIST_MIN: usize = 64;

/// Returns the largest score that is treated as equal to `best`. Seats at mirrored positions must
/// count as equal, but rounding makes their scores differ a little.
pub fn equal_up_to(best: f32) -> f32 {
    best + 0.001 + best.abs() * 1e-6
}

/// Collects candidates for [`pick_candidate`], and drops those that cannot be picked any more. A
/// search over a large map therefore keeps few of its thousands of candidates.
pub struct CandidateShortlist<C> {
    candidates: Vec<C>,
    spread: usize,
    width: usize,
    rank: u32,
    /// Candidates of this rank with a larger score cannot be picked.
    score_max: f32,
    /// At this length the list is shortened.
    shorten_at: usize,
}

impl<C: SeatCandidate> CandidateShortlist<C> {
    /// Makes an empty list. `spread` and `width` are those of [`pick_candidate`].
    pub fn new(spread: usize, width: usize) -> Self {
        Self {
            candidates: Vec::new(),
            spread,
            width,
            rank: u32::MAX,
            score_max: f32::INFINITY,
            shorten_at: 0,
        }
    }

    /// Adds a candidate, if it may still be picked.
    pub fn add(&mut self, candidate: C) {
        if candidate.rank() < self.rank {
            self.candidates.clear();
            self.rank = candidate.rank();
            self.score_max = f32::INFINITY;
        }
        if candidate.rank() > self.rank || candidate.score() > self.score_max {
            return;
        }
        if self.spread <= 1 {
            self.score_max = self.score_max.min(equal_up_to(candidate.score()));
        }
        self.candidates.push(candidate);
        let enough = self.spread.saturating_mul(self.width).max(SHORTLIST_MIN);
        if self.candidates.len() >= self.shorten_at.max(enough.saturating_mul(2)) {
            self.shorten(enough);
            // If many candidates are equal, few or none of them were dropped. The list must then
            // double before it is shortened again, so that the work stays linear.
            self.shorten_at = self.candidates.len().saturating_mul(2);
        }
    }

    fn shorten(&mut self, enough: usize) {
        if self.spread > 1 {
            self.candidates
                .select_nth_unstable_by(enough - 1, |a, b| a.score().total_cmp(&b.score()));
            self.candidates.truncate(enough);
            self.score_max = self.candidates[enough - 1].score();
        } else {
            let score_max = self.score_max;
            self.candidates
                .retain(|candidate| candidate.score() <= score_max);
        }
    }

    /// Picks one of the candidates, as [`pick_candidate`] does.
    pub fn pick(self, rng: &mut impl Rng) -> Option<C> {
        pick_candidate(self.candidates, self.spread, self.width, rng)
    }
}

/// Picks a candidate of the best rank at random. With a `spread` of 0 or 1, it picks among the
/// candidates with the best score. With a larger `spread`, it picks among the best `spread`
/// candidates that share no seat. `width` is the largest number of candidates that can overlap one
/// candidate, itself included.
pub fn pick_candidate<C: SeatCandidate>(
    mut candidates: Vec<C>,
    spread: usize,
    width: usize,
    rng: &mut impl Rng,
) -> Option<C> {
    let rank = candidates.iter().map(SeatCandidate::rank).min()?;
    candidates.retain(|candidate| candidate.rank() == rank);
    let best = candidates
        .iter()
        .map(SeatCandidate::score)
        .min_by(f32::total_cmp)?;
    if spread <= 1 {
        candidates.retain(|candidate| candidate.score() <= equal_up_to(best));
    } else {
        // Each kept candidate rules out fewer than `width` others, so this many candidates contain
        // `spread` that do not overlap.
        let enough = spread.saturating_mul(width).clamp(1, candidates.len());
        candidates.select_nth_unstable_by(enough - 1, |a, b| a.score().total_cmp(&b.score()));
        candidates.truncate(enough);
        candidates.sort_unstable_by(|a, b| a.score().total_cmp(&b.score()));
        let mut kept_seats = C::KeptSeats::default();
        candidates = candidates
            .into_iter()
            .filter(|candidate| candidate.keep_apart(&mut kept_seats))
            .take(spread)
            .collect();
    }
    let at = rng.random_range(0..candidates.len());
    Some(candidates.swap_remove(at))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct SeatAt {
        rank: u32,
        score: f32,
        at: u32,
    }

    impl SeatCandidate for SeatAt {
        type KeptSeats = BTreeSet<u32>;
        fn rank(&self) -> u32 {
            self.rank
        }
        fn score(&self) -> f32 {
            self.score
        }
        fn keep_apart(&self, kept: &mut Self::KeptSeats) -> bool {
            let is_apart = kept
                .range(self.at.saturating_sub(1)..=self.at + 1)
                .next()
                .is_none();
            is_apart && kept.insert(self.at)
        }
    }

    /// Makes candidates in a random order. Their scores all differ if `scores` is large.
    fn candidates(many: u32, scores: u32, rng: &mut StdRng) -> Vec<SeatAt> {
        let mut made: Vec<SeatAt> = Vec::new();
        for at in 0..many {
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let score = (at.wrapping_mul(2_654_435_761) % scores) as f32;
            let rank = u32::from(rng.random_range(0..10) > 0);
            made.insert(rng.random_range(0..=made.len()), SeatAt { rank, score, at });
        }
        made
    }

    #[test]
    fn a_shortlist_picks_what_a_list_of_all_candidates_picks() {
        for seed in 0..40 {
            let mut rng = StdRng::seed_from_u64(seed);
            // With only 3 scores, many candidates are equal, and it is not defined which of them
            // are the best few. So such lists are picked from only with a spread of 0 or 1.
            for (spread, scores) in [(0, 3), (1, 3), (0, 1 << 20), (4, 1 << 20), (40, 1 << 20)] {
                let all = candidates(1_000, scores, &mut rng);
                let mut shortlist = CandidateShortlist::new(spread, 4);
                for candidate in &all {
                    shortlist.add(candidate.clone());
                }
                assert!(shortlist.candidates.len() < all.len());
                let picked = shortlist.pick(&mut StdRng::seed_from_u64(seed));
                let expected = pick_candidate(all, spread, 4, &mut StdRng::seed_from_u64(seed));
                assert_eq!(picked, expected, "seed {seed}, spread {spread}");
            }
        }
    }
}
