//! Finds journeys from one station to another with one change of trains.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use jiff::civil::Date;

use super::clocks::{ServiceDay, ServiceDayStarts};
use super::{Timetable, TrainRide, add_days, add_seconds};

/// The shortest time between two trains, in seconds.
pub const CHANGE_S_MIN: i64 = 15 * 60;
/// The longest time between two trains, in seconds.
const CHANGE_S_MAX: i64 = 4 * 3_600;

/// How many journeys one answer has, at most.
const JOURNEYS_MAX: usize = 20;

/// Two rides, and the station where the traveller changes between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferJourney {
    /// The first train.
    pub first: TrainRide,
    /// The second train.
    pub second: TrainRide,
    /// Index of the station of the change.
    pub change: u32,
}

impl TransferJourney {
    /// Returns the seconds from departure to arrival.
    #[must_use]
    pub fn duration_s(&self) -> i64 {
        self.second.arrives.as_second() - self.first.departs.as_second()
    }

    /// Returns the seconds between the two trains.
    #[must_use]
    pub fn change_s(&self) -> i64 {
        self.second.departs.as_second() - self.first.arrives.as_second()
    }
}

/// The call of a trip where stretches begin.
struct BoardingCall {
    at: u16,
    /// Its time, in seconds after the beginning of the service day.
    departs: u32,
    /// The service days on which the trip leaves there on the date of the search.
    days: Vec<ServiceDay>,
}

impl Timetable {
    /// Finds at most twenty journeys with one change that leave `from` on a date, fastest first. A
    /// journey is left out if another one leaves no earlier and arrives no later. A change takes at
    /// least 15 minutes and at most four hours. The second train leaves on the same date or the day
    /// after. Dates are those of the clocks where a train is boarded.
    #[must_use]
    pub fn journeys(&self, from: u32, to: u32, date: Date) -> Vec<TransferJourney> {
        let mut days = ServiceDayStarts::new(self);
        let onward = self.onward(to, date, &mut days);
        let mut best: HashMap<(u32, Timestamp), TransferJourney> = HashMap::new();
        let trips = self
            .trips_by_station
            .get(from as usize)
            .into_iter()
            .flatten();
        for first in trips.flat_map(|trip| self.outward(*trip, from, to, date, &mut days)) {
            let change = self.stops(&self.trips[first.trip as usize])[usize::from(first.legs.end)];
            let Some(rides) = onward.get(&change.station) else {
                continue;
            };
            let arrives = first.arrives.as_second();
            let first_reachable = rides.partition_point(|ride| {
                ride.departs.as_second() < arrives.saturating_add(CHANGE_S_MIN)
            });
            let in_time = rides[first_reachable..].iter().take_while(|ride| {
                ride.departs.as_second() <= arrives.saturating_add(CHANGE_S_MAX)
            });
            let second = in_time
                .filter(|ride| (ride.trip, ride.date) != (first.trip, first.date))
                .min_by_key(|ride| (ride.arrives, ride.trip));
            let Some(second) = second else { continue };
            let journey = TransferJourney {
                second: second.clone(),
                change: change.station,
                first,
            };
            let key = (journey.first.trip, journey.first.departs);
            // The journey that arrives first is the best one with this first train. If several
            // arrive at the same time, the one with more time for the change is better.
            let worth = |journey: &TransferJourney| {
                (-journey.second.arrives.as_second(), journey.change_s())
            };
            match best.get(&key) {
                Some(known) if worth(known) >= worth(&journey) => {}
                _ => _ = best.insert(key, journey),
            }
        }
        fastest(best.into_values().collect())
    }

    /// Lists the stretches of a trip that begin at `from` on a date and end before the trip reaches
    /// `to`. As with rides, a stretch ends at the first call at its last station.
    fn outward(
        &self,
        trip: u32,
        from: u32,
        to: u32,
        date: Date,
        days: &mut ServiceDayStarts<'_>,
    ) -> Vec<TrainRide> {
        let trip_details = &self.trips[trip as usize];
        let stops = self.stops(trip_details);
        let mut rides = Vec::new();
        let mut boards: Option<BoardingCall> = None;
        let mut reached = HashSet::new();
        for (stop, at) in stops.iter().zip(0_u16..) {
            if stop.station == from && !stop.no_boarding {
                let Some(departs) = stop.departs else { break };
                let departs = departs + trip_details.shift_s;
                let service = &self.services[trip_details.service as usize];
                let days = days.days_leaving(from, departs, service, date).collect();
                boards = Some(BoardingCall { at, departs, days });
                reached.clear();
                continue;
            }
            let (Some(boards), Some(arrives)) = (&boards, stop.arrives) else {
                continue;
            };
            if stop.no_alighting || stop.station == from {
                continue;
            }
            if stop.station == to {
                break;
            }
            if !reached.insert(stop.station) {
                continue;
            }
            rides.extend(boards.days.iter().map(|day| TrainRide {
                trip,
                date: day.date,
                legs: boards.at..at,
                departs: add_seconds(day.start, boards.departs),
                arrives: add_seconds(day.start, arrives + trip_details.shift_s),
            }));
        }
        rides
    }

    /// Lists the stretches that leave on a date or the day after, by the clocks where they begin,
    /// and end at `to`. Where zones differ, the day before counts, too. They are grouped
    /// by the station where they begin, and the earliest comes first. As with rides, a stretch
    /// begins at the last call at its first station before `to`.
    fn onward(
        &self,
        to: u32,
        date: Date,
        days: &mut ServiceDayStarts<'_>,
    ) -> HashMap<u32, Vec<TrainRide>> {
        let mut onward: HashMap<u32, Vec<TrainRide>> = HashMap::new();
        // The clocks of the station of the change may be a day behind those of the first station.
        let first_day = if self.has_other_zones() { -1 } else { 0 };
        let trips = self.trips_by_station.get(to as usize).into_iter().flatten();
        for trip in trips {
            let trip_details = &self.trips[*trip as usize];
            let stops = self.stops(trip_details);
            let mut ends: Option<(u16, u32)> = None;
            let mut seen = HashSet::new();
            for at in (0..stops.len()).rev() {
                let stop = &stops[at];
                let at = u16::try_from(at).unwrap_or(u16::MAX);
                if stop.station == to && !stop.no_alighting {
                    ends = stop
                        .arrives
                        .map(|arrives| (at, arrives + trip_details.shift_s));
                    seen.clear();
                    continue;
                }
                if stop.no_boarding || stop.station == to {
                    continue;
                }
                let (Some((end, arrives)), Some(departs)) = (ends, stop.departs) else {
                    continue;
                };
                if !seen.insert(stop.station) {
                    continue;
                }
                let departs = departs + trip_details.shift_s;
                let service = &self.services[trip_details.service as usize];
                for leaves in first_day..=1 {
                    let leaves = add_days(date, leaves);
                    for day in days.days_leaving(stop.station, departs, service, leaves) {
                        onward.entry(stop.station).or_default().push(TrainRide {
                            trip: *trip,
                            date: day.date,
                            legs: at..end,
                            departs: add_seconds(day.start, departs),
                            arrives: add_seconds(day.start, arrives),
                        });
                    }
                }
            }
        }
        for rides in onward.values_mut() {
            rides.sort_by_key(|ride| (ride.departs, ride.arrives, ride.trip));
        }
        onward
    }
}

/// Returns the fastest journeys. A journey is left out if another one leaves no earlier and arrives
/// no later.
fn fastest(mut journeys: Vec<TransferJourney>) -> Vec<TransferJourney> {
    let order = |journey: &TransferJourney| {
        let leaves = std::cmp::Reverse(journey.first.departs);
        (
            leaves,
            journey.second.arrives,
            journey.first.trip,
            journey.second.trip,
        )
    };
    journeys.sort_by_key(order);
    let mut earliest = None;
    journeys.retain(|journey| {
        let arrives = journey.second.arrives;
        let better = earliest.is_none_or(|earliest| arrives < earliest);
        if better {
            earliest = Some(arrives);
        }
        better
    });
    journeys.sort_by_key(|journey| (journey.duration_s(), journey.first.departs));
    journeys.truncate(JOURNEYS_MAX);
    journeys
}
