//! Compares the odds that visitors read after the draw with what came true for them.

use std::collections::BTreeMap;

use fairgate_rules::odds::SeatDemand;

use crate::outcome::ToldOddsBin;

/// How long after the beginning of the sale visitors read their odds, in seconds.
pub const READ_AFTER_S: f64 = 2.0;

/// The range of odds is divided into this many bins.
const BINS: usize = 10;

/// The odds that a sample of the line was told.
#[derive(Debug, Clone, Default)]
pub struct ToldOdds {
    /// The odds, by rank.
    odds_by_rank: BTreeMap<u64, f64>,
    /// Whether a seat was left, by rank. Ranks for which this is not known yet are missing.
    came_true: BTreeMap<u64, bool>,
}

impl ToldOdds {
    /// Tells the odds to the visitors at these ranks. `ahead` returns how many people are in front
    /// of a rank.
    pub fn tell(
        &mut self,
        ranks: impl Iterator<Item = u64>,
        demand: &SeatDemand,
        ahead: impl Fn(u64) -> u64,
    ) {
        self.odds_by_rank = ranks
            .map(|rank| (rank, demand.told_odds(ahead(rank))))
            .collect();
    }

    /// Notes whether a seat was left for the visitor at a rank. Ranks whose visitors were told no
    /// odds are ignored.
    pub fn note(&mut self, rank: u64, seat_left: bool) {
        if self.odds_by_rank.contains_key(&rank) {
            self.came_true.insert(rank, seat_left);
        }
    }

    /// Returns the mean square of the difference between the odds and what came true: 0 if all
    /// were right, 1 if all were wrong (Brier, 1950). Returns `None` if nothing is known.
    #[must_use]
    pub fn brier(&self) -> Option<f64> {
        let squares: f64 = self
            .came_true
            .iter()
            .map(|(rank, came_true)| {
                (self.odds_by_rank[rank] - f64::from(u8::from(*came_true))).powi(2)
            })
            .sum();
        (!self.came_true.is_empty()).then(|| squares / self.came_true.len() as f64)
    }

    /// Returns the visitors by the odds that they were told, the lowest first. Odds that nobody was
    /// told are left out.
    #[must_use]
    pub fn bins(&self) -> Vec<ToldOddsBin> {
        let mut bins = [ToldOddsBin::default(); BINS];
        for (rank, came_true) in &self.came_true {
            let odds = self.odds_by_rank[rank];
            let bin = &mut bins[((odds * BINS as f64) as usize).min(BINS - 1)];
            bin.visitors += 1;
            bin.told += odds;
            bin.came_true += f64::from(u8::from(*came_true));
        }
        let used_bins = bins.into_iter().filter(|bin| bin.visitors > 0);
        used_bins
            .map(|bin| ToldOddsBin {
                told: bin.told / bin.visitors as f64,
                came_true: bin.came_true / bin.visitors as f64,
                ..bin
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use fairgate_rules::odds::{PeopleAhead, SeatSupply};

    use super::*;

    #[test]
    fn odds_that_come_true_score_low_and_odds_that_do_not_score_high() {
        let supply = SeatSupply {
            free: 1_000,
            ..SeatSupply::default()
        };
        let people = PeopleAhead {
            show_up: 1.0,
            ..PeopleAhead::default()
        };
        let demand = SeatDemand::from_counts(&supply, &people).expect("there are seats");
        let score = |front: bool, back: bool| {
            let mut odds = ToldOdds::default();
            odds.tell([0, 10_000].into_iter(), &demand, |rank| rank);
            odds.note(0, front);
            odds.note(10_000, back);
            odds.note(5, true);
            let bins = odds.bins();
            assert_eq!(bins.len(), 2);
            assert!(bins[0].told < 0.1 && bins[1].told > 0.9);
            let came = [bins[0].came_true > 0.5, bins[1].came_true > 0.5];
            assert_eq!(came, [back, front]);
            odds.brier().expect("two are known")
        };
        assert!(score(true, false) < 0.01);
        assert!(score(false, true) > 0.95);
        assert_eq!(ToldOdds::default().brier(), None);
    }
}
