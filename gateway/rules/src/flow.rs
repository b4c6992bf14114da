//! Measures how fast the line has been moving, and how fast visits end. The estimated waits are
//! computed from these rates.

use serde::{Deserialize, Serialize};

use super::pace::{ReleaseBound, VISITOR_U};

/// Past seconds lose weight with this time constant, in seconds.
const MEMORY_S: f64 = 20.0;
/// In a normal distribution, nine in ten values lie above the mean minus this many standard
/// deviations.
const NINE_IN_TEN: f64 = 1.28;
/// The variance of the measured mean is the variance of a single second divided by this number. So
/// the mean is as exact as the mean of this many samples of one second each.
const SAMPLES_IN_MEAN: f64 = 10.0;

/// Rates in visitors a second. Each is a mean over the last seconds. Older seconds weigh less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct VisitorRates {
    /// The promoter's pace in these seconds, in millionths of a visitor a second. The rate of
    /// release is known only for this pace.
    asked_u: u64,
    released: Option<f64>,
    variance: f64,
    left_inside: f64,
}

/// The result of one tick.
#[derive(Debug, Clone, Copy)]
pub struct TickOutcome {
    /// The time since the last tick, in milliseconds.
    pub elapsed_ms: u64,
    /// The number of people called.
    pub people: u64,
    /// What limited the release.
    pub bound: ReleaseBound,
    /// The promoter's pace, in millionths of a visitor a second.
    pub rate_u: u64,
    /// The pace in force, in millionths of a visitor a second. It is lower than the promoter's pace
    /// while booking is ill.
    pub in_force_u: u64,
    /// The number of visitors who finished, or whose pass ran out, since the last tick.
    pub visits_ended: u64,
    /// The time in which these visits ended, in milliseconds. It is never shorter than
    /// `elapsed_ms`. After a long silence it is longer.
    pub visits_ended_in_ms: u64,
}

impl VisitorRates {
    /// Returns the rates after one more tick.
    #[must_use]
    pub fn after_tick(self, tick: &TickOutcome) -> Self {
        if tick.elapsed_ms == 0 {
            return self;
        }
        let seconds = tick.elapsed_ms as f64 / 1000.0;
        let weight = 1.0 - (-seconds / MEMORY_S).exp();
        let asked_per_s = per_s(tick.rate_u);
        let measured_per_s = match tick.bound {
            ReleaseBound::Rate => Some(per_s(tick.in_force_u)),
            ReleaseBound::Limit => Some(tick.people as f64 / seconds),
            // If nobody is left to call, the tick does not show how fast people would be called.
            ReleaseBound::Line => None,
        };
        let (released_per_s, variance) = if tick.rate_u == self.asked_u {
            (self.released, self.variance)
        } else {
            (None, 0.0)
        };
        let earlier_per_s = released_per_s.unwrap_or(asked_per_s);
        let difference =
            measured_per_s.map_or(0.0, |measured_per_s| measured_per_s - earlier_per_s);
        let ending_per_s = tick.visits_ended as f64 * 1000.0 / tick.visits_ended_in_ms as f64;
        Self {
            asked_u: tick.rate_u,
            released: measured_per_s
                .map(|_| earlier_per_s + weight * difference)
                .or(released_per_s),
            variance: (1.0 - weight) * (variance + weight * difference * difference),
            left_inside: self.left_inside + weight * (ending_per_s - self.left_inside),
        }
    }

    /// Returns how many visitors a second finish or let their pass run out, in millionths.
    #[must_use]
    pub fn visits_ending_u(&self) -> u64 {
        (self.left_inside * VISITOR_U as f64) as u64
    }

    /// Returns two rates of the line in visitors a second: the expected rate, and a low rate. In
    /// nine of ten cases the line is not slower than the low rate. If nothing has been measured at
    /// the pace `asked_u`, both rates equal this pace.
    #[must_use]
    pub fn rates(&self, asked_u: u64) -> (f64, f64) {
        let measured_mean = self.released.filter(|_| self.asked_u == asked_u);
        let Some(mean) = measured_mean else {
            return (per_s(asked_u), per_s(asked_u));
        };
        let deviation = (self.variance / SAMPLES_IN_MEAN).sqrt();
        (mean, (mean - NINE_IN_TEN * deviation).max(mean / 4.0))
    }
}

fn per_s(rate_u: u64) -> f64 {
    rate_u as f64 / VISITOR_U as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: TickOutcome = TickOutcome {
        elapsed_ms: 1000,
        people: 40,
        bound: ReleaseBound::Rate,
        rate_u: 40 * VISITOR_U,
        in_force_u: 40 * VISITOR_U,
        visits_ended: 30,
        visits_ended_in_ms: 1000,
    };

    fn after(seconds: usize, tick: TickOutcome, flow: VisitorRates) -> VisitorRates {
        (0..seconds).fold(flow, |flow, _| flow.after_tick(&tick))
    }

    #[test]
    fn while_the_pace_is_the_limit_both_rates_equal_the_promoters_pace() {
        let rates = after(30, SECOND, VisitorRates::default()).rates(SECOND.rate_u);
        assert_eq!(rates, (40.0, 40.0));
    }

    #[test]
    fn if_fewer_are_released_than_the_pace_allows_the_rate_follows_and_the_interval_widens() {
        let slow = TickOutcome {
            people: 10,
            bound: ReleaseBound::Limit,
            ..SECOND
        };
        let (mean, low) =
            after(10, slow, after(30, SECOND, VisitorRates::default())).rates(SECOND.rate_u);
        assert!(
            (20.0..35.0).contains(&mean) && low < mean - 1.0,
            "{mean} {low}"
        );
        let (mean, _) = after(200, slow, VisitorRates::default()).rates(SECOND.rate_u);
        assert!((mean - 10.0).abs() < 0.1);
        let doubled = after(200, slow, VisitorRates::default()).rates(2 * SECOND.rate_u);
        assert_eq!(doubled, (80.0, 80.0), "a new pace counts at once");
    }

    #[test]
    fn an_empty_line_does_not_change_the_rate_and_ended_visits_are_counted() {
        let idle = TickOutcome {
            people: 0,
            bound: ReleaseBound::Line,
            ..SECOND
        };
        let flow = after(100, idle, VisitorRates::default());
        assert_eq!(flow.rates(7 * VISITOR_U), (7.0, 7.0));
        assert!(flow.visits_ending_u().abs_diff(30 * VISITOR_U) < VISITOR_U);
    }
}
