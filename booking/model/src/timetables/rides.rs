//! Finds all trains from one station to another on a date.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::clocks::ServiceDayStarts;
use super::{Timetable, add_seconds};
use crate::runs::{RideCall, rides_between};

/// A ride on a train from one station to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainRide {
    /// Index of the trip.
    pub trip: u32,
    /// Its service date, on which it leaves its first station.
    pub date: Date,
    /// The legs of the ride.
    pub legs: Range<u16>,
    /// When the train leaves the station where the ride begins.
    pub departs: Timestamp,
    /// When the train arrives at the station where the ride ends.
    pub arrives: Timestamp,
}

impl Timetable {
    /// Finds the trains that go from `from` to `to`, earliest first. `date` is the day on which a
    /// train leaves `from`, by the clocks there. The list may therefore have trains that began
    /// their run on an earlier day.
    #[must_use]
    pub fn rides(&self, from: u32, to: u32, date: Date) -> Vec<TrainRide> {
        let mut days = ServiceDayStarts::new(self);
        let mut rides: Vec<TrainRide> = self
            .calling_at_both(from, to)
            .flat_map(|trip| self.find_rides(trip, from, to, date, &mut days))
            .collect();
        rides.sort_by_key(|ride| (ride.departs, ride.arrives, ride.trip));
        rides
    }

    /// Lists the trips that call at both stations, in either direction.
    fn calling_at_both(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        let empty: &[u32] = &[];
        let trips_calling_at = |station: u32| {
            self.trips_by_station
                .get(station as usize)
                .map_or(empty, |all| all)
        };
        let (few, many) = if trips_calling_at(from).len() <= trips_calling_at(to).len() {
            (trips_calling_at(from), trips_calling_at(to))
        } else {
            (trips_calling_at(to), trips_calling_at(from))
        };
        few.iter()
            .copied()
            .filter(move |trip| many.binary_search(trip).is_ok())
    }

    /// Finds the rides on a trip. There are several if the trip calls more than once at a station.
    fn find_rides(
        &self,
        trip: u32,
        from: u32,
        to: u32,
        date: Date,
        days: &mut ServiceDayStarts<'_>,
    ) -> Vec<TrainRide> {
        let trip_details = &self.trips[trip as usize];
        let stops = self.stops(trip_details);
        let calls = stops.iter().map(|stop| RideCall {
            station: stop.station,
            boards: !stop.no_boarding,
            alights: !stop.no_alighting,
        });
        let rides = rides_between(calls, from, to);
        let mut on_date = Vec::new();
        for legs in rides {
            let (start, end) = (
                &stops[usize::from(legs.start)],
                &stops[usize::from(legs.end)],
            );
            let (Some(departs), Some(arrives)) = (start.departs, end.arrives) else {
                continue;
            };
            let (departs, arrives) = (
                departs + trip_details.shift_s,
                arrives + trip_details.shift_s,
            );
            let service = &self.services[trip_details.service as usize];
            for day in days.days_leaving(from, departs, service, date) {
                on_date.push(TrainRide {
                    trip,
                    date: day.date,
                    legs: legs.clone(),
                    departs: add_seconds(day.start, departs),
                    arrives: add_seconds(day.start, arrives),
                });
            }
        }
        on_date
    }
}
