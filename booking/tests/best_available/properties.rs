//! Tests rules that must hold in every hall. The halls are random, and the choices are compared
//! with those of a slow search.

use std::collections::BTreeSet;

use fairgate_model::choosing::{
    BestSeatsWish, SeatArrangement, SeatsNotFound, choose, orphans_of, would_orphan,
};
use fairgate_model::plans::seatmap::SeatMap;
use proptest::prelude::*;
use rand::RngExt;

use crate::{dice, grid, labels, rows};

/// Tries every block of neighbouring seats. Returns how many single seats the best block leaves,
/// and the mean distance of its seats from the focal point.
fn by_hand(
    map: &SeatMap,
    free: &dyn Fn(u32) -> bool,
    wish: &BestSeatsWish,
) -> Option<(usize, f64)> {
    let focal = map.focal.expect("grids have one");
    let fits = |cell: u32| {
        free(cell)
            && wish
                .categories
                .as_ref()
                .is_none_or(|any| any.contains(&map.seats[cell as usize].category))
    };
    map.benches()
        .iter()
        .flat_map(|bench| map.on_bench(bench).windows(wish.quantity as usize))
        .filter(|window| window.iter().all(|cell| fits(*cell)))
        .map(|window| {
            let far = |cell: u32| {
                let seat = &map.seats[cell as usize];
                f64::from(seat.x - focal.x).hypot(f64::from(seat.y - focal.y))
            };
            let distance =
                window.iter().map(|cell| far(*cell)).sum::<f64>() / f64::from(wish.quantity);
            (orphans_of(map, free, window).len(), distance)
        })
        .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
}

proptest! {
    #[test]
    fn a_choice_is_free_distinct_complete_as_wished_and_the_best_possible(
        rows in 1_u32..12, columns in 1_u32..70, sold in 0.0_f64..1.0, quantity in 1_u32..12,
        band in prop::option::of(0_u16..4), spread in 0_usize..6, seed: u64,
    ) {
        let map = grid(&format!("{rows}x{columns}"));
        let mut rng = dice(seed);
        let taken: Vec<bool> = (0..map.cell_count()).map(|_| rng.random_bool(sold)).collect();
        let free = |cell: u32| !taken[cell as usize];
        let mut wish = BestSeatsWish::party(quantity);
        wish.categories = band.filter(|band| usize::from(*band) < map.categories.len()).map(|band| vec![band]);
        let fits = |cell: u32| {
            free(cell) && wish.categories.as_ref().is_none_or(|any| any.contains(&map.seats[cell as usize].category))
        };
        let supply = (0..map.cell_count()).filter(|cell| fits(*cell)).count();
        match choose(&map, &free, &wish, spread, &mut rng) {
            Err(reason) => {
                prop_assert!(supply < quantity as usize);
                prop_assert_eq!(reason, SeatsNotFound::Capacity);
            }
            Ok(choice) => {
                prop_assert_eq!(choice.cells.len(), quantity as usize);
                prop_assert!(choice.cells.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(choice.cells.iter().all(|cell| fits(*cell)));
                let best = by_hand(&map, &free, &wish);
                prop_assert_eq!(choice.next_to_each_other, best.is_some());
                if let Some((orphans, distance)) = best {
                    let left = orphans_of(&map, &free, &choice.cells);
                    prop_assert_eq!(left.len(), orphans, "leaves as few single seats as possible");
                    prop_assert_eq!(choice.manner == SeatArrangement::Block, orphans == 0);
                    if spread < 2 {
                        let only = |cell: u32| choice.cells.contains(&cell);
                        let (_, own) = by_hand(&map, &only, &BestSeatsWish::party(quantity)).expect("its own block");
                        prop_assert!(own <= distance + 0.01, "{} is farther than {}", own, distance);
                    }
                    prop_assert!(would_orphan(&map, &free, &choice.cells).is_none());
                } else {
                    let sections: BTreeSet<_> = choice.cells.iter().map(|cell| map.seats[*cell as usize].section).collect();
                    prop_assert_eq!(choice.manner == SeatArrangement::AcrossSections, sections.len() > 1);
                    let holds = |section| (0..map.cell_count()).filter(|cell| fits(*cell) && map.seats[*cell as usize].section == section).count();
                    let one_would_do = sections.iter().copied().chain(map.seats.iter().map(|seat| seat.section)).any(|section| holds(section) >= quantity as usize);
                    prop_assert_eq!(sections.len() == 1, one_would_do, "uses several sections only if no section holds the party");
                }
            }
        }
    }

    #[test]
    fn across_rows_as_few_people_as_possible_sit_alone(
        lengths in prop::collection::vec(1_usize..6, 2..9), quantity in 2_u32..20, seed: u64,
    ) {
        let pictures: Vec<String> = lengths.iter().map(|len| ".".repeat(*len) + &"x".repeat(6 - len)).collect();
        let pictures: Vec<&str> = pictures.iter().map(String::as_str).collect();
        let (map, free) = rows(&pictures);
        let wanted = quantity as usize;
        let together: usize = lengths.iter().filter(|len| **len > 1).sum();
        let Ok(choice) = choose(&map, &free, &BestSeatsWish::party(quantity), 0, &mut dice(seed)) else {
            prop_assert!(lengths.iter().sum::<usize>() < wanted);
            return Ok(());
        };
        let must = if together < wanted {
            wanted - together
        } else {
            usize::from(wanted % 2 == 1 && lengths.iter().all(|len| *len < 3))
        };
        let beside = |cell: u32| {
            let (bench, at) = map.bench_of(cell).expect("seats stand in rows");
            let row = map.on_bench(bench);
            [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| row.get(at)).any(|cell| choice.cells.contains(cell))
        };
        let alone = choice.cells.iter().filter(|cell| !beside(**cell)).count();
        prop_assert_eq!(alone, must, "{:?}: {:?}", lengths, labels(&map, &choice));
    }

    #[test]
    fn a_party_gets_exactly_as_many_accessible_seats_as_it_asks_for(
        marks in prop::collection::vec("[.xwc]{8}", 1..6), quantity in 1_u32..8, accessible in 0_u32..3, seed: u64,
    ) {
        let pictures: Vec<&str> = marks.iter().map(String::as_str).collect();
        let (map, free) = rows(&pictures);
        let mut wish = BestSeatsWish::party(quantity);
        wish.accessible = accessible.min(quantity);
        let count = |mark: char| marks.iter().flat_map(|row| row.chars()).filter(|found| *found == mark).count();
        let ordinary = count('.') + if wish.accessible > 0 { count('c') } else { 0 };
        let enough = count('w') >= wish.accessible as usize && ordinary >= (quantity - wish.accessible) as usize;
        let found = choose(&map, &free, &wish, 0, &mut dice(seed));
        prop_assert_eq!(found.is_ok(), enough);
        if let Ok(choice) = found {
            let distinct: BTreeSet<_> = choice.cells.iter().collect();
            prop_assert_eq!(distinct.len(), quantity as usize);
            prop_assert!(choice.cells.iter().all(|cell| free(*cell)));
            let taken = choice.cells.iter().filter(|cell| map.seats[**cell as usize].accessible).count();
            prop_assert_eq!(taken, wish.accessible as usize);
            prop_assert!(wish.accessible > 0 || choice.cells.iter().all(|cell| !map.seats[*cell as usize].companion));
        }
    }
}
