//! Tests the note about a timetable of which nothing is on sale.

use booking::rail::import::service_days::sale_days_note;
use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::TimetableParts;
use fairgate_model::timetables::settings::RailFile;

use super::faults::GTFS;
use super::*;

/// Reads the small feed, whose trains run daily in 2027, with more lines at the end of a file.
fn small(file: &str, lines: &str) -> TimetableParts {
    let folder = folder(&GTFS);
    let text = std::fs::read_to_string(folder.path().join(file)).expect("readable");
    write(folder.path(), file, &(text + lines));
    sound(read_gtfs(folder.path(), &RailFile::default())).parts
}

fn note(parts: &TimetableParts, now: &str) -> Option<String> {
    let now: jiff::Timestamp = now.parse().expect("a moment");
    sale_days_note(parts, now.as_millisecond())
}

fn past(last: &str) -> Option<String> {
    Some(format!(
        "the last day of service, {last}, is past: later days have no trains"
    ))
}

#[test]
fn a_timetable_is_expired_after_its_last_day_by_the_clocks_of_the_stations() {
    let parts = small("calendar.txt", "");
    // Midnight in Berlin is at 23:00 UTC.
    assert_eq!(note(&parts, "2027-12-31T22:59:59Z"), None);
    assert_eq!(note(&parts, "2027-12-31T23:00:00Z"), past("2027-12-31"));
}

#[test]
fn exceptions_change_the_last_day_and_services_without_trips_do_not() {
    let now = "2028-02-01T12:00:00Z";
    let removed = small("calendar_dates.txt", "daily,20271231,2\ndaily,20271229,2\n");
    assert_eq!(note(&removed, now), past("2027-12-30"));
    let added = small("calendar_dates.txt", "daily,20280120,1\n");
    assert_eq!(note(&added, now), past("2028-01-20"));
    let unused = small("calendar.txt", "other,1,1,1,1,1,1,1,20280101,20281231\n");
    assert_eq!(note(&unused, now), past("2027-12-31"));
}

#[test]
fn a_timetable_whose_next_day_is_not_yet_on_sale_has_a_note_that_says_when_it_is() {
    let parts = small("calendar.txt", "");
    let before = "no train runs before 2027-01-01: that day goes on sale on 2026-12-03";
    assert_eq!(
        note(&parts, "2026-12-02T22:59:59Z").as_deref(),
        Some(before)
    );
    assert_eq!(note(&parts, "2026-12-02T23:00:00Z"), None);
    let summer = small("calendar_dates.txt", "daily,20280615,1\n");
    assert_eq!(
        note(&summer, "2028-02-01T12:00:00Z").as_deref(),
        Some("no train runs before 2028-06-15: that day goes on sale on 2028-05-17")
    );
}

#[test]
fn trains_that_run_every_day_have_no_note() {
    let folder = folder(&SMALL);
    let read = read_timetable(folder.path(), "Asia/Shanghai", &RailFile::default());
    let parts = sound(read).parts;
    for now in ["1970-01-01T00:00:00Z", "2026-11-28T12:00:00Z"] {
        assert_eq!(note(&parts, now), None, "{now}");
    }
}
