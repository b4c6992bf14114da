//! A wait as it is told, which is an interval, and how often a page should ask for its visitor's
//! place.

use serde::Serialize;

/// The 90th percentile of the error that ticks add to a wait, in seconds. There are two errors: a
/// visitor asks at any moment between two ticks, and the turn comes only with a tick. The sum of
/// both errors has a triangular distribution from minus one second to one second. In nine of ten
/// cases the sum is below this figure.
pub(crate) const TICK_P90_S: f64 = 0.553;

/// Why a wait is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownWait {
    /// Nobody is let in for now: the room is paused, or booking has closed its shows.
    Paused,
    /// Hardly a seat will be left, so the wait depends on seats that may come back.
    FewSeats,
    /// The line does not move yet, or nothing has been measured.
    NoFigures,
}

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
    /// Why the wait is not known; null if it is known.
    pub unknown: Option<UnknownWait>,
}

impl WaitEstimate {
    /// The estimate if there is no wait.
    pub const NONE: Self = Self {
        known: true,
        p50_s: Some(0.0),
        p90_s: Some(0.0),
        unknown: None,
    };

    /// Returns the estimate if the wait is not known, with the cause.
    #[must_use]
    pub fn unknown(cause: UnknownWait) -> Self {
        Self {
            known: false,
            p50_s: None,
            p90_s: None,
            unknown: Some(cause),
        }
    }

    /// Returns the wait of a called visitor whom the pace lets in after `ms` milliseconds, if the
    /// visitor asks at that time.
    #[must_use]
    pub fn until_entry(ms: u64) -> Self {
        let seconds = ms.div_ceil(100) as f64 / 10.0;
        Self::between(seconds, seconds + TICK_P90_S)
    }

    /// Returns the estimate of a wait that half of the visitors stay within `p50_s` seconds, and
    /// nine in ten within `p90_s` seconds.
    #[must_use]
    pub fn between(p50_s: f64, p90_s: f64) -> Self {
        Self {
            known: true,
            p50_s: Some(tenths(p50_s)),
            p90_s: Some(tenths(p90_s)),
            unknown: None,
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
