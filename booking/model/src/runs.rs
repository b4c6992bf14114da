//! A train's run on one service date: its calls (stops) in order, and the prices of its stretches.
//! To sell the train's legs, no other part of the timetable is needed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::money::AMOUNT_MAX;

mod alignment;
pub mod recut;
pub mod stored;

/// A train's run on one service date. Together with its carriages it makes a show.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainRun {
    /// The train's code, as people say it: "G1".
    pub train: String,
    /// The day in the timetable's time zone on which the train leaves its first station.
    pub date: Date,
    /// The IANA name of that time zone, in which the run's times are shown, but for stations with
    /// a zone of their own. `None` if the run was stored before runs had a zone.
    pub time_zone: Option<String>,
    /// Its stops in order, at least two.
    pub calls: Vec<StationCall>,
    /// The prices of its stretches.
    pub fares: Arc<TrainFares>,
}

/// One stop of a run. Leg k lies between calls k and k + 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StationCall {
    /// The station's code.
    pub station: String,
    /// The station's name.
    pub name: String,
    /// The IANA name of the zone in which the station's clocks run. `None` if that is the zone of
    /// the run.
    pub time_zone: Option<String>,
    /// When the train arrives. `None` at the first call.
    pub arrives: Option<Timestamp>,
    /// When the train leaves. `None` at the last call.
    pub departs: Option<Timestamp>,
    /// Metres along the line from the first call.
    pub at_m: u64,
    /// Whether nobody may get on here.
    pub no_boarding: bool,
    /// Whether nobody may get off here.
    pub no_alighting: bool,
}

/// The prices of a seat, by class and stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrainFares {
    /// By class: a base price and a price for each kilometre.
    ByDistance(BTreeMap<String, DistanceRate>),
    /// A price in minor units for each (class, from, to). A stretch without an entry is not sold.
    Table(BTreeMap<(String, String, String), i64>),
}

/// How the price of a class grows with the distance. `base` and `least` are in minor units, and
/// `per_km` is in hundredths of a minor unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistanceRate {
    /// The part of the price that does not depend on the distance.
    #[serde(default)]
    pub base: i64,
    /// Hundredths of a minor unit for each kilometre.
    pub per_km: i64,
    /// The least that a stretch costs.
    #[serde(default)]
    pub least: i64,
}

impl DistanceRate {
    /// Returns the fare for a distance in metres, rounded up to the next whole minor unit.
    #[must_use]
    pub fn fare_for_distance(&self, metres: u64) -> i64 {
        /// The hundredths in a minor unit, times the metres in a kilometre.
        const PARTS: u128 = 100 * 1_000;
        let per_km = u128::from(self.per_km.max(0).unsigned_abs());
        let distance_price = (u128::from(metres) * per_km).div_ceil(PARTS);
        let distance_part = i64::try_from(distance_price).unwrap_or(AMOUNT_MAX);
        let fare = self.base.saturating_add(distance_part).max(self.least);
        fare.clamp(0, AMOUNT_MAX)
    }
}

impl TrainRun {
    /// Returns the number of legs.
    #[must_use]
    pub fn leg_count(&self) -> u16 {
        u16::try_from(self.calls.len().saturating_sub(1)).unwrap_or(u16::MAX)
    }

    /// Returns the legs of the first ride from one station to another, by their codes. Returns
    /// `None` if nobody can ride from one to the other.
    #[must_use]
    pub fn between(&self, from: &str, to: &str) -> Option<Range<u16>> {
        self.rides(from, to).into_iter().next()
    }

    /// Returns the legs of every ride from one station to another, by their codes. There are
    /// several if the train calls more than once at a station.
    #[must_use]
    pub fn rides(&self, from: &str, to: &str) -> Vec<Range<u16>> {
        let calls = self.calls.iter().map(|call| RideCall {
            station: call.station.as_str(),
            boards: !call.no_boarding,
            alights: !call.no_alighting,
        });
        rides_between(calls, from, to)
    }

    /// Returns this run's legs for a stretch of another run of the same train, which may have more
    /// stops or fewer. Returns `None` if this run does not call at both ends of the stretch.
    #[must_use]
    pub fn same_stretch(&self, other: &Self, legs: &Range<u16>) -> Option<Range<u16>> {
        let start = self.same_call(other, legs.start)?;
        let end = self.same_call(other, legs.end)?;
        (start < end).then_some(start..end)
    }

    /// Returns the number of this run's call that is a call of another run of the same train, which
    /// may have more stops or fewer. Returns `None` if this run has no such call.
    #[must_use]
    pub fn same_call(&self, other: &Self, at: u16) -> Option<u16> {
        other.calls.get(usize::from(at))?;
        if self.has_stops_of(other) {
            return Some(at);
        }
        alignment::align(&other.calls, &self.calls)[usize::from(at)]
    }

    /// Returns this run's legs for a ride that was sold on this run, and that has `legs` on another
    /// run of the same train. Where stops have changed their order, the two runs may be compared in
    /// several ways; the ride is then the only one between its two stations.
    #[must_use]
    pub fn ride_sold(&self, other: &Self, legs: &Range<u16>) -> Option<Range<u16>> {
        let start = self.call_sold(other, legs.start)?;
        let end = self.call_sold(other, legs.end)?;
        let same = self.same_stretch(other, legs);
        same.or_else(|| (start < end).then_some(start..end))
    }

    /// Returns the number of this run's call, as [`Self::ride_sold`] does for both ends of a ride.
    #[must_use]
    pub fn call_sold(&self, other: &Self, at: u16) -> Option<u16> {
        let station = &other.calls.get(usize::from(at))?.station;
        let only = || {
            let calls = self.calls.iter().zip(0..);
            let mut calls = calls.filter(|(call, _)| call.station == *station);
            let (_, first) = calls.next()?;
            calls.next().is_none().then_some(first)
        };
        self.same_call(other, at).or_else(only)
    }

    /// Returns whether both runs call at the same stations, in the same order.
    #[must_use]
    pub fn has_stops_of(&self, other: &Self) -> bool {
        self.calls.len() == other.calls.len()
            && self
                .calls
                .iter()
                .zip(&other.calls)
                .all(|(one, other)| one.station == other.station)
    }

    /// Returns when the train arrives at the station where the legs end. If the timetable has no
    /// arrival there, returns when the train leaves it. Returns `None` if the timetable has
    /// neither.
    #[must_use]
    pub fn arrives_at(&self, legs: &Range<u16>) -> Option<Timestamp> {
        let call = self.calls.get(usize::from(legs.end))?;
        call.arrives.or(call.departs)
    }

    /// Returns the IANA name of the zone in which the clocks run at a call. Returns `None` if it is
    /// not known.
    #[must_use]
    pub fn zone_at<'a>(&'a self, call: &'a StationCall) -> Option<&'a str> {
        call.time_zone.as_deref().or(self.time_zone.as_deref())
    }

    /// Returns when the train leaves the station where the legs begin. If the timetable has no
    /// departure there, returns when the train arrives. Returns `None` if the timetable has
    /// neither.
    #[must_use]
    pub fn departs_at(&self, legs: &Range<u16>) -> Option<Timestamp> {
        let call = self.calls.get(usize::from(legs.start))?;
        call.departs.or(call.arrives)
    }

    /// Returns what a seat of a class costs over some legs, in minor units. Returns `None` if the
    /// class is not sold there, if nobody may get on or off there, if there are no legs, or if they
    /// do not belong to this run.
    #[must_use]
    pub fn fare(&self, class: &str, legs: &Range<u16>) -> Option<i64> {
        if legs.is_empty() {
            return None;
        }
        let from = self.calls.get(usize::from(legs.start))?;
        let to = self.calls.get(usize::from(legs.end))?;
        if from.no_boarding || to.no_alighting {
            return None;
        }
        match &*self.fares {
            TrainFares::ByDistance(rates) => {
                let rate = rates.get(class)?;
                Some(rate.fare_for_distance(to.at_m.saturating_sub(from.at_m)))
            }
            TrainFares::Table(table) => {
                let key = (class.to_owned(), from.station.clone(), to.station.clone());
                table.get(&key).copied()
            }
        }
    }
}

/// A call of a train, with what the search for rides needs to know.
pub(super) struct RideCall<T> {
    /// The station.
    pub station: T,
    /// Whether travellers may get on.
    pub boards: bool,
    /// Whether travellers may get off.
    pub alights: bool,
}

/// Returns the legs of every ride from one station to another in a list of calls. A ride ends at
/// the first call at `to` where travellers may get off. It begins at the last earlier call at
/// `from` where they may get on. No ride therefore contains another one.
pub(super) fn rides_between<T: Copy + PartialEq>(
    calls: impl Iterator<Item = RideCall<T>>,
    from: T,
    to: T,
) -> Vec<Range<u16>> {
    let mut rides = Vec::new();
    let mut boarding_call = None;
    for (call, at) in calls.zip(0_u16..) {
        if let Some(start) = boarding_call.filter(|_| call.station == to && call.alights) {
            rides.push(start..at);
            boarding_call = None;
        }
        if call.station == from && call.boards {
            boarding_call = Some(at);
        }
    }
    rides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stations: &[&str], fares: TrainFares) -> TrainRun {
        let calls = stations
            .iter()
            .zip(0_u32..)
            .map(|(station, at)| StationCall {
                station: (*station).to_owned(),
                name: station.to_lowercase(),
                time_zone: None,
                arrives: None,
                departs: None,
                at_m: u64::from(at) * 10_500,
                no_boarding: false,
                no_alighting: false,
            });
        TrainRun {
            train: "G1".to_owned(),
            date: jiff::civil::date(2026, 11, 21),
            time_zone: None,
            calls: calls.collect(),
            fares: Arc::new(fares),
        }
    }

    #[test]
    fn a_ride_is_found_on_the_run_that_was_sold_although_stops_changed_their_order() {
        let sold = run(&["A", "C", "D"], by_distance());
        let present = run(&["A", "D", "C"], by_distance());
        // Each way, only one of C and D is found as the same call.
        assert_eq!(sold.ride_sold(&present, &(0..1)), Some(0..2), "A to D");
        assert_eq!(sold.ride_sold(&present, &(0..2)), Some(0..1), "A to C");
        assert_eq!(sold.ride_sold(&present, &(1..2)), None, "D to C");
        let twice = run(&["A", "D", "C", "D"], by_distance());
        let present = run(&["A", "X", "C", "D"], by_distance());
        assert_eq!(
            twice.ride_sold(&present, &(0..3)),
            Some(0..3),
            "the later D"
        );
        assert_eq!(twice.ride_sold(&present, &(0..1)), None, "X is new");
    }

    fn by_distance() -> TrainFares {
        let rate = DistanceRate {
            base: 500,
            per_km: 4_600,
            least: 1_200,
        };
        TrainFares::ByDistance([("second".to_owned(), rate)].into())
    }

    #[test]
    fn a_stretch_is_the_legs_between_its_calls() {
        let run = run(&["A", "B", "C", "D"], by_distance());
        assert_eq!(run.leg_count(), 3);
        assert_eq!(run.between("A", "C"), Some(0..2));
        assert_eq!(run.between("C", "D"), Some(2..3));
        for (from, to) in [("C", "A"), ("A", "A"), ("A", "X"), ("X", "D")] {
            assert_eq!(run.between(from, to), None, "{from} to {to}");
        }
    }

    #[test]
    fn on_a_train_that_calls_twice_at_a_station_the_first_and_shortest_stretch_is_chosen() {
        let run = run(&["A", "B", "A", "C", "B"], by_distance());
        assert_eq!(run.between("A", "C"), Some(2..3));
        assert_eq!(run.between("A", "B"), Some(0..1));
        assert_eq!(run.between("B", "A"), Some(1..2));
        assert_eq!(run.between("B", "B"), Some(1..4), "once around");
    }

    #[test]
    fn each_ride_of_a_loop_is_found() {
        let run = run(&["A", "B", "C", "A", "B", "C", "A"], by_distance());
        assert_eq!(run.rides("A", "B"), [0..1, 3..4]);
        assert_eq!(run.rides("B", "A"), [1..3, 4..6]);
        assert_eq!(run.rides("A", "A"), [0..3, 3..6]);
        assert!(run.rides("A", "D").is_empty());
    }

    #[test]
    fn nobody_gets_on_or_off_where_it_is_forbidden() {
        let mut run = run(&["A", "B", "C", "A", "B", "C", "A"], by_distance());
        run.calls[1].no_alighting = true;
        run.calls[3].no_boarding = true;
        let ride = |legs| vec![legs];
        assert_eq!(
            run.rides("A", "B"),
            ride(0..4),
            "off at the second call only"
        );
        assert_eq!(run.rides("A", "C"), ride(0..2));
        assert_eq!(run.fare("second", &(0..1)), None);
        assert_eq!(run.fare("second", &(3..5)), None);
        assert!(run.fare("second", &(0..4)).is_some());
    }

    #[test]
    fn a_fare_by_distance_is_rounded_up_and_never_below_the_least() {
        let run = run(&["A", "B", "C"], by_distance());
        // 10.5 km at 46 minor units a kilometre cost 483. With the base of 500 this is less than
        // the least fare.
        assert_eq!(run.fare("second", &(0..1)), Some(1_200));
        assert_eq!(run.fare("second", &(0..2)), Some(500 + 966));
        assert_eq!(run.fare("first", &(0..2)), None);
        for legs in [0..0, 1..3, 2..3] {
            assert_eq!(run.fare("second", &legs), None, "{legs:?}");
        }
        let rate = DistanceRate {
            base: 0,
            per_km: 1,
            least: 0,
        };
        assert_eq!(rate.fare_for_distance(0), 0);
        assert_eq!(rate.fare_for_distance(1), 1);
        assert_eq!(rate.fare_for_distance(100_000), 1);
        assert_eq!(rate.fare_for_distance(100_001), 2);
    }

    #[test]
    fn a_fare_by_table_is_read_from_the_table() {
        let key = |from: &str, to: &str| ("second".to_owned(), from.to_owned(), to.to_owned());
        let table = TrainFares::Table([(key("A", "C"), 975), (key("B", "C"), 600)].into());
        let run = run(&["A", "B", "C"], table);
        assert_eq!(run.fare("second", &(0..2)), Some(975));
        assert_eq!(run.fare("second", &(1..2)), Some(600));
        assert_eq!(run.fare("second", &(0..1)), None);
    }
}
