//! A stretch of a train's run in the form that travellers read: on holds, orders, tickets and
//! calendar entries.

use std::ops::Range;

use fairgate_model::orders::terms::OrderTerms;
use fairgate_model::runs::{StationCall, TrainRun};
use jiff::Timestamp;
use serde::Serialize;

/// A journey from one station to another on one train.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = Journey)]
pub struct JourneySummary {
    /// The train's code.
    pub train: String,
    /// The day of the run, such as `2026-11-21`.
    pub date: String,
    /// The IANA name of the timetable's time zone, which `date` is in. Null if it is not known.
    pub time_zone: Option<String>,
    /// Where it begins.
    pub from: JourneyEnd,
    /// Where it ends.
    pub to: JourneyEnd,
}

/// One end of a journey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = End)]
pub struct JourneyEnd {
    /// The station's code.
    pub station: String,
    /// The station's name.
    pub name: String,
    /// The IANA name of the zone in which the station's clocks run. Null if it is not known.
    pub time_zone: Option<String>,
    /// When the train leaves or arrives there. Null if the timetable does not say.
    #[schema(value_type = Option<String>)]
    pub at: Option<Timestamp>,
}

impl JourneySummary {
    /// Makes the journey over a range of a run's legs. Returns `None` if the run does not have
    /// these legs.
    #[must_use]
    pub fn from_leg_range(run: &TrainRun, legs: &Range<u16>) -> Option<Self> {
        let call = |at: u16| run.calls.get(usize::from(at));
        let end = |call: &StationCall, at: Option<Timestamp>| JourneyEnd {
            station: call.station.clone(),
            name: call.name.clone(),
            time_zone: run.zone_at(call).map(ToOwned::to_owned),
            at,
        };
        let (from, to) = (call(legs.start)?, call(legs.end)?);
        Some(Self {
            train: run.train.clone(),
            date: run.date.to_string(),
            time_zone: run.time_zone.clone(),
            from: end(from, from.departs.or(from.arrives)),
            to: end(to, to.arrives.or(to.departs)),
        })
    }

    /// Makes the journey over the legs that a ticket is valid for.
    #[must_use]
    pub fn from_legs(run: &TrainRun, legs: &[u16]) -> Option<Self> {
        Self::from_leg_range(run, &range_of_legs(legs)?)
    }

    /// Returns a journey as it was sold, if the train has another number, other times or other
    /// names of stations there now. The legs are those of the present run.
    #[must_use]
    pub fn as_sold(terms: &OrderTerms, (run, legs): (&TrainRun, &Range<u16>)) -> Option<Self> {
        let (sold, sold_legs) = terms.original.own_stretch(run, legs)?;
        let sold = Self::from_leg_range(sold, &sold_legs)?;
        let now = Self::from_leg_range(run, legs)?;
        let told = |journey: &Self| {
            let ends = [&journey.from, &journey.to].map(|end| (end.name.clone(), end.at));
            (journey.train.clone(), ends)
        };
        (told(&sold) != told(&now)).then_some(sold)
    }

    /// Returns the journey as a title for people: "G1 Beijing South – Shanghai".
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {} – {}", self.train, self.from.name, self.to.name)
    }
}

/// Returns the range of the legs that a ticket is valid for. A ticket has them in order and without
/// gaps.
#[must_use]
pub fn range_of_legs(legs: &[u16]) -> Option<Range<u16>> {
    let (first, last) = (legs.first()?, legs.last()?);
    Some(*first..last.checked_add(1)?)
}
