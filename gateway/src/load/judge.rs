//! Decides from measurements what to shed. A level begins when the measurements have called for it
//! for one second. The level falls by one step after every three calm seconds. Pure.

use std::time::{Duration, Instant};

/// What is shed. Each level also sheds what the lower levels shed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LoadLevel {
    /// Nothing is shed.
    #[default]
    Calm,
    /// Frames go out less often to those who watch seats and to visitors near the front.
    Deltas,
    /// New joins are shed.
    Joins,
    /// New holds are shed.
    Holds,
}

/// The figures that decide the level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadMeasurement {
    /// How late timers ran: [`super::LoadSampleWindow::third_largest`], milliseconds.
    pub lag_ms: u64,
    /// How long a write waits for the ledger, milliseconds.
    pub ledger_ms: u64,
}

/// The lag in milliseconds from which each level applies. Nobody notices the first lag, a person
/// notices the second, and calls time out at the third.
const LAG_MS: [u64; 3] = [50, 250, 1_000];
/// The wait for the ledger in milliseconds from which each level applies.
const LEDGER_MS: [u64; 3] = [250, 500, 2_000];
/// How long a limit must be reached before the level rises, because a short peak is no overload.
const RISE_AFTER: Duration = Duration::from_secs(1);
/// How long everything must be under half of the level's limits before the level falls.
pub(super) const FALL_AFTER: Duration = Duration::from_secs(3);

/// Tracks the present level, and since when the measurements have called for another one.
#[derive(Debug, Default)]
pub struct LoadLevelTracker {
    level: LoadLevel,
    /// For each level from [`LoadLevel::Deltas`] on, since when the measurements have called for
    /// it; `None` if they do not.
    called_since: [Option<Instant>; LAG_MS.len()],
    under_since: Option<Instant>,
}

impl LoadLevel {
    pub(super) fn from_u8(level: u8) -> Self {
        [Self::Calm, Self::Deltas, Self::Joins]
            .into_iter()
            .find(|one| *one as u8 == level)
            .unwrap_or(Self::Holds)
    }

    /// Returns the highest level for which the lag or the ledger's wait has reached its limit. The
    /// limits are scaled to `percent` first.
    fn called_for(measured: LoadMeasurement, percent: u64) -> Self {
        let limits_reached = |value: u64, limits: [u64; 3]| {
            limits
                .iter()
                .take_while(|limit| value * 100 >= **limit * percent)
                .count()
        };
        let highest = limits_reached(measured.lag_ms, LAG_MS)
            .max(limits_reached(measured.ledger_ms, LEDGER_MS));
        Self::from_u8(u8::try_from(highest).unwrap_or(u8::MAX))
    }
}

impl LoadLevelTracker {
    /// Takes in the measurement at `now`, and returns the level after it.
    pub fn level(&mut self, measured: LoadMeasurement, now: Instant) -> LoadLevel {
        let called_level = LoadLevel::called_for(measured, 100);
        let kept_level = LoadLevel::called_for(measured, 50);
        for (at, since) in self.called_since.iter_mut().enumerate() {
            *since = (called_level as usize > at).then(|| since.unwrap_or(now));
        }
        self.under_since = (kept_level < self.level).then(|| self.under_since.unwrap_or(now));
        let lasted = |since: Option<Instant>, long: Duration| {
            since.is_some_and(|since| now.saturating_duration_since(since) >= long)
        };
        let levels_lasted = self
            .called_since
            .iter()
            .take_while(|since| lasted(**since, RISE_AFTER))
            .count();
        let lasting_level = LoadLevel::from_u8(u8::try_from(levels_lasted).unwrap_or(u8::MAX));
        if lasting_level > self.level {
            self.level = lasting_level;
        } else if lasted(self.under_since, FALL_AFTER) {
            self.level = LoadLevel::from_u8((self.level as u8).saturating_sub(1));
            self.under_since = None;
        }
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LoadLevel::{Calm, Deltas, Holds, Joins};

    /// Feeds one lag for each tenth of a second, and returns the level after each.
    fn run(lags: &[u64]) -> Vec<LoadLevel> {
        let (mut judge, begin) = (LoadLevelTracker::default(), Instant::now());
        let beats = (0..).map(|beat| begin + Duration::from_millis(100) * beat);
        beats
            .zip(lags)
            .map(|(now, lag_ms)| {
                let measured = LoadMeasurement {
                    lag_ms: *lag_ms,
                    ledger_ms: 0,
                };
                judge.level(measured, now)
            })
            .collect()
    }

    #[test]
    fn the_lag_or_the_ledgers_wait_alone_can_reach_each_level() {
        for (lag_ms, ledger_ms, expected) in [
            (0, 0, Calm),
            (49, 249, Calm),
            (50, 0, Deltas),
            (0, 250, Deltas),
            (249, 499, Deltas),
            (250, 0, Joins),
            (0, 500, Joins),
            (1_000, 0, Holds),
            (20, 4_000, Holds),
            (u64::MAX / 200, 0, Holds),
        ] {
            let measured = LoadMeasurement { lag_ms, ledger_ms };
            assert_eq!(
                LoadLevel::called_for(measured, 100),
                expected,
                "{lag_ms} {ledger_ms}"
            );
        }
    }

    #[test]
    fn a_peak_shorter_than_a_second_sheds_nothing() {
        assert!(
            run(&[[1_200; 9].as_slice(), &[0; 5], &[1_200; 9]].concat())
                .iter()
                .all(|level| *level == Calm)
        );
    }

    #[test]
    fn the_level_rises_after_a_second_of_overload_and_falls_step_by_step() {
        let levels = run(&[[1_200; 11].as_slice(), &[0; 100]].concat());
        assert_eq!((levels[9], levels[10]), (Calm, Holds));
        let order: Vec<_> = levels
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .collect();
        assert_eq!(
            order,
            [
                [Calm, Holds],
                [Holds, Joins],
                [Joins, Deltas],
                [Deltas, Calm]
            ]
        );
        assert_eq!(
            levels[10 + 30],
            Holds,
            "before three calm seconds are over the level stays"
        );
    }

    #[test]
    fn a_short_peak_in_a_longer_overload_does_not_count_for_the_whole_second() {
        let levels = run(&[[60; 9].as_slice(), &[1_400; 3], &[60; 30]].concat());
        assert_eq!((levels[9], levels[10]), (Calm, Deltas));
        assert_eq!(levels.iter().max(), Some(&Deltas));
    }

    #[test]
    fn a_level_stays_while_the_lag_is_above_half_of_its_limit() {
        let levels = run(&[[300; 11].as_slice(), &[130; 100]].concat());
        assert_eq!(levels[10..].iter().max(), Some(&Joins));
        assert!(levels[10..].iter().all(|level| *level == Joins));
    }
}
