//! Compares every departure of the real timetables with what their files say, which this test reads
//! without the importer.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::settings::RailFile;

use super::*;

/// A row of a file, by the names of its columns.
type Row = HashMap<String, String>;
/// A departure: the id of its trip, the two stations, and the minutes of the day at which it leaves
/// the first and reaches the last.
type Departure = (String, String, String, u32, u32);

/// A trip of a file.
struct TripInFile {
    id: String,
    /// Whether it begins on a date.
    runs: Box<dyn Fn(Date) -> bool>,
    /// Its calls, each with a station and the minutes of arrival and departure, counted from the
    /// beginning of the day on which the trip begins.
    calls: Vec<(String, Option<u32>, Option<u32>)>,
}

/// Reads a file in which no value has a comma.
fn rows(folder: &Path, name: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.join(name)).expect("readable");
    assert!(!text.contains('"'), "{name} has quoted values");
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let columns: Vec<String> = lines
        .next()
        .expect("a header")
        .split(',')
        .map(str::to_owned)
        .collect();
    let row = |line: &str| {
        let values = line.split(',').map(str::to_owned);
        columns.iter().cloned().zip(values).collect()
    };
    lines.map(row).collect()
}

/// Returns a time of the day in minutes. Seconds are dropped.
fn minutes(text: &str) -> Option<u32> {
    let mut parts = text.split(':').map(|part| part.parse::<u32>().ok());
    Some(parts.next()?? * 60 + parts.next()??)
}

/// Returns every departure of a day between all pairs of stations. A ride of a train that calls
/// twice at a station has no shorter one within it.
fn departures_in_file(trips: &[TripInFile], day: Date) -> BTreeSet<Departure> {
    const DAY: u32 = 24 * 60;
    let mut found = BTreeSet::new();
    for trip in trips {
        for (at, (from, _, leaves)) in trip.calls.iter().enumerate() {
            let Some(leaves) = leaves else { continue };
            let mut began = day;
            for _ in 0..leaves / DAY {
                began = began.yesterday().expect("a day");
            }
            if !(trip.runs)(began) {
                continue;
            }
            let mut seen = HashSet::new();
            for (to, arrives, _) in &trip.calls[at + 1..] {
                let Some(arrives) = arrives.filter(|_| seen.insert(to)) else {
                    continue;
                };
                let ride = (leaves % DAY, arrives - leaves + leaves % DAY);
                found.insert((trip.id.clone(), from.clone(), to.clone(), ride.0, ride.1));
                if to == from {
                    break;
                }
            }
        }
    }
    found
}

/// Returns the same departures as the search finds them.
fn departures_in_search(
    timetable: &Timetable,
    stations: &BTreeMap<String, u32>,
    day: Date,
) -> BTreeSet<Departure> {
    let midnight = day.in_tz(&timetable.timezone).expect("a zone").timestamp();
    let minute = |moment: jiff::Timestamp| {
        u32::try_from(moment.duration_since(midnight).as_mins()).expect("later")
    };
    let mut found = BTreeSet::new();
    for (from, from_index) in stations {
        for (to, to_index) in stations {
            for ride in timetable.rides(*from_index, *to_index, day) {
                found.insert((
                    timetable.trips[ride.trip as usize].id.clone(),
                    from.clone(),
                    to.clone(),
                    minute(ride.departs),
                    minute(ride.arrives),
                ));
            }
        }
    }
    found
}

fn compare(name: &str, timetable: &Timetable, trips: &[TripInFile], days: &[&str]) {
    let calls = trips.iter().flat_map(|trip| &trip.calls);
    let used: BTreeSet<&String> = calls.map(|call| &call.0).collect();
    let stations = used.into_iter();
    let stations = stations
        .map(|name| (name.clone(), station(timetable, name)))
        .collect();
    for date in days {
        let expected = departures_in_file(trips, day(date));
        let found = departures_in_search(timetable, &stations, day(date));
        let wrong: Vec<_> = expected.symmetric_difference(&found).take(5).collect();
        assert!(!expected.is_empty(), "nothing runs on {date}");
        assert!(wrong.is_empty(), "{name} on {date}: {wrong:#?}");
        eprintln!(
            "FIGURE 0 wrong of {} departures of {name} on {date}",
            expected.len()
        );
    }
}

#[test]
fn every_departure_of_caltrain_is_found_as_its_files_say() {
    let Some(folder) = real("gtfs-caltrain-2023") else {
        return;
    };
    let timetable = timetable(read_gtfs(&folder, &RailFile::default()));
    let stops = rows(&folder, "stops.txt");
    let parent = |stop: &Row| match stop["parent_station"].as_str() {
        "" => stop["stop_id"].clone(),
        parent => parent.to_owned(),
    };
    let parents: HashMap<String, String> = stops
        .iter()
        .map(|stop| (stop["stop_id"].clone(), parent(stop)))
        .collect();
    let services: HashMap<String, Row> = rows(&folder, "calendar.txt")
        .into_iter()
        .map(|row| (row["service_id"].clone(), row))
        .collect();
    let mut exceptions: HashMap<String, HashMap<String, bool>> = HashMap::new();
    for row in rows(&folder, "calendar_dates.txt") {
        let of_service = exceptions.entry(row["service_id"].clone()).or_default();
        of_service.insert(row["date"].clone(), row["exception_type"] == "1");
    }
    let mut calls: HashMap<String, BTreeMap<u32, _>> = HashMap::new();
    for row in rows(&folder, "stop_times.txt") {
        let sequence = row["stop_sequence"].parse().expect("a number");
        let station = parents[&row["stop_id"]].clone();
        let times = (
            minutes(&row["arrival_time"]),
            minutes(&row["departure_time"]),
        );
        let of_trip = calls.entry(row["trip_id"].clone()).or_default();
        of_trip.insert(sequence, (station, times.0, times.1));
    }
    let trips = rows(&folder, "trips.txt").into_iter().map(|row| {
        let (service, id) = (row["service_id"].clone(), row["trip_id"].clone());
        let rule = services.get(&service).cloned();
        let exceptions = exceptions.get(&service).cloned().unwrap_or_default();
        let runs = move |date: Date| {
            let text = date.strftime("%Y%m%d").to_string();
            if let Some(runs) = exceptions.get(&text) {
                return *runs;
            }
            let weekday = date.strftime("%A").to_string().to_lowercase();
            rule.as_ref().is_some_and(|rule| {
                rule[&weekday] == "1" && rule["start_date"] <= text && text <= rule["end_date"]
            })
        };
        TripInFile {
            calls: calls[&id].values().cloned().collect(),
            id,
            runs: Box::new(runs),
        }
    });
    let trips: Vec<TripInFile> = trips.collect();
    let days = ["2023-06-25", "2023-06-26", "2023-07-01", "2024-02-19"];
    compare("Caltrain", &timetable, &trips, &days);
}

#[test]
fn every_departure_of_chinas_fast_trains_is_found_as_its_files_say() {
    let Some(folder) = real("china-hsr-2016") else {
        return;
    };
    let timetable = timetable(read_timetable(
        &folder,
        "Asia/Shanghai",
        &RailFile::default(),
    ));
    let mut calls: HashMap<String, BTreeMap<u32, _>> = HashMap::new();
    for row in rows(&folder, "stop_times.csv") {
        let time = |time: &str, offset: &str| {
            let days: u32 = row[offset].parse().ok()?;
            Some(minutes(&row[time])? + days * 24 * 60)
        };
        let call = (
            row["station"].clone(),
            time("arrival", "day_offset_arrival"),
            time("departure", "day_offset_departure"),
        );
        let sequence = row["stop_sequence"].parse().expect("a number");
        let of_trip = calls.entry(row["trip_id"].clone()).or_default();
        of_trip.insert(sequence, call);
    }
    let trips = rows(&folder, "trains.csv").into_iter().map(|row| {
        let id = row["trip_id"].clone();
        let is_daily = row["service_days"] == "ALL";
        // Some days are a spreadsheet's numbers.
        let date = |column: &str| match row[column].parse::<i64>() {
            Ok(number) => day("1899-12-30").saturating_add(jiff::ToSpan::days(number)),
            Err(_) => row[column].parse().unwrap_or(Date::MIN),
        };
        let (first, last) = (date("first_day"), date("last_day"));
        let runs = move |date: Date| is_daily || (first <= date && date <= last);
        TripInFile {
            calls: calls[&id].values().cloned().collect(),
            id,
            runs: Box::new(runs),
        }
    });
    let trips: Vec<TripInFile> = trips.collect();
    compare("China's fast trains", &timetable, &trips, &["2016-02-07"]);
}
