//! A timetable while it is being read. Names get indices in the order in which the feed has them.
//! This module reports names that are used twice or that do not exist, with their lines.

use std::collections::HashMap;

use fairgate_model::counted::counted;
use fairgate_model::money::Currency;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{
    DAY_S, ServiceCalendar, Station, Tariff, Timetable, TimetableParts, Trip,
};

use super::RailFeedFault;
use super::calls::TripCalls;
use super::left_out::{LeftOutReason, LeftOutTrips};
use super::service_days::last_day;
use super::table::{FeedTableLine, RailFeedFaults};

/// The names of one kind, each with its index and the line where it first appears.
#[derive(Debug, Default)]
pub struct FeedNameIndex {
    known: HashMap<String, (u32, u64)>,
    /// Whether a file that has such names could not be read to its end. If so, missing names are
    /// not reported.
    pub incomplete: bool,
}

impl FeedNameIndex {
    /// Adds a name. Returns false and adds a fault if the name is taken.
    pub fn register_name(
        &mut self,
        line: &FeedTableLine<'_>,
        kind: &str,
        name: &str,
        at: u32,
    ) -> bool {
        if let Some((_, first)) = self.known.get(name) {
            let message = format!("the {kind} {name:?} is already in line {first}");
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

    /// Returns the index of a name, or `None` if the name does not exist.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.known.get(name).map(|(at, _)| *at)
    }

    /// Returns the index of a name. If the name does not exist, adds a fault and returns `None`.
    pub fn resolve_name(
        &self,
        line: &FeedTableLine<'_>,
        kind: &'static str,
        name: &str,
    ) -> Option<u32> {
        let found = self.get(name);
        if found.is_none() && !self.incomplete {
            let code = match kind {
                "station" | "stop" => "dangling_stop",
                "service" => "dangling_service",
                "route" => "dangling_route",
                "fare" | "fare product" => "dangling_fare",
                "agency" => "dangling_agency",
                "area" => "dangling_area",
                "network" => "dangling_network",
                "rider category" => "dangling_category",
                _ => "dangling_trip",
            };
            line.fault(code, format!("there is no {kind} {name:?}"));
        }
        found
    }
}

/// The timetable so far. Each trip has its own list of calls. However, if a trip runs at headways,
/// all its departures share one list.
#[derive(Debug, Default)]
pub struct TimetableDraft {
    /// The stations, by index.
    pub stations: Vec<Station>,
    /// The calendars of the services, by index.
    pub services: Vec<ServiceCalendar>,
    /// The trips. Their tariffs and kinds of train are set at the end.
    pub trips: Vec<Trip>,
    /// For each trip, the values from its line that [`Trip`] does not have.
    pub details: Vec<TripDetails>,
    /// The lists of calls. [`Trip::pattern`] is an index into them.
    pub calls: Vec<TripCalls>,
}

/// The values from a trip's line that [`Trip`] does not have.
#[derive(Debug, Default)]
pub struct TripDetails {
    /// The number of the line in the feed's file.
    pub line: u64,
    /// Names of the trip's kind of train. The `--rail` file lists kinds of trains, each with some
    /// names or without any. The trip gets the first kind that has one of these names. If there is
    /// none, it gets the first kind without names.
    pub kinds: Vec<String>,
    /// How many calls the trip should have, if the feed says so.
    pub calls: Option<u32>,
    /// The index of the trip's route. 0 in feeds without routes.
    pub route: u32,
    /// The name of the trip's line. Empty in feeds without routes.
    pub line_name: String,
}

impl TimetableDraft {
    /// Adds a trip and returns its index. A train without a number is called by the trip's id.
    pub fn add_trip(
        &mut self,
        id: &str,
        number: Option<&str>,
        service: u32,
        details: TripDetails,
    ) -> u32 {
        let at = u32::try_from(self.trips.len()).unwrap_or(u32::MAX);
        self.trips.push(Trip {
            id: id.to_owned(),
            train: number.unwrap_or(id).to_owned(),
            line: details.line_name.clone(),
            service,
            stock: 0,
            tariff: 0,
            pattern: at,
            shift_s: 0,
            is_id_numbered: number.is_some_and(|number| id.starts_with(number)),
        });
        self.details.push(details);
        self.calls.push(TripCalls::default());
        at
    }

    /// Checks the calls of every trip, puts them in order, measures the distances between them, and
    /// fills in missing times. Marks trips with fewer than two calls, so that they are left out.
    /// Faults name `file` as the file of the trips, and `calls` as the file of their calls.
    pub fn check_and_measure(
        &mut self,
        file: &'static str,
        calls: &'static str,
        faults: &RailFeedFaults,
    ) {
        for ((trip, details), trip_calls) in
            self.trips.iter().zip(&self.details).zip(&mut self.calls)
        {
            if trip_calls.broken || trip_calls.left_out.is_some() {
                continue;
            }
            let id = &trip.id;
            trip_calls.put_in_order(id, calls, faults);
            let fault = |code, message: String| faults.add(file, details.line, code, message);
            let count = trip_calls.stops.len();
            if let Some(expected) = details.calls
                && expected as usize != count
            {
                let message = format!(
                    "trip {id:?} has {} in {calls}, but its stop_count is {expected}",
                    counted(count, "call", "calls")
                );
                fault("wrong_count", message);
            }
            if count < 2 {
                trip_calls.left_out = Some(match count {
                    0 => LeftOutReason::NoCalls,
                    _ => LeftOutReason::OneCall,
                });
                continue;
            }
            trip_calls.measure_distances(&self.stations);
            if let Err(lacks) = trip_calls.fill_in_times() {
                fault(
                    "missing_value",
                    format!("trip {id:?} has no time of {lacks}"),
                );
            }
        }
    }

    /// Marks the trips whose service runs on no day, so that they are left out.
    pub fn mark_trips_that_never_run(&mut self) {
        let services = self.services.iter();
        let never: Vec<bool> = services.map(|of| last_day(of).is_none()).collect();
        for trip in &self.trips {
            if never.get(trip.service as usize) == Some(&true) {
                let calls = &mut self.calls[trip.pattern as usize];
                calls.left_out.get_or_insert(LeftOutReason::NeverRuns);
            }
        }
    }

    /// Leaves out the trips that are marked so, and their lists of calls. Adds notes about them.
    /// `file` is the file of the trips.
    pub fn leave_out_marked_trips(&mut self, file: &str, faults: &RailFeedFaults) {
        let mut left_out = LeftOutTrips::default();
        let new_index = |next_index: &mut u32, calls: &TripCalls| {
            let at = *next_index;
            *next_index += u32::from(calls.left_out.is_none());
            Some(at)
        };
        let new_patterns: Vec<u32> = self.calls.iter().scan(0, new_index).collect();
        let trips = std::mem::take(&mut self.trips).into_iter();
        for (mut trip, details) in trips.zip(std::mem::take(&mut self.details)) {
            let pattern = trip.pattern as usize;
            if let Some(reason) = self.calls[pattern].left_out {
                left_out.add(reason, &trip.id, details.line);
                continue;
            }
            trip.pattern = new_patterns[pattern];
            self.trips.push(trip);
            self.details.push(details);
        }
        self.calls.retain(|calls| calls.left_out.is_none());
        for note in left_out.notes(file) {
            faults.note(note);
        }
    }

    /// Returns the parts of the timetable, with all trips priced by distance. If nobody gave the
    /// currency, the timetable has [`Currency::NONE`]. If there are faults, or if the `--rail` file
    /// has fares and nobody gave their currency, returns the faults instead. `notes` are the notes
    /// so far: if no trip is left, they say why.
    pub fn into_parts(
        mut self,
        timezone: &str,
        rail: &RailFile,
        faults: RailFeedFaults,
        notes: &[String],
    ) -> Result<TimetableParts, Vec<RailFeedFault>> {
        if faults.is_empty() && self.trips.is_empty() {
            let nothing = "the feed has no trips that can be sold";
            let told = std::iter::once(nothing).chain(notes.iter().map(String::as_str));
            faults.add("", 0, "no_trips", told.collect::<Vec<_>>().join("; "));
        }
        if rail.terms.currency.is_none() && !rail.fare.is_empty() {
            let message = "the --rail file has fares, and nobody gave their currency; write \
                           currency = \"EUR\", or another code of ISO 4217, under [terms] in it";
            faults.add("", 0, "missing_currency", message);
        }
        if !faults.is_empty() {
            return Err(faults.into_vec());
        }
        for (trip, details) in self.trips.iter_mut().zip(&self.details) {
            let of_kind = |kinds: &[String]| kinds.iter().any(|kind| details.kinds.contains(kind));
            let named = rail.stock.iter().position(|stock| of_kind(&stock.kinds));
            let any = || rail.stock.iter().position(|stock| stock.kinds.is_empty());
            let stock = named.or_else(any).unwrap_or(0);
            trip.stock = u16::try_from(stock).unwrap_or(0);
        }
        Ok(TimetableParts {
            timezone: timezone.to_owned(),
            currency: rail.terms.currency.unwrap_or(Currency::NONE),
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

/// Checks the whole timetable. A fault that is found only here has no line, so it is reported for
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

/// How many days after the service date a time may be. A larger number is a fault.
pub const DAYS_MAX: u32 = 29;

/// Adds days, at most [`DAYS_MAX`], to a time in seconds.
pub fn add_days(time: u32, days: u32) -> u32 {
    time + days.min(DAYS_MAX) * DAY_S
}
