//! Tests trips that cannot be sold: they are left out with a note, and the other trips of the feed
//! are imported as if these were not there.

use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::settings::RailFile;

use super::faults::{GTFS, of_gtfs, replaced};
use super::*;

/// Reads the small feed after a change.
fn changed(change: impl Fn(&Path)) -> ImportedRailFeed {
    let folder = folder(&GTFS);
    change(folder.path());
    sound(read_gtfs(folder.path(), &RailFile::default()))
}

/// Adds lines to the end of a file.
fn append(folder: &Path, file: &str, lines: &str) {
    let text = std::fs::read_to_string(folder.join(file)).expect("readable");
    write(folder, file, &(text + lines));
}

/// Changes the feed so that its calls may have areas and spans of time instead of stops and times,
/// and adds these lines to them. The lines are about the trip `bus`.
fn with_calls_of_bus(folder: &Path, lines: &str) {
    append(folder, "trips.txt", "bus,r1,daily,B1\n");
    let titles = "trip_id,arrival_time,departure_time,stop_id,location_group_id,location_id,\
                  stop_sequence,start_pickup_drop_off_window,end_pickup_drop_off_window\n";
    let calls = "t1,08:00:00,08:00:00,hub-1,,,5,,\nt1,09:00:00,09:00:00,end,,,9,,\n\
                 t2,23:30:00,23:30:00,end,,,1,,\nt2,24:30:00,24:30:00,hub-1,,,2,,\n";
    write(folder, "stop_times.txt", &format!("{titles}{calls}{lines}"));
}

#[test]
fn a_trip_with_one_call_is_left_out_with_a_note() {
    let feed = changed(|folder| {
        append(folder, "trips.txt", "t3,r1,daily,S3\n");
        append(folder, "stop_times.txt", "t3,10:00:00,10:00:00,end,1\n");
        append(folder, "frequencies.txt", "t3,08:00:00,10:00:00,60\n");
    });
    assert_eq!(
        feed.notes,
        [
            "trips.txt: 1 trip has only one call and is left out: \"t3\" in line 4",
            BUILT_IN
        ]
    );
    assert_eq!(feed.parts, changed(|_| ()).parts);
}

#[test]
fn a_train_of_the_csv_form_with_one_call_is_left_out_unless_its_stop_count_is_another() {
    let folder = folder(&SMALL);
    let rail = RailFile::default();
    let read = || read_timetable(folder.path(), "Asia/Shanghai", &rail);
    replaced(folder.path(), "stop_times.csv", "t2,2,丁城,11:20,,0,\n", "");
    assert_eq!(
        in_short(&read().expect_err("a call is missing")),
        ["trains.csv:3 wrong_count"]
    );
    for stop_count in ["", "1"] {
        let trains = SMALL[1].1;
        let trains = trains.replace("t2,G2,x,fast,2", &format!("t2,G2,x,fast,{stop_count}"));
        write(folder.path(), "trains.csv", &trains);
        let feed = sound(read());
        assert_eq!(
            feed.notes[0],
            "trains.csv: 1 trip has only one call and is left out: \"t2\" in line 3"
        );
        assert_eq!(feed.parts.trips.len(), 4);
    }
}

#[test]
fn a_trip_on_demand_is_left_out_with_a_note() {
    for lines in [
        // A group of stops, or an area, is served in a span of time.
        "bus,,,,town,,1,08:00:00,18:00:00\nbus,,,,town,,2,08:00:00,18:00:00\n",
        "bus,,,,,area,1,08:00:00,18:00:00\nbus,,,,,area,2,08:00:00,18:00:00\n",
        "bus,,,,,area,1,,\nbus,,,,,area,2,,\n",
        // Stops are served in a span of time.
        "bus,,,hub-1,,,1,08:00:00,18:00:00\nbus,,,end,,,2,08:30:00,\n",
        // The trip leaves its way between two stops.
        "bus,07:00:00,07:00:00,hub-1,,,1,,\nbus,,,,town,,2,07:05:00,07:55:00\n\
         bus,08:00:00,08:00:00,end,,,3,,\n",
    ] {
        let feed = changed(|folder| with_calls_of_bus(folder, lines));
        assert_eq!(
            feed.notes,
            [
                "trips.txt: 1 trip runs on demand and is left out: \"bus\" in line 4",
                BUILT_IN
            ],
            "{lines}"
        );
        assert_eq!(feed.parts, changed(|_| ()).parts, "{lines}");
    }
}

#[test]
fn a_call_with_neither_a_stop_nor_an_area_is_a_fault() {
    for line in ["bus,,,,,,1,,\n", "bus,,,,,,1,08:00:00,18:00:00\n"] {
        let faults = of_gtfs(|folder| with_calls_of_bus(folder, line));
        assert_eq!(faults, ["stop_times.txt:6 missing_value"], "{line}");
    }
}

#[test]
fn the_headways_of_a_trip_that_is_left_out_make_no_departures() {
    let feed = changed(|folder| {
        with_calls_of_bus(folder, "bus,,,,town,,1,08:00:00,18:00:00\n");
        append(folder, "frequencies.txt", "bus,00:00:00,100:00:00,1\n");
    });
    assert_eq!(feed.parts, changed(|_| ()).parts);
}

#[test]
fn trips_that_run_on_no_day_are_left_out_with_a_note() {
    let feed = changed(|folder| {
        let services = "none,0,0,0,0,0,0,0,20270101,20271231\n\
                        reversed,1,1,1,1,1,1,1,20270201,20270131\n\
                        removed,0,0,0,0,0,1,1,20270301,20270307\n\
                        once,0,0,0,0,0,0,0,20270101,20271231\n";
        append(folder, "calendar.txt", services);
        let dates = "removed,20270306,2\nremoved,20270307,2\nonce,20270506,1\n";
        append(folder, "calendar_dates.txt", dates);
        for (service, hour) in [("none", 1), ("reversed", 2), ("removed", 3), ("once", 4)] {
            let trip = format!("of-{service},r1,{service},N{hour}\n");
            append(folder, "trips.txt", &trip);
            let calls = format!(
                "of-{service},0{hour}:00:00,0{hour}:00:00,hub-1,1\n\
                 of-{service},0{hour}:30:00,0{hour}:30:00,end,2\n"
            );
            append(folder, "stop_times.txt", &calls);
        }
    });
    assert_eq!(
        feed.notes,
        [
            "trips.txt: 3 trips run on no day and are left out: \"of-none\" in line 4, \
             \"of-reversed\" in line 5, \"of-removed\" in line 6",
            BUILT_IN
        ]
    );
    let last = feed.parts.trips.last().map(|trip| trip.id.as_str());
    assert_eq!((feed.parts.trips.len(), last), (6, Some("of-once")));
}

#[test]
fn a_fault_of_a_feed_is_not_hidden_by_a_trip_that_is_left_out() {
    let faults = of_gtfs(|folder| {
        append(folder, "trips.txt", "t3,r1,daily,S3\n");
        append(folder, "stop_times.txt", "t3,10:00:00,10:00:00,end,1\n");
        replaced(folder, "stop_times.txt", "t2,23:30:00", "t2,23:3x:00");
    });
    assert_eq!(faults, ["stop_times.txt:4 bad_time"]);
}
