//! Forecasts how long the people of a line wait. A forecast is made once in a tick for everybody.
//! It is a short table: so many people ahead, so long a wait. What a visitor is told is read off
//! this table, by the gateway and by the pages, as the line moves.

mod forecast;
mod points;
mod visit_belief;
mod visit_table;
mod walk;

pub use forecast::{LineFigures, forecast};
pub use points::WaitPoint;
pub use visit_table::age_limits_s;

use crate::estimate::{UnknownWait, WaitEstimate};

/// The waits of a line, by the number of people ahead.
#[derive(Debug, Clone, PartialEq)]
pub struct LineWaits {
    /// The waits of some numbers of people ahead, the lowest first. Between two of them the waits
    /// are interpolated. It is empty if `unknown` is set.
    pub points: Vec<WaitPoint>,
    /// From so many people ahead on, hardly a seat will be left.
    pub few_seats_from: Option<u64>,
    /// Why nobody's wait is known.
    pub unknown: Option<UnknownWait>,
}

impl Default for LineWaits {
    fn default() -> Self {
        Self::unknown(UnknownWait::NoFigures)
    }
}

impl LineWaits {
    /// Returns the waits of a line in which nobody's wait is known.
    #[must_use]
    pub fn unknown(cause: UnknownWait) -> Self {
        Self {
            points: Vec::new(),
            few_seats_from: None,
            unknown: Some(cause),
        }
    }

    /// Returns the wait of a visitor with so many people ahead.
    #[must_use]
    pub fn wait(&self, ahead: u64) -> WaitEstimate {
        if let Some(cause) = self.unknown {
            return WaitEstimate::unknown(cause);
        }
        if self.few_seats_from.is_some_and(|from| ahead >= from) {
            return WaitEstimate::unknown(UnknownWait::FewSeats);
        }
        match points::interpolate(&self.points, ahead as f64) {
            Some((p50_s, p90_s)) => WaitEstimate::between(p50_s, p90_s),
            None => WaitEstimate::unknown(UnknownWait::NoFigures),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_off_between_the_points_and_an_unknown_one_has_a_cause() {
        let point = |ahead, p50_s, p90_s| WaitPoint {
            ahead,
            p50_s,
            p90_s,
        };
        let waits = LineWaits {
            points: vec![point(0, 1.0, 2.0), point(10, 21.0, 42.0)],
            few_seats_from: Some(40),
            unknown: None,
        };
        assert_eq!(waits.wait(5), WaitEstimate::between(11.0, 22.0));
        assert_eq!(waits.wait(20), WaitEstimate::between(41.0, 82.0));
        assert_eq!(waits.wait(40).unknown, Some(UnknownWait::FewSeats));
        let paused = LineWaits::unknown(UnknownWait::Paused).wait(0);
        assert_eq!(paused.unknown, Some(UnknownWait::Paused));
        assert_eq!(LineWaits::default().wait(0).p50_s, None);
    }
}
