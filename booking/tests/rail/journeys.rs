//! Tests searches in a timetable that is small enough to check by hand, and journeys with a change
//! in the real timetable.

use booking::rail::import::read_timetable;
use fairgate_model::timetables::TrainRide;
use fairgate_model::timetables::settings::RailFile;
use jiff::Timestamp;

use super::*;

fn small() -> Timetable {
    let folder = folder(&SMALL);
    timetable(read_timetable(
        folder.path(),
        "Asia/Shanghai",
        &RailFile::default(),
    ))
}

fn rides(timetable: &Timetable, from: &str, to: &str, date: &str) -> Vec<(String, String)> {
    let (from, to) = (station(timetable, from), station(timetable, to));
    let rides = timetable.rides(from, to, day(date)).into_iter();
    let told = rides.map(|ride| {
        let show = timetable.show_id(ride.trip, ride.date).expect("an id");
        (show.to_string(), at(timetable, ride.departs))
    });
    told.collect()
}

fn told(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = rows.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    owned.collect()
}

#[test]
fn a_search_is_by_the_date_of_boarding_and_a_show_has_the_date_of_its_first_stop() {
    let timetable = small();
    let found = rides(&timetable, "AAA", "BBB", "2027-01-20");
    let expected = [
        ("g1-2027-01-20", "2027-01-20 08:00"),
        ("k3-k4-2027-01-20", "2027-01-20 22:00"),
    ];
    assert_eq!(found, told(&expected));
    // The train began its run the day before, and turned at BBB.
    let found = rides(&timetable, "BBB", "AAA", "2027-01-20");
    assert_eq!(found, told(&[("k3-k4-2027-01-19", "2027-01-20 00:15")]));
}

#[test]
fn next_day_is_the_local_date_of_the_next_departure_from_any_station() {
    let timetable = small();
    for (now, next) in [
        // In Shanghai it is already 20 January.
        ("2027-01-19T17:30:00Z", "2027-01-20"),
        ("2027-01-20T13:59:00Z", "2027-01-20"),
        // At 22:00 local time the last train of the day leaves AAA. The next departure is at
        // 00:15, although that train's run began the day before.
        ("2027-01-20T14:00:00Z", "2027-01-21"),
        ("2027-01-20T16:05:00Z", "2027-01-21"),
    ] {
        let now: Timestamp = now.parse().expect("a moment");
        let found = timetable.next_day(now.as_millisecond());
        assert_eq!(found, Some(day(next)), "{now}");
    }
}

#[test]
fn two_trips_of_one_train_on_one_date_are_two_shows() {
    let timetable = small();
    let of = |date: &str| {
        let found = rides(&timetable, "AAA", "CCC", date).into_iter();
        let shows = found.map(|(show, _)| show);
        shows
            .filter(|show| show.starts_with("g5"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of("2027-01-10"),
        Vec::<String>::new(),
        "the first trip begins on the next day"
    );
    assert_eq!(of("2027-01-11"), ["g5-2027-01-11"]);
    assert_eq!(of("2027-01-13"), ["g5-2027-01-13-t4", "g5-2027-01-13-t5"]);
    assert_eq!(of("2027-01-14"), ["g5-2027-01-14"]);
    assert_eq!(
        of("2027-01-15"),
        Vec::<String>::new(),
        "the last trip ran the day before"
    );
    let named = |show: &str| timetable.trip_of_show(&show.parse().expect("a slug"));
    assert_eq!(named("g5-2027-01-13-t5").map(|(trip, _)| trip), Some(4));
    assert_eq!(named("g5-2027-01-13"), None, "two trips run on this day");
    assert_eq!(
        named("g5-2027-01-14-t5"),
        None,
        "the only trip of a day has no trip in its id"
    );
    assert_eq!(named("g9-2027-01-14"), None);
    assert_eq!(named("night-1"), None);
}

#[test]
fn a_departure_has_its_calls_its_fares_and_its_carriages() {
    let timetable = small();
    let show = "g1-2027-01-20".parse().expect("a slug");
    let plan = |stock: usize| {
        assert_eq!(stock, 0);
        Some(("rail-standard".parse().expect("a slug"), 7))
    };
    let departure = timetable.departure_for_show(&show, plan).expect("it runs");
    assert_eq!(departure.title, "G1 甲城 – 丙城");
    assert_eq!(departure.plan_version, 7);
    assert_eq!(departure.starts_at.to_string(), "2027-01-20T00:00:00Z");
    let run = &departure.run;
    assert_eq!((run.train.as_str(), run.leg_count()), ("G1", 2));
    assert_eq!(run.between("AAA", "CCC"), Some(0..2));
    let metres: Vec<_> = run.calls.iter().map(|call| call.at_m).collect();
    assert_eq!(metres, [0, 111_195, 222_390]);
    // The fare is 222.39 km at 0.46, rounded up.
    assert_eq!(run.fare("second", &(0..2)), Some(10_230));
    let times: Vec<_> = run
        .calls
        .iter()
        .map(|call| (call.arrives, call.departs))
        .collect();
    let moment = |text: &str| Some(text.parse::<Timestamp>().expect("a moment"));
    assert_eq!(times[0], (None, moment("2027-01-20T00:00:00Z")));
    assert_eq!(
        times[1],
        (
            moment("2027-01-20T01:00:00Z"),
            moment("2027-01-20T01:05:00Z")
        )
    );
    assert_eq!(times[2], (moment("2027-01-20T02:00:00Z"), None));
}

#[test]
fn a_journey_with_a_change_is_found_where_no_train_goes_directly() {
    let timetable = small();
    let (from, to) = (station(&timetable, "AAA"), station(&timetable, "DDD"));
    let journeys = timetable.journeys(from, to, day("2027-01-20"));
    assert_eq!(journeys.len(), 1);
    let journey = &journeys[0];
    assert_eq!(timetable.stations[journey.change as usize].code, "CCC");
    assert_eq!((journey.duration_s(), journey.change_s()), (12_000, 1_200));
    assert!(timetable.journeys(to, from, day("2027-01-20")).is_empty());
}

/// Tries every pair of trains with a possible change, and returns the shortest travel time in
/// seconds.
fn shortest(timetable: &Timetable, from: u32, to: u32, date: Date) -> Option<i64> {
    let mut shortest = None;
    for change in (0..timetable.stations.len()).map(|at| u32::try_from(at).expect("few")) {
        if change == from || change == to {
            continue;
        }
        let tomorrow = date.tomorrow().expect("a day");
        let mut onward: Vec<TrainRide> = timetable.rides(change, to, date);
        onward.extend(timetable.rides(change, to, tomorrow));
        for first in timetable.rides(from, change, date) {
            for second in &onward {
                let wait = second.departs.as_second() - first.arrives.as_second();
                if (900..=14_400).contains(&wait) && second.trip != first.trip {
                    let all = second.arrives.as_second() - first.departs.as_second();
                    shortest = Some(shortest.map_or(all, |known: i64| known.min(all)));
                }
            }
        }
    }
    shortest
}

#[test]
fn journeys_over_the_real_timetable_are_the_shortest_and_make_sense() {
    let Some(folder) = real("china-hsr-2016") else {
        return;
    };
    let rail = RailFile::default();
    let timetable = timetable(read_timetable(&folder, "Asia/Shanghai", &rail));
    let date = day("2026-12-01");
    for (from, to) in [
        ("VNP", "三亚"),
        ("哈密", "AOH"),
        ("延吉西", "IZQ"),
        ("VNP", "IZQ"),
    ] {
        let (from, to) = (station(&timetable, from), station(&timetable, to));
        let journeys = timetable.journeys(from, to, date);
        let found = journeys
            .first()
            .map(fairgate_model::timetables::TransferJourney::duration_s);
        assert_eq!(
            found,
            shortest(&timetable, from, to, date),
            "{from} to {to}"
        );
        assert!(journeys.len() <= 20);
        assert!(
            journeys
                .windows(2)
                .all(|two| two[0].duration_s() <= two[1].duration_s())
        );
        for journey in &journeys {
            assert!((900..=14_400).contains(&journey.change_s()));
            for other in &journeys {
                let later = other.first.departs >= journey.first.departs;
                let earlier = other.second.arrives <= journey.second.arrives;
                assert!(
                    other == journey || !(later && earlier),
                    "no journey leaves later and arrives earlier than another"
                );
            }
        }
    }
}
