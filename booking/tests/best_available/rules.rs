//! Tests the order of preference, one rule in each test, mostly on halls drawn as text.

use std::collections::BTreeSet;

use fairgate_model::choosing::{
    BestSeatsWish, SeatArrangement, SeatsNotFound, choose, would_orphan,
};
use fairgate_model::plans::parse_seatsio;
use serde_json::{Value, json};

use crate::{answers, cells, check, dice, grid, labels, row, with_pit, without};

#[test]
fn a_party_leaves_no_single_seat_if_it_can_have_another_block() {
    check(&["...x...."], &BestSeatsWish::party(2), "A-5 A-6");
    check(&["...", "...."], &BestSeatsWish::party(2), "B-1 B-2");
    check(&["..."], &BestSeatsWish::party(2), "A-1 A-2");
    let mut wish = BestSeatsWish::party(2);
    wish.avoid_orphans = false;
    check(&["...x...."], &wish, "A-1 A-2");
}

#[test]
fn a_seat_that_was_single_before_does_not_count_as_left() {
    check(&[".x..."], &BestSeatsWish::party(3), "A-3 A-4 A-5");
    let (map, free) = row(".x...");
    assert_eq!(
        would_orphan(&map, &free, &cells(&map, &["A-3", "A-4", "A-5"])),
        None
    );
}

#[test]
fn an_aisle_splits_a_row() {
    check(&["..|.."], &BestSeatsWish::party(3), "A-1 A-2 A-3");
    let (map, free) = row("..|..");
    let choice =
        choose(&map, &free, &BestSeatsWish::party(3), 0, &mut dice(1)).expect("four are free");
    assert!(!choice.next_to_each_other);
    assert_eq!(choice.manner, SeatArrangement::AcrossRows);
    check(&["...|..."], &BestSeatsWish::party(2), "A-1 A-2");
}

#[test]
fn accessible_seats_go_only_to_parties_that_ask_for_them_and_exactly_as_many() {
    check(&["ww.."], &BestSeatsWish::party(2), "A-3 A-4");
    check(&["ww"], &BestSeatsWish::party(1), "Capacity");
    let mut wish = BestSeatsWish::party(2);
    wish.accessible = 1;
    check(&["wwc.."], &wish, "A-2 A-3");
    check(&["....", "x.w."], &wish, "B-2 B-3");
    check(&["....", "x..w."], &wish, "B-4 B-5");
    check(&["...."], &wish, "Capacity");
    check(&["c.", "xx"], &BestSeatsWish::party(1), "A-2");
    wish.accessible = 2;
    check(&["....", "wxww"], &wish, "B-3 B-4");
    check(&["....", "wxwx"], &wish, "B-1 B-3");
}

#[test]
fn a_companion_sits_beside_the_accessible_seat_even_if_the_party_is_split() {
    let mut wish = BestSeatsWish::party(4);
    wish.accessible = 1;
    check(&["..x", "cwx", "xxx"], &wish, "A-1 A-2 B-1 B-2");
    check(&["..x..", "xcwxx"], &wish, "A-1 A-2 B-2 B-3");
    // Both seats beside the accessible seat are free. If companions took both, the fourth person
    // would sit alone in row A.
    check(&["..xx", "x.w."], &wish, "A-1 A-2 B-2 B-3");
    check(&[".xxx", "x.w."], &wish, "A-1 B-2 B-3 B-4");
}

#[test]
fn across_rows_nobody_is_alone_unless_unavoidable() {
    check(&["..x", "..x"], &BestSeatsWish::party(4), "A-1 A-2 B-1 B-2");
    check(&["...", ".x."], &BestSeatsWish::party(4), "A-1 A-2 A-3 B-1");
    // Five people sit as three and two, never as four and one. Seven sit as three, two and two.
    check(
        &["....x", "..xxx"],
        &BestSeatsWish::party(5),
        "A-1 A-2 A-3 B-1 B-2",
    );
    check(
        &["....x", "..xxx", "..xxx"],
        &BestSeatsWish::party(7),
        "A-1 A-2 A-3 B-1 B-2 C-1 C-2",
    );
    check(&[".x.", "x.x"], &BestSeatsWish::party(2), "A-1 B-2");
}

#[test]
fn a_party_uses_several_sections_only_if_no_section_holds_it() {
    let section = |label: &str, x: u32, numbers: u32| {
        let seats: Vec<Value> = (0..numbers)
            .map(|n| json!({"label": (n + 1).to_string(), "x": n * 20, "y": 0}))
            .collect();
        json!({"label": label, "categoryKey": 1, "topLeft": {"x": x, "y": 0},
            "subChart": {"rows": [{"label": "A", "seats": seats}, {"label": "B", "seats": seats}]}})
    };
    let chart = json!({"categories": {"list": [{"key": 1, "label": "One"}]},
        "subChart": {"focalPoint": {"x": 0, "y": 0}, "sections": [section("L", 0, 2), section("R", 200, 3)]}});
    let map = parse_seatsio(&chart.to_string()).expect("a valid chart");
    let manner = |quantity| {
        choose(
            &map,
            &|_| true,
            &BestSeatsWish::party(quantity),
            0,
            &mut dice(3),
        )
        .map(|choice| choice.manner)
    };
    assert_eq!(manner(3), Ok(SeatArrangement::Block));
    assert_eq!(manner(6), Ok(SeatArrangement::AcrossRows));
    assert_eq!(manner(7), Ok(SeatArrangement::AcrossSections));
    assert_eq!(manner(10), Ok(SeatArrangement::AcrossSections));
    assert_eq!(manner(11), Err(SeatsNotFound::Capacity));
}

#[test]
fn a_party_stands_only_if_it_asks_for_the_category_of_the_area() {
    let map = with_pit();
    assert_eq!(
        choose(&map, &|_| true, &BestSeatsWish::party(6), 0, &mut dice(1)),
        Err(SeatsNotFound::Capacity)
    );
    let mut wish = BestSeatsWish::party(3);
    wish.categories = map.category_index("both").map(|category| vec![category]);
    let choice = choose(&map, &|_| true, &wish, 0, &mut dice(1)).expect("the pit holds five");
    assert_eq!(choice.manner, SeatArrangement::Standing);
    assert!(
        labels(&map, &choice)
            .iter()
            .all(|label| label.starts_with("Pit-"))
    );
    wish.quantity = 1;
    let choice = choose(&map, &|_| true, &wish, 0, &mut dice(1))
        .expect("a seat is preferred to a standing place");
    assert_eq!(labels(&map, &choice), ["A-5"]);
    wish.quantity = 6;
    assert_eq!(
        choose(&map, &|_| true, &wish, 0, &mut dice(1)),
        Err(SeatsNotFound::NoBlock)
    );
    wish.quantity = 7;
    assert_eq!(
        choose(&map, &|_| true, &wish, 0, &mut dice(1)),
        Err(SeatsNotFound::Capacity)
    );
}

#[test]
fn a_wish_for_a_zone_uses_the_focal_point_of_the_zone_and_other_wishes_that_of_the_chart() {
    let seats: Vec<Value> = (1..=5)
        .map(|n| json!({"label": n.to_string(), "x": n * 20, "y": 0, "categoryKey": 1}))
        .collect();
    let chart = json!({"categories": {"list": [{"key": 1, "label": "One"}]},
        "zones": {"list": [{"key": "east", "label": "East", "focalPoint": {"x": 120, "y": 0}}]},
        "subChart": {"focalPoint": {"x": 0, "y": 0}, "rows": [{"label": "A", "zone": "east", "seats": seats}]}});
    let map = parse_seatsio(&chart.to_string()).expect("a valid chart");
    let mut wish = BestSeatsWish::party(2);
    let two = |wish: &BestSeatsWish| answers(&map, &|_| true, wish);
    assert_eq!(two(&wish), BTreeSet::from(["A-1 A-2".to_owned()]));
    wish.zone = map.zone_index("East");
    assert_eq!(two(&wish), BTreeSet::from(["A-4 A-5".to_owned()]));
}

#[test]
fn booths_are_never_chosen() {
    let map = with_pit();
    let all_seats = without(&map, &["A-1", "A-2", "A-3", "A-4", "A-5"]);
    assert_eq!(
        choose(&map, &all_seats, &BestSeatsWish::party(1), 0, &mut dice(1)),
        Err(SeatsNotFound::Capacity)
    );
}

#[test]
fn equally_good_blocks_are_chosen_at_random_and_spread_gives_blocks_that_share_no_seat() {
    let map = grid("1x7");
    // The middle seat A-4 is taken, and are equally far from the stage.
    let middle_taken = without(&map, &["A-4"]);
    let mut single = BestSeatsWish::party(1);
    single.avoid_orphans = false;
    assert_eq!(answers(&map, &middle_taken, &single).len(), 2);

    let map = grid("10x40");
    let mut distinct = BTreeSet::new();
    for seed in 0..400 {
        let choice = choose(
            &map,
            &|_| true,
            &BestSeatsWish::party(4),
            16,
            &mut dice(seed),
        )
        .expect("a free hall");
        assert_eq!(choice.manner, SeatArrangement::Block);
        distinct.insert(choice.cells);
    }
    assert_eq!(distinct.len(), 16);
    let mut seen = BTreeSet::new();
    assert!(
        distinct.iter().flatten().all(|cell| seen.insert(*cell)),
        "two of the blocks share a seat"
    );
    assert!(seen.iter().all(|cell| *cell < 40 * 10));
}

#[test]
fn wishes_with_impossible_numbers_find_no_seats() {
    let map = grid("4x10");
    for (quantity, accessible) in [(0, 0), (1, 2), (u32::MAX, 0), (u32::MAX, u32::MAX), (41, 0)] {
        let mut wish = BestSeatsWish::party(quantity);
        wish.accessible = accessible;
        assert_eq!(
            choose(&map, &|_| true, &wish, usize::MAX, &mut dice(1)),
            Err(SeatsNotFound::Capacity)
        );
    }
}
