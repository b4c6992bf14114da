//! Reads the schedule part of GTFS: agencies, stops, routes, trips, stop times, calendars and their
//! exceptions, translations, headways and fares.

use std::collections::HashMap;
use std::path::Path;

use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{ServiceCalendar, TripStop};

use super::archive::unpack_feed;
use super::draft::{FeedNameIndex, TimetableDraft, TripDetails, check_timetable};
use super::fares::{self, FareContext, FeedFares};
use super::left_out::LeftOutReason;
use super::optional::{empty_file_notes, has_table};
use super::stops::read_stops;
use super::table::{FeedTableLine, RailFeedFaults, each_line};
use super::value::{
    flag_column, integer_column, optional_flag_column, plain_date, time_column, zone_name,
};
use super::{ImportedRailFeed, RailFeedResult, built_in, frequencies, translations};

const TRIPS: &str = "trips.txt";
const STOP_TIMES: &str = "stop_times.txt";
/// The value of `exception_type` for a date on which a service runs in addition.
const ADDED: u8 = 1;
/// The value of `exception_type` for a date on which a service does not run.
const REMOVED: u8 = 2;
/// The value of `pickup_type` and `drop_off_type` where nobody can get on or off. Values 2 and 3
/// say that travellers must phone the agency or speak with the driver first. Such a train still
/// calls at fixed times, and a booking tells the railway who comes. So its seats are sold like any
/// others.
const NOT_AVAILABLE: u8 = 1;
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
    let (stops, zones) = read_stops(folder, &timezone, &mut draft, &faults);
    translations::read_station_names(folder, &mut draft, &stops, &faults);
    let routes = GtfsRoutes::read(folder, &faults);
    let services = services(folder, &mut draft, &faults);
    let trips = trips(folder, &mut draft, &routes, &services, &faults);
    stop_times(folder, &mut draft, &trips, &stops, &faults);
    draft.mark_trips_that_never_run();
    frequencies::expand_headways(folder, &mut draft, &trips, &faults);
    draft.leave_out_marked_trips(TRIPS, &faults);
    let trip_routes: Vec<u32> = draft.details.iter().map(|details| details.route).collect();
    let context = FareContext {
        folder,
        routes: &routes,
        stops: &stops,
        zones: &zones,
        faults: &faults,
    };
    let feed_fares = FeedFares::read(&context, rail);
    let mut rail = rail.clone();
    rail.terms.currency = rail.terms.currency.or(feed_fares.currency);
    let mut notes = empty_file_notes(folder);
    notes.extend(faults.take_notes());
    let mut parts = draft.into_parts(&timezone, &rail, faults, &notes)?;
    notes.extend(built_in::note(&rail));
    if rail.fare.is_empty() {
        let fare_notes = feed_fares.price_trips(&mut parts, &trip_routes, &routes.ids);
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
        let name = zone_name(line, text).unwrap_or_else(|| text.to_owned());
        match &zone {
            Some(first) if *first != name => {
                let message = format!("all agencies have one time zone, and the first has {first}");
                line.fault("bad_timezone", message);
            }
            _ => zone = Some(name),
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
    /// The columns of each route that fares depend on.
    pub columns: Vec<RouteFareColumns>,
}

/// The values of a route that say which fares apply to it. Each is empty if the feed has none.
pub struct RouteFareColumns {
    /// The number of the route's line.
    pub line: u64,
    /// The id of its agency.
    pub agency: String,
    /// The id of its network.
    pub network: String,
}

impl GtfsRoutes {
    fn read(folder: &Path, faults: &RailFeedFaults) -> Self {
        let mut names = FeedNameIndex::default();
        let (mut ids, mut kinds) = (Vec::new(), Vec::new());
        let (mut line_names, mut fare_columns) = (Vec::new(), Vec::new());
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
                fare_columns.push(RouteFareColumns {
                    line: line.number,
                    agency: line.get("agency_id").to_owned(),
                    network: line.get("network_id").to_owned(),
                });
            }
        });
        names.incomplete = !read;
        Self {
            names,
            ids,
            kinds,
            line_names,
            columns: fare_columns,
        }
    }
}

fn services(folder: &Path, draft: &mut TimetableDraft, faults: &RailFeedFaults) -> FeedNameIndex {
    let mut names = FeedNameIndex::default();
    let exists = |file: &str| has_table(folder, file);
    let (weeks, dates) = ("calendar.txt", "calendar_dates.txt");
    if !exists(weeks) && !exists(dates) {
        let message = "calendar.txt and calendar_dates.txt are both missing or empty: no train \
                       would ever run";
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
            if flag_column(line, day, 0..=1) == Some(1) {
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
        let kind = flag_column(line, "exception_type", ADDED..=REMOVED);
        let (Some(id), Some(date), Some(kind)) = (id, date, kind) else {
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
        if kind == ADDED {
            service.added.push(date);
        } else {
            service.removed.push(date);
        }
    })
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
        let number = Some(line.get("trip_short_name")).filter(|number| !number.is_empty());
        let kinds = route.and_then(|at| routes.kinds.get(at as usize));
        let line_name = route.and_then(|at| routes.line_names.get(at as usize));
        let details = TripDetails {
            line: line.number,
            kinds: kinds.cloned().unwrap_or_default(),
            calls: None,
            route: route.unwrap_or_default(),
            line_name: line_name.cloned().unwrap_or_default(),
        };
        draft.add_trip(id, number, service.unwrap_or_default(), details);
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
        if is_on_demand(line) {
            if let Some(trip) = trip {
                draft.calls[trip as usize].left_out = Some(LeftOutReason::OnDemand);
            }
            return;
        }
        let call = read_call(line, stops);
        let Some(trip) = trip else { return };
        let calls = &mut draft.calls[trip as usize];
        match call {
            Some(call) => calls.add(line.number, call),
            None => calls.broken = true,
        }
    });
    if read && !trips.incomplete && !stops.incomplete {
        draft.check_and_measure(TRIPS, STOP_TIMES, faults);
    }
}

/// Reads the call of a line. Returns `None` if the line has faults. All its columns are read first,
/// so that every fault is reported.
fn read_call(line: &FeedTableLine<'_>, stops: &FeedNameIndex) -> Option<TripStop> {
    let stop = line.needed("stop_id");
    let station = stop.and_then(|id| stops.resolve_name(line, "stop", id));
    let sequence = integer_column(line, "stop_sequence");
    let arrives = time_column(line, "arrival_time");
    let departs = time_column(line, "departure_time");
    let pickup = optional_flag_column(line, "pickup_type", 0..=3);
    let drop_off = optional_flag_column(line, "drop_off_type", 0..=3);
    Some(TripStop {
        station: station?,
        sequence: sequence?,
        arrives: arrives.ok()?,
        departs: departs.ok()?,
        no_boarding: pickup? == NOT_AVAILABLE,
        no_alighting: drop_off? == NOT_AVAILABLE,
        ..TripStop::default()
    })
}

/// Returns whether a line says where and when passengers can order a ride (GTFS-Flex). It then has
/// an area instead of a stop, or a span of time instead of a time. Such a trip has no departure
/// that could be sold.
fn is_on_demand(line: &FeedTableLine<'_>) -> bool {
    let any_of = |columns: [&str; 2]| columns.iter().any(|column| !line.get(column).is_empty());
    let has_area = any_of(["location_group_id", "location_id"]);
    let has_stop = !line.get("stop_id").is_empty();
    let has_span = any_of(["start_pickup_drop_off_window", "end_pickup_drop_off_window"]);
    (has_area && !has_stop) || (has_span && has_stop)
}
