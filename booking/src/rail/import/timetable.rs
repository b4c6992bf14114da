//! Reads a timetable of three CSV files: `stations.csv`, `trains.csv`, `stop_times.csv`.

use std::path::Path;

use fairgate_model::counted::counted;
use fairgate_model::money::Currency;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{EVERY_DAY, ServiceCalendar, Station, TripStop};
use jiff::civil::Date;

use super::draft::{
    DAYS_MAX, FeedNameIndex, TimetableDraft, TripDetails, add_days, check_timetable,
};
use super::left_out::first_few;
use super::table::{FeedTableLine, RailFeedFaults, each_line};
use super::value::{date_column, degrees, integer_column, time_column};
use super::{ImportedRailFeed, RailFeedResult, built_in, fares};

const STATIONS: &str = "stations.csv";
const TRAINS: &str = "trains.csv";
const STOP_TIMES: &str = "stop_times.csv";

/// The value of `service_days` for trains whose first and last day may be empty.
const ALL: &str = "ALL";

/// Reads the three files of a folder. Their times are in the zone `timezone`.
///
/// # Errors
/// Returns every fault with its file and line.
pub fn read_timetable(folder: &Path, timezone: &str, rail: &RailFile) -> RailFeedResult {
    let faults = RailFeedFaults::default();
    let mut draft = TimetableDraft::default();
    let (codes, names) = stations(folder, &mut draft, &faults);
    let trips = trains(folder, &mut draft, &faults);
    let read = read_calls(folder, &mut draft, &trips, (&codes, &names), &faults);
    if read && !trips.incomplete && !names.incomplete {
        draft.check_and_measure(TRAINS, STOP_TIMES, &faults);
    }
    draft.leave_out_marked_trips(TRAINS, &faults);
    let mut notes = faults.take_notes();
    let mut rail = rail.clone();
    rail.terms.currency = rail.terms.currency.or(Currency::parse("CNY"));
    let mut parts = draft.into_parts(timezone, &rail, faults, &notes)?;
    notes.extend(built_in::note(&rail));
    fares::refuse_selection(&rail)?;
    fares::price_by_rail_table(&mut parts, &rail)?;
    if rail.fare.is_empty() {
        let tariff = fares::distance_tariff(&parts);
        notes.push(format!(
            "no fares were given: all trains are priced by distance, {tariff}"
        ));
    }
    Ok(ImportedRailFeed {
        parts: check_timetable(parts)?,
        notes,
    })
}

/// Reads the calls of the trips at stations, which are given by `codes` or `names`. Returns false
/// if [`each_line`] returns false.
fn read_calls(
    folder: &Path,
    draft: &mut TimetableDraft,
    trips: &FeedNameIndex,
    (codes, names): (&FeedNameIndex, &FeedNameIndex),
    faults: &RailFeedFaults,
) -> bool {
    let columns = [
        "trip_id",
        "stop_sequence",
        "station",
        "arrival",
        "departure",
        "day_offset_arrival",
        "day_offset_departure",
    ];
    each_line(folder, STOP_TIMES, &columns, faults, |line| {
        let trip = line
            .needed("trip_id")
            .and_then(|id| trips.resolve_name(line, "trip", id));
        let station = line.needed("station").and_then(|name| {
            let known = names.get(name);
            known.or_else(|| codes.resolve_name(line, "station", name))
        });
        let sequence = integer_column(line, "stop_sequence");
        let arrives = time_with_day_offset(line, "arrival", "day_offset_arrival");
        let departs = time_with_day_offset(line, "departure", "day_offset_departure");
        match (trip, station, sequence, arrives, departs) {
            (Some(trip), Some(station), Some(sequence), Ok(arrives), Ok(departs)) => {
                let stop = TripStop {
                    station,
                    sequence,
                    arrives,
                    departs,
                    ..TripStop::default()
                };
                draft.calls[trip as usize].add(line.number, stop);
            }
            (Some(trip), ..) => draft.calls[trip as usize].broken = true,
            _ => {}
        }
    })
}

/// Reads the stations. Returns their indices by code and by name.
fn stations(
    folder: &Path,
    draft: &mut TimetableDraft,
    faults: &RailFeedFaults,
) -> (FeedNameIndex, FeedNameIndex) {
    let (mut codes, mut names) = (FeedNameIndex::default(), FeedNameIndex::default());
    let columns = ["telecode", "name", "lon", "lat"];
    let read = each_line(folder, STATIONS, &columns, faults, |line| {
        let (code, name) = (line.needed("telecode"), line.needed("name"));
        let (lon, lat) = (degrees(line, "lon", 180.0), degrees(line, "lat", 90.0));
        let at = u32::try_from(draft.stations.len()).unwrap_or(u32::MAX);
        let code = code.filter(|code| codes.register_name(line, "station", code, at));
        let name = name.filter(|name| names.register_name(line, "station's name", name, at));
        let mut short: Vec<String> = Vec::new();
        for short_name in [line.get("abbr"), line.get("pinyin_code")] {
            if !short_name.is_empty() && !short.iter().any(|known| known == short_name) {
                short.push(short_name.to_owned());
            }
        }
        // A station with faults is added too, so that later lines do not report it as missing.
        draft.stations.push(Station {
            code: code.unwrap_or_default().to_owned(),
            name: name.unwrap_or_default().to_owned(),
            pinyin: line.get("pinyin").to_owned(),
            translations: Vec::new(),
            short,
            platforms: Vec::new(),
            time_zone: None,
            lon: lon.unwrap_or_default(),
            lat: lat.unwrap_or_default(),
        });
    });
    (codes.incomplete, names.incomplete) = (!read, !read);
    (codes, names)
}

fn trains(folder: &Path, draft: &mut TimetableDraft, faults: &RailFeedFaults) -> FeedNameIndex {
    let mut trips = FeedNameIndex::default();
    let columns = [
        "trip_id",
        "train_code",
        "service_days",
        "first_day",
        "last_day",
    ];
    let mut never_run: Vec<(String, u64)> = Vec::new();
    let read = each_line(folder, TRAINS, &columns, faults, |line| {
        let (id, train) = (line.needed("trip_id"), line.needed("train_code"));
        let service = service(line);
        let calls = Some("stop_count").filter(|column| !line.get(column).is_empty());
        let calls = calls.and_then(|column| integer_column(line, column));
        let Some(id) = id else { return };
        let at = u32::try_from(draft.trips.len()).unwrap_or(u32::MAX);
        if !trips.register_name(line, "trip", id, at) {
            return;
        }
        let train = train.unwrap_or_default();
        let service = service.unwrap_or_default();
        if service.never_runs() {
            never_run.push((train.to_owned(), line.number));
        }
        let known = draft.services.iter().position(|known| *known == service);
        let service = known.unwrap_or_else(|| {
            draft.services.push(service);
            draft.services.len() - 1
        });
        let letters = train.chars().take_while(|letter| letter.is_alphabetic());
        let details = TripDetails {
            line: line.number,
            kinds: vec![line.get("kind").to_owned(), letters.collect()],
            calls,
            route: 0,
            line_name: String::new(),
        };
        draft.add_trip(
            id,
            Some(train),
            u32::try_from(service).unwrap_or(u32::MAX),
            details,
        );
    });
    if !never_run.is_empty() {
        let one = "train runs on no day, because its last day is before its first";
        let many = "trains run on no day, because their last day is before their first";
        let trains = counted(never_run.len(), one, many);
        faults.note(format!("{TRAINS}: {trains}: {}", first_few(&never_run)));
    }
    trips.incomplete = !read;
    trips
}

/// Reads the days of a train. Every train runs daily from its first to its last day. A train with
/// `ALL` may lack the first day, the last day or both. A missing day means no limit. The number
/// that other trains have in `service_days` is not used.
fn service(line: &FeedTableLine<'_>) -> Option<ServiceCalendar> {
    let days = line.needed("service_days")?;
    let limit_day = |column: &str| -> Result<Option<Date>, ()> {
        if days == ALL && line.get(column).is_empty() {
            return Ok(None);
        }
        date_column(line, column).map(Some).ok_or(())
    };
    if days != ALL && days.parse::<u32>().is_err() {
        let message = format!("service_days is {days:?}; it is {ALL} or a number of days");
        line.fault("bad_number", message);
    }
    let (first, last) = (limit_day("first_day"), limit_day("last_day"));
    Some(ServiceCalendar {
        weekdays: EVERY_DAY,
        first: first.ok()?,
        last: last.ok()?,
        ..ServiceCalendar::default()
    })
}

/// Reads the time of day in `column`. The column `days` has the number of days after the service
/// date, which are added to the time.
fn time_with_day_offset(
    line: &FeedTableLine<'_>,
    column: &str,
    days: &str,
) -> Result<Option<u32>, ()> {
    let Some(time) = time_column(line, column)? else {
        return Ok(None);
    };
    if line.get(days).is_empty() {
        return Ok(Some(time));
    }
    match integer_column(line, days) {
        Some(days) if days <= DAYS_MAX => Ok(Some(add_days(time, days))),
        Some(count) => {
            let message = format!("{days} is {count}; it is {DAYS_MAX} at most");
            line.fault("bad_number", message);
            Err(())
        }
        None => Err(()),
    }
}
