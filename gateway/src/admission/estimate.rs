//! How long somebody will wait, as an interval; and how often their page should look.

use serde::Serialize;

/// The wait of one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Wait {
    /// Whether anything can be said.
    pub known: bool,
    /// Half of the people in this place are called within this many seconds.
    pub p50_s: Option<u64>,
    /// Nine in ten.
    pub p90_s: Option<u64>,
}

impl Wait {
    /// Nothing can be said: paused, full inside, or before the draw.
    pub const UNKNOWN: Self = Self {
        known: false,
        p50_s: None,
        p90_s: None,
    };
    /// The turn is now.
    pub const NONE: Self = Self {
        known: true,
        p50_s: Some(0),
        p90_s: Some(0),
    };

    /// At a fixed pace nobody is called before `ahead` people were, and before time has repaid the `owed_u`
    /// millionths of visitors who were let in late. The upper end leaves half as much again for seconds in which
    /// `max_inside` binds.
    #[must_use]
    pub fn at_pace(ahead: u64, owed_u: u64, per_s_u: u64) -> Self {
        let seconds = u128::from(ahead + 1) * 1_000_000 + u128::from(owed_u);
        let seconds =
            u64::try_from(seconds.div_ceil(u128::from(per_s_u.max(1)))).unwrap_or(u64::MAX);
        Self {
            known: true,
            p50_s: Some(seconds),
            p90_s: Some(seconds.saturating_add(seconds / 2).saturating_add(2)),
        }
    }
}

/// How often a place with so many people ahead is worth looking at, seconds: 1 near the front, 60 far back.
#[must_use]
pub fn refresh_s(ahead: Option<u64>, per_s_u: u64) -> u64 {
    let Some(ahead) = ahead else {
        return 5;
    };
    // A twentieth of the wait: the turn is never seen later than that.
    let wait_s = ahead.saturating_mul(1_000_000) / per_s_u.max(1);
    (wait_s / 20).clamp(1, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_an_interval_that_grows_with_the_line() {
        assert_eq!(
            Wait::at_pace(0, 0, 50_000_000),
            Wait {
                known: true,
                p50_s: Some(1),
                p90_s: Some(3)
            }
        );
        assert_eq!(
            Wait::at_pace(99, 0, 300_000),
            Wait {
                known: true,
                p50_s: Some(334),
                p90_s: Some(503)
            }
        );
        assert_eq!(
            Wait::at_pace(0, 15_000_000, 2_000_000).p50_s,
            Some(8),
            "what is owed for late comers is waited for, too"
        );
    }

    #[test]
    fn cadence_follows_nearness() {
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
