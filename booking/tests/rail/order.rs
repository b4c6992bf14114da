//! Tests feeds whose lines are shuffled or repeated, and feeds that have trips without calls. They
//! give the same trips as the feed without these flaws. Notes name the lines that are left out.

use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::settings::RailFile;
use fairgate_model::timetables::{TimetableParts, Trip};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::faults::{GTFS, replaced};
use super::*;

/// Copies the files of a folder into a temporary folder, and shuffles the lines below the titles.
fn shuffled(from: &Path, seed: u64) -> TempDir {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let to = folder(&[]);
    for file in std::fs::read_dir(from).expect("a folder") {
        let file = file.expect("a file");
        let text = std::fs::read_to_string(file.path()).expect("text");
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].shuffle(&mut rng);
        let name = file.file_name();
        write(to.path(), name.to_str().expect("a name"), &lines.join("\n"));
    }
    to
}

/// Describes a trip without indices, because indices depend on the order of the lines. The text has
/// its calls with the codes of their stations, its days, its carriages, and the price of every
/// stretch in every class.
fn trip_text(timetable: &Timetable, trip: &Trip) -> String {
    let stops = timetable.stops(trip);
    let calls = stops.iter().map(|stop| {
        let station = &timetable.stations[stop.station as usize];
        let mut platforms = station.platforms.clone();
        platforms.sort();
        let times = (stop.sequence, stop.arrives, stop.departs, stop.at_m);
        (station.code.clone(), station.name.clone(), platforms, times)
    });
    let calls: Vec<_> = calls.collect();
    let mut service = timetable.services[trip.service as usize].clone();
    service.added.sort();
    service.removed.sort();
    let last = u16::try_from(stops.len()).expect("few calls");
    let classes = u16::try_from(timetable.classes.len()).expect("few classes");
    let mut fares = Vec::new();
    for class in 0..classes {
        for from in 0..last {
            fares.extend((from + 1..last).map(|to| timetable.fare(trip, class, from, to)));
        }
    }
    let stock = &timetable.stocks[usize::from(trip.stock)].id;
    let of = (&trip.id, &trip.train, trip.shift_s, stock);
    format!("{of:?} {service:?} {calls:?} {fares:?}")
}

fn trip_texts(parts: TimetableParts) -> Vec<String> {
    let timetable = Timetable::new(parts).expect("sound");
    let trips = timetable.trips.iter();
    let mut texts: Vec<String> = trips.map(|trip| trip_text(&timetable, trip)).collect();
    texts.sort();
    texts
}

/// Reads the feed in a folder, in either of the two forms.
fn read(folder: &Path) -> ImportedRailFeed {
    let rail = RailFile::default();
    sound(if folder.join("trips.txt").exists() {
        read_gtfs(folder, &rail)
    } else {
        read_timetable(folder, "Asia/Shanghai", &rail)
    })
}

#[test]
fn a_real_feed_gives_the_same_trips_in_any_order_of_its_lines() {
    for (name, least) in [
        ("gtfs-caltrain-2023", 180),
        ("gtfs-sample", 10),
        ("china-hsr-2016", 4_458),
    ] {
        let Some(folder) = real(name) else { continue };
        let in_order = trip_texts(read(&folder).parts);
        assert!(in_order.len() >= least, "{name}: {}", in_order.len());
        for seed in 1..=3 {
            let mixed = shuffled(&folder, seed);
            let mixed = trip_texts(read(mixed.path()).parts);
            assert_eq!(in_order.len(), mixed.len(), "{name} {seed}");
            for (one, other) in in_order.iter().zip(&mixed) {
                assert_eq!(one, other, "{name} {seed}");
            }
        }
    }
}

#[test]
fn lines_that_repeat_earlier_ones_are_left_out_with_a_note() {
    let folder = folder(&GTFS);
    let before = trip_texts(read(folder.path()).parts);
    for (name, text) in GTFS {
        let lines: Vec<&str> = text.lines().collect();
        // Writes the lines below the titles a second time, with spaces that do not count, and the
        // last line a third time.
        let twice = lines[1..].iter().map(|line| line.replace(',', ", "));
        let twice: Vec<String> = twice.collect();
        let last = lines.last().expect("a line");
        write(
            folder.path(),
            name,
            &format!("{}\n{}\n{last}\n", lines.join("\n"), twice.join("\n")),
        );
    }
    let feed = read(folder.path());
    assert_eq!(trip_texts(feed.parts), before);
    assert_eq!(feed.notes.len(), GTFS.len() + 1, "{:?}", feed.notes);
    let of_trips = feed.notes.iter().find(|note| note.starts_with("trips.txt"));
    assert_eq!(
        of_trips.map(String::as_str),
        Some("trips.txt:4: it repeats line 2 and is left out, and so are 2 more such lines")
    );
}

#[test]
fn a_trip_without_calls_is_left_out_with_a_note() {
    let folder = folder(&GTFS);
    let trips = "trip_id,route_id,service_id,trip_short_name\n\
        t0,r1,daily,S0\nt1,r1,daily,S1\nt2,r1,daily,S2\nt3,r1,daily,S3\n";
    write(folder.path(), "trips.txt", trips);
    let headways = "trip_id,start_time,end_time,headway_secs\n\
        t1,08:00:00,10:00:00,1800\nt3,08:00:00,10:00:00,1800\n";
    write(folder.path(), "frequencies.txt", headways);
    let feed = read(folder.path());
    assert_eq!(
        feed.notes,
        [
            "trips.txt: 2 trips have no calls and are left out: \"t0\" in line 2, \"t3\" in line 5",
            BUILT_IN,
        ]
    );
    assert_eq!(
        trip_texts(feed.parts),
        trip_texts(read(super::folder(&GTFS).path()).parts)
    );
    let folder = super::folder(&SMALL);
    replaced(folder.path(), "stop_times.csv", "t2,1,丙城,,10:20,,0\n", "");
    replaced(folder.path(), "stop_times.csv", "t2,2,丁城,11:20,,0,\n", "");
    // The train's line in `trains.csv` says how many calls the train has, so missing calls are a
    // fault.
    let read = read_timetable(folder.path(), "Asia/Shanghai", &RailFile::default());
    let faults = read.expect_err("calls are missing");
    assert_eq!(in_short(&faults), ["trains.csv:3 wrong_count"]);
}

#[test]
fn a_feed_whose_trips_all_lack_calls_is_refused() {
    let folder = folder(&GTFS);
    let titles = GTFS[6].1.lines().next().expect("titles");
    write(folder.path(), "stop_times.txt", titles);
    let read = read_gtfs(folder.path(), &RailFile::default());
    let faults = read.expect_err("nothing to sell");
    assert_eq!(in_short(&faults), [":0 no_trips"]);
    assert_eq!(
        faults[0].message,
        "the feed has no trips that can be sold; trips.txt: 2 trips have no calls and are left out: \
         \"t1\" in line 2, \"t2\" in line 3"
    );
}
