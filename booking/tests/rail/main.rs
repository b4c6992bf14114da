//! Tests the import of timetables, and the search for trains in them. This file holds what the
//! tests share: real feeds and small ones.

mod archive;
mod boarding;
mod china;
mod clocks;
mod command;
mod empty_files;
mod fare_products;
mod fares;
mod faults;
mod flags;
mod gtfs;
mod journeys;
mod left_out;
mod no_currency;
mod order;
mod real_departures;
mod service_days;
mod stations;

use std::path::{Path, PathBuf};

use booking::rail::import::{ImportedRailFeed, RailFeedFault, RailFeedResult};
use fairgate_model::timetables::Timetable;
use jiff::civil::Date;
use tempfile::TempDir;

/// The note of every import without classes and stock of one's own.
const BUILT_IN: &str = "no [[class]] and no [[stock]] was given, so every train is sold with the \
    built-in 8 carriages, which have 586 seats: 24 in Business class, 52 in First class, 510 in \
    Second class; to sell your own, write them in a file and name it with --rail";

/// Returns a folder of the real data. If the data is not there, prints a message and returns
/// `None`.
fn real(name: &str) -> Option<PathBuf> {
    // Relative folders start at the repository's root, wherever the test runs.
    let folder = std::env::var_os("FAIRGATE_REAL_DATA").unwrap_or_else(|| "../shared/data".into());
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join(folder).join(name);
    if path.is_dir() {
        return Some(path);
    }
    #[expect(clippy::print_stdout, reason = "the log must show what was not tested")]
    {
        println!("SKIPPED: {} is not there", path.display());
    }
    None
}

/// Returns the feed, which must be free of faults.
#[track_caller]
fn sound(read: RailFeedResult) -> ImportedRailFeed {
    read.unwrap_or_else(|faults| panic!("unexpected faults: {faults:#?}"))
}

/// Returns the timetable of a feed, which must be free of faults. The timetable is first written as
/// JSON and read back.
#[track_caller]
fn timetable(read: RailFeedResult) -> Timetable {
    let text = serde_json::to_string(&sound(read).parts).expect("JSON");
    Timetable::read(&text).unwrap_or_else(|why| panic!("it is not read back: {why}"))
}

fn day(text: &str) -> Date {
    text.parse().expect("a date")
}

/// Returns a moment as the local time of a timetable.
fn at(timetable: &Timetable, moment: jiff::Timestamp) -> String {
    let zoned = moment.in_tz(&timetable.timezone).expect("a time zone");
    zoned.strftime("%Y-%m-%d %H:%M").to_string()
}

/// Returns the index of the station with this code or name.
fn station(timetable: &Timetable, name: &str) -> u32 {
    let found = timetable.station(name);
    found.unwrap_or_else(|| panic!("there is no station {name}"))
}

/// Writes files into a new temporary folder.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("written");
}

/// Returns `file:line code` of each fault.
fn in_short(faults: &[RailFeedFault]) -> Vec<String> {
    let short = faults
        .iter()
        .map(|fault| format!("{}:{} {}", fault.file, fault.line, fault.code));
    short.collect()
}

/// A small timetable in the CSV form, on a line from A via B and C to D. K3/K4 runs over midnight
/// and turns at B. G5 has two trips: one runs for three days, the other for two, and both run on 13
/// January.
const SMALL: [(&str, &str); 3] = [
    (
        "stations.csv",
        "telecode,name,pinyin,abbr,pinyin_code,lon,lat\n\
         AAA,甲城,jiacheng,jc,jch,0.0,0.0\n\
         BBB,乙城,yicheng,yc,ych,1.0,0.0\n\
         CCC,丙城,bingcheng,bc,bch,2.0,0.0\n\
         DDD,丁城,dingcheng,dc,dch,3.0,0.0\n",
    ),
    (
        "trains.csv",
        "trip_id,train_code,train_no,kind,stop_count,service_days,first_day,last_day\n\
         t1,G1,x,fast,3,ALL,,\n\
         t2,G2,x,fast,2,ALL,,\n\
         t3,K3/K4,x,slow,3,ALL,,\n\
         t4,G5,x,fast,2,3,2027-01-11,2027-01-13\n\
         t5,G5,x,fast,2,2,2027-01-13,2027-01-14\n",
    ),
    (
        "stop_times.csv",
        "trip_id,stop_sequence,station,arrival,departure,day_offset_arrival,day_offset_departure\n\
         t1,1,甲城,,08:00,,0\n\
         t1,3,乙城,09:00,09:05,0,0\n\
         t1,4,丙城,10:00,,0,\n\
         t2,1,丙城,,10:20,,0\n\
         t2,2,丁城,11:20,,0,\n\
         t3,1,甲城,,22:00,,0\n\
         t3,2,乙城,00:10,00:15,1,1\n\
         t3,3,甲城,02:00,,1,\n\
         t4,1,甲城,,12:00,,0\n\
         t4,2,丙城,14:00,,0,\n\
         t5,1,甲城,,12:30,,0\n\
         t5,2,丙城,14:30,,0,\n",
    ),
];
