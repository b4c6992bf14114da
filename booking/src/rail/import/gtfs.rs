//! Reads the schedule part of GTFS: agencies, stops, routes, trips, stop times, calendars and their
//! exceptions, translations, headways and fares.

use std::collections::HashMap;
use std::path::Path;

use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{ServiceCalendar, TripStop};

use super::archive::unpack_feed;
use super::draft::{FeedNameIndex, TimetableDraft, TripDetails, check_timetable};
use super::fares::{self, FeedFares};
use super::stops::read_stops;
use super::table::{FeedTableLine, RailFeedFaults, each_line};
use super::value::{integer_column, plain_date, time_column};
use super::{ImportedRailFeed, RailFeedResult, frequencies, translations};

const TRIPS: &str = "trips.txt";
const STOP_TIMES: &str = "stop_times.txt";
const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Reads the feed in a folder or in a ZIP archive.
///
/// # Errors
/// Returns every fault with its file and line.
pub fn read_gtfs(feed: &Path, rail: &RailFile) -> RailFeedResult {
    if !feed.is_file() {
        return read_folder(feed, rail);
    }
    let unpacked = unpack_feed(feed)?;
    read_folder(unpacked.path(), rail)
}

fn read_folder(folder: &Path, rail: &RailFile) -> RailFeedResult {
    let faults = RailFeedFaults::default();
    let mut draft = TimetableDraft::default();
    let timezone = timezone(folder, &faults);
    let (stops, zones) = read_stops(folder, &mut draft, &faults);
    translations::read_station_names(folder, &mut draft, &stops, &faults);
    let routes = GtfsRoutes::read(folder, &faults);
    let services = services(folder, &mut draft, &faults);
    let trips = trips(folder, &mut draft, &routes, &services, &faults);
    stop_times(folder, &mut draft, &trips, &stops, &faults);
    frequencies::expand_headways(folder, &mut draft, &trips, &faults);
    draft.leave_out_empty_trips();
    let trip_routes: Vec<u32> = draft.details.iter().map(|details| details.route).collect();
    let feed_fares = FeedFares::read(folder, &routes.names, rail.terms.currency, &faults);
    let mut rail = rail.clone();
    rail.terms.currency = rail.terms.currency.or(feed_fares.currency);
    let mut notes = faults.take_notes();
    let mut parts = draft.into_parts(&timezone, &rail, faults)?;
    if rail.fare.is_empty() {
        let route_ids: Vec<&str> = routes.ids.iter().map(String::as_str).collect();
        let fare_notes = feed_fares.price_trips(&mut parts, &trip_routes, &route_ids, &zones);
        notes.extend(fare_notes);
    } else {
        fares::price_by_rail_table(&mut parts, &rail)?;
    }
    Ok(ImportedRailFeed {
        parts: check_timetable(parts)?,
        notes,
    })
}

fn timezone(folder: &Path, faults: &RailFeedFaults) -> String {
    const AGENCIES: &str = "agency.txt";
    let mut zone: Option<String> = None;
    let read = each_line(folder, AGENCIES, &["agency_timezone"], faults, |line| {
        let Some(text) = line.needed("agency_timezone") else {
            return;
        };
        if jiff::tz::TimeZone::get(text).is_err() {
            let message = format!("there is no time zone {text:?}");
            line.fault("bad_timezone", message);
        }
        match &zone {
            Some(first) if first != text => {
                let message = format!("all agencies have one time zone, and the first has {first}");
                line.fault("bad_timezone", message);
            }
            _ => zone = Some(text.to_owned()),
        }
    });
    // This is the first file that is read, so all faults so far are about it.
    if read && zone.is_none() && faults.is_empty() {
        let message = "it names no agency, so nobody knows the time zone of the trains";
        faults.add(AGENCIES, 1, "missing_value", message);
    }
    zone.unwrap_or_else(|| "UTC".to_owned())
}

/// The routes, with their ids and the kinds of train that run on them.
pub struct GtfsRoutes {
    /// The index of each route by its id.
    pub names: FeedNameIndex,
    ids: Vec<String>,
    kinds: Vec<Vec<String>>,
    /// The short name of each route, or else its id.
    line_names: Vec<String>,
}

impl GtfsRoutes {
    fn read(folder: &Path, faults: &RailFeedFaults) -> Self {
        let mut names = FeedNameIndex::default();
        let (mut ids, mut kinds, mut line_names) = (Vec::new(), Vec::new(), Vec::new());
        let read = each_line(folder, "routes.txt", &["route_id"], faults, |line| {
            let Some(id) = line.needed("route_id") else {
                return;
            };
            let at = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            if names.register_name(line, "route", id, at) {
                ids.push(id.to_owned());
                let columns = ["route_id", "route_type", "route_short_name"];
                kinds.push(columns.map(|column| line.get(column).to_owned()).to_vec());
                let short_name = Some(line.get("route_short_name"));
                let short_name = short_name.filter(|name| !name.is_empty());
                line_names.push(short_name.unwrap_or(id).to_owned());
            }
        });
        names.incomplete = !read;
        Self {
            names,
            ids,
            kinds,
            line_names,
        }
    }
}

fn services(folder: &Path, draft: &mut TimetableDraft, faults: &RailFeedFaults) -> FeedNameIndex {
    let mut names = FeedNameIndex::default();
    let exists = |file: &str| folder.join(file).exists();
    let (weeks, dates) = ("calendar.txt", "calendar_dates.txt");
    if !exists(weeks) && !exists(dates) {
        let message =
            "calendar.txt and calendar_dates.txt are both missing: no train would ever run";
        faults.add(weeks, 0, "missing_file", message);
        names.incomplete = true;
        return names;
    }
    if exists(weeks) {
        names.incomplete |= !read_weeks(folder, weeks, draft, &mut names, faults);
    }
    if exists(dates) {
        names.incomplete |= !read_exceptions(folder, dates, draft, &mut names, faults);
    }
    names
}

/// Reads on which days of the week each service runs. Returns false if [`each_line`] returns false.
fn read_weeks(
    folder: &Path,
    file: &'static str,
    draft: &mut TimetableDraft,
    names: &mut FeedNameIndex,
    faults: &RailFeedFaults,
) -> bool {
    let columns = [&["service_id", "start_date", "end_date"][..], &WEEKDAYS].concat();
    each_line(folder, file, &columns, faults, |line| {
        let Some(id) = line.needed("service_id") else {
            return;
        };
        let mut service = ServiceCalendar {
            first: plain_date(line, "start_date"),
            last: plain_date(line, "end_date"),
            ..ServiceCalendar::default()
        };
        for (at, day) in WEEKDAYS.iter().enumerate() {
            if flag_column(line, day) {
                service.weekdays |= 1 << at;
            }
        }
        let at = u32::try_from(draft.services.len()).unwrap_or(u32::MAX);
        if names.register_name(line, "service", id, at) {
            draft.services.push(service);
        }
    })
}

/// Reads the exceptions to the days of the week: additional dates on which a service runs, and
/// dates on which it does not run. Returns false if [`each_line`] returns false.
fn read_exceptions(
    folder: &Path,
    file: &'static str,
    draft: &mut TimetableDraft,
    names: &mut FeedNameIndex,
    faults: &RailFeedFaults,
) -> bool {
    let columns = ["service_id", "date", "exception_type"];
    let mut seen = HashMap::new();
    each_line(folder, file, &columns, faults, |line| {
        let (id, date) = (line.needed("service_id"), plain_date(line, "date"));
        let kind = line.get("exception_type");
        if !["1", "2"].contains(&kind) {
            let message = format!("exception_type is {kind:?}; it is 1 (added) or 2 (removed)");
            line.fault("bad_number", message);
            return;
        }
        let (Some(id), Some(date)) = (id, date) else {
            return;
        };
        if let Some(first) = seen.insert((id.to_owned(), date), line.number) {
            let message = format!("service {id:?} has {date} in line {first} already");
            line.fault("duplicate_id", message);
            return;
        }
        let at = names.get(id).unwrap_or_else(|| {
            draft.services.push(ServiceCalendar::default());
            let at = u32::try_from(draft.services.len() - 1).unwrap_or(u32::MAX);
            names.alias(id, at, line.number);
            at
        });
        let service = &mut draft.services[at as usize];
        if kind == "1" {
            service.added.push(date);
        } else {
            service.removed.push(date);
        }
    })
}

fn flag_column(line: &FeedTableLine<'_>, column: &str) -> bool {
    match line.get(column) {
        "1" => true,
        "0" => false,
        other => {
            line.fault("bad_number", format!("{column} is {other:?}; it is 0 or 1"));
            false
        }
    }
}

/// Reads the trips. Returns the indices of the trips by their ids.
fn trips(
    folder: &Path,
    draft: &mut TimetableDraft,
    routes: &GtfsRoutes,
    services: &FeedNameIndex,
    faults: &RailFeedFaults,
) -> FeedNameIndex {
    let mut trips = FeedNameIndex::default();
    let columns = ["trip_id", "route_id", "service_id"];
    let read = each_line(folder, TRIPS, &columns, faults, |line| {
        let route = line.needed("route_id");
        let route = route.and_then(|id| routes.names.resolve_name(line, "route", id));
        let service = line.needed("service_id");
        let service = service.and_then(|id| services.resolve_name(line, "service", id));
        let Some(id) = line.needed("trip_id") else {
            return;
        };
        let at = u32::try_from(draft.trips.len()).unwrap_or(u32::MAX);
        if !trips.register_name(line, "trip", id, at) {
            return;
        }
        let name = line.get("trip_short_name");
        let train = if name.is_empty() { id } else { name };
        let kinds = route.and_then(|at| routes.kinds.get(at as usize));
        let line_name = route.and_then(|at| routes.line_names.get(at as usize));
        let details = TripDetails {
            line: line.number,
            kinds: kinds.cloned().unwrap_or_default(),
            calls: None,
            route: route.unwrap_or_default(),
            line_name: line_name.cloned().unwrap_or_default(),
        };
        draft.add_trip(id, train, service.unwrap_or_default(), details);
    });
    trips.incomplete = !read;
    trips
}

fn stop_times(
    folder: &Path,
    draft: &mut TimetableDraft,
    trips: &FeedNameIndex,
    stops: &FeedNameIndex,
    faults: &RailFeedFaults,
) {
    let columns = [
        "trip_id",
        "arrival_time",
        "departure_time",
        "stop_id",
        "stop_sequence",
    ];
    let read = each_line(folder, STOP_TIMES, &columns, faults, |line| {
        let trip = line.needed("trip_id");
        let trip = trip.and_then(|id| trips.resolve_name(line, "trip", id));
        let stop = line.needed("stop_id");
        let stop = stop.and_then(|id| stops.resolve_name(line, "stop", id));
        let sequence = integer_column(line, "stop_sequence");
        let (arrives, departs) = (
            time_column(line, "arrival_time"),
            time_column(line, "departure_time"),
        );
        match (trip, stop, sequence, arrives, departs) {
            (Some(trip), Some(stop), Some(sequence), Ok(arrives), Ok(departs)) => {
                let stop = TripStop {
                    station: stop,
                    sequence,
                    arrives,
                    departs,
                    no_boarding: line.get("pickup_type") == "1",
                    no_alighting: line.get("drop_off_type") == "1",
                    ..TripStop::default()
                };
                draft.calls[trip as usize].add(line.number, stop);
            }
            (Some(trip), ..) => draft.calls[trip as usize].broken = true,
            _ => {}
        }
    });
    if read && !trips.incomplete && !stops.incomplete {
        draft.check_and_measure(TRIPS, STOP_TIMES, faults);
    }
}
