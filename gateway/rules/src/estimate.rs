//! Estimates how long a visitor will wait, as an interval, and how often a page should ask for its
//! visitor's place.

use serde::Serialize;

/// The 90th percentile of the error that ticks add to a wait, in seconds. There are two errors: a
/// visitor asks at any moment between two ticks, and the turn comes only with a tick. The sum of
/// both errors has a triangular distribution from minus one second to one second. In nine of ten
/// cases the sum is below this figure.
const TICK_P90_S: f64 = 0.553;

/// How long somebody will wait.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
#[schema(as = Wait)]
pub struct WaitEstimate {
    /// Whether the wait can be estimated.
    pub known: bool,
    /// Half of the visitors in this position wait at most this long, in seconds, rounded to a
    /// tenth.
    pub p50_s: Option<f64>,
    /// Nine in ten wait at most this long, in seconds, rounded to a tenth.
    pub p90_s: Option<f64>,
}

impl WaitEstimate {
    /// The estimate if the wait is not known.
    pub const UNKNOWN: Self = Self {
        known: false,
        p50_s: None,
        p90_s: None,
    };
    /// The estimate if there is no wait.
    pub const NONE: Self = Self {
        known: true,
        p50_s: Some(0.0),
        p90_s: Some(0.0),
    };

    /// Returns the wait of a called visitor whom the pace lets in after `ms` milliseconds, if the
    /// visitor asks at that time.
    #[must_use]
    pub fn until_entry(ms: u64) -> Self {
        let seconds = ms.div_ceil(100) as f64 / 10.0;
        Self {
            known: true,
            p50_s: Some(seconds),
            p90_s: Some(tenths(seconds + TICK_P90_S)),
        }
    }

    /// Estimates the wait of a visitor. `people_before` is the number of people who will be called
    /// up to the visitor, including the visitor. `mean` is the line's expected rate, and `low` is a
    /// low rate, in people a second. In nine of ten cases the line is not slower than the low rate.
    #[must_use]
    pub fn at_rates(people_before: f64, (mean, low): (f64, f64)) -> Self {
        // The visitor counts as half a person. This corrects the bias that comes from a slow line,
        // which moves in steps of whole people.
        let people_before = (people_before - 0.5).max(0.0);
        let longest_s = people_before / low;
        if !longest_s.is_finite() {
            return Self::UNKNOWN;
        }
        Self {
            known: true,
            p50_s: Some(tenths(people_before / mean)),
            p90_s: Some(tenths(longest_s + TICK_P90_S)),
        }
    }
}

fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// Returns the number of seconds after which a page should ask for its visitor's place again.
/// `ahead` is the number of people in front; `None` before the draw.
#[must_use]
pub fn refresh_s(ahead: Option<u64>, per_s_u: u64) -> u64 {
    let Some(ahead) = ahead else {
        return 5;
    };
    // A page asks again after a twentieth of the wait, so it notices the turn late by at most this
    // time.
    let wait_s = ahead.saturating_mul(1_000_000) / per_s_u.max(1);
    (wait_s / 20).clamp(1, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: f64, rates: (f64, f64), expected: (f64, f64)) {
        let wait = WaitEstimate::at_rates(before, rates);
        assert_eq!(
            (wait.p50_s, wait.p90_s),
            (Some(expected.0), Some(expected.1))
        );
    }

    #[test]
    fn the_wait_is_an_interval_that_grows_with_the_line_and_with_doubt() {
        check(1.5, (50.0, 50.0), (0.0, 0.6));
        check(100.5, (0.3, 0.3), (333.3, 333.9));
        check(100.5, (10.0, 5.0), (10.0, 20.6));
        assert_eq!(
            WaitEstimate::at_rates(5.0, (0.0, 0.0)),
            WaitEstimate::UNKNOWN
        );
    }

    /// Returns the share of waits that were no longer than the estimate's `p90_s`, in a line that
    /// moves `per_s` people each second. Tries many positions, and twenty moments between two
    /// ticks.
    fn share_within_p90(per_s: u32) -> f64 {
        let (mut under, mut all) = (0.0, 0.0);
        let rate = f64::from(per_s);
        for position in 1..=per_s * 30 {
            for moment in 0..20 {
                let since_tick = f64::from(moment) / 20.0;
                let waited = f64::from(position.div_ceil(per_s)) - since_tick;
                let told = WaitEstimate::at_rates(f64::from(position), (rate, rate));
                all += 1.0;
                under += f64::from(u8::from(waited <= told.p90_s.expect("known")));
            }
        }
        under / all
    }

    #[test]
    fn nine_in_ten_wait_no_longer_than_the_estimates_p90() {
        for per_s in [5, 40, 500] {
            let share = share_within_p90(per_s);
            assert!((0.87..0.93).contains(&share), "{per_s} a second: {share}");
        }
    }

    #[test]
    fn pages_nearer_to_the_front_ask_more_often() {
        for (ahead, expected) in [
            (None, 5),
            (Some(0), 1),
            (Some(1000), 1),
            (Some(10_000), 10),
            (Some(10_000_000), 60),
        ] {
            assert_eq!(refresh_s(ahead, 50_000_000), expected);
        }
    }
}
