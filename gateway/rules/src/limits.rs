//! From one second's shared measurements to what the pace may use: the room inside, the valve of
//! auto mode, and the seats that are left. The planner runs this same code.

use serde::{Deserialize, Serialize};

use super::flow::{TickOutcome, VisitorRates};
use super::odds::{PeopleAhead, SeatDemand, SeatSupply};
use super::pace::{ReleaseBound, VISITOR_U};
use super::settings::PaceSettings;
use super::valve::{AdaptiveInsideLimit, HealthLevel, HealthReading};
use crate::document::PaceMode;

/// The trickle, as a part of the rate, and at the least, millionths of a visitor a second.
const TRICKLE_PART: u64 = 100;
const TRICKLE_MIN_U: u64 = VISITOR_U / 10;

/// One second's measurements.
#[derive(Debug, Clone, Copy)]
pub struct PaceMeasurements {
    /// Milliseconds since the epoch.
    pub now: i64,
    /// Claimed, unfinished, unexpired, by time since the claim.
    pub inside: [u64; 4],
    /// Called, here, unclaimed, within their window, and expected to come.
    pub called: u64,
    /// Claiming at this moment.
    pub entering: u64,
    /// How many of those called come, 1/4 to 1.
    pub show_up: f64,
    /// Visitors whose order was ticketed, ever.
    pub done: u64,
    /// Visitors whose pass ran out without one, ever.
    pub ended: u64,
    /// The seats of the room's shows.
    pub seats: SeatSupply,
    /// Booking's health.
    pub reading: HealthReading,
}

impl PaceMeasurements {
    /// Everybody inside, or on the way there.
    fn coming(&self) -> u64 {
        self.inside.iter().sum::<u64>() + self.entering + self.called
    }
}

/// What the pace may use this tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaceLimits {
    /// As [`super::pace::PaceInput::rate_u`].
    pub rate_u: Option<u64>,
    /// As [`super::pace::PaceInput::trickle_u`].
    pub trickle_u: u64,
    /// As [`super::pace::PaceInput::room`].
    pub room: u64,
    /// As [`super::pace::PaceInput::wanted`].
    pub wanted: u64,
    /// The most inside, as the valve and the promoter have it.
    pub inside_max: u64,
    /// The seats against the people; `None` where the room has no line or no seats.
    pub demand: Option<SeatDemand>,
}

/// A tick that comes later than this after the one before says nothing of how fast the line moved,
/// milliseconds.
const SILENCE_MS: i64 = 10_000;

/// What is remembered from one tick to the next. It goes with the release counter, so that
/// whichever node makes the next tick goes on from here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PaceMemory {
    valve: Option<AdaptiveInsideLimit>,
    flow: VisitorRates,
    left_inside: Option<u64>,
    went_at: Option<i64>,
}

impl PaceMemory {
    /// As the last tick left it; nothing is remembered where nothing, or nothing readable, was
    /// left.
    #[must_use]
    pub fn parse(left: &str) -> Self {
        serde_json::from_str(left).unwrap_or_default()
    }

    /// As [`PaceMemory::parse`] reads it.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Rates are finite, so this cannot fail; without a memory the next tick only begins anew.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Works out the limits of a second's tick, and moves the valve.
    pub fn limits(&mut self, settings: &PaceSettings, measured: &PaceMeasurements) -> PaceLimits {
        if settings.mode == PaceMode::Auto {
            let valve = self.valve.unwrap_or_else(|| first_valve(settings));
            let next =
                valve.after_reading(&measured.reading, settings, measured.coming(), measured.now);
            self.valve = Some(next);
        }
        self.peek_limits(settings, measured)
    }

    /// Works out the limits of a tick between two seconds: the valve stays as it is.
    #[must_use]
    pub fn peek_limits(&self, settings: &PaceSettings, measured: &PaceMeasurements) -> PaceLimits {
        let coming = measured.coming();
        // Room for one who comes is room for more than one who is called, where not everybody
        // comes.
        let room_of = |most: u64| (most.saturating_sub(coming) as f64 / measured.show_up) as u64;
        let well = measured.reading.health_level(settings.p99_ms) != HealthLevel::Ill;
        let inside_max = match settings.mode {
            PaceMode::Fixed => settings.max_inside,
            PaceMode::Auto => self
                .valve
                .unwrap_or_else(|| first_valve(settings))
                .most_inside(settings.max_inside),
        };
        let people = PeopleAhead {
            inside: measured.inside,
            called: (measured.called + measured.entering) as f64,
            done: measured.done,
            ended: measured.ended,
            show_up: measured.show_up,
        };
        let demand = if settings.line {
            SeatDemand::from_counts(&measured.seats, &people)
        } else {
            None
        };
        let trickle_u = (settings.per_s_u / TRICKLE_PART)
            .max(TRICKLE_MIN_U)
            .min(settings.per_s_u);
        let rate_u = match settings.mode {
            PaceMode::Auto if !well => settings
                .per_s_u
                .min(self.flow.left_inside_u())
                .max(trickle_u),
            // What has opened again fills up step by step, or all who come at once would make
            // booking ill again.
            PaceMode::Auto if self.is_recovering(measured.now) => {
                let left_u = self.flow.left_inside_u();
                settings.per_s_u.min(left_u + left_u / 4).max(trickle_u)
            }
            PaceMode::Auto | PaceMode::Fixed => settings.per_s_u,
        };
        PaceLimits {
            rate_u: settings.line.then_some(rate_u),
            trickle_u,
            room: room_of(settings.max_inside),
            wanted: room_of(inside_max).min(demand.map_or(u64::MAX, |d| d.people_wanted())),
            inside_max,
            demand,
        }
    }

    fn is_recovering(&self, now: i64) -> bool {
        self.valve.is_some_and(|valve| valve.is_recovering(now))
    }

    /// Takes in how the tick went.
    pub fn record_tick(
        &mut self,
        people: u64,
        bound: ReleaseBound,
        elapsed_ms: u64,
        settings: &PaceSettings,
        measured: &PaceMeasurements,
    ) {
        // What happened is divided by the time that passed, and not by that which the pace may
        // count.
        let passed = self.went_at.map_or(0, |at| measured.now - at);
        let passed = if passed > SILENCE_MS { 0 } else { passed };
        let elapsed_ms = elapsed_ms.max(u64::try_from(passed).unwrap_or(0));
        if elapsed_ms == 0 {
            return;
        }
        self.went_at = Some(measured.now);
        let left_inside = measured.done + measured.ended;
        let since = self
            .left_inside
            .map_or(0, |before| left_inside.saturating_sub(before));
        self.left_inside = Some(left_inside);
        self.flow = self.flow.after_tick(&TickOutcome {
            elapsed_ms,
            people,
            bound,
            rate_u: settings.per_s_u,
            left_inside: since,
        });
    }

    /// The line's rates, visitors a second: expected, and fallen short of once in ten times.
    #[must_use]
    pub fn rates(&self, per_s_u: u64) -> (f64, f64) {
        self.flow.rates(per_s_u)
    }
}

/// Without a line nobody is held back before anything was measured.
fn first_valve(settings: &PaceSettings) -> AdaptiveInsideLimit {
    if settings.line {
        AdaptiveInsideLimit::new(settings.max_inside)
    } else {
        AdaptiveInsideLimit::fully_open(settings.max_inside)
    }
}
