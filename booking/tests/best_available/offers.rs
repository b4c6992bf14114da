//! Tests holds of named seats that would leave a single seat free, and the seats that are suggested
//! instead. Also tests how standing places are chosen.

use std::collections::BTreeSet;

use fairgate_model::choosing::{SeatsNotFound, orphans_of, pick_area, suggest, would_orphan};

use crate::{cells, dice, grid, labels, row, rows, with_pit, without};

#[test]
fn named_seats_that_leave_a_single_seat_are_refused_if_there_is_a_better_choice() {
    let (map, free) = row("......");
    let orphan =
        |labels: &[&str]| would_orphan(&map, &free, &cells(&map, labels)).map(|cells| cells.len());
    assert_eq!(orphan(&["A-2", "A-3"]), Some(1));
    assert_eq!(orphan(&["A-1", "A-2"]), None);
    assert_eq!(orphan(&["A-1", "A-3"]), Some(1));
    assert_eq!(
        orphan(&["A-1", "A-2", "A-3", "A-4", "A-5", "A-6"]),
        None,
        "the whole gap"
    );
    assert_eq!(
        orphan(&["A-1", "A-2", "A-3", "A-4", "A-5"]),
        None,
        "any five of six seats leave a single seat"
    );

    let (map, free) = rows(&["...", "....."]);
    let two = cells(&map, &["A-1", "A-2"]);
    assert_eq!(would_orphan(&map, &free, &two), Some(cells(&map, &["A-3"])));
    assert_eq!(orphans_of(&map, &free, &two), cells(&map, &["A-3"]));
    let offer = suggest(&map, &free, &two, true, &mut dice(1)).expect("row B holds two");
    assert_eq!(labels(&map, &offer), ["B-1", "B-2"]);
}

#[test]
fn a_suggestion_has_as_many_seats_of_the_same_kind_nearby() {
    let map = grid("8x60");
    let wanted = cells(&map, &["D-31", "D-32"]);
    let free = without(&map, &["D-31"]);
    for seed in 0..20 {
        let offer =
            suggest(&map, &free, &wanted, false, &mut dice(seed)).expect("a nearly empty hall");
        assert_eq!(offer.cells.len(), 2);
        assert!(offer.next_to_each_other && offer.cells.iter().all(|cell| free(*cell)));
        for cell in &offer.cells {
            let (seat, asked) = (&map.seats[*cell as usize], &map.seats[wanted[0] as usize]);
            assert_eq!(
                (seat.category, seat.section),
                (asked.category, asked.section)
            );
            assert!(
                (seat.x - asked.x).abs() <= 80.0 && (seat.y - asked.y).abs() <= 24.0,
                "{}",
                seat.label
            );
        }
    }
    assert_eq!(
        suggest(&map, &|_| false, &wanted, false, &mut dice(1)),
        None
    );

    let map = with_pit();
    let wanted = cells(&map, &["A-1", "Pit-2"]);
    let free = without(&map, &["Pit-2"]);
    let offer = suggest(&map, &free, &wanted, false, &mut dice(1))
        .expect("a seat and a standing place are free");
    assert!(
        labels(&map, &offer)
            .iter()
            .any(|label| label.starts_with("Pit-"))
            && offer.cells.len() == 2
    );
}

#[test]
fn free_standing_places_of_an_area_are_chosen_at_random() {
    let map = with_pit();
    let pit = map.area("Pit").expect("the pit");
    let free = without(&map, &["Pit-1"]);
    let mut firsts = BTreeSet::new();
    for seed in 0..100 {
        let taken = pick_area(&map, &free, pit, 2, &mut dice(seed)).expect("four are free");
        assert!(
            taken.len() == 2
                && taken[0] < taken[1]
                && taken
                    .iter()
                    .all(|cell| free(*cell) && pit.cells().contains(cell))
        );
        firsts.insert(taken);
    }
    assert!(firsts.len() >= 4, "{firsts:?}");
    assert_eq!(
        pick_area(&map, &free, pit, 5, &mut dice(1)),
        Err(SeatsNotFound::Capacity)
    );
    assert_eq!(
        pick_area(&map, &free, pit, 0, &mut dice(1)),
        Err(SeatsNotFound::Capacity)
    );
    assert_eq!(
        pick_area(&map, &free, pit, u32::MAX, &mut dice(1)),
        Err(SeatsNotFound::Capacity)
    );
}
