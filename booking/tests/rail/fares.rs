//! Tests the fares of GTFS feeds in the form V1: which fare a ride has, what is sold where several
//! fares apply, and what is not sold.

use booking::rail::import::{read_gtfs, read_timetable};
use fairgate_model::timetables::settings::RailFile;

use super::*;

/// A coast line of North Rail and a hill line of South Rail, each from Port via Mill to Lake. The
/// train C2 does not call at Mill. The feed has no fares.
const LINES: [(&str, &str); 6] = [
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\n\
        N,North Rail,http://north.example,Europe/Berlin\n\
        S,South Rail,http://south.example,Europe/Berlin\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,zone_id\n\
        port,Port,50.0,8.0,a\nmill,Mill,50.5,8.0,b\nlake,Lake,51.0,8.0,c\n",
    ),
    (
        "routes.txt",
        "route_id,agency_id,route_type\ncoast,N,2\nhill,S,2\n",
    ),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
        daily,1,1,1,1,1,1,1,20270101,20271231\n",
    ),
    (
        "trips.txt",
        "trip_id,route_id,service_id,trip_short_name\n\
        c1,coast,daily,C1\nc2,coast,daily,C2\nh1,hill,daily,H1\n",
    ),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
        c1,08:00:00,08:00:00,port,1\nc1,08:30:00,08:31:00,mill,2\nc1,09:00:00,09:00:00,lake,3\n\
        c2,10:00:00,10:00:00,port,1\nc2,10:45:00,10:45:00,lake,2\n\
        h1,12:00:00,12:00:00,port,1\nh1,12:30:00,12:31:00,mill,2\nh1,13:00:00,13:00:00,lake,3\n",
    ),
];

/// A `--rail` file with one class, so that the notes of an import are about its fares only.
const ONE_CLASS: &str = r#"
    [[class]]
    key = "only"
    per_km = 100
    [[stock]]
    id = "bus"
    carriages = [{ class = "only", rows = 10, seats = "AB CD" }]
"#;

/// Writes the feed of [`LINES`] into a new folder, with these files added or replaced.
pub(super) fn lines_with(files: &[(&str, &str)]) -> TempDir {
    let folder = folder(&LINES);
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

/// Reads the feed of [`LINES`] with these files added or replaced. `settings` is added to the
/// `--rail` file.
pub(super) fn read_with(files: &[(&str, &str)], settings: &str) -> RailFeedResult {
    let rail = RailFile::parse(&format!("{settings}{ONE_CLASS}")).expect("valid");
    read_gtfs(lines_with(files).path(), &rail)
}

/// Returns the prices from Port to Mill, from Mill to Lake and from Port to Lake on a train.
#[track_caller]
pub(super) fn prices(feed: &ImportedRailFeed, train: &str) -> [Option<i64>; 3] {
    let timetable = Timetable::new(feed.parts.clone()).expect("sound");
    let trip = timetable.trips.iter().find(|trip| trip.train == train);
    let trip = trip.expect("a train");
    let stops = timetable.stops(trip);
    [("port", "mill"), ("mill", "lake"), ("port", "lake")].map(|(from, to)| {
        let call = |code: &str| {
            let at = station(&timetable, code);
            let at = stops.iter().position(|stop| stop.station == at)?;
            u16::try_from(at).ok()
        };
        timetable.fare(trip, 0, call(from)?, call(to)?)
    })
}

/// Checks that a feed with these files is refused with this fault, whose message has this text.
#[track_caller]
pub(super) fn check_refused(files: &[(&str, &str)], settings: &str, fault: &str, text: &str) {
    let faults = read_with(files, settings).expect_err("it has a fault");
    assert_eq!(in_short(&faults), [fault], "{faults:?}");
    assert!(faults[0].message.contains(text), "{faults:?}");
}

#[test]
fn a_fare_of_an_agency_is_sold_only_on_the_routes_of_that_agency() {
    let fares = "fare_id,price,currency_type,payment_method,transfers,agency_id\n\
        north,9.00,EUR,0,0,N\nsouth,1.20,EUR,0,0,S\n";
    let feed = sound(read_with(&[("fare_attributes.txt", fares)], ""));
    assert_eq!(prices(&feed, "C1"), [Some(900); 3]);
    assert_eq!(prices(&feed, "H1"), [Some(120); 3]);
    assert_eq!(feed.notes, Vec::<String>::new());
}

#[test]
fn a_route_without_an_agency_belongs_to_the_only_one() {
    let fares = "fare_id,price,currency_type,agency_id\nnorth,9.00,EUR,N\n";
    let routes = "route_id,agency_id,route_type\ncoast,,2\nhill,,2\n";
    let one = "agency_id,agency_name,agency_timezone\nN,North Rail,Europe/Berlin\n";
    let files = [("fare_attributes.txt", fares), ("routes.txt", routes)];
    let feed = sound(read_with(
        &[&files[..], &[("agency.txt", one)]].concat(),
        "",
    ));
    assert_eq!(prices(&feed, "H1"), [Some(900); 3]);
    let unnamed = "agency_name,agency_timezone\nNorth Rail,Europe/Berlin\n";
    let feed = sound(read_with(
        &[&files[..], &[("agency.txt", unnamed)]].concat(),
        "",
    ));
    assert_eq!(prices(&feed, "H1"), [Some(900); 3]);
    // Of several agencies nobody knows which one runs the train, so it has no fare.
    let feed = sound(read_with(&files, ""));
    assert_eq!(prices(&feed, "H1"), [None; 3]);
    assert_eq!(
        feed.notes,
        ["no trip has a fare: no departure is sold that was not sold before"]
    );
}

#[test]
fn an_agency_that_does_not_exist_is_a_fault_of_its_fare_or_route() {
    let fares = "fare_id,price,currency_type,agency_id\nnorth,9.00,EUR,N\nwest,9.00,EUR,W\n";
    check_refused(
        &[("fare_attributes.txt", fares)],
        "",
        "fare_attributes.txt:3 dangling_agency",
        "\"W\"",
    );
    let fares = "fare_id,price,currency_type,agency_id\nnorth,9.00,EUR,N\n";
    let routes = "route_id,agency_id,route_type\ncoast,N,2\nhill,W,2\n";
    check_refused(
        &[("fare_attributes.txt", fares), ("routes.txt", routes)],
        "",
        "routes.txt:3 dangling_agency",
        "\"W\"",
    );
    let agencies = "agency_id,agency_name,agency_timezone\n\
        N,North Rail,Europe/Berlin\nS,South Rail,Europe/Berlin\nN,Nord,Europe/Berlin\n";
    check_refused(
        &[("fare_attributes.txt", fares), ("agency.txt", agencies)],
        "",
        "agency.txt:4 duplicate_id",
        "\"N\"",
    );
}

#[test]
fn a_ride_passes_all_and_only_the_zones_that_its_fare_contains() {
    let fares = "fare_id,price,currency_type\none,1.00,EUR\ntwo,2.00,EUR\nthree,3.00,EUR\n";
    let rules = "fare_id,route_id,origin_id,destination_id,contains_id\n\
        one,,,,a\none,,,,b\ntwo,coast,,,b\ntwo,coast,,,c\n\
        three,,,,a\nthree,,,,b\nthree,,,,c\n";
    let files = [("fare_attributes.txt", fares), ("fare_rules.txt", rules)];
    let feed = sound(read_with(&files, ""));
    assert_eq!(prices(&feed, "C1"), [Some(100), Some(200), Some(300)]);
    assert_eq!(prices(&feed, "H1"), [Some(100), None, Some(300)]);
    // C2 goes from Port to Lake too, but not through zone b.
    assert_eq!(prices(&feed, "C2"), [None; 3]);
    assert_eq!(
        feed.notes,
        [
            "1 trip has no fare and is not sold, on route \"coast\"",
            "route \"coast\" has no fare for 1 of 3 stretches between its stations: they are not sold",
            "route \"hill\" has no fare for 1 of 3 stretches between its stations: they are not sold",
        ]
    );
}

#[test]
fn a_row_with_only_a_zone_to_pass_holds_for_every_rule_of_its_fare() {
    let fares = "fare_id,price,currency_type\nwhole,3.00,EUR\n";
    let rules = "fare_id,route_id,origin_id,destination_id,contains_id\n\
        whole,coast,,,\nwhole,,,,a\nwhole,,,,b\nwhole,,,,c\n";
    let files = [("fare_attributes.txt", fares), ("fare_rules.txt", rules)];
    let feed = sound(read_with(&files, ""));
    assert_eq!(prices(&feed, "C1"), [None, None, Some(300)]);
    assert_eq!(prices(&feed, "H1"), [None; 3]);
    // A station outside all zones is in none of those that the fare contains.
    let stops = "stop_id,stop_name,stop_lat,stop_lon,zone_id\n\
        port,Port,50.0,8.0,a\nmill,Mill,50.5,8.0,\nlake,Lake,51.0,8.0,c\n";
    let ends = "fare_id,route_id,origin_id,destination_id,contains_id\n\
        whole,coast,a,c,a\nwhole,coast,a,c,c\n";
    let feed = sound(read_with(
        &[files[0], ("fare_rules.txt", ends), ("stops.txt", stops)],
        "",
    ));
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(prices(&feed, "C2"), [None, None, Some(300)]);
}

#[test]
fn the_dearer_of_two_fares_is_sold_and_a_note_names_both() {
    let fares = "fare_id,price,currency_type,transfers\nadult,8.00,EUR,0\nyoung,3.10,EUR,0\n";
    let rules = "fare_id,route_id\nyoung,coast\nadult,coast\nadult,hill\n";
    let files = [("fare_attributes.txt", fares), ("fare_rules.txt", rules)];
    let feed = sound(read_with(&files, ""));
    assert_eq!(prices(&feed, "C1"), [Some(800); 3]);
    assert_eq!(
        feed.notes,
        [
            "3 stretches have more than one fare, such as Port to Mill, Port to Lake and Mill to \
             Lake: \"adult\" (8.00 EUR) is sold, and not \"young\" (3.10 EUR); to choose, list all \
             fares to sell in the --rail file, as [fares] sold = [\"adult\", …]"
        ]
    );
}

#[test]
fn a_fare_for_fewer_changes_is_sold_before_a_dearer_one() {
    let fares = "fare_id,price,currency_type,transfers\n\
        day,9.00,EUR,\nsingle,2.00,EUR,0\nsingle-young,1.00,EUR,0\n";
    let feed = sound(read_with(&[("fare_attributes.txt", fares)], ""));
    assert_eq!(prices(&feed, "C1"), [Some(200); 3]);
    assert!(
        feed.notes[0].contains(
            "\"single\" (2.00 EUR), which allows the fewest changes, is sold, and not \
             \"single-young\" (1.00 EUR) and \"day\" (9.00 EUR)"
        ),
        "{:?}",
        feed.notes
    );
    let wrong = fares.replace("EUR,0\nsingle-", "EUR,none\nsingle-");
    check_refused(
        &[("fare_attributes.txt", &wrong)],
        "",
        "fare_attributes.txt:3 bad_number",
        "transfers",
    );
}

#[test]
fn only_the_fares_in_the_rail_file_are_sold_and_the_other_rides_are_counted() {
    let fares = "fare_id,price,currency_type,transfers\nadult,8.00,EUR,0\nyoung,310,JPY,0\n";
    let rules = "fare_id,route_id\nadult,coast\nadult,hill\nyoung,coast\n";
    let files = [("fare_attributes.txt", fares), ("fare_rules.txt", rules)];
    let feed = sound(read_with(&files, "fares = { sold = [\"young\"] }\n"));
    assert_eq!(prices(&feed, "C1"), [Some(310); 3]);
    assert_eq!(prices(&feed, "H1"), [None; 3]);
    assert_eq!(
        feed.notes,
        ["1 trip has no fare and is not sold, on route \"hill\""]
    );
    check_refused(
        &files,
        "fares = { sold = [\"adult\", \"old\"] }\n",
        ":0 dangling_fare",
        "fares.sold[1]: the feed has no fare \"old\"; it has \"adult\" and \"young\"",
    );
    let rail = RailFile::parse("[fares]\nsold = [\"adult\"]").expect("valid");
    let read = read_timetable(folder(&SMALL).path(), "Asia/Shanghai", &rail);
    let faults = read.expect_err("this form has no fares");
    assert_eq!(in_short(&faults), [":0 dangling_fare"]);
}

#[test]
fn prices_are_exact_in_one_currency() {
    for (price, currency, expected) in [
        ("1050", "JPY", 1_050),
        ("1.205", "KWD", 1_205),
        ("12.3", "EUR", 1_230),
    ] {
        let fares = format!("fare_id,price,currency_type\nf,{price},{currency}\n");
        let feed = sound(read_with(&[("fare_attributes.txt", &fares)], ""));
        assert_eq!(prices(&feed, "C1")[0], Some(expected));
        assert_eq!(feed.parts.currency.as_str(), currency);
    }
    let fares = "fare_id,price,currency_type\nf,1.00,EUR\ng,1.00,CHF\n";
    check_refused(
        &[("fare_attributes.txt", fares)],
        "",
        "fare_attributes.txt:3 bad_currency",
        "currency_type is CHF, but the price in line 2 is in EUR",
    );
    check_refused(
        &[(
            "fare_attributes.txt",
            "fare_id,price,currency_type\nf,1.00,EUR\n",
        )],
        "terms = { currency = \"CHF\" }\n",
        "fare_attributes.txt:2 bad_currency",
        "but terms.currency of the --rail file is CHF",
    );
    check_refused(
        &[(
            "fare_attributes.txt",
            "fare_id,price,currency_type\nf,1.00,EUR\nf,2.00,EUR\n",
        )],
        "",
        "fare_attributes.txt:3 duplicate_id",
        "line 2",
    );
}

#[test]
fn trips_without_a_fare_are_not_sold_by_distance() {
    let fares = "fare_id,price,currency_type\nf,1.00,EUR\n";
    let rules = "fare_id,route_id\nf,hill\n";
    let feed = sound(read_with(
        &[("fare_attributes.txt", fares), ("fare_rules.txt", rules)],
        "",
    ));
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(prices(&feed, "H1"), [Some(100); 3]);
    assert_eq!(
        feed.notes,
        ["2 trips have no fare and are not sold, on route \"coast\""]
    );
    let empty = "fare_id,price,currency_type\n";
    let feed = sound(read_with(
        &[("fare_attributes.txt", empty)],
        "terms = { currency = \"EUR\" }\n",
    ));
    assert_eq!(prices(&feed, "C1"), [None; 3]);
    assert_eq!(
        feed.notes,
        ["no trip has a fare: no departure is sold that was not sold before"]
    );
    // Rules without their fares are broken, and no reason to sell by distance.
    check_refused(
        &[("fare_rules.txt", rules)],
        "",
        "fare_attributes.txt:0 missing_file",
        "",
    );
}

#[test]
fn a_feed_without_fares_is_priced_by_distance_in_the_currency_that_is_given() {
    let feed = sound(read_with(&[], "terms = { currency = \"CHF\" }\n"));
    assert_eq!(feed.parts.currency.as_str(), "CHF");
    assert!(prices(&feed, "C1").iter().all(Option::is_some));
    assert_eq!(
        feed.notes,
        [
            "the feed has no fares: all trains are priced by distance, only: 1.00 CHF for 100 km, \
             at least 0.00 CHF"
        ]
    );
}

#[test]
fn classes_and_seats_that_nobody_gave_are_noted() {
    let fares = "fare_id,price,currency_type\nf,1.00,EUR\n";
    let folder = lines_with(&[("fare_attributes.txt", fares)]);
    let read = |text: &str| {
        let rail = RailFile::parse(text).expect("valid");
        sound(read_gtfs(folder.path(), &rail)).notes
    };
    assert_eq!(read(""), [BUILT_IN]);
    let classes: String = ["business", "first", "second"]
        .map(|key| format!("[[class]]\nkey = \"{key}\"\n"))
        .concat();
    assert_eq!(
        read(&classes),
        [BUILT_IN
            .replace("[[class]] and no ", "")
            .replace("Business class", "business")
            .replace("First class", "first")
            .replace("Second class", "second")]
    );
    let stock = "[[stock]]\nid = \"bus\"\n\
        carriages = [{ class = \"second\", rows = 10, seats = \"AB CD\" }]\n";
    assert_eq!(
        read(stock),
        [
            "no [[class]] was given, so the built-in classes are sold: Business class, First \
             class, Second class; give your own in the --rail file"
        ]
    );
    assert_eq!(read(ONE_CLASS), Vec::<String>::new());
    let small = super::folder(&SMALL);
    let feed = read_timetable(small.path(), "Asia/Shanghai", &RailFile::default());
    assert_eq!(sound(feed).notes[0], BUILT_IN);
}
