//! Tests broken feeds: every fault is named with its file and line.

use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::settings::RailFile;

use super::*;

/// A small feed in GTFS.
pub(super) const GTFS: [(&str, &str); 9] = [
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\n1,One,http://one.example,Europe/Berlin\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,zone_id\n\
        hub,Hub,50.0,8.0,1,,\nhub-1,Hub 1,50.0,8.0,,hub,z1\nend,End,51.0,8.0,,,z2\n",
    ),
    ("routes.txt", "route_id,route_type\nr1,2\n"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
        daily,1,1,1,1,1,1,1,20270101,20271231\n",
    ),
    (
        "calendar_dates.txt",
        "service_id,date,exception_type\ndaily,20270501,2\n",
    ),
    (
        "trips.txt",
        "trip_id,route_id,service_id,trip_short_name\nt1,r1,daily,S1\nt2,r1,daily,S2\n",
    ),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
        t1,08:00:00,08:00:00,hub-1,5\nt1,09:00:00,09:00:00,end,9\n\
        t2,23:30:00,23:30:00,end,1\nt2,24:30:00,24:30:00,hub-1,2\n",
    ),
    (
        "frequencies.txt",
        "trip_id,start_time,end_time,headway_secs\nt1,08:00:00,10:00:00,1800\n",
    ),
    (
        "fare_attributes.txt",
        "fare_id,price,currency_type\nf1,2.50,EUR\n",
    ),
];

/// Returns the faults of the small feed after a change, in short.
pub(super) fn of_gtfs(change: impl Fn(&Path)) -> Vec<String> {
    let folder = folder(&GTFS);
    change(folder.path());
    let read = read_gtfs(folder.path(), &RailFile::default());
    in_short(&read.expect_err("the feed is broken"))
}

/// Returns the faults of the small timetable in the CSV form after a change, in short.
pub(super) fn of_csv(change: impl Fn(&Path)) -> Vec<String> {
    let folder = folder(&SMALL);
    change(folder.path());
    let read = read_timetable(folder.path(), "Asia/Shanghai", &RailFile::default());
    in_short(&read.expect_err("the feed is broken"))
}

/// Replaces the text `from` in a file, which must contain it.
pub(super) fn replaced(folder: &Path, file: &str, from: &str, to: &str) {
    let text = std::fs::read_to_string(folder.join(file)).expect("readable");
    assert!(text.contains(from), "{from:?} is not in {file}");
    write(folder, file, &text.replace(from, to));
}

#[test]
fn the_unchanged_small_feeds_have_no_faults() {
    let folder = folder(&GTFS);
    let feed = sound(read_gtfs(folder.path(), &RailFile::default()));
    assert_eq!(feed.parts.trips.len(), 5, "four departures of t1, and t2");
    assert_eq!(feed.notes, [BUILT_IN]);
    let folder = super::folder(&SMALL);
    let feed = sound(read_timetable(
        folder.path(),
        "Asia/Shanghai",
        &RailFile::default(),
    ));
    assert_eq!(feed.parts.trips.len(), 5);
}

#[test]
fn each_fault_of_a_gtfs_feed_is_named_with_file_and_line() {
    let times = "stop_times.txt";
    for (file, from, to, expected) in [
        (times, "hub-1,5", "gone,5", "stop_times.txt:2 dangling_stop"),
        (
            times,
            "t1,09:00:00,09:00:00,end,9",
            "t1,09:00:00,09:00:00,end,4",
            "stop_times.txt:2 decreasing_time",
        ),
        (
            times,
            "end,9",
            "end,5",
            "stop_times.txt:3 duplicate_sequence",
        ),
        (times, "end,9", "end,nine", "stop_times.txt:3 bad_number"),
        (times, "end,9", "end,-9", "stop_times.txt:3 bad_number"),
        (
            times,
            "t1,09:00:00,09",
            "t1,09:61:00,09",
            "stop_times.txt:3 bad_time",
        ),
        (
            times,
            "t1,09:00:00,09",
            "t1,soon,09",
            "stop_times.txt:3 bad_time",
        ),
        (
            times,
            "t1,09:00:00,09:00:00",
            "t1,07:00:00,09:00:00",
            "stop_times.txt:3 decreasing_time",
        ),
        (
            times,
            "t1,09:00:00,09:00:00",
            "t1,,",
            "trips.txt:2 missing_value",
        ),
        (times, "t2,24", "t9,24", "stop_times.txt:5 dangling_trip"),
        (
            times,
            "trip_id,arrival_time",
            "trip,arrival_time",
            "stop_times.txt:1 missing_column",
        ),
        (
            times,
            "hub-1,5",
            "hub-1,5,6",
            "stop_times.txt:2 wrong_columns",
        ),
        (
            "trips.txt",
            "t2,r1,daily",
            "t2,r1,never",
            "trips.txt:3 dangling_service",
        ),
        ("trips.txt", "t2,r1", "t2,r9", "trips.txt:3 dangling_route"),
        ("trips.txt", "t2,r1", ",r1", "trips.txt:3 missing_value"),
        (
            "stops.txt",
            "end,End",
            "hub,End",
            "stops.txt:4 duplicate_id",
        ),
        ("stops.txt", "51.0", "north", "stops.txt:4 bad_number"),
        ("stops.txt", "51.0", "91", "stops.txt:4 bad_number"),
        (
            "stops.txt",
            ",hub,z1",
            ",nowhere,z1",
            "stops.txt:3 dangling_stop",
        ),
        (
            "routes.txt",
            "r1,2\n",
            "r1,2\nr1,3\n",
            "routes.txt:3 duplicate_id",
        ),
        (
            "calendar.txt",
            "20271231",
            "20271331",
            "calendar.txt:2 bad_date",
        ),
        (
            "calendar.txt",
            "daily,1",
            "daily,yes",
            "calendar.txt:2 bad_number",
        ),
        (
            "calendar.txt",
            "sunday",
            "sonntag",
            "calendar.txt:1 missing_column",
        ),
        (
            "calendar_dates.txt",
            "01,2\n",
            "01,2\ndaily,20270501,1\n",
            "calendar_dates.txt:3 duplicate_id",
        ),
        (
            "calendar_dates.txt",
            "01,2",
            "01,3",
            "calendar_dates.txt:2 bad_number",
        ),
        (
            "agency.txt",
            "Europe/Berlin",
            "Europe/Atlantis",
            "agency.txt:2 bad_timezone",
        ),
        (
            "frequencies.txt",
            "1800",
            "0",
            "frequencies.txt:2 bad_number",
        ),
        (
            "frequencies.txt",
            "10:00:00",
            "07:00:00",
            "frequencies.txt:2 decreasing_time",
        ),
        (
            "frequencies.txt",
            "1800\n",
            "1800\nt1,09:00:00,11:00:00,600\n",
            "frequencies.txt:3 overlapping_headway",
        ),
        (
            "frequencies.txt",
            "t1",
            "t9",
            "frequencies.txt:2 dangling_trip",
        ),
        (
            "fare_attributes.txt",
            "2.50",
            "2.505",
            "fare_attributes.txt:2 bad_number",
        ),
        (
            "fare_attributes.txt",
            "EUR",
            "euro",
            "fare_attributes.txt:2 bad_currency",
        ),
    ] {
        let faults = of_gtfs(|folder| replaced(folder, file, from, to));
        assert!(
            faults.contains(&expected.to_owned()),
            "{file} {from:?} → {to:?}: {faults:?}"
        );
    }
}

#[test]
fn a_fault_is_reported_once_without_the_faults_that_follow_from_it() {
    let faults =
        of_gtfs(|folder| replaced(folder, "stop_times.txt", "t1,09:00:00,09", "t1,soon,09"));
    assert_eq!(faults, ["stop_times.txt:3 bad_time"]);
    let faults = of_gtfs(|folder| replaced(folder, "stops.txt", "stop_id,", "id,"));
    assert_eq!(
        faults,
        ["stops.txt:1 missing_column"],
        "stops are not reported as missing"
    );
}

#[test]
fn missing_files_are_named() {
    for file in [
        "agency.txt",
        "stops.txt",
        "routes.txt",
        "trips.txt",
        "stop_times.txt",
    ] {
        let faults = of_gtfs(|folder| std::fs::remove_file(folder.join(file)).expect("removed"));
        assert_eq!(faults, [format!("{file}:0 missing_file")], "{file}");
    }
    let faults = of_gtfs(|folder| {
        for file in ["calendar.txt", "calendar_dates.txt"] {
            std::fs::remove_file(folder.join(file)).expect("removed");
        }
    });
    assert_eq!(faults, ["calendar.txt:0 missing_file"]);
    for file in ["stations.csv", "trains.csv", "stop_times.csv"] {
        let faults = of_csv(|folder| std::fs::remove_file(folder.join(file)).expect("removed"));
        assert_eq!(faults, [format!("{file}:0 missing_file")], "{file}");
    }
}

#[test]
fn a_feed_without_an_agency_has_no_time_zone() {
    let agency = "1,One,http://one.example,Europe/Berlin\n";
    let faults = of_gtfs(|folder| replaced(folder, "agency.txt", agency, ""));
    assert_eq!(faults, ["agency.txt:1 missing_value"]);
    let faults = of_gtfs(|folder| replaced(folder, "agency.txt", agency, "1,One\n"));
    assert_eq!(faults, ["agency.txt:2 wrong_columns"]);
}

#[test]
fn each_fault_of_the_csv_form_is_named_with_file_and_line() {
    let times = "stop_times.csv";
    for (file, from, to, expected) in [
        (
            times,
            "t1,3,乙城",
            "t1,3,戊城",
            "stop_times.csv:3 dangling_stop",
        ),
        (
            times,
            "t1,4,丙城",
            "t1,2,丙城",
            "stop_times.csv:3 decreasing_time",
        ),
        (
            times,
            "t1,4,丙城",
            "t1,3,丙城",
            "stop_times.csv:4 duplicate_sequence",
        ),
        (times, "t1,3", "t1,three", "stop_times.csv:3 bad_number"),
        (
            times,
            "09:00,09:05",
            "9 o'clock,09:05",
            "stop_times.csv:3 bad_time",
        ),
        (
            times,
            "09:00,09:05",
            "09:00,08:55",
            "stop_times.csv:3 decreasing_time",
        ),
        (
            times,
            "00:10,00:15,1,1",
            "00:10,00:15,0,0",
            "stop_times.csv:8 decreasing_time",
        ),
        (
            times,
            "00:10,00:15,1,1",
            "00:10,00:15,1,x",
            "stop_times.csv:8 bad_number",
        ),
        (
            times,
            "t2,2,丁城",
            "t9,2,丁城",
            "stop_times.csv:6 dangling_trip",
        ),
        (
            times,
            "t2,2,丁城,11:20,,0,\n",
            "",
            "trains.csv:3 wrong_count",
        ),
        (
            times,
            "t3,2,乙城,00:10,00:15,1,1\n",
            "",
            "trains.csv:4 wrong_count",
        ),
        ("trains.csv", "t2,G2", "t1,G2", "trains.csv:3 duplicate_id"),
        (
            "trains.csv",
            "2027-01-11",
            "2027-13-11",
            "trains.csv:5 bad_date",
        ),
        (
            "trains.csv",
            "3,2027-01-11",
            "some,2027-01-11",
            "trains.csv:5 bad_number",
        ),
        (
            "trains.csv",
            "3,2027-01-11",
            "3,",
            "trains.csv:5 missing_value",
        ),
        (
            "trains.csv",
            "service_days",
            "days",
            "trains.csv:1 missing_column",
        ),
        ("stations.csv", "BBB", "AAA", "stations.csv:3 duplicate_id"),
        (
            "stations.csv",
            "乙城",
            "甲城",
            "stations.csv:3 duplicate_id",
        ),
        (
            "stations.csv",
            "1.0,0.0",
            "east,0.0",
            "stations.csv:3 bad_number",
        ),
        (
            "stations.csv",
            "1.0,0.0",
            "181,0.0",
            "stations.csv:3 bad_number",
        ),
    ] {
        let faults = of_csv(|folder| replaced(folder, file, from, to));
        assert!(
            faults.contains(&expected.to_owned()),
            "{file} {from:?} → {to:?}: {faults:?}"
        );
    }
}

#[test]
fn all_faults_of_a_feed_are_reported_at_once() {
    let faults = of_gtfs(|folder| {
        replaced(folder, "stop_times.txt", "hub-1,5", "gone,5");
        replaced(folder, "stop_times.txt", "t2,23:30:00", "t2,23:3x:00");
        replaced(folder, "stops.txt", "end,End", "hub,End");
        replaced(folder, "calendar.txt", "20270101", "2027");
        std::fs::remove_file(folder.join("agency.txt")).expect("removed");
    });
    for expected in [
        "agency.txt:0 missing_file",
        "calendar.txt:2 bad_date",
        "stop_times.txt:2 dangling_stop",
        "stop_times.txt:4 bad_time",
        "stops.txt:4 duplicate_id",
    ] {
        assert!(
            faults.contains(&expected.to_owned()),
            "{expected}: {faults:?}"
        );
    }
    let mut sorted = faults.clone();
    sorted.sort();
    assert_eq!(faults, sorted, "faults are sorted by file and line");
}

#[test]
fn a_fault_has_its_line_in_files_with_either_end_of_line() {
    for end in ["\n", "\r\n"] {
        let faults = of_gtfs(|folder| {
            let text = "route_id,route_type\nr1,2\nr2,2,9\n".replace('\n', end);
            write(folder, "routes.txt", &text);
        });
        assert_eq!(faults, ["routes.txt:3 wrong_columns"], "{end:?}");
    }
}

#[test]
fn bytes_that_are_not_text_are_reported_with_their_line() {
    let faults = of_gtfs(|folder| {
        let bytes = b"route_id,route_type\nr1,2\n\xff\xfe,2\n";
        std::fs::write(folder.join("routes.txt"), bytes).expect("written");
    });
    assert_eq!(faults, ["routes.txt:3 not_csv"]);
}

#[test]
fn an_unknown_time_zone_is_refused() {
    let folder = folder(&SMALL);
    let read = read_timetable(folder.path(), "Asia/Atlantis", &RailFile::default());
    let faults = read.expect_err("there is no such zone");
    assert_eq!(in_short(&faults), [":0 unsound"]);
    assert!(faults[0].message.contains("Asia/Atlantis"), "{faults:?}");
}

#[test]
fn a_fare_table_with_an_unknown_station_is_refused() {
    let folder = folder(&SMALL);
    let text = r#"fare = [
        { class = "second", from = "AAA", to = "CCC", amount = 975 },
        { class = "second", from = "AAA", to = "ZZZ", amount = 975 },
    ]"#;
    let rail = RailFile::parse(text).expect("valid");
    let faults = read_timetable(folder.path(), "Asia/Shanghai", &rail).expect_err("no ZZZ");
    assert_eq!(in_short(&faults), [":0 dangling_stop"]);
    assert!(faults[0].message.contains("fare[1]"), "{faults:?}");
}
