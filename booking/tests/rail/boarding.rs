//! Tests trains that call more than once at a station, and calls where nobody may get on or off.

use booking::rail::import::read_gtfs;
use fairgate_model::timetables::settings::RailFile;

use super::faults::GTFS;
use super::*;

/// Makes the timetable of a line that goes round twice: hub, end, hub, end. `restrictions` has the
/// pickup and the drop-off type of each call.
fn loop_line(restrictions: [&str; 4]) -> Timetable {
    let folder = folder(&GTFS);
    let titles =
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type";
    let calls = ["08:00:00", "09:00:00", "10:00:00", "11:00:00"];
    let mut text = format!("{titles}\n");
    for (at, (time, types)) in calls.iter().zip(restrictions).enumerate() {
        let stop = ["hub-1", "end"][at % 2];
        text += &format!("t2,{time},{time},{stop},{at},{types}\n");
    }
    write(folder.path(), "stop_times.txt", &text);
    std::fs::remove_file(folder.path().join("frequencies.txt")).expect("removed");
    timetable(read_gtfs(folder.path(), &RailFile::default()))
}

/// Returns the departure and the arrival of each ride from one station to the other.
fn rides(timetable: &Timetable, from: &str, to: &str) -> Vec<(String, String)> {
    let (from, to) = (station(timetable, from), station(timetable, to));
    let rides = timetable.rides(from, to, day("2027-01-20")).into_iter();
    let clock = |moment| at(timetable, moment)[11..].to_owned();
    rides
        .map(|ride| (clock(ride.departs), clock(ride.arrives)))
        .collect()
}

fn told(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = rows.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    owned.collect()
}

#[test]
fn each_ride_of_a_loop_is_offered() {
    let timetable = loop_line(["0,0", "0,0", "0,0", "0,0"]);
    let expected = told(&[("08:00", "09:00"), ("10:00", "11:00")]);
    assert_eq!(rides(&timetable, "hub", "end"), expected);
    assert_eq!(rides(&timetable, "end", "hub"), told(&[("09:00", "10:00")]));
}

#[test]
fn nobody_gets_on_or_off_where_the_feed_forbids_it() {
    for (restrictions, there, back) in [
        // The first pair is the pickup type and the drop-off type of the first call.
        (
            ["1,0", "0,0", "0,0", "0,0"],
            vec![("10:00", "11:00")],
            vec![("09:00", "10:00")],
        ),
        (
            ["0,0", "0,1", "0,0", "0,0"],
            vec![("10:00", "11:00")],
            vec![("09:00", "10:00")],
        ),
        (
            ["0,0", "0,1", "1,0", "0,0"],
            vec![("08:00", "11:00")],
            vec![("09:00", "10:00")],
        ),
        (
            ["0,0", "1,0", "0,0", "0,0"],
            vec![("08:00", "09:00"), ("10:00", "11:00")],
            vec![],
        ),
        (
            ["0,0", "0,0", "0,1", "0,0"],
            vec![("08:00", "09:00"), ("10:00", "11:00")],
            vec![],
        ),
        // Some programs write a space before a quoted number.
        (
            [
                r#" "0", "0""#,
                r#" "0", "0""#,
                r#" "1", "0""#,
                r#" "0", "0""#,
            ],
            vec![("08:00", "09:00")],
            vec![("09:00", "10:00")],
        ),
        // Types 2 and 3 mean that travellers must phone or ask the driver. They allow getting on
        // and off.
        (
            ["2,1", "3,2", "0,3", "1,0"],
            vec![("08:00", "09:00"), ("10:00", "11:00")],
            vec![("09:00", "10:00")],
        ),
    ] {
        let timetable = loop_line(restrictions);
        assert_eq!(
            rides(&timetable, "hub", "end"),
            told(&there),
            "{restrictions:?}"
        );
        assert_eq!(
            rides(&timetable, "end", "hub"),
            told(&back),
            "{restrictions:?}"
        );
    }
}

#[test]
fn a_forbidden_stretch_has_no_fare_and_the_others_have_theirs() {
    let timetable = loop_line(["0,0", "0,1", "1,0", "0,0"]);
    let show = "s2-2027-01-20".parse().expect("a slug");
    let (trip, date) = timetable.trip_of_show(&show).expect("it runs");
    let run = timetable.run_on_date(trip, date).expect("a run");
    for (legs, sold) in [(0..1, false), (0..3, true), (2..3, false), (1..2, true)] {
        assert_eq!(run.fare("second", &legs).is_some(), sold, "{legs:?}");
        let of = &timetable.trips[trip as usize];
        let fare = timetable.fare(of, 2, legs.start, legs.end);
        assert_eq!(fare.is_some(), sold, "{legs:?}");
    }
}

#[test]
fn missing_fares_are_noted_with_the_prices_by_distance() {
    let folder = folder(&GTFS);
    std::fs::remove_file(folder.path().join("fare_attributes.txt")).expect("removed");
    let rail = RailFile::parse("[terms]\ncurrency = \"EUR\"").expect("valid");
    let feed = sound(read_gtfs(folder.path(), &rail));
    assert_eq!(feed.notes.len(), 2, "{:?}", feed.notes);
    let second = "Second class: 46.00 EUR for 100 km, at least 4.60 EUR";
    assert!(feed.notes[1].starts_with("the feed has no fares: all trains are priced by distance"));
    assert!(feed.notes[1].ends_with(second), "{:?}", feed.notes);
    let folder = super::folder(&GTFS);
    write(
        folder.path(),
        "fare_rules.txt",
        "fare_id,route_id,origin_id,destination_id\nf1,r1,z1,z2\n",
    );
    let feed = sound(read_gtfs(folder.path(), &RailFile::default()));
    assert_eq!(
        feed.notes,
        [
            BUILT_IN,
            "1 trip has no fare and is not sold, on route \"r1\"",
            "route \"r1\" has no fare for 1 of 2 stretches between its stations: they are not sold"
        ]
    );
}
