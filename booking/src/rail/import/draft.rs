//! A timetable under construction: names are given indices as they are met, and whatever comes
//! twice, is not there or goes backwards is told with its line.

use std::collections::HashMap;

use fairgate_model::timetables::geo::metres;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{
    DAY_S, ServiceCalendar, Station, Tariff, Timetable, TimetableParts, Trip, TripStop,
};

use super::RailFeedFault;
use super::table::{FeedTableLine, RailFeedFaults};

/// Names of one kind: what each stands for, and the line it came first in.
#[derive(Debug, Default)]
pub struct FeedNameIndex {
    known: HashMap<String, (u32, u64)>,
    /// Whether their file could be read: if not, nobody is told that one is missing.
    pub unread: bool,
}

impl FeedNameIndex {
    /// Takes a name; false, with a fault, where it is taken.
    pub fn register_name(
        &mut self,
        line: &FeedTableLine<'_>,
        what: &str,
        name: &str,
        at: u32,
    ) -> bool {
        if let Some((_, first)) = self.known.get(name) {
            let message = format!("the {what} {name:?} stands in line {first} already");
            line.fault("duplicate_id", message);
            return false;
        }
        self.known.insert(name.to_owned(), (at, line.number));
        true
    }

    /// One more name for what is there.
    pub fn alias(&mut self, name: &str, at: u32, line: u64) {
        self.known.insert(name.to_owned(), (at, line));
    }

    /// What a name stands for, if it is there.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.known.get(name).map(|(at, _)| *at)
    }

    /// What a name stands for; a fault where it is not there.
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

/// A trip's calls as they are read.
#[derive(Debug, Default)]
pub struct TripCalls {
    stops: Vec<TripStop>,
    last: Option<(u32, u64)>,
    latest: u32,
    /// One of them was not read: what the others lack is not told.
    pub broken: bool,
}

impl TripCalls {
    /// Moves all times so that the first call's departure is at 0.
    pub fn begin_at_zero(&mut self) {
        let first = self.stops.first().and_then(|stop| stop.departs);
        let first = first.unwrap_or_default();
        for stop in &mut self.stops {
            stop.arrives = stop.arrives.map(|time| time.saturating_sub(first));
            stop.departs = stop.departs.map(|time| time.saturating_sub(first));
        }
    }
}

/// A timetable so far. A trip's pattern has its own index.
#[derive(Debug, Default)]
pub struct TimetableDraft {
    /// Stations.
    pub stations: Vec<Station>,
    /// Services.
    pub services: Vec<ServiceCalendar>,
    /// Trips; their tariffs and stocks are given at the end.
    pub trips: Vec<Trip>,
    /// The line of each trip, the kinds it is of, and how many calls it should have, where that is
    /// told.
    pub told: Vec<TripDetails>,
    /// The calls of each trip.
    pub calls: Vec<TripCalls>,
}

/// What else a trip's line says.
#[derive(Debug, Default)]
pub struct TripDetails {
    /// The line.
    pub line: u64,
    /// What kind of train it may be called.
    pub kinds: Vec<String>,
    /// How many calls it has.
    pub calls: Option<u32>,
}

impl TimetableDraft {
    /// Adds a trip and gives its index.
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
        self.told.push(told);
        self.calls.push(TripCalls::default());
        at
    }

    /// Adds a call to a trip. Calls come in the order in which the train makes them.
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
                let message = format!(
                    "stop_sequence {sequence} of trip {id:?} stands in line {first} already"
                );
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

    /// Checks the calls of every trip, measures the ways between, and fills in times that a feed
    /// leaves out. `file` has the trips, `calls` their calls.
    pub fn check_and_measure(
        &mut self,
        file: &'static str,
        calls: &'static str,
        faults: &RailFeedFaults,
    ) {
        for ((trip, told), of) in self.trips.iter().zip(&self.told).zip(&mut self.calls) {
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
                    "trip {id:?} has {count} calls in {calls}, and {expected} are told here"
                );
                fault("wrong_count", message);
            }
            measure_distances(&mut of.stops, &self.stations);
            if let Err(lacks) = times(&mut of.stops) {
                fault(
                    "missing_value",
                    format!("trip {id:?} has no time of {lacks}"),
                );
            }
        }
    }

    /// The parts, but for tariffs.
    pub fn parts(
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
        for (trip, told) in self.trips.iter_mut().zip(&self.told) {
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

/// Whatever the importers have not seen is told for the feed as a whole.
pub fn checked(parts: TimetableParts) -> Result<TimetableParts, Vec<RailFeedFault>> {
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

/// Great circles along the calls.
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

/// A call has both times or, between two that have, none: then they follow from the way. The first
/// has no arrival and the last no departure. Tells the call that lacks one.
fn times(stops: &mut [TripStop]) -> Result<(), &'static str> {
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
        let way = u64::from(end.at_m.saturating_sub(start.at_m)).max(1);
        for stop in &mut stops[from + 1..to] {
            let part = u64::from(stop.at_m.saturating_sub(start.at_m)).min(way);
            let after = u64::from(ends.saturating_sub(begins)) * part / way;
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

/// How many days behind the service date a time may lie, at most: more is a mistake.
pub const DAYS_MAX: u32 = 29;

/// A time of day some days on.
pub fn days_behind(time: u32, days: u32) -> u32 {
    time + days.min(DAYS_MAX) * DAY_S
}
