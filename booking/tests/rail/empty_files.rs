//! Tests files of no bytes: those that a feed may lack count as missing, and the others are faults.

use booking::rail::import::read_gtfs;
use fairgate_model::timetables::settings::RailFile;

use super::faults::{GTFS, of_csv, of_gtfs};
use super::*;

/// Gives the currency, which a feed without fares lacks.
fn in_euros() -> RailFile {
    RailFile::parse("[terms]\ncurrency = \"EUR\"\n").expect("settings")
}

/// Reads the small feed with these files in place of its own. Each has a name and a text.
fn with(files: &[(&str, &str)]) -> ImportedRailFeed {
    let folder = folder(&GTFS);
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    sound(read_gtfs(folder.path(), &in_euros()))
}

/// Reads the small feed without a file.
fn without(file: &str) -> ImportedRailFeed {
    let folder = folder(&GTFS);
    std::fs::remove_file(folder.path().join(file)).expect("removed");
    sound(read_gtfs(folder.path(), &in_euros()))
}

#[test]
fn an_empty_file_that_a_feed_may_lack_counts_as_missing_with_a_note() {
    for file in [
        "calendar_dates.txt",
        "frequencies.txt",
        "fare_attributes.txt",
    ] {
        for text in ["", "\n\n", "\u{feff}"] {
            let (read, lacking) = (with(&[(file, text)]), without(file));
            assert_eq!(read.parts, lacking.parts, "{file} {text:?}");
            let note = format!("{file}: it is empty, so it counts as missing");
            assert_eq!(read.notes, [vec![note], lacking.notes].concat());
        }
    }
    let read = with(&[("fare_rules.txt", ""), ("translations.txt", "")]);
    assert_eq!(read.parts, with(&[]).parts);
    assert_eq!(
        read.notes,
        [
            "fare_rules.txt: it is empty, so it counts as missing",
            "translations.txt: it is empty, so it counts as missing",
            BUILT_IN
        ]
    );
}

#[test]
fn either_file_of_the_service_days_may_be_empty_but_not_both() {
    let dates = (
        "calendar_dates.txt",
        "service_id,date,exception_type\ndaily,20270501,1\n",
    );
    let read = with(&[("calendar.txt", ""), dates]);
    assert_eq!(
        read.notes,
        [
            "calendar.txt: it is empty, so it counts as missing",
            BUILT_IN
        ]
    );
    assert_eq!(read.parts.services[0].added, [day("2027-05-01")]);
    let faults = of_gtfs(|folder| {
        write(folder, "calendar.txt", "");
        write(folder, "calendar_dates.txt", "");
    });
    assert_eq!(faults, ["calendar.txt:0 missing_file"]);
    let faults = of_gtfs(|folder| {
        write(folder, "calendar.txt", "");
        write(folder, dates.0, dates.1);
        write(
            folder,
            "trips.txt",
            "trip_id,route_id,service_id\nt1,r1,gone\nt2,r1,daily\n",
        );
    });
    assert_eq!(
        faults,
        ["trips.txt:2 dangling_service"],
        "all services are known"
    );
}

#[test]
fn an_empty_file_that_a_feed_needs_is_a_fault() {
    for file in [
        "agency.txt",
        "stops.txt",
        "routes.txt",
        "trips.txt",
        "stop_times.txt",
    ] {
        let faults = of_gtfs(|folder| write(folder, file, ""));
        assert_eq!(faults, [format!("{file}:0 empty_file")]);
    }
    for file in ["stations.csv", "trains.csv", "stop_times.csv"] {
        let faults = of_csv(|folder| write(folder, file, ""));
        assert_eq!(faults, [format!("{file}:0 empty_file")]);
    }
}
