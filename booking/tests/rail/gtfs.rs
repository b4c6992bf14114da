//! Tests two published GTFS feeds: the feed of Caltrain for 2023, and the sample feed of GTFS.

use booking::rail::import::read_gtfs;
use fairgate_model::runs::TrainFares;
use fairgate_model::timetables::Trip;
use fairgate_model::timetables::settings::RailFile;

use super::*;

fn read(name: &str) -> Option<Timetable> {
    let folder = real(name)?;
    Some(timetable(read_gtfs(&folder, &RailFile::default())))
}

/// Returns the trains between two stations on a date. Each has its name, its local departure time
/// and its service date.
fn trains(
    timetable: &Timetable,
    from: &str,
    to: &str,
    date: &str,
) -> Vec<(String, String, String)> {
    let (from, to) = (station(timetable, from), station(timetable, to));
    let rides = timetable.rides(from, to, day(date)).into_iter();
    let told = rides.map(|ride| {
        let train = timetable.trips[ride.trip as usize].train.clone();
        (train, at(timetable, ride.departs), ride.date.to_string())
    });
    told.collect()
}

#[test]
fn caltrain_runs_by_its_calendar_and_its_exceptions() {
    let Some(timetable) = read("gtfs-caltrain-2023") else {
        return;
    };
    assert_eq!(timetable.trips.len(), 180);
    let calls: usize = timetable.patterns.iter().map(Vec::len).sum();
    assert_eq!(calls, 3_589);
    let told =
        |train: &str, at: &str, date: &str| (train.to_owned(), at.to_owned(), date.to_owned());
    for (date, count, first, last) in [
        (
            "2023-06-05",
            52,
            told("284", "2023-06-05 00:05", "2023-06-04"),
            told("144", "2023-06-05 22:46", "2023-06-05"),
        ),
        (
            "2023-07-04",
            16,
            told("146", "2023-07-04 00:05", "2023-07-03"),
            told("280", "2023-07-04 22:58", "2023-07-04"),
        ),
        (
            "2024-01-15",
            20,
            told("284", "2024-01-15 00:05", "2024-01-14"),
            told("H280", "2024-01-15 22:58", "2024-01-15"),
        ),
        // On this day the clocks go back.
        (
            "2023-11-05",
            16,
            told("284", "2023-11-05 00:05", "2023-11-04"),
            told("280", "2023-11-05 22:58", "2023-11-05"),
        ),
    ] {
        let trains = trains(&timetable, "san_francisco", "sj_diridon", date);
        assert_eq!(trains.len(), count, "{date}");
        assert_eq!(trains.first(), Some(&first), "{date}");
        assert_eq!(trains.last(), Some(&last), "{date}");
    }
    assert!(trains(&timetable, "san_francisco", "sj_diridon", "2026-01-15").is_empty());
}

#[test]
fn caltrain_fares_follow_its_zones() {
    let Some(timetable) = read("gtfs-caltrain-2023") else {
        return;
    };
    assert_eq!(timetable.currency.as_str(), "USD");
    let show = "102-2023-06-05".parse().expect("a slug");
    let (trip, date) = timetable.trip_of_show(&show).expect("it runs");
    let run = timetable.run_on_date(trip, date).expect("a run");
    assert!(matches!(*run.fares, TrainFares::Table(_)));
    let whole = run
        .between("san_francisco", "sj_diridon")
        .expect("it goes there");
    assert_eq!(run.fare("second", &whole), Some(1_050));
    assert_eq!(
        run.fare("first", &whole),
        Some(1_680),
        "the fare times the share of the class"
    );
    let first = run.calls.first().expect("a call");
    assert_eq!(
        (first.name.as_str(), first.arrives),
        ("San Francisco Caltrain Station", None)
    );
    let codes: Vec<_> = run.calls.iter().map(|call| call.station.as_str()).collect();
    assert!(
        codes.contains(&"palo_alto"),
        "the call names the station and not its platform: {codes:?}"
    );
    assert_eq!(
        timetable.station("70011"),
        timetable.station("san_francisco")
    );
}

#[test]
fn headways_become_departures() {
    let Some(timetable) = read("gtfs-sample") else {
        return;
    };
    let shuttle = trains(&timetable, "STAGECOACH", "BEATTY_AIRPORT", "2008-01-05");
    assert_eq!(
        shuttle.len(),
        32,
        "every half hour from 6:00 to before 22:00"
    );
    let told = |(train, at, _): &(String, String, String)| (train.clone(), at.clone());
    assert_eq!(
        told(&shuttle[0]),
        ("STBA-0600".to_owned(), "2008-01-05 06:00".to_owned())
    );
    assert_eq!(
        told(&shuttle[31]),
        ("STBA-2130".to_owned(), "2008-01-05 21:30".to_owned())
    );
    let city = trains(&timetable, "STAGECOACH", "EMSI", "2008-01-05");
    // The five headways of the day give 4 departures (one every half hour), 12 (one every ten
    // minutes), 12, 18 and 6.
    assert_eq!(city.len(), 4 + 12 + 12 + 18 + 6);
    let show = "stba-0630-2008-01-05".parse().expect("a slug");
    let (trip, date) = timetable.trip_of_show(&show).expect("it runs");
    let run = timetable.run_on_date(trip, date).expect("a run");
    let arrives = run.calls[1].arrives.expect("it arrives");
    assert_eq!(at(&timetable, arrives), "2008-01-05 06:50");
    assert_eq!(run.fare("second", &(0..1)), Some(125));
    assert!(
        trains(&timetable, "STAGECOACH", "EMSI", "2007-06-04").is_empty(),
        "the exception removes this day"
    );
    assert_eq!(
        trains(&timetable, "AMV", "BEATTY_AIRPORT", "2008-01-05").len(),
        2
    );
    assert!(
        trains(&timetable, "AMV", "BEATTY_AIRPORT", "2008-01-07").is_empty(),
        "no train runs on a Monday"
    );
}

#[test]
fn a_train_has_a_number_if_its_feed_gives_one_even_if_it_is_the_trips_id() {
    let (Some(caltrain), Some(sample)) = (read("gtfs-caltrain-2023"), read("gtfs-sample")) else {
        return;
    };
    assert!(caltrain.trips.iter().any(|trip| trip.id == trip.train));
    assert!(caltrain.trips.iter().all(|trip| trip.has_number()));
    assert!(!sample.trips.iter().any(|trip| trip.has_number()));
    // A timetable that was stored before says nothing about it.
    let text = |trips| serde_json::to_string(trips).expect("JSON");
    let stored = text(&caltrain.trips).replace(r#","is_id_numbered":true"#, "");
    let trips: Vec<Trip> = serde_json::from_str(&stored).expect("trips");
    let has_other_name = |trip: &Trip| !trip.id.starts_with(&trip.train);
    assert!(!trips.is_empty() && !text(&sample.trips).contains("is_id_numbered"));
    for trip in &trips {
        assert_eq!(trip.has_number(), has_other_name(trip), "{}", trip.id);
    }
}
