//! A timetable while it is being read. Names get indices in the order of the feed. This module
//! reports names that are used twice or do not exist, and times that go backwards, with their
//! lines.

use std::collections::HashMap;

use fairgate_model::timetables::geo::metres;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{
    DAY_S, ServiceCalendar, Station, Tariff, Timetable, TimetableParts, Trip, TripStop,
};

use super::RailFeedFault;
use super::table::{FeedTableLine, RailFeedFaults};

/// The names of one kind, each with its index and the line where it first appears.
#[derive(Debug, Default)]
pub struct FeedNameIndex {
    known: HashMap<String, (u32, u64)>,
    /// Whether the file of these names could not be read. Then missing names are not reported.
    pub unread: bool,
}

impl FeedNameIndex {
    /// Adds a name. Returns false and adds a fault if the name is taken.
    pub fn register_name(
        &mut self,
        line: &FeedTableLine<'_>,
        what: &str,
        name: &str,
        at: u32,
    ) -> bool {
        if let Some((_, first)) = self.known.get(name) {
            let message = format!("the {what} {name:?} is already in line {first}");
            line.fault("duplicate_id", message);
            return false;
        }
        self.known.insert(name.to_owned(), (at, line.number));
        true
    }

    /// Adds a name without checking whether it is taken.
    pub fn alias(&mut self, name: &str, at: u32, line: u64) {
        self.known.insert(name.to_owned(), (at, line));
    }

    /// Returns the index of a name, if the name exists.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.known.get(name).map(|(at, _)| *at)
    }

    /// Returns the index of a name, or adds a fault if the name does not exist.
    pub fn resolve_name(
        &self,
        line: &FeedTableLine<'_>,
        what: &'static str,
        name: &str,
    ) -> Option<u32> {
        let found = self.get(name);
        if found.is_none() && !self.unread {
            let code = match what {
                "station" | "stop" => "dangling_stop",
                "service" => "dangling_service",
                "route" => "dangling_route",
                "fare" => "dangling_fare",
                _ => "dangling_trip",
            };
            line.fault(code, format!("there is no {what} {name:?}"));
        }
        found
    }
}

/// The calls of a trip that were read so far.
#[derive(Debug, Default)]
pub struct TripCalls {
    stops: Vec<TripStop>,
    last: Option<(u32, u64)>,
    latest: u32,
    /// Whether a call of the trip could not be read. Then the trip as a whole is not checked.
    pub broken: bool,
}

impl TripCalls {
    /// Moves all times so that the first departure is at 0.
    pub fn begin_at_zero(&mut self) {
        let first = self.stops.first().and_then(|stop| stop.departs);
        let first = first.unwrap_or_default();
        for stop in &mut self.stops {
            stop.arrives = stop.arrives.map(|time| time.saturating_sub(first));
            stop.departs = stop.departs.map(|time| time.saturating_sub(first));
        }
    }
}

/// The timetable so far. Each trip has its own list of calls, but all departures of a trip with
/// headways share the trip's list.
#[derive(Debug, Default)]
pub struct TimetableDraft {
    /// The stations, by index.
    pub stations: Vec<Station>,
    /// The calendars of the services, by index.
    pub services: Vec<ServiceCalendar>,
    /// The trips. Their tariffs and stocks are set at the end.
    pub trips: Vec<Trip>,
    /// For each trip the values from its line that [`Trip`] does not have.
    pub details: Vec<TripDetails>,
    /// The lists of calls. [`Trip::pattern`] is an index into them.
    pub calls: Vec<TripCalls>,
}

/// The values from a trip's line that [`Trip`] does not have.
#[derive(Debug, Default)]
pub struct TripDetails {
    /// The number of the line.
    pub line: u64,
    /// Names of the trip's kind of train. The trip gets the first carriages that list one of them.
    pub kinds: Vec<String>,
    /// How many calls the trip should have, if the feed has that number.
    pub calls: Option<u32>,
}

impl TimetableDraft {
    /// Adds a trip and returns its index.
    pub fn add_trip(&mut self, id: &str, train: &str, service: u32, told: TripDetails) -> u32 {
        let at = u32::try_from(self.trips.len()).unwrap_or(u32::MAX);
        self.trips.push(Trip {
            id: id.to_owned(),
            train: train.to_owned(),
            service,
            stock: 0,
            tariff: 0,
            pattern: at,
            shift_s: 0,
        });
        self.details.push(told);
        self.calls.push(TripCalls::default());
        at
    }

    /// Adds a call to a trip. Adds a fault if the call does not follow the trip's last call in
    /// number and time.
    pub fn add_call(
        &mut self,
        line: &FeedTableLine<'_>,
        trip: u32,
        sequence: u32,
        station: u32,
        (arrives, departs): (Option<u32>, Option<u32>),
    ) {
        let calls = &mut self.calls[trip as usize];
        let id = &self.trips[trip as usize].id;
        if let Some((before, first)) = calls.last {
            if sequence == before {
                let message =
                    format!("stop_sequence {sequence} of trip {id:?} is already in line {first}");
                line.fault("duplicate_sequence", message);
                return;
            }
            if sequence < before {
                let message = format!(
                    "stop_sequence goes back from {before} in line {first} to {sequence} within trip {id:?}"
                );
                line.fault("decreasing_sequence", message);
                return;
            }
        }
        calls.last = Some((sequence, line.number));
        for (what, time) in [("arrival", arrives), ("departure", departs)] {
            let Some(time) = time else { continue };
            if time < calls.latest {
                let message = format!(
                    "the {what} at {} is before {}, when trip {id:?} was still elsewhere",
                    clock_text(time),
                    clock_text(calls.latest)
                );
                line.fault("decreasing_time", message);
            }
            calls.latest = calls.latest.max(time);
        }
        calls.stops.push(TripStop {
            station,
            sequence,
            arrives,
            departs,
            at_m: 0,
        });
    }

    /// Checks the calls of every trip, measures the distances between them, and fills in times that
    /// the feed leaves out. Faults name `file` as the file of the trips, and `calls` as the file of
    /// their calls.
    pub fn check_and_measure(
        &mut self,
        file: &'static str,
        calls: &'static str,
        faults: &RailFeedFaults,
    ) {
        for ((trip, told), of) in self.trips.iter().zip(&self.details).zip(&mut self.calls) {
            if of.broken {
                continue;
            }
            let id = &trip.id;
            let fault = |code, message: String| faults.add(file, told.line, code, message);
            let count = of.stops.len();
            if count < 2 {
                let message = format!("trip {id:?} has {count} calls in {calls}; it needs two");
                fault("too_few_calls", message);
                continue;
            }
            if let Some(expected) = told.calls.filter(|expected| *expected as usize != count) {
                let message = format!(
                    "trip {id:?} has {count} calls in {calls}, but its stop_count is {expected}"
                );
                fault("wrong_count", message);
            }
            measure_distances(&mut of.stops, &self.stations);
            if let Err(lacks) = fill_in_times(&mut of.stops) {
                fault(
                    "missing_value",
                    format!("trip {id:?} has no time of {lacks}"),
                );
            }
        }
    }

    /// Returns the parts of the timetable, with all trips priced by distance. If there are faults,
    /// returns the faults instead.
    pub fn into_parts(
        mut self,
        timezone: &str,
        rail: &RailFile,
        faults: RailFeedFaults,
    ) -> Result<TimetableParts, Vec<RailFeedFault>> {
        if faults.is_empty() && self.trips.is_empty() {
            faults.add(
                "",
                0,
                "no_trips",
                "the feed has no trips: there is nothing to sell",
            );
        }
        if !faults.is_empty() {
            return Err(faults.into_vec());
        }
        for (trip, told) in self.trips.iter_mut().zip(&self.details) {
            let of_kind = |kinds: &[String]| kinds.iter().any(|kind| told.kinds.contains(kind));
            let named = rail.stock.iter().position(|stock| of_kind(&stock.kinds));
            let any = || rail.stock.iter().position(|stock| stock.kinds.is_empty());
            let stock = named.or_else(any).unwrap_or(0);
            trip.stock = u16::try_from(stock).unwrap_or(0);
        }
        Ok(TimetableParts {
            timezone: timezone.to_owned(),
            currency: rail
                .terms
                .currency
                .unwrap_or(fairgate_model::money::Currency::EUR),
            terms: rail.terms.clone(),
            classes: rail.class.clone(),
            stocks: rail.stock.clone(),
            stations: self.stations,
            services: self.services,
            tariffs: vec![Tariff::Distance],
            patterns: self.calls.into_iter().map(|calls| calls.stops).collect(),
            trips: self.trips,
        })
    }
}

/// Checks the whole timetable. A fault that the importers missed has no line, so it is reported for
/// the feed as a whole.
pub fn check_timetable(parts: TimetableParts) -> Result<TimetableParts, Vec<RailFeedFault>> {
    match Timetable::new(parts.clone()) {
        Ok(_) => Ok(parts),
        Err(unsound) => Err(vec![RailFeedFault {
            file: String::new(),
            line: 0,
            code: "unsound",
            message: unsound.to_string(),
        }]),
    }
}

fn clock_text(seconds: u32) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Measures the distances along great circles from call to call.
fn measure_distances(stops: &mut [TripStop], stations: &[Station]) {
    let point = |stop: &TripStop| {
        let station = &stations[stop.station as usize];
        (station.lon, station.lat)
    };
    let mut at_m = 0_u32;
    for at in 1..stops.len() {
        at_m = at_m.saturating_add(metres(point(&stops[at - 1]), point(&stops[at])));
        stops[at].at_m = at_m;
    }
}

/// Fills in missing times. If a call lacks its arrival or its departure, both are the same time. If
/// it lacks both, they are computed from the distances to the nearest calls with times. The first
/// call gets no arrival, and the last gets no departure. The error names the missing time if the
/// first or the last call has no time.
fn fill_in_times(stops: &mut [TripStop]) -> Result<(), &'static str> {
    for stop in stops.iter_mut() {
        stop.arrives = stop.arrives.or(stop.departs);
        stop.departs = stop.departs.or(stop.arrives);
    }
    if stops.first().is_none_or(|stop| stop.departs.is_none()) {
        return Err("departure at its first call");
    }
    if stops.last().is_none_or(|stop| stop.arrives.is_none()) {
        return Err("arrival at its last call");
    }
    let mut from = 0;
    for to in 1..stops.len() {
        let (start, end) = (stops[from], stops[to]);
        let (Some(begins), Some(ends)) = (start.departs, end.arrives) else {
            continue;
        };
        let distance_m = u64::from(end.at_m.saturating_sub(start.at_m)).max(1);
        for stop in &mut stops[from + 1..to] {
            let part = u64::from(stop.at_m.saturating_sub(start.at_m)).min(distance_m);
            let after = u64::from(ends.saturating_sub(begins)) * part / distance_m;
            let time = begins + u32::try_from(after).unwrap_or(0);
            (stop.arrives, stop.departs) = (Some(time), Some(time));
        }
        from = to;
    }
    stops[0].arrives = None;
    if let Some(last) = stops.last_mut() {
        last.departs = None;
    }
    Ok(())
}

/// How many days after the service date a time may lie. A larger number is a fault.
pub const DAYS_MAX: u32 = 29;

/// Adds days to a time in seconds.
pub fn add_days(time: u32, days: u32) -> u32 {
    time + days.min(DAYS_MAX) * DAY_S
}
