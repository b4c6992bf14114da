//! Counts how many visitors have come by each second. It draws one count for each second, and not a
//! time for each visitor. So a larger crowd takes no more work.

use rand::Rng;
use rand_distr::{Binomial, Distribution};

use crate::crowd::{ArrivalPattern, CrowdSettings};

/// How many visitors have come by each second after the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivalCounts {
    /// The number of visitors who have come before each second; the last entry counts all.
    joined_before: Vec<u64>,
}

impl ArrivalCounts {
    /// Draws the counts of a crowd. The lobby opens at `opens_s`, and the draw is at `draw_s`.
    #[must_use]
    pub fn draw(crowd: &CrowdSettings, opens_s: f64, draw_s: f64, rng: &mut impl Rng) -> Self {
        let seconds = crowd.last_s(opens_s, draw_s).ceil() as usize + 1;
        let (mut visitors_left, mut share_before) = (crowd.visitors as u64, 0.0);
        let mut joined_before = vec![0];
        for second in 1..=seconds {
            let share = crowd.share_before(second as f64, opens_s, draw_s);
            let share_of_left = ((share - share_before) / (1.0 - share_before)).clamp(0.0, 1.0);
            let arrived = match crowd.arrivals {
                _ if second == seconds => visitors_left,
                ArrivalPattern::Uniform => (share_of_left * visitors_left as f64).round() as u64,
                ArrivalPattern::Poisson | ArrivalPattern::Ramp => {
                    binomial(visitors_left, share_of_left, rng)
                }
            };
            visitors_left -= arrived;
            share_before = share;
            joined_before.push(joined_before.last().copied().unwrap_or(0) + arrived);
        }
        Self { joined_before }
    }

    /// Makes the counts of a past sale from how many visitors came in each second after the start.
    #[must_use]
    pub fn from_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut joined_before = vec![0];
        for count in counts {
            joined_before.push(joined_before.last().copied().unwrap_or(0) + count);
        }
        Self { joined_before }
    }

    /// Returns the counts of a crowd that is `times` times as large.
    #[must_use]
    pub fn times(&self, times: f64) -> Self {
        let scaled = |before: &u64| (*before as f64 * times).round() as u64;
        Self {
            joined_before: self.joined_before.iter().map(scaled).collect(),
        }
    }

    /// Returns the number of all visitors.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.joined_before.last().copied().unwrap_or(0)
    }

    /// Returns how many visitors have come before a time, in seconds after the start.
    #[must_use]
    pub fn before(&self, at_s: f64) -> u64 {
        let second = at_s.max(0.0).floor() as usize;
        let Some(from) = self.joined_before.get(second).copied() else {
            return self.total();
        };
        let arriving = self
            .joined_before
            .get(second + 1)
            .map_or(0, |until| *until - from);
        from + (arriving as f64 * (at_s.max(0.0) - second as f64)) as u64
    }

    /// Returns when the visitor with the number `nth` comes, in seconds after the start. Numbers
    /// begin at 0, in the order of arrival. A number with a fraction lies between two visitors.
    #[must_use]
    pub fn time_of(&self, nth: f64) -> f64 {
        let second = self
            .joined_before
            .partition_point(|before| (*before as f64) <= nth)
            .saturating_sub(1);
        let from = self.joined_before.get(second).copied().unwrap_or(0);
        match self.joined_before.get(second + 1) {
            Some(until) if *until > from => {
                second as f64 + (nth - from as f64) / (*until - from) as f64
            }
            _ => second as f64,
        }
    }
}

/// Draws how many of `count` visitors come, if each comes with this probability.
fn binomial(count: u64, probability: f64, rng: &mut impl Rng) -> u64 {
    Binomial::new(count, probability).map_or(0, |counts| counts.sample(rng))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    use super::*;

    fn crowd(arrivals: ArrivalPattern) -> CrowdSettings {
        CrowdSettings {
            visitors: 1_000_000,
            from_s: 0.0,
            over_s: 100.0,
            arrivals,
            rush: 0.0,
            rush_s: 60.0,
            after_draw: 0.0,
            socket: 1.0,
            mute: 0,
            bots: 0,
            bot_networks: 1,
        }
    }

    #[test]
    fn everybody_comes_once_and_at_the_rate_of_the_pattern() {
        for (arrivals, half) in [
            (ArrivalPattern::Poisson, 500_000_u64),
            (ArrivalPattern::Uniform, 500_000),
            (ArrivalPattern::Ramp, 250_000),
        ] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            let counts = ArrivalCounts::draw(&crowd(arrivals), 0.0, 200.0, &mut rng);
            assert_eq!(counts.total(), 1_000_000, "{arrivals:?}");
            assert!(counts.before(50.0).abs_diff(half) < 4_000, "{arrivals:?}");
            assert_eq!(counts.before(1e9), 1_000_000);
        }
    }

    #[test]
    fn a_visitor_comes_in_the_second_that_counts_it() {
        let counts = ArrivalCounts::from_counts([0, 2, 0, 4]);
        assert_eq!(counts.total(), 6);
        for (nth, expected_s) in [(0.0, 1.0), (1.0, 1.5), (2.0, 3.0), (5.0, 3.75)] {
            let at_s = counts.time_of(nth);
            assert!((at_s - expected_s).abs() < 1e-9, "{nth}: {at_s}");
            assert_eq!(counts.before(at_s), nth as u64, "{nth}");
        }
    }

    #[test]
    fn a_crowd_that_comes_all_at_once_comes_in_one_second() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let at_once = CrowdSettings {
            over_s: 0.0,
            ..crowd(ArrivalPattern::Poisson)
        };
        let counts = ArrivalCounts::draw(&at_once, 7.0, 20.0, &mut rng);
        assert_eq!((counts.before(7.0), counts.before(8.0)), (0, 1_000_000));
    }
}
