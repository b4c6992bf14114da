//! The form of three CSV files: `stations.csv`, `trains.csv`, `stop_times.csv`.

use std::path::Path;

use jiff::civil::Date;

use super::draft::{DAYS_MAX, Draft, Names, Told, checked, days_behind};
use super::fares;
use super::table::{Faults, Line, each_line};
use super::value::{date, degrees, time, whole};
use super::{Feed, Read};
use fairgate_model::money::Currency;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{EVERY_DAY, Service, Station};

const STATIONS: &str = "stations.csv";
const TRAINS: &str = "trains.csv";
const STOP_TIMES: &str = "stop_times.csv";

/// What trains that run every day say instead of dates.
const ALL: &str = "ALL";

/// Reads the three files of a folder. Times are those of `timezone`.
///
/// # Errors
/// Every fault, each with its file and line.
pub fn read_timetable(folder: &Path, timezone: &str, rail: &RailFile) -> Read {
    let faults = Faults::default();
    let mut draft = Draft::default();
    let (codes, names) = stations(folder, &mut draft, &faults);
    let (trips, notes) = trains(folder, &mut draft, &faults);
    let columns = [
        "trip_id",
        "stop_sequence",
        "station",
        "arrival",
        "departure",
        "day_offset_arrival",
        "day_offset_departure",
    ];
    let read = each_line(folder, STOP_TIMES, &columns, &faults, |line| {
        let trip = line
            .needed("trip_id")
            .and_then(|id| trips.find(line, "trip", id));
        let station = line.needed("station").and_then(|name| {
            let known = names.get(name);
            known.or_else(|| codes.find(line, "station", name))
        });
        let sequence = whole(line, "stop_sequence");
        let arrives = time_of(line, "arrival", "day_offset_arrival");
        let departs = time_of(line, "departure", "day_offset_departure");
        match (trip, station, sequence, arrives, departs) {
            (Some(trip), Some(station), Some(sequence), Ok(arrives), Ok(departs)) => {
                draft.call(line, trip, sequence, station, (arrives, departs));
            }
            (Some(trip), ..) => draft.calls[trip as usize].broken = true,
            _ => {}
        }
    });
    if read && !trips.unread && !names.unread {
        draft.measure(TRAINS, STOP_TIMES, &faults);
    }
    let mut rail = rail.clone();
    rail.terms.currency = rail.terms.currency.or(Currency::parse("CNY"));
    let mut parts = draft.parts(timezone, &rail, faults)?;
    fares::by_table(&mut parts, &rail)?;
    Ok(Feed {
        parts: checked(parts)?,
        notes,
    })
}

/// Stations by their codes, and by their names.
fn stations(folder: &Path, draft: &mut Draft, faults: &Faults) -> (Names, Names) {
    let (mut codes, mut names) = (Names::default(), Names::default());
    let columns = ["telecode", "name", "lon", "lat"];
    let read = each_line(folder, STATIONS, &columns, faults, |line| {
        let (code, name) = (line.needed("telecode"), line.needed("name"));
        let (lon, lat) = (degrees(line, "lon", 180.0), degrees(line, "lat", 90.0));
        let at = u32::try_from(draft.stations.len()).unwrap_or(u32::MAX);
        let code = code.filter(|code| codes.take(line, "station", code, at));
        let name = name.filter(|name| names.take(line, "station's name", name, at));
        let mut short: Vec<String> = Vec::new();
        for of in [line.get("abbr"), line.get("pinyin_code")] {
            if !of.is_empty() && !short.iter().any(|known| known == of) {
                short.push(of.to_owned());
            }
        }
        // One with faults stands for itself all the same: nobody is told that it is missing.
        draft.stations.push(Station {
            code: code.unwrap_or_default().to_owned(),
            name: name.unwrap_or_default().to_owned(),
            pinyin: line.get("pinyin").to_owned(),
            short,
            platforms: Vec::new(),
            lon: lon.unwrap_or_default(),
            lat: lat.unwrap_or_default(),
        });
    });
    (codes.unread, names.unread) = (!read, !read);
    (codes, names)
}

fn trains(folder: &Path, draft: &mut Draft, faults: &Faults) -> (Names, Vec<String>) {
    let mut trips = Names::default();
    let mut notes = Vec::new();
    let columns = [
        "trip_id",
        "train_code",
        "service_days",
        "first_day",
        "last_day",
    ];
    let read = each_line(folder, TRAINS, &columns, faults, |line| {
        let (id, train) = (line.needed("trip_id"), line.needed("train_code"));
        let service = service(line);
        let calls = Some("stop_count").filter(|column| !line.get(column).is_empty());
        let calls = calls.and_then(|column| whole(line, column));
        let Some(id) = id else { return };
        let at = u32::try_from(draft.trips.len()).unwrap_or(u32::MAX);
        if !trips.take(line, "trip", id, at) {
            return;
        }
        let train = train.unwrap_or_default();
        let service = service.unwrap_or_default();
        if service.never_runs() {
            let file_line = format!("{TRAINS}:{}", line.number);
            notes.push(format!(
                "{file_line}: {train} runs on no day: its last day is before its first"
            ));
        }
        let known = draft.services.iter().position(|known| *known == service);
        let service = known.unwrap_or_else(|| {
            draft.services.push(service);
            draft.services.len() - 1
        });
        let letters = train.chars().take_while(|letter| letter.is_alphabetic());
        let told = Told {
            line: line.number,
            kinds: vec![line.get("kind").to_owned(), letters.collect()],
            calls,
        };
        draft.trip(id, train, u32::try_from(service).unwrap_or(u32::MAX), told);
    });
    trips.unread = !read;
    (trips, notes)
}

/// `ALL` runs every day, everything else from its first day to its last.
fn service(line: &Line<'_>) -> Option<Service> {
    let days = line.needed("service_days")?;
    let between = |column: &str| -> Result<Option<Date>, ()> {
        if days == ALL && line.get(column).is_empty() {
            return Ok(None);
        }
        date(line, column).map(Some).ok_or(())
    };
    if days != ALL && days.parse::<u32>().is_err() {
        let message = format!("service_days is {days:?}; it is {ALL} or a number of days");
        line.fault("bad_number", message);
    }
    let (first, last) = (between("first_day"), between("last_day"));
    Some(Service {
        weekdays: EVERY_DAY,
        first: first.ok()?,
        last: last.ok()?,
        ..Service::default()
    })
}

/// A time and the days that it lies behind the service date.
fn time_of(line: &Line<'_>, column: &str, days: &str) -> Result<Option<u32>, ()> {
    let Some(time) = time(line, column)? else {
        return Ok(None);
    };
    if line.get(days).is_empty() {
        return Ok(Some(time));
    }
    match whole(line, days) {
        Some(days) if days <= DAYS_MAX => Ok(Some(days_behind(time, days))),
        Some(of) => {
            let message = format!("{days} is {of}; it is {DAYS_MAX} at most");
            line.fault("bad_number", message);
            Err(())
        }
        None => Err(()),
    }
}
