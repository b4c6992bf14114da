//! Tests the real timetable of all fast trains of China in 2016.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use booking::rail::import::read_timetable;
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{ServiceCalendar, Timetable};
use jiff::civil::Date;

use super::*;

fn read(folder: &Path) -> RailFeedResult {
    read_timetable(folder, "Asia/Shanghai", &RailFile::default())
}

/// Reads the calls of each trip from the file without the importer: sequence, station and
/// departure.
fn calls_in_the_file(folder: &Path) -> HashMap<String, Vec<(u32, String, String)>> {
    let text = std::fs::read_to_string(folder.join("stop_times.csv")).expect("readable");
    let mut calls: HashMap<String, Vec<_>> = HashMap::new();
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let sequence = columns[1].parse().expect("a number");
        let call = (sequence, columns[2].to_owned(), columns[4].to_owned());
        calls.entry(columns[0].to_owned()).or_default().push(call);
    }
    calls
}

#[test]
fn all_trips_and_calls_are_read_in_their_order_and_with_their_gaps() {
    let Some(folder) = real("china-hsr-2016") else {
        return;
    };
    let feed = sound(read(&folder));
    let parts = &feed.parts;
    assert_eq!((parts.stations.len(), parts.trips.len()), (672, 4_458));
    let calls: usize = parts.patterns.iter().map(Vec::len).sum();
    assert_eq!(calls, 34_647);
    let mut gaps = 0;
    let expected = calls_in_the_file(&folder);
    for trip in &parts.trips {
        let stops = &parts.patterns[trip.pattern as usize];
        let name = |station: u32| parts.stations[station as usize].name.clone();
        let read: Vec<_> = stops
            .iter()
            .map(|of| (of.sequence, name(of.station)))
            .collect();
        let expected: Vec<_> = expected[&trip.id]
            .iter()
            .map(|(sequence, station, _)| (*sequence, station.clone()))
            .collect();
        assert_eq!(read, expected, "{}", trip.id);
        gaps += u32::from(
            stops
                .windows(2)
                .any(|two| two[1].sequence > two[0].sequence + 1),
        );
        assert!(stops[0].arrives.is_none() && stops[0].departs.is_some());
        assert!(stops[stops.len() - 1].departs.is_none());
        assert!(stops.windows(2).all(|two| two[1].arrives >= two[0].departs));
    }
    assert_eq!(gaps, 313);
    assert_eq!(feed.notes.len(), 3, "{:?}", feed.notes);
    let never = &feed.notes[0];
    assert!(
        never.starts_with("trains.csv: 33 trains run on no day, because their last day is before")
            && never.ends_with(", and 28 more"),
        "{never}"
    );
    assert_eq!(
        feed.notes.last().map(String::as_str),
        Some(
            "no fares were given: all trains are priced by distance, Business class: 145.00 CNY for 100 km, \
             at least 14.50 CNY; First class: 74.00 CNY for 100 km, at least 7.40 CNY; Second class: 46.00 CNY \
             for 100 km, at least 4.60 CNY"
        )
    );
}

#[test]
fn trains_that_run_daily_are_found_on_every_date() {
    let Some(folder) = real("china-hsr-2016") else {
        return;
    };
    let timetable = timetable(read(&folder));
    let (from, to) = (station(&timetable, "VNP"), station(&timetable, "AOH"));
    let now = "2026-11-21T20:00:00Z"
        .parse::<jiff::Timestamp>()
        .expect("a moment");
    let (first, last) = timetable.window(now.as_millisecond());
    assert_eq!(
        (first, last),
        (day("2026-11-22"), day("2026-12-21")),
        "the dates by the time of Beijing"
    );
    let mut date = first;
    while date <= last {
        let rides = timetable.rides(from, to, date);
        assert_eq!(rides.len(), 26, "{date}");
        let shows: BTreeSet<_> = rides
            .iter()
            .map(|ride| timetable.show_id(ride.trip, ride.date).expect("an id"))
            .collect();
        assert_eq!(shows.len(), 26, "each is a show of its own");
        for show in &shows {
            let (trip, of) = timetable.trip_of_show(show).expect("the id of a departure");
            assert_eq!(timetable.show_id(trip, of).as_ref(), Some(show));
        }
        date = date.tomorrow().expect("a day");
    }
}

/// Finds all trips by a slow search that compares every call of every trip.
fn by_brute_force(timetable: &Timetable, from: u32, to: u32, date: Date) -> BTreeSet<(u32, Date)> {
    let mut found = BTreeSet::new();
    for (trip, at) in timetable.trips.iter().zip(0_u32..) {
        let stops = timetable.stops(trip);
        for (nth, stop) in stops.iter().enumerate() {
            let goes = stops[nth + 1..].iter().any(|later| later.station == to);
            let (Some(departs), true) = (stop.departs, stop.station == from && goes) else {
                continue;
            };
            let mut began = date;
            for _ in 0..departs / 86_400 {
                began = began.yesterday().expect("a day");
            }
            let service: &ServiceCalendar = &timetable.services[trip.service as usize];
            if service.runs_on(began) {
                found.insert((at, began));
            }
        }
    }
    found
}

#[test]
fn the_search_finds_the_same_trips_as_a_brute_force_search() {
    let Some(folder) = real("china-hsr-2016") else {
        return;
    };
    let timetable = timetable(read(&folder));
    let pairs = [
        ("VNP", "AOH"),
        ("IZQ", "BXP"),
        ("三亚", "美兰"),
        ("AOH", "VNP"),
        ("哈密", "乌鲁木齐南"),
    ];
    for (from, to) in pairs {
        let (from, to) = (station(&timetable, from), station(&timetable, to));
        for date in ["2016-01-30", "2016-02-07", "2016-03-04", "2026-12-01"] {
            let rides = timetable.rides(from, to, day(date));
            let found: BTreeSet<_> = rides.iter().map(|ride| (ride.trip, ride.date)).collect();
            let expected = by_brute_force(&timetable, from, to, day(date));
            assert_eq!(found, expected, "{from} to {to} on {date}");
            assert!(rides.windows(2).all(|two| two[0].departs <= two[1].departs));
            assert!(rides.iter().all(|ride| ride.departs < ride.arrives));
        }
    }
}

#[test]
fn every_departure_of_a_day_has_a_unique_id() {
    let Some(folder) = real("china-hsr-2016") else {
        return;
    };
    let timetable = timetable(read(&folder));
    // On this day two trains have two trips each.
    let date = day("2016-02-10");
    let mut shows = BTreeSet::new();
    let mut with_trip = 0;
    for (trip, at) in timetable.trips.iter().zip(0_u32..) {
        if timetable.services[trip.service as usize].runs_on(date) {
            let show = timetable.show_id(at, date).expect("an id");
            assert_eq!(timetable.trip_of_show(&show), Some((at, date)), "{show}");
            with_trip += u32::from(show.as_str().contains(&trip.id.to_lowercase()));
            assert!(shows.insert(show), "{} twice", trip.train);
        }
    }
    assert_eq!(with_trip, 4);
    assert!(shows.len() > 3_198, "{}", shows.len());
    let gone = "g1-2016-13-41".parse().expect("a slug");
    assert_eq!(timetable.trip_of_show(&gone), None);
}
