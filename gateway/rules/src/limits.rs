//! Works out what limits the pace in one second: `max_inside`, the valve of auto mode, and the
//! remaining seats. The measurements come from all nodes. The planner runs the same code.

use serde::{Deserialize, Serialize};

use super::entry_history::{AGES_S, EntryHistory};
use super::finished_history::FinishedHistory;
use super::flow::{TickOutcome, VisitorRates};
use super::odds::{PeopleAhead, SeatDemand, SeatSupply};
use super::pace::ReleaseDecision;
use super::pace_settings::PaceSettings;
use super::valve::{AdaptiveInsideLimit, HealthLevel, HealthReading};
use crate::room_document::PaceMode;
use crate::wait_memory::{WaitMemory, WaitSecond};

/// The trickle is the promoter's pace divided by this, but at least
/// [`PaceSettings::trickle_min_u`]. The trickle is released even if no more visitors are wanted.
const TRICKLE_PART: u64 = 100;

/// The measurements of one second.
#[derive(Debug, Clone, Copy)]
pub struct PaceMeasurements {
    /// The time of the measurements, in milliseconds since the epoch.
    pub now: i64,
    /// The visitors inside, by the time since their claim. A visitor is inside from the claim until
    /// the order is ticketed or the pass runs out.
    pub inside: [u64; 4],
    /// Those of the visitors inside who were told that there are no seats for them, and hold none,
    /// by the time since their claim.
    pub told_none: [u64; 4],
    /// Called visitors who are present, have not claimed, are within their window, and are expected
    /// to come.
    pub called: u64,
    /// Visitors whose claim is being written now.
    pub entering: u64,
    /// The share of called visitors who come, 1/4 to 1.
    pub show_up: f64,
    /// The number of visitors so far whose order was ticketed.
    pub done: u64,
    /// The number of visitors so far whose pass ran out without an order.
    pub ended: u64,
    /// The seats of the room's shows.
    pub seats: SeatSupply,
    /// Booking's health.
    pub reading: HealthReading,
    /// See [`super::pace::PaceInput::owed_u`].
    pub owed_u: u64,
    /// See [`super::pace::PaceInput::asking`].
    pub asking: u64,
    /// The number of visitors who have ever claimed a pass.
    pub claimed: u64,
}

impl PaceMeasurements {
    /// Returns how many visitors have entered so far.
    #[must_use]
    pub fn entered(&self) -> u64 {
        self.inside.iter().sum::<u64>() + self.done + self.ended
    }

    /// Returns whether booking is unhealthy, in a room whose pace follows booking's health.
    #[must_use]
    pub fn is_unhealthy(&self, settings: &PaceSettings) -> bool {
        settings.mode == PaceMode::Auto
            && self.reading.health_level(settings.p99_ms) == HealthLevel::Ill
    }

    /// Returns how many visitors are inside, are entering, or have been called and are expected.
    fn coming(&self) -> u64 {
        self.inside.iter().sum::<u64>() + self.entering + self.called
    }
}

/// The limits of the pace in one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaceLimits {
    /// See [`super::pace::PaceInput::rate_u`].
    pub rate_u: Option<u64>,
    /// See [`super::pace::PaceInput::trickle_u`].
    pub trickle_u: u64,
    /// See [`super::pace::PaceInput::callable`].
    pub callable: u64,
    /// See [`super::pace::PaceInput::wanted`].
    pub wanted: u64,
    /// The most visitors who may be inside, according to both the valve and the promoter.
    pub inside_max: u64,
    /// The remaining seats and the people who want them; `None` if the room has no line or no
    /// seats.
    pub demand: Option<SeatDemand>,
}

impl PaceLimits {
    /// Returns the pace at which people are called now, in millionths of a visitor a second. If no
    /// more people are wanted, that is the trickle. Returns `None` in a room without a line.
    #[must_use]
    pub fn pace_in_force_u(&self) -> Option<u64> {
        let rate_u = self.rate_u?;
        Some(if self.wanted == 0 {
            self.trickle_u.min(rate_u)
        } else {
            rate_u
        })
    }
}

/// The rates use the real time since the last tick. If it is longer than this, in milliseconds, the
/// tick has the weight of the time that the pace counts, which is at most one second. Otherwise one
/// tick after a long silence would outweigh all seconds before it.
const SILENCE_MS: i64 = 10_000;

/// The values that one tick leaves for the next. They are stored with the release counter, so that
/// the node that makes the next tick continues from them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PaceMemory {
    valve: Option<AdaptiveInsideLimit>,
    flow: VisitorRates,
    left_inside: Option<u64>,
    went_at: Option<i64>,
    entries: Option<EntryHistory>,
    finished: Option<FinishedHistory>,
    pub(crate) waits: Option<WaitMemory>,
    /// Since when booking has been ill, with pauses of at most [`ILL_AGAIN_MS`], in milliseconds
    /// since the epoch.
    ill_since: Option<i64>,
}

/// If booking falls ill again within this time, in milliseconds, it has been ill all the time.
const ILL_AGAIN_MS: i64 = 60_000;

impl PaceMemory {
    /// Reads the memory that the last tick stored. Returns an empty memory if none was stored or if
    /// it cannot be read.
    #[must_use]
    pub fn parse(stored: &str) -> Self {
        serde_json::from_str(stored).unwrap_or_default()
    }

    /// Writes the memory as [`PaceMemory::parse`] reads it.
    #[must_use]
    pub fn to_text(&self) -> String {
        // All fields are plain numbers, so this cannot fail. If it did, the next tick would only
        // start from an empty memory.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Adjusts the valve, and works out the limits of a regular tick. There is one regular tick
    /// each second.
    pub fn limits(&mut self, settings: &PaceSettings, measured: &PaceMeasurements) -> PaceLimits {
        if settings.mode == PaceMode::Auto {
            let valve = self.valve.unwrap_or_else(|| first_valve(settings));
            let next =
                valve.after_reading(&measured.reading, settings, measured.coming(), measured.now);
            self.valve = Some(next);
            let is_ill = next.fell_ill_at(measured.now, ILL_AGAIN_MS);
            self.ill_since = is_ill.map(|at| self.ill_since.unwrap_or(at));
        }
        let (now, entered) = (measured.now, measured.entered());
        self.entries = Some(match self.entries {
            Some(entries) => entries.with_total(now, entered),
            None => EntryHistory::new(now, entered),
        });
        self.finished = Some(match self.finished {
            Some(finished) => finished.with_total(now, measured.done),
            None => FinishedHistory::new(now, measured.done),
        });
        let second = WaitSecond {
            now,
            entered,
            claimed: measured.claimed,
            owed_u: measured.owed_u,
            pass_s: settings.pass_s,
        };
        self.waits = Some(match self.waits {
            Some(waits) => waits.after_second(&second),
            None => WaitMemory::new(&second),
        });
        self.peek_limits(settings, measured)
    }

    /// Works out the limits of an extra tick between two regular ones. The valve stays as it is.
    #[must_use]
    pub fn peek_limits(&self, settings: &PaceSettings, measured: &PaceMeasurements) -> PaceLimits {
        let coming = measured.coming();
        // Not everybody who is called comes, so more people can be called than may still enter.
        let callable_under =
            |most: u64| (most.saturating_sub(coming) as f64 / measured.show_up) as u64;
        let inside_max = match settings.mode {
            PaceMode::Fixed => settings.max_inside,
            PaceMode::Auto => self
                .valve
                .unwrap_or_else(|| first_valve(settings))
                .most_inside(settings.max_inside),
        };
        let people = PeopleAhead {
            inside: measured.inside,
            told_none: measured.told_none,
            entered: self.entries.map_or([0; 4], |entries| {
                entries.entered_by_age(measured.now, measured.entered())
            }),
            pass_s: u64::from(settings.pass_s),
            called: (measured.called + measured.entering) as f64,
            done: measured.done,
            done_lately: self
                .finished
                .map_or(0, |finished| finished.lately(measured.now, measured.done)),
            ended: measured.ended,
            show_up: measured.show_up,
        };
        let demand = if settings.line {
            SeatDemand::from_counts(&measured.seats, &people)
        } else {
            None
        };
        let trickle_u = (settings.per_s_u / TRICKLE_PART)
            .max(settings.trickle_min_u)
            .min(settings.per_s_u);
        let rate_u = match settings.mode {
            PaceMode::Auto if measured.is_unhealthy(settings) => settings
                .per_s_u
                .min(self.flow.visits_ending_u())
                .max(trickle_u),
            // While booking recovers, visitors enter only a little faster than others leave,
            // because many visitors at once would overload booking again.
            PaceMode::Auto if self.is_recovering(measured.now) => {
                let left_u = self.flow.visits_ending_u();
                settings.per_s_u.min(left_u + left_u / 4).max(trickle_u)
            }
            PaceMode::Auto | PaceMode::Fixed => settings.per_s_u,
        };
        PaceLimits {
            rate_u: settings.line.then_some(rate_u),
            trickle_u,
            callable: callable_under(settings.max_inside),
            wanted: callable_under(inside_max).min(demand.map_or(u64::MAX, |d| d.people_wanted())),
            inside_max,
            demand,
        }
    }

    fn is_recovering(&self, now: i64) -> bool {
        self.valve.is_some_and(|valve| valve.is_recovering(now))
    }

    /// Records the result of a tick.
    pub fn record_tick(
        &mut self,
        decision: &ReleaseDecision,
        elapsed_ms: u64,
        limits: &PaceLimits,
        settings: &PaceSettings,
        measured: &PaceMeasurements,
    ) {
        let in_force_u = limits.rate_u.unwrap_or(settings.per_s_u);
        self.waits = self
            .waits
            .map(|waits| waits.after_release(decision, measured.asking, in_force_u, elapsed_ms));
        // The rates need the time that really passed, which may be longer than the time that the
        // pace may count.
        let since_tick_ms = self.went_at.map_or(0, |at| measured.now - at);
        let visits_ended_in_ms = elapsed_ms.max(u64::try_from(since_tick_ms).unwrap_or(0));
        let elapsed_ms = if since_tick_ms > SILENCE_MS {
            elapsed_ms
        } else {
            visits_ended_in_ms
        };
        if elapsed_ms == 0 {
            return;
        }
        self.went_at = Some(measured.now);
        let left_inside = measured.done + measured.ended;
        let visits_ended_since_tick = self
            .left_inside
            .map_or(0, |before| left_inside.saturating_sub(before));
        self.left_inside = Some(left_inside);
        self.flow = self.flow.after_tick(&TickOutcome {
            elapsed_ms,
            people: decision.people,
            bound: decision.bound,
            rate_u: settings.per_s_u,
            in_force_u,
            visits_ended: visits_ended_since_tick,
            // The visits ended in the whole silence, however long it was.
            visits_ended_in_ms,
        });
    }

    /// Returns the line's expected rate and its low rate, as [`VisitorRates::rates`] does.
    #[must_use]
    pub fn rates(&self, per_s_u: u64) -> (f64, f64) {
        self.flow.rates(per_s_u)
    }

    /// Returns how many visitors had entered `age_s` seconds before the measurements.
    pub(crate) fn entered_before(&self, measured: &PaceMeasurements, age_s: u64) -> f64 {
        let (now, entered) = (measured.now, measured.entered());
        match (self.entries, self.waits) {
            (Some(entries), _) if age_s <= AGES_S[AGES_S.len() - 1] => {
                entries.total_before(now, age_s, entered) as f64
            }
            (_, Some(waits)) => waits.entered_before(now, age_s as f64, entered),
            _ => entered as f64,
        }
    }

    /// Returns for how many seconds booking has been ill at `now` (ms), if it fell ill within the
    /// last minutes.
    pub(crate) fn ill_for_s(&self, now: i64) -> Option<f64> {
        self.ill_since.map(|since| (now - since) as f64 / 1e3)
    }
}

/// Returns the valve of a room before anything was measured. In a room without a line, the valve is
/// fully open.
fn first_valve(settings: &PaceSettings) -> AdaptiveInsideLimit {
    if settings.line {
        AdaptiveInsideLimit::new(settings.max_inside)
    } else {
        AdaptiveInsideLimit::fully_open(settings.max_inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::{ReleaseBound, VISITOR_U};
    use crate::room_document::RoomDocument;

    #[test]
    fn a_memory_of_an_older_or_newer_version_is_read() {
        let memory = PaceMemory {
            valve: Some(AdaptiveInsideLimit::new(2_000)),
            left_inside: Some(7),
            went_at: Some(1_800_000_000_000),
            ..PaceMemory::default()
        };
        let mut stored: serde_json::Value =
            serde_json::from_str(&memory.to_text()).expect("it is JSON");
        stored.as_object_mut().expect("an object").remove("entries");
        assert_eq!(PaceMemory::parse(&stored.to_string()), memory);
        stored["of_a_newer_version"] = 1.into();
        assert_eq!(PaceMemory::parse(&stored.to_string()), memory);
    }

    /// Records one tick that is `after_ms` after the last one. `ended` visits have ended so far.
    fn tick(memory: &mut PaceMemory, now: &mut i64, after_ms: i64, ended: u64) {
        *now += after_ms;
        let measured = PaceMeasurements {
            now: *now,
            inside: [0; 4],
            told_none: [0; 4],
            called: 0,
            entering: 0,
            show_up: 1.0,
            done: 0,
            ended,
            seats: SeatSupply::default(),
            reading: HealthReading::default(),
            owed_u: 0,
            asking: 0,
            claimed: 0,
        };
        let settings = PaceSettings::from(&RoomDocument::everyday());
        let counted_ms = u64::try_from(after_ms.min(1_000)).expect("a time");
        let nobody = ReleaseDecision {
            released: 0,
            people: 0,
            remainder_u: 0,
            owed_u: 0,
            late_u: 0,
            bound: ReleaseBound::Line,
        };
        let limits = memory.peek_limits(&settings, &measured);
        memory.record_tick(&nobody, counted_ms, &limits, &settings, &measured);
    }

    #[test]
    fn visits_that_ended_in_a_silence_are_divided_by_its_whole_length() {
        for silence_s in [1, 9, 11, 60, 3_600] {
            let (mut memory, mut now, mut ended) = (PaceMemory::default(), 1_800_000_000_000, 0);
            for _ in 0..200 {
                ended += 10;
                tick(&mut memory, &mut now, 1_000, ended);
            }
            ended += 10 * silence_s;
            let silence_ms = i64::try_from(silence_s * 1_000).expect("a time");
            tick(&mut memory, &mut now, silence_ms, ended);
            let ending_u = memory.flow.visits_ending_u();
            assert!(
                ending_u.abs_diff(10 * VISITOR_U) < VISITOR_U / 100,
                "after {silence_s} s of silence: {ending_u}"
            );
        }
    }

    #[test]
    fn a_memory_that_cannot_be_read_is_empty() {
        for stored in ["", "null", "[]", "{\"left_inside\": -1}"] {
            assert_eq!(PaceMemory::parse(stored), PaceMemory::default(), "{stored}");
        }
    }
}
