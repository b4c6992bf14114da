//! Tests stations whose clocks run in another zone than that of the agency, from which all times of
//! a feed are counted.

use booking::rail::import::read_gtfs;
use fairgate_model::timetables::settings::RailFile;

use super::*;

/// Trains between Dover and Hill by London's clocks, and Lille, Paris and Ghent by those of Paris.
/// D1 goes by day. N1 leaves Dover at 00:20 in Paris, which is 23:20 of the day before in London.
/// G1 and H1 meet at Dover around that time.
const FEED: [(&str, &str); 6] = [
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\na,Rail,http://rail.example,Europe/Paris\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,stop_timezone\n\
        dover,Dover,51.1,1.3,1,,Europe/London\n\
        dover-1,Dover 1,51.1,1.3,0,dover,Europe/Berlin\n\
        hill,Hill,51.2,1.1,,,europe/london\n\
        lille,Lille,50.6,3.0,,,\n\
        paris,Paris,48.9,2.3,,,Europe/Paris\n\
        ghent,Ghent,51.0,3.7,,,\n",
    ),
    ("routes.txt", "route_id,agency_id,route_type\nr,a,2\n"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
        s,1,1,1,1,1,1,1,20270101,20271231\n",
    ),
    (
        "trips.txt",
        "trip_id,route_id,service_id,trip_short_name\n\
        d1,r,s,D1\nn1,r,s,N1\ng1,r,s,G1\nh1,r,s,H1\n",
    ),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
        d1,09:00:00,09:00:00,dover-1,1\nd1,10:10:00,10:15:00,lille,2\nd1,11:30:00,11:30:00,paris,3\n\
        n1,00:20:00,00:20:00,dover-1,1\nn1,03:00:00,03:00:00,paris,2\n\
        g1,00:05:00,00:05:00,ghent,1\ng1,00:30:00,00:30:00,dover-1,2\n\
        h1,00:50:00,00:50:00,dover-1,1\nh1,01:20:00,01:20:00,hill,2\n",
    ),
];

fn feed(files: &[(&str, &str)]) -> RailFeedResult {
    let folder = folder(&FEED);
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    read_gtfs(folder.path(), &RailFile::default())
}

/// Returns the service date of each train between two stations on a day, and the time at which it
/// leaves by the clocks there.
fn trains(timetable: &Timetable, from: &str, to: &str, date: &str) -> Vec<(String, String)> {
    let (from, to) = (station(timetable, from), station(timetable, to));
    let rides = timetable.rides(from, to, day(date)).into_iter();
    let told = rides.map(|ride| {
        let train = &timetable.trips[ride.trip as usize].train;
        let leaves = ride.departs.in_tz(timetable.zone_name(from));
        let leaves = leaves.expect("a zone").strftime("%d %H:%M").to_string();
        (format!("{train} {}", ride.date), leaves)
    });
    told.collect()
}

fn told(trains: &[(&str, &str)]) -> Vec<(String, String)> {
    let told = trains.iter();
    told.map(|(train, leaves)| ((*train).to_owned(), (*leaves).to_owned()))
        .collect()
}

#[test]
fn times_are_in_the_agencys_zone_and_each_station_tells_its_own() {
    let timetable = timetable(feed(&[]));
    let zones = ["dover", "hill", "lille", "paris"];
    let zones = zones.map(|code| timetable.zone_name(station(&timetable, code)));
    assert_eq!(
        zones,
        [
            "Europe/London",
            "Europe/London",
            "Europe/Paris",
            "Europe/Paris"
        ]
    );
    let run = timetable.run_on_date(0, day("2027-01-11")).expect("a run");
    let at_call = |at: usize| {
        let call = &run.calls[at];
        let moment = call.departs.or(call.arrives).expect("a time");
        (run.zone_at(call), moment.to_string())
    };
    assert_eq!(
        at_call(0),
        (Some("Europe/London"), "2027-01-11T08:00:00Z".to_owned())
    );
    assert_eq!(
        at_call(1),
        (Some("Europe/Paris"), "2027-01-11T09:15:00Z".to_owned())
    );
}

#[test]
fn a_station_in_the_agencys_zone_is_stored_without_one() {
    let feed = sound(feed(&[]));
    let zones = feed.parts.stations.iter();
    let zones: Vec<Option<&str>> = zones.map(|of| of.time_zone.as_deref()).collect();
    let london = Some("Europe/London");
    assert_eq!(zones, [london, london, None, None, None]);
}

#[test]
fn an_unknown_zone_is_a_fault_with_its_line() {
    let stops = "stop_id,stop_name,stop_lat,stop_lon,stop_timezone\n\
        dover-1,Dover,51.1,1.3,Europe/Lond\nhill,Hill,51.2,1.1,\nlille,Lille,50.6,3.0,\n\
        paris,Paris,48.9,2.3,Mars/Base\nghent,Ghent,51.0,3.7,\n";
    let faults = feed(&[("stops.txt", stops)]).expect_err("two zones are unknown");
    assert_eq!(
        in_short(&faults),
        ["stops.txt:2 bad_timezone", "stops.txt:5 bad_timezone"]
    );
    assert!(faults[0].message.contains("\"Europe/Lond\""), "{faults:?}");
}

#[test]
fn the_day_of_a_train_is_the_day_where_one_gets_on() {
    let timetable = timetable(feed(&[]));
    // The train's id has the service date, and travellers go by the clocks at Dover.
    assert_eq!(
        trains(&timetable, "dover", "paris", "2027-01-11"),
        told(&[("D1 2027-01-11", "11 08:00"), ("N1 2027-01-12", "11 23:20")])
    );
    let trip = timetable.trips.iter().position(|trip| trip.train == "N1");
    let trip = u32::try_from(trip.expect("N1")).expect("a small number");
    let show = timetable.show_id(trip, day("2027-01-12")).expect("a show");
    assert_eq!(show.as_str(), "n1-2027-01-12");
    // The first and the last day of the service.
    assert_eq!(
        trains(&timetable, "dover", "paris", "2026-12-31"),
        told(&[("N1 2027-01-01", "31 23:20")])
    );
    assert_eq!(
        trains(&timetable, "dover", "paris", "2027-12-31"),
        told(&[("D1 2027-12-31", "31 08:00")])
    );
    // At Ghent the clocks are the agency's.
    assert_eq!(
        trains(&timetable, "ghent", "dover", "2027-01-01"),
        told(&[("G1 2027-01-01", "01 00:05")])
    );
}

#[test]
fn a_change_may_be_on_the_day_before_by_the_clocks_there() {
    let timetable = timetable(feed(&[]));
    let (from, to) = (station(&timetable, "ghent"), station(&timetable, "hill"));
    let journeys = timetable.journeys(from, to, day("2027-01-11"));
    let [journey] = journeys.as_slice() else {
        panic!("{journeys:?}");
    };
    let leaves = [&journey.first, &journey.second].map(|ride| ride.departs.to_string());
    assert_eq!(leaves, ["2027-01-10T23:05:00Z", "2027-01-10T23:50:00Z"]);
    assert_eq!(journey.change, station(&timetable, "dover"));
}

/// The clocks of both zones are turned at the same moment. Those of New York are turned two weeks
/// earlier.
#[test]
fn trains_keep_their_times_while_clocks_are_turned() {
    let stops = FEED[1].1.replace(",,,\n", ",,,America/New_York\n");
    let timetable = timetable(feed(&[("stops.txt", &stops)]));
    for (date, leaves) in [
        ("2027-03-13", "13 04:15"),
        ("2027-03-14", "14 05:15"),
        ("2027-03-28", "28 04:15"),
    ] {
        let lille = trains(&timetable, "lille", "paris", date);
        let train = format!("D1 {date}");
        assert_eq!(lille, [(train.clone(), leaves.to_owned())]);
        let dover = trains(&timetable, "dover", "paris", date);
        assert_eq!(dover[0], (train, format!("{} 08:00", &date[8..])));
    }
}

#[test]
fn the_night_in_which_clocks_are_turned_back_has_every_train_once() {
    let agency = FEED[0].1.replace("Europe/Paris", "UTC");
    let stop_times = FEED[5]
        .1
        .replace("n1,00:20:00,00:20:00", "n1,23:30:00,23:30:00");
    let stop_times = stop_times.replace("n1,03:00:00,03:00:00", "n1,26:00:00,26:00:00");
    let timetable = timetable(feed(&[
        ("agency.txt", &agency),
        ("stop_times.txt", &stop_times),
    ]));
    let nights = |date: &str| {
        let mut trains = trains(&timetable, "dover", "paris", date);
        trains.retain(|(train, _)| train.starts_with("N1"));
        trains
    };
    // At Dover, 31 October 2027 has 25 hours.
    for (date, expected) in [
        ("2027-10-30", &[("N1 2027-10-29", "30 00:30")][..]),
        (
            "2027-10-31",
            &[("N1 2027-10-30", "31 00:30"), ("N1 2027-10-31", "31 23:30")],
        ),
        ("2027-11-01", &[("N1 2027-11-01", "01 23:30")]),
        // In spring the clocks leave out an hour, and no train.
        ("2027-03-27", &[("N1 2027-03-27", "27 23:30")]),
        ("2027-03-28", &[]),
        ("2027-03-29", &[("N1 2027-03-28", "29 00:30")]),
    ] {
        assert_eq!(nights(date), told(expected), "{date}");
    }
}

#[test]
fn the_days_on_sale_begin_today_by_the_clocks_of_the_station() {
    let timetable = timetable(feed(&[]));
    let now: jiff::Timestamp = "2027-01-10T23:10:00Z".parse().expect("a moment");
    let window = |code: &str| {
        let (first, last) = timetable.window_at(station(&timetable, code), now.as_millisecond());
        (first.to_string(), last.to_string())
    };
    let days = |first: &str, last: &str| (first.to_owned(), last.to_owned());
    assert_eq!(window("dover"), days("2027-01-10", "2027-02-08"));
    assert_eq!(window("lille"), days("2027-01-11", "2027-02-09"));
}
