//! The settings of the room over time: those of the first document, and the promoter's live
//! changes. While a change is under way, the value before and the value after are both possible.

use crate::verdict::history::{HistoryRoomChange, HistoryRoomSettings, HistoryRunRecord};
use crate::verdict::releases::KNOWN_WITHIN_MS;

/// While those inside cover the seats that are left, the pace is a hundredth of the promoter's, but
/// not below [`TRICKLE_MIN`].
const TRICKLE_PART: f64 = 100.0;
/// The slowest trickle in visitors a second, if the promoter's pace is not slower.
const TRICKLE_MIN: f64 = 0.1;

/// A setting and its changes.
pub struct SettingOverTime<T> {
    /// The values, each with the span in which a node may have used it.
    values: Vec<(f64, f64, T)>,
}

/// The settings of the room over time.
pub struct RoomSettings {
    pub max_inside: SettingOverTime<u64>,
    /// The promoter's pace in visitors a second.
    pub per_s: SettingOverTime<f64>,
    pub paused: SettingOverTime<bool>,
    /// Whether the pace follows booking's health.
    pub auto: SettingOverTime<bool>,
    /// Booking's target for 99 of 100 answers, in milliseconds.
    pub p99_ms: f64,
    /// Whether people are let in in the order of their ranks.
    pub has_line: bool,
}

impl RoomSettings {
    /// Works out the settings of a run.
    pub fn of_run(run: &HistoryRunRecord, changes: &[HistoryRoomChange]) -> Self {
        let mode = |settings: &HistoryRoomSettings| Some(settings.mode.as_ref()? == "auto");
        Self {
            max_inside: SettingOverTime::new(run.max_inside(), changes, |new| new.max_inside),
            per_s: SettingOverTime::new(run.per_s(), changes, |new| new.per_s),
            paused: SettingOverTime::new(false, changes, |new| new.paused),
            auto: SettingOverTime::new(run.is_auto(), changes, mode),
            p99_ms: run.p99_ms(),
            has_line: run.method() != "open",
        }
    }

    /// Returns the slowest pace that may have been in force in a span, in visitors a second. With
    /// `may_trickle`, it may be the trickle.
    pub fn slowest_pace(&self, from_ms: f64, to_ms: f64, may_trickle: bool) -> f64 {
        let is_auto = self.auto.possible(from_ms, to_ms).any(|auto| auto);
        let paces = self.per_s.possible(from_ms, to_ms).map(|per_s| {
            if may_trickle || is_auto {
                (per_s / TRICKLE_PART).max(TRICKLE_MIN).min(per_s)
            } else {
                per_s
            }
        });
        paces.fold(f64::INFINITY, f64::min)
    }
}

impl<T: Copy> SettingOverTime<T> {
    fn new(
        first: T,
        changes: &[HistoryRoomChange],
        value: impl Fn(&HistoryRoomSettings) -> Option<T>,
    ) -> Self {
        let mut values = vec![(f64::NEG_INFINITY, f64::INFINITY, first)];
        for change in changes {
            let Some(new) = value(&change.changes) else {
                continue;
            };
            if let Some((_, until_ms, _)) = values.last_mut() {
                *until_ms = change.at_ms + KNOWN_WITHIN_MS;
            }
            values.push((change.asked_ms, f64::INFINITY, new));
        }
        Self { values }
    }

    /// Returns the values that a node may have used in a span.
    pub fn possible(&self, from_ms: f64, to_ms: f64) -> impl Iterator<Item = T> {
        let values = self.values.iter();
        let used = values.filter(move |(from, until, _)| *from <= to_ms && from_ms <= *until);
        used.map(|(_, _, value)| *value)
    }

    /// Returns the times at which the possible values change.
    pub fn boundaries(&self) -> impl Iterator<Item = f64> {
        let ends = self
            .values
            .iter()
            .flat_map(|(from, until, _)| [*from, *until]);
        ends.filter(|at| at.is_finite())
    }

    /// Returns the spans in which a value may have been used for which `is_meant` returns true.
    pub fn spans_of(&self, is_meant: impl Fn(T) -> bool) -> impl Iterator<Item = (f64, f64)> {
        let values = self.values.iter();
        let meant = values.filter(move |(_, _, value)| is_meant(*value));
        meant.map(|(from, until, _)| (*from, *until))
    }
}

impl SettingOverTime<u64> {
    /// Returns the smallest value of the whole run.
    pub fn least(&self) -> u64 {
        let values = self.values.iter().map(|(_, _, value)| *value);
        values.min().unwrap_or(u64::MAX)
    }
}
