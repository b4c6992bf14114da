//! Decides how many visitors may be inside in auto mode. While booking is well, the limit grows
//! step by step. When booking is ill, the limit falls by a third. The decrease follows Chiu and
//! Jain (1989). Each increase is a part of the present limit, and at most a fixed part of the
//! promoter's limit.

use serde::{Deserialize, Serialize};

use super::pace::VISITOR_U;
use super::pace_settings::PaceSettings;

/// While booking is well, the limit grows each second by the limit divided by this, but at most by
/// `max_inside` divided by `CLIMB_PART_OF_ALL`.
const CLIMB_PART: u64 = 8;
const CLIMB_PART_OF_ALL: u64 = 20;
/// If the limit is at least half the number of visitors at which booking last fell ill, the limit
/// grows each second only by the limit divided by this. This ends after `TRUSTED_AFTER_MS` of good
/// health.
const CAREFUL_PART: u64 = 40;
/// After a cut, booking must have been well for this long before the limit grows at full speed
/// again, in milliseconds.
const TRUSTED_AFTER_MS: i64 = 8000;
/// The valve begins at `max_inside` divided by this.
const START_PART: u64 = 5;
/// The valve never closes below `max_inside` divided by this.
const FLOOR_PART: u64 = 100;
/// The shortest time between two cuts, in milliseconds. A cut shows in the measurements only after
/// their window has passed.
const SETTLE_MS: i64 = 3000;
/// The shortest time between two cuts if the first one helps, in milliseconds.
const HELPS_MS: i64 = 10_000;
/// Calls that end within this time after a cut, in milliseconds, began before it.
const ANSWERED_MS: i64 = 1_000;
/// With fewer calls than this, a reading says little about how slow booking is.
const CALLS_MIN: u64 = 20;
/// Booking counts as ill if its p99 is above this percentage of the target. It is less than 100,
/// because people feel more delay than the gateway measures.
const ILL_PERCENT: u64 = 70;
/// Booking counts as tight if its p99 is above this percentage of the target and at most
/// `ILL_PERCENT`.
const TIGHT_PERCENT: u64 = 50;
/// On a tight reading the valve forgets a cut that is older than this, in milliseconds.
const FORGOTTEN_AFTER_MS: i64 = 60_000;
/// A single failed call, or at most one failed call in this many, does not count as ill.
const ERRORS_PART: u64 = 100;

/// Booking's health over the last seconds, as the gateways measured it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HealthReading {
    /// The time within which 99 of 100 calls were answered, in milliseconds. If calls wait longer
    /// than this for the process, it is this wait. `None` if there were neither calls nor a wait.
    pub p99_ms: Option<u64>,
    /// The number of calls that were answered or given up.
    pub calls: u64,
    /// The number of those calls that failed.
    pub errors: u64,
    /// Whether new holds are refused because the process is overloaded.
    pub shedding: bool,
    /// How many seconds ago the newest call was that took as long as `p99_ms` or failed. It is 0
    /// while calls wait for the process, or new holds are refused.
    pub ill_back_s: u64,
}

/// The level of booking's health in a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthLevel {
    /// Booking is far under its target, so more visitors may enter.
    Well,
    /// Booking is not far under its target, so the valve stays as it is.
    Tight,
    /// Booking is too near to its target or above it, calls fail, or new holds are refused.
    Ill,
}

impl HealthReading {
    /// Returns how booking compares with its target.
    #[must_use]
    pub fn health_level(&self, target_ms: u64) -> HealthLevel {
        let p99_ms = self.p99_ms.unwrap_or(0);
        // Slow answers among few calls do not count as ill. They only keep the valve from opening
        // further. A single failed call is ignored.
        let is_slow = p99_ms > target_ms * ILL_PERCENT / 100 && self.calls >= CALLS_MIN;
        let is_failing = self.errors > 1 && self.errors.saturating_mul(ERRORS_PART) > self.calls;
        if self.shedding || is_slow || is_failing {
            HealthLevel::Ill
        } else if p99_ms > target_ms * TIGHT_PERCENT / 100 {
            HealthLevel::Tight
        } else {
            HealthLevel::Well
        }
    }
}

/// The valve of auto mode, which limits how many may be inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdaptiveInsideLimit {
    most: u64,
    cut: Option<InsideLimitCut>,
    /// Since when booking has been well, in milliseconds since the epoch. `None` if it is not well.
    well_since: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct InsideLimitCut {
    at: i64,
    /// How many visitors were inside when booking fell ill, or the limit at that time if it was
    /// lower.
    from: u64,
    p99_ms: u64,
}

/// Returns the lowest limit that a valve can reach.
fn floor(max_inside: u64) -> u64 {
    (max_inside / FLOOR_PART).max(1)
}

impl AdaptiveInsideLimit {
    /// Makes a valve that allows only a part of `max_inside`, because nothing has been measured
    /// yet.
    #[must_use]
    pub fn new(max_inside: u64) -> Self {
        Self {
            most: (max_inside / START_PART).max(floor(max_inside)),
            cut: None,
            well_since: None,
        }
    }

    /// Makes a valve that allows all of `max_inside`.
    #[must_use]
    pub fn fully_open(max_inside: u64) -> Self {
        Self {
            most: max_inside,
            cut: None,
            well_since: None,
        }
    }

    /// Returns how many visitors may be inside now.
    #[must_use]
    pub fn most_inside(&self, max_inside: u64) -> u64 {
        self.most.clamp(floor(max_inside), max_inside)
    }

    /// Returns the valve after one second's reading at `now` (ms). `inside` is the number of
    /// visitors who are inside, are entering, or were called and are expected. The limit grows only
    /// if one more second of the pace would reach it.
    #[must_use]
    pub fn after_reading(
        self,
        reading: &HealthReading,
        settings: &PaceSettings,
        inside: u64,
        now: i64,
    ) -> Self {
        let max_inside = settings.max_inside;
        let most = self.most_inside(max_inside);
        match reading.health_level(settings.p99_ms) {
            HealthLevel::Well => {
                let well_since = self.well_since.unwrap_or(now);
                let rate = settings.per_s_u.div_ceil(VISITOR_U);
                let is_binding = inside.saturating_add(rate) >= most;
                let raised = most.saturating_add(self.climb_step(well_since, max_inside, now));
                Self {
                    most: if is_binding {
                        raised.min(max_inside)
                    } else {
                        most
                    },
                    well_since: Some(well_since),
                    ..self
                }
            }
            HealthLevel::Tight => Self {
                most,
                cut: self.cut.filter(|cut| now - cut.at < FORGOTTEN_AFTER_MS),
                well_since: None,
            },
            HealthLevel::Ill => self.after_cut(reading, inside, max_inside, now),
        }
    }

    /// Returns whether booking fell ill and has not been well for long enough since.
    #[must_use]
    pub fn is_recovering(&self, now: i64) -> bool {
        self.cut.is_some()
            && self
                .well_since
                .is_none_or(|since| now - since < TRUSTED_AFTER_MS)
    }

    /// Returns when booking last fell ill, if that was less than `within_ms` before `now` (ms).
    #[must_use]
    pub fn fell_ill_at(&self, now: i64, within_ms: i64) -> Option<i64> {
        let cut = self.cut.filter(|cut| now - cut.at < within_ms);
        cut.map(|cut| cut.at)
    }

    fn climb_step(&self, well_since: i64, max_inside: u64, now: i64) -> u64 {
        let most = self.most_inside(max_inside);
        let is_near_cut = self.cut.is_some_and(|cut| most * 2 >= cut.from);
        if is_near_cut && now - well_since < TRUSTED_AFTER_MS {
            most.div_ceil(CAREFUL_PART)
        } else {
            let step_max = max_inside.div_ceil(CLIMB_PART_OF_ALL);
            most.div_ceil(CLIMB_PART).min(step_max)
        }
    }

    fn after_cut(self, reading: &HealthReading, inside: u64, max_inside: u64, now: i64) -> Self {
        let p99_ms = reading.p99_ms.unwrap_or(0);
        let ill_until = now.saturating_sub_unsigned(reading.ill_back_s.saturating_mul(1_000));
        let must_wait = self.cut.is_some_and(|cut| {
            let since_cut_ms = now - cut.at;
            // What was slow or failed before the cut does not count once more.
            if ill_until < cut.at + ANSWERED_MS {
                return true;
            }
            let is_improving = p99_ms < cut.p99_ms - cut.p99_ms / 10;
            since_cut_ms < SETTLE_MS || (is_improving && since_cut_ms < HELPS_MS)
        });
        let most = self.most_inside(max_inside);
        if must_wait {
            return Self {
                most,
                well_since: None,
                ..self
            };
        }
        // If fewer visitors are inside than the limit allows, even this smaller number is too many.
        let from = most.min(inside);
        Self {
            most: (from - from / 3).max(floor(max_inside)),
            cut: Some(InsideLimitCut {
                at: now,
                from,
                p99_ms,
            }),
            well_since: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room_document::PaceMode;
    use proptest::prelude::*;

    const SETTINGS: PaceSettings = PaceSettings {
        mode: PaceMode::Auto,
        line: true,
        per_s_u: 10 * VISITOR_U,
        trickle_min_u: VISITOR_U / 10,
        max_inside: 1000,
        p99_ms: 300,
        pass_s: 600,
    };

    fn reading(p99_ms: u64) -> HealthReading {
        HealthReading {
            p99_ms: Some(p99_ms),
            calls: 100,
            errors: 0,
            shedding: false,
            ill_back_s: 0,
        }
    }

    fn check(
        valve: AdaptiveInsideLimit,
        p99_ms: u64,
        inside: u64,
        now: i64,
        most: u64,
    ) -> AdaptiveInsideLimit {
        let next = valve.after_reading(&reading(p99_ms), &SETTINGS, inside, now);
        assert_eq!(next.most_inside(1000), most);
        next
    }

    #[test]
    fn the_valve_climbs_step_by_step_only_while_it_binds_and_booking_is_well() {
        let valve = AdaptiveInsideLimit::new(1000);
        check(valve, 20, 100, 0, 200);
        check(valve, 20, 195, 0, 225);
        check(valve, 200, 195, 0, 200);
    }

    #[test]
    fn a_cut_lowers_the_limit_to_two_thirds_of_those_inside_and_the_next_cut_waits() {
        let valve = check(AdaptiveInsideLimit::new(1000), 400, 150, 0, 100);
        check(valve, 400, 100, 2999, 100);
        check(valve, 400, 100, 3000, 67);
        check(valve, 350, 100, 9999, 100);
        check(valve, 350, 100, 10_000, 67);
    }

    #[test]
    fn one_slow_burst_cuts_once_however_long_it_stays_in_the_readings() {
        let mut valve = check(AdaptiveInsideLimit::fully_open(1000), 400, 900, 0, 600);
        for second in 1..=9 {
            let stale = HealthReading {
                ill_back_s: second,
                ..reading(400)
            };
            valve = valve.after_reading(
                &stale,
                &SETTINGS,
                600,
                i64::try_from(second).expect("small") * 1_000,
            );
            assert_eq!(valve.most_inside(1000), 600, "{second} s");
        }
        check(valve, 400, 600, 10_000, 400);
    }

    #[test]
    fn after_a_cut_the_valve_opens_slowly_until_booking_has_been_well_for_long_enough() {
        let mut valve = check(AdaptiveInsideLimit::fully_open(1000), 400, 900, 0, 600);
        valve = check(valve, 20, 600, 1000, 615);
        valve = check(valve, 20, 615, 2000, 631);
        check(valve, 20, 631, 9000, 681);
        let deep = check(valve, 400, 631, 10_000, 421);
        let deep = check(deep, 400, 421, 13_000, 281);
        let deep = check(deep, 400, 281, 16_000, 188);
        check(deep, 20, 188, 17_000, 193);
    }

    #[test]
    fn slow_answers_and_failures_count_as_ill_and_no_calls_count_as_well() {
        for (p99_ms, calls, errors, expected) in [
            (None, 0, 0, HealthLevel::Well),
            (Some(150), 100, 1, HealthLevel::Well),
            (Some(210), 100, 1, HealthLevel::Tight),
            (Some(211), 100, 0, HealthLevel::Ill),
            (Some(2410), 19, 1, HealthLevel::Tight),
            (Some(10), 100, 2, HealthLevel::Ill),
        ] {
            let reading = HealthReading {
                p99_ms,
                calls,
                errors,
                shedding: false,
                ill_back_s: 0,
            };
            assert_eq!(reading.health_level(300), expected, "{reading:?}");
        }
    }

    proptest! {
        #[test]
        fn the_valve_stays_between_its_floor_and_max_inside(max_inside in 1_u64..100_000, seconds in proptest::collection::vec((0_u64..600, 0_u64..200_000), 0..80)) {
            let (mut valve, settings) = (AdaptiveInsideLimit::new(max_inside), PaceSettings { max_inside, ..SETTINGS });
            for (second, (p99_ms, inside)) in (0..).zip(seconds) {
                valve = valve.after_reading(&reading(p99_ms), &settings, inside, second * 1000);
                prop_assert!(valve.most_inside(max_inside) >= 1 && valve.most_inside(max_inside) <= max_inside);
            }
        }
    }
}
