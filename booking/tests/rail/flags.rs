//! Tests how values are read: flags that are none are faults, and a space before a quoted value
//! changes nothing.

use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::settings::RailFile;

use super::faults::{GTFS, of_gtfs, replaced};
use super::*;

/// Writes a text of comma-separated values with quotes and a space before every value.
fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let values = line.split(',').map(|value| format!(" \"{value}\""));
        values.collect::<Vec<_>>().join(",") + "\n"
    });
    lines.collect()
}

#[test]
fn a_flag_that_is_not_one_of_its_numbers_is_a_fault_with_its_line() {
    for column in ["pickup_type", "drop_off_type"] {
        for value in ["4", "-1", "01", "yes", "1.0"] {
            let faults = of_gtfs(|folder| {
                let text = std::fs::read_to_string(folder.join("stop_times.txt"));
                let text = text.expect("readable");
                let mut lines: Vec<String> = text.lines().map(|line| format!("{line},")).collect();
                lines[0] += column;
                lines[3] += value;
                write(folder, "stop_times.txt", &lines.join("\n"));
            });
            assert_eq!(faults, ["stop_times.txt:4 bad_number"], "{column} {value}");
        }
    }
    for (file, from, to, expected) in [
        ("stops.txt", "8.0,1,,", "8.0,5,,", "stops.txt:2 bad_number"),
        (
            "stops.txt",
            "8.0,1,,",
            "8.0,station,,",
            "stops.txt:2 bad_number",
        ),
        (
            "calendar.txt",
            "daily,1",
            "daily,2",
            "calendar.txt:2 bad_number",
        ),
        (
            "calendar.txt",
            "daily,1",
            "daily,",
            "calendar.txt:2 bad_number",
        ),
        (
            "calendar_dates.txt",
            "01,2",
            "01,0",
            "calendar_dates.txt:2 bad_number",
        ),
        (
            "calendar_dates.txt",
            "01,2",
            "01,",
            "calendar_dates.txt:2 bad_number",
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
fn a_space_before_a_quoted_value_changes_nothing() {
    let rail = RailFile::default();
    let gtfs = GTFS.map(|(file, text)| (file, quoted(text)));
    let gtfs = gtfs.each_ref().map(|(file, text)| (*file, text.as_str()));
    let read = sound(read_gtfs(folder(&gtfs).path(), &rail));
    assert_eq!(read.notes, [BUILT_IN]);
    let plain = sound(read_gtfs(folder(&GTFS).path(), &rail));
    assert_eq!(read.parts, plain.parts);
    let csv = SMALL.map(|(file, text)| (file, quoted(text)));
    let csv = csv.each_ref().map(|(file, text)| (*file, text.as_str()));
    let read = sound(read_timetable(folder(&csv).path(), "Asia/Shanghai", &rail));
    let plain = sound(read_timetable(
        folder(&SMALL).path(),
        "Asia/Shanghai",
        &rail,
    ));
    assert_eq!(read.parts, plain.parts);
}

#[test]
fn quotes_that_belong_to_a_name_stay() {
    let folder = folder(&GTFS);
    replaced(folder.path(), "stops.txt", "end,End", r#"end,"""End""""#);
    let feed = sound(read_gtfs(folder.path(), &RailFile::default()));
    assert_eq!(feed.parts.stations[1].name, "\"End\"");
}
