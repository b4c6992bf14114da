use proptest::prelude::*;

use super::*;
use crate::money::Currency;
use crate::runs::TrainFares;
use crate::timetables::settings::RailFile;
use crate::timetables::{ServiceCalendar, Station, Tariff, TimetableParts, TripStop};

const DAY: &str = "2027-01-11";

/// A train: the id of its trip, its number, its line, and the minute at which it leaves the first
/// of the stations A, B and C. Digits are a number, and letters that are also the trip's id are
/// none. If its id ends with "fast", it does not call at B. If it ends with
/// "back", it goes from C to A.
type Train = (&'static str, &'static str, &'static str, u32);

fn timetable(trains: &[Train]) -> Timetable {
    let settings = RailFile::default();
    let stop = |station: u32, seconds: u32| TripStop {
        station,
        sequence: station,
        arrives: Some(seconds),
        departs: Some(seconds),
        ..TripStop::default()
    };
    let station = |code: &str| Station {
        code: code.to_owned(),
        name: code.to_owned(),
        ..Station::default()
    };
    let trips = trains.iter().map(|(id, train, line, minute)| Trip {
        id: (*id).to_owned(),
        train: (*train).to_owned(),
        line: (*line).to_owned(),
        service: 0,
        stock: 0,
        tariff: 0,
        pattern: match id.rsplit('-').next() {
            Some("fast") => 1,
            Some("back") => 2,
            _ => 0,
        },
        shift_s: minute * 60,
        is_id_numbered: id == train && train.chars().all(|char| char.is_ascii_digit()),
    });
    let parts = TimetableParts {
        timezone: "UTC".to_owned(),
        currency: Currency::parse("EUR").expect("a currency"),
        terms: settings.terms.clone(),
        classes: settings.class.clone(),
        stocks: settings.stock,
        stations: ["A", "B", "C"].map(station).into(),
        services: vec![ServiceCalendar {
            weekdays: crate::timetables::EVERY_DAY,
            ..ServiceCalendar::default()
        }],
        tariffs: vec![Tariff::Distance],
        patterns: vec![
            vec![stop(0, 0), stop(1, 1_800), stop(2, 3_600)],
            vec![stop(0, 0), stop(2, 3_600)],
            [(2, 0), (1, 1_800), (0, 3_600)]
                .map(|(at, s)| TripStop {
                    sequence: s,
                    ..stop(at, s)
                })
                .into(),
        ],
        trips: trips.collect(),
    };
    Timetable::new(parts).expect("sound")
}

/// Matches the sold trips, by their ids, over the stretch from A to B. Returns the ids of the trips
/// that they are, or may be.
fn matched(
    earlier: &[Train],
    new: &[Train],
    sold: &[&str],
) -> Vec<(Option<&'static str>, Vec<&'static str>)> {
    let (earlier_timetable, new_timetable) = (timetable(earlier), timetable(new));
    let date: Date = DAY.parse().expect("a day");
    let trip = |id: &&str| earlier.iter().position(|train| train.0 == *id);
    let trips: Vec<u32> = sold
        .iter()
        .map(|id| u32::try_from(trip(id).expect("a trip")).expect("few"))
        .collect();
    let runs: Vec<(ShowId, TrainRun)> = trips
        .iter()
        .map(|trip| {
            let show = earlier_timetable.show_id(*trip, date).expect("it runs");
            let run = earlier_timetable.run_on_date(*trip, date);
            (show, run.expect("it runs"))
        })
        .collect();
    let stretches = BTreeSet::from([(0, 1)]);
    let departures: Vec<SoldDeparture<'_>> = runs
        .iter()
        .map(|(show, run)| SoldDeparture {
            show,
            run,
            stretches: &stretches,
        })
        .collect();
    let outcomes = match_departures(&earlier_timetable, &new_timetable, &departures);
    let id = |at: &u32| new[*at as usize].0;
    runs.iter()
        .map(|(show, _)| match &outcomes[show] {
            MatchOutcome::Same(at) => (Some(id(at)), Vec::new()),
            MatchOutcome::Unsure(all) => (None, all.iter().map(id).collect()),
        })
        .collect()
}

fn same(id: &'static str) -> (Option<&'static str>, Vec<&'static str>) {
    (Some(id), Vec::new())
}

#[test]
fn a_number_that_runs_once_is_matched_within_an_hour() {
    let before = [("a", "101", "S", 540)];
    for (minute, expected) in [
        (540, same("x")),
        (600, same("x")),
        (480, same("x")),
        (601, (None, vec![])),
        (479, (None, vec![])),
    ] {
        let after = [("x", "101", "S", minute), ("y", "103", "S", 545)];
        assert_eq!(
            matched(&before, &after, &["a"]),
            [expected],
            "minute {minute}"
        );
    }
}

#[test]
fn a_train_that_lost_a_sold_stop_may_still_be_the_same() {
    let before = [("a", "101", "S", 540)];
    let lost = [("fast", "101", "S", 540)];
    assert_eq!(matched(&before, &lost, &["a"]), [(None, vec!["fast"])]);
    // A new train of the number that calls everywhere is not taken for it.
    let both = [("fast", "101", "S", 540), ("x", "101", "S", 585)];
    assert_eq!(matched(&before, &both, &["a"]), [(None, vec!["fast", "x"])]);
    // Nor is a train back, which calls at the same stations about then.
    let line = [("a", "a", "S", 540)];
    let moved = [("y", "y", "S", 550), ("x-back", "x-back", "S", 520)];
    assert_eq!(matched(&line, &moved, &["a"]), [same("y")]);
    let before = [("a-fast", "101", "S", 540), ("b", "103", "S", 540)];
    let got_a_stop = [("a", "101", "S", 540), ("b", "103", "S", 540)];
    assert_eq!(matched(&before, &got_a_stop, &["b"]), [same("b")]);
}

#[test]
fn a_train_that_got_another_number_may_still_be_the_same() {
    let before = [("a", "101", "S", 540)];
    for (id, minute) in [("x", 540), ("a", 545)] {
        let after = [(id, "201", "S", minute), ("y", "101", "S", 550)];
        assert_eq!(matched(&before, &after, &["a"]), [(None, vec![id, "y"])]);
    }
    let another = [("x", "201", "S", 545), ("y", "101", "S", 550)];
    assert_eq!(matched(&before, &another, &["a"]), [same("y")]);
    let known = [("a", "101", "S", 540), ("b", "201", "S", 900)];
    let after = [("x", "201", "S", 540), ("y", "101", "S", 550)];
    assert_eq!(matched(&known, &after, &["a"]), [same("y")]);
}

#[test]
fn the_line_counts_only_if_no_train_of_the_number_runs() {
    let before = [("a", "101", "S", 540)];
    let renumbered = [("x", "201", "S", 545), ("y", "103", "T", 540)];
    assert_eq!(matched(&before, &renumbered, &["a"]), [same("x")]);
    let moved_far = [("x", "201", "S", 545), ("y", "101", "S", 900)];
    assert_eq!(matched(&before, &moved_far, &["a"]), [(None, vec![])]);
    let no_line = [("a", "101", "", 540)];
    let other = [("x", "201", "", 540)];
    assert_eq!(matched(&no_line, &other, &["a"]), [(None, vec![])]);
}

#[test]
fn an_id_that_went_to_another_train_proves_nothing() {
    let before = [("a", "a", "S", 540), ("b", "b", "S", 570)];
    // The ids moved on by one train, and the times stayed.
    let after = [("b", "b", "S", 540), ("c", "c", "S", 570)];
    assert_eq!(
        matched(&before, &after, &["a", "b"]),
        [same("b"), same("c")]
    );
    // The train at nine is gone, and its id went to the train at half past nine.
    let after = [("a", "a", "S", 570)];
    assert_eq!(matched(&before, &after, &["a"]), [(None, vec![])]);
    assert_eq!(matched(&before, &after, &["b"]), [same("a")]);
}

#[test]
fn numbers_that_are_also_the_ids_of_the_trips_count_as_numbers() {
    let before = [("101", "101", "S", 540), ("103", "103", "S", 570)];
    // Each train takes the time of the next one.
    let later = [("101", "101", "S", 570), ("103", "103", "S", 600)];
    let both = [same("101"), same("103")];
    assert_eq!(matched(&before, &later, &["101", "103"]), both);
    let swapped = [("103", "103", "S", 540), ("101", "101", "S", 570)];
    assert_eq!(matched(&before, &swapped, &["101", "103"]), both);
    // A train that got another number may still be the same, unless another train had that number.
    let renumbered = [("105", "105", "S", 545), ("103", "103", "S", 570)];
    assert_eq!(matched(&before, &renumbered, &["101"]), [same("105")]);
    let gone = [("103", "103", "S", 540)];
    assert_eq!(matched(&before, &gone, &["101"]), [(None, vec![])]);
}

#[test]
fn trains_without_numbers_are_retimed_by_their_ids_only_while_these_stay() {
    let before = [
        ("a", "a", "S", 540),
        ("b", "b", "S", 570),
        ("c", "c", "S", 600),
    ];
    let kept = [
        ("a", "a", "S", 547),
        ("b", "b", "S", 577),
        ("c", "c", "S", 600),
    ];
    assert_eq!(matched(&before, &kept, &["a", "b"]), [same("a"), same("b")]);
    // The last train shows that the ids moved on by one train.
    let moved_on = [
        ("b", "b", "S", 547),
        ("c", "c", "S", 577),
        ("d", "d", "S", 600),
    ];
    let unsure = (None, vec!["b", "c"]);
    assert_eq!(
        matched(&before, &moved_on, &["a", "b"]),
        [unsure.clone(), unsure]
    );
}

#[test]
fn where_two_matches_are_possible_none_is_taken() {
    let before = [("a", "101", "S", 540)];
    let doubled = [("x", "101", "S", 530), ("y", "101", "S", 560)];
    assert_eq!(matched(&before, &doubled, &["a"]), [(None, vec!["x", "y"])]);
    // One train of a number is gone, and the other one moved far, towards the time of the first.
    let before = [("a", "101", "S", 540), ("b", "101", "S", 660)];
    let moved_far = [("b", "101", "S", 580)];
    assert_eq!(matched(&before, &moved_far, &["a"]), [(None, vec!["b"])]);
    // One of two trains of a number is left, at a time that either may have had.
    let before = [("a", "101", "S", 540), ("b", "101", "S", 560)];
    let one_left = [("x", "101", "S", 550)];
    for sold in ["a", "b"] {
        assert_eq!(matched(&before, &one_left, &[sold]), [(None, vec!["x"])]);
    }
}

#[test]
fn trains_that_nobody_could_tell_apart_are_matched_only_if_there_is_one_for_each() {
    let before = [("a", "101", "S", 540), ("b", "101", "S", 540)];
    let both = [("x", "101", "S", 540), ("y", "101", "S", 540)];
    assert_eq!(matched(&before, &both, &["a", "b"]), [same("x"), same("y")]);
    let swapped = [("b", "101", "S", 540), ("a", "101", "S", 540)];
    assert_eq!(
        matched(&before, &swapped, &["a", "b"]),
        [same("a"), same("b")]
    );
    let one = [("x", "101", "S", 540)];
    let unsure = (None, vec!["x"]);
    assert_eq!(
        matched(&before, &one, &["a", "b"]),
        [unsure.clone(), unsure]
    );
}

#[test]
fn a_departure_that_goes_on_as_it_was_sold_names_the_trains_that_may_be_the_same() {
    let earlier = timetable(&[("a", "101", "S", 540)]);
    let date: Date = DAY.parse().expect("a day");
    let run = earlier.run_on_date(0, date).expect("it runs");
    let show = earlier.show_id(0, date).expect("it runs");
    let sold = SoldDeparture {
        show: &show,
        run: &run,
        stretches: &BTreeSet::from([(0, 2)]),
    };
    let new = timetable(&[
        ("x", "101", "S", 550),
        ("y", "101", "S", 700),
        ("z", "102", "S", 540),
    ]);
    assert_eq!(possible_trips(&new, "S", sold), [0]);
    let renumbered = timetable(&[("z", "102", "S", 540), ("w", "102", "T", 540)]);
    assert_eq!(possible_trips(&renumbered, "S", sold), [0]);
    let moved_lines = timetable(&[("w", "102", "T", 540), ("v", "103", "T", 545)]);
    assert_eq!(possible_trips(&moved_lines, "S", sold), [0]);
    assert!(matches!(*run.fares, TrainFares::ByDistance(_)));
}

proptest! {
    /// However a timetable changes, no two departures become one, and each is matched only with a
    /// train of its number or line that leaves within an hour.
    #[test]
    fn matches_are_one_to_one_and_within_an_hour(
        before in proptest::collection::vec((0_usize..3, 0_u32..6), 1..6),
        after in proptest::collection::vec((0_usize..3, 0_u32..6), 0..6),
    ) {
        const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
        const NUMBERS: [(&str, &str); 3] = [("101", "S"), ("102", "S"), ("201", "T")];
        let trains = |rows: &[(usize, u32)]| -> Vec<Train> {
            let rows = rows.iter().zip(IDS);
            let train = |((number, at), id): (&(usize, u32), &'static str)| {
                let (number, line) = NUMBERS[*number];
                (id, number, line, 540 + at * 20)
            };
            rows.map(train).collect()
        };
        let (before, after) = (trains(&before), trains(&after));
        let sold: Vec<&str> = before.iter().map(|train| train.0).collect();
        let mut taken = BTreeSet::new();
        for (old, (found, _)) in before.iter().zip(matched(&before, &after, &sold)) {
            let Some(found) = found else { continue };
            prop_assert!(taken.insert(found), "{found} is two departures");
            let new = after.iter().find(|train| train.0 == found).expect("it is there");
            prop_assert!(new.1 == old.1 || new.2 == old.2);
            prop_assert!(new.3.abs_diff(old.3) <= 60);
        }
        let unchanged = matched(&before, &before, &sold);
        for (old, (found, _)) in before.iter().zip(unchanged) {
            prop_assert_eq!(found, Some(old.0), "an unchanged timetable");
        }
    }
}
