//! Cases of showings that are found again, or not.

use super::*;

const HALL: &str = "mitte-1";

fn at(time: &str) -> Timestamp {
    format!("2027-01-11T{time}:00Z").parse().expect("a moment")
}

fn slug(id: &str) -> ShowId {
    id.parse().expect("a slug")
}

/// Makes a showing of the film `orchard`.
fn earlier(show: &str, time: &str) -> EarlierShowing {
    EarlierShowing {
        show: slug(show),
        listed_as: slug(show),
        film: "orchard".to_owned(),
        hall: HALL.parse().expect("a slug"),
        listed_start: at(time),
        starts_at: at(time),
        standing: ShowingStanding::OnSale,
    }
}

fn standing(show: &str, time: &str, standing: ShowingStanding) -> EarlierShowing {
    EarlierShowing {
        standing,
        ..earlier(show, time)
    }
}

/// A showing of a new programme: its id if it has one, its film and its beginning.
type Listed = (Option<&'static str>, &'static str, &'static str);

/// Returns what each new showing is, by the earlier show. A `?` is before a show that it may be.
fn matched_with(earlier: &[EarlierShowing], new: &[Listed], choices: &ShowChoices) -> Vec<String> {
    let hall: VenueId = HALL.parse().expect("a slug");
    let name = |listed: &Listed| match listed {
        (Some(id), ..) => slug(id),
        (None, _, time) => slug(&format!("at-{}", time.replace(':', ""))),
    };
    let names: Vec<ShowId> = new.iter().map(name).collect();
    let new = new
        .iter()
        .zip(&names)
        .map(|((id, film, time), name)| NewShowing {
            name,
            has_own_id: id.is_some(),
            film,
            hall: &hall,
            starts_at: at(time),
            lasts: SignedDuration::from_mins(90),
        });
    let new: Vec<NewShowing<'_>> = new.collect();
    let matches = match_showings(earlier, &new, choices);
    let is = |is: &NewShowingIs| match is {
        NewShowingIs::Same(at) => earlier[*at].show.to_string(),
        NewShowingIs::MayBe(at) => format!("?{}", earlier[*at].show),
        NewShowingIs::Other => "other".to_owned(),
    };
    matches.new.iter().map(is).collect()
}

fn check(earlier: &[EarlierShowing], new: &[Listed], expected: &[&str]) {
    let found = matched_with(earlier, new, &ShowChoices::default());
    assert_eq!(found, expected, "{new:?}");
}

fn orchard(time: &'static str) -> Listed {
    (None, "orchard", time)
}

#[test]
fn a_showing_that_moves_by_three_hours_at_most_is_the_same() {
    let sold = [earlier("a", "12:00")];
    for (time, expected) in [
        ("12:00", "a"),
        ("12:10", "a"),
        ("09:00", "a"),
        ("15:00", "a"),
        ("15:01", "other"),
    ] {
        check(&sold, &[orchard(time)], &[expected]);
    }
    check(&sold, &[(None, "tram", "12:00")], &["other"]);
}

#[test]
fn unchanged_showings_are_found_before_those_that_moved() {
    let sold = [earlier("a", "12:00"), earlier("b", "14:00")];
    check(&sold, &[orchard("14:00"), orchard("12:30")], &["b", "a"]);
    check(&sold, &[orchard("14:00")], &["b"]);
}

#[test]
fn where_two_ways_to_match_are_possible_none_is_taken() {
    let one = [earlier("a", "12:00")];
    check(
        &one,
        &[orchard("11:00"), orchard("13:00")],
        &["other", "other"],
    );
    let two = [earlier("a", "12:00"), earlier("b", "14:00")];
    check(&two, &[orchard("13:00")], &["other"]);
    check(
        &two,
        &[orchard("12:10"), orchard("14:10")],
        &["other", "other"],
    );
}

#[test]
fn a_showing_with_an_id_is_found_by_it_alone_unless_nothing_else_changed() {
    let sold = [earlier("a", "12:00"), earlier("b", "18:00")];
    let swapped = [
        (Some("b"), "orchard", "12:00"),
        (Some("a"), "tram", "20:00"),
    ];
    check(&sold, &swapped, &["b", "a"]);
    check(&sold, &[(Some("c"), "orchard", "12:00")], &["a"]);
    check(&sold, &[(Some("c"), "orchard", "12:10")], &["other"]);
    let renamed = EarlierShowing {
        listed_as: slug("c"),
        ..earlier("a", "12:00")
    };
    check(&[renamed], &[(Some("c"), "orchard", "20:00")], &["a"]);
}

#[test]
fn a_postponed_showing_is_found_by_either_time() {
    let postponed = [EarlierShowing {
        listed_start: at("08:00"),
        ..earlier("a", "14:00")
    }];
    check(
        &postponed,
        &[orchard("14:00"), orchard("08:00")],
        &["a", "other"],
    );
    check(&postponed, &[orchard("08:00")], &["a"]);
    check(&postponed, &[orchard("14:20")], &["a"]);
    check(&postponed, &[orchard("08:20")], &["other"]);
}

#[test]
fn a_showing_that_was_left_out_is_found_only_if_nothing_changed() {
    let left = [standing("a", "12:00", ShowingStanding::LeftOut)];
    check(&left, &[orchard("12:00")], &["a"]);
    check(&left, &[orchard("12:10")], &["other"]);
    let beside = [left[0].clone(), earlier("b", "14:00")];
    check(&beside, &[orchard("13:00")], &["b"]);
}

#[test]
fn a_cancelled_showing_is_not_looked_for_at_another_time() {
    let cancelled = [standing("a", "12:00", ShowingStanding::Cancelled)];
    check(&cancelled, &[orchard("12:00")], &["a"]);
    check(&cancelled, &[orchard("13:00")], &["other"]);
}

#[test]
fn what_may_be_a_kept_or_a_running_showing_is_not_sold() {
    let kept = [standing("a", "12:00", ShowingStanding::Kept)];
    check(&kept, &[orchard("12:00"), orchard("14:50")], &["?a", "?a"]);
    check(&kept, &[orchard("15:10")], &["other"]);
    check(&kept, &[(Some("a"), "tram", "20:00")], &["?a"]);
    let beside = [kept[0].clone(), earlier("b", "14:00")];
    check(&beside, &[orchard("13:00")], &["?a"]);
    check(&beside, &[orchard("14:00")], &["b"]);
    let running = [standing("a", "12:00", ShowingStanding::Begun)];
    check(&running, &[orchard("12:10")], &["?a"]);
    check(&running, &[orchard("14:00")], &["other"]);
}

#[test]
fn a_person_decides_before_anything_else() {
    let two = [earlier("a", "12:00"), earlier("b", "14:00")];
    let show = slug("a");
    let matched = ShowChoices {
        matches: [(show.clone(), slug("at-1400"))].into(),
        ..ShowChoices::default()
    };
    let found = matched_with(&two, &[orchard("09:00"), orchard("14:00")], &matched);
    assert_eq!(found, ["other", "a"]);
    let keep = ShowChoices {
        keep: [show.clone()].into(),
        ..ShowChoices::default()
    };
    let found = matched_with(&two, &[orchard("12:00"), orchard("14:00")], &keep);
    assert_eq!(found, ["?a", "b"]);
    let cancel = ShowChoices {
        cancel: [show].into(),
        ..ShowChoices::default()
    };
    let found = matched_with(&two, &[orchard("12:00"), orchard("14:00")], &cancel);
    assert_eq!(found, ["other", "b"]);
}
