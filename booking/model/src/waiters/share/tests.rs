//! The sharing out of seats, checked against a simple search of every seat.

use std::ops::Range;
use std::sync::Arc;

use fairgate_pass::Holder;
use proptest::prelude::*;

use super::*;
use crate::grid::CellGrid;
use crate::plans::parse_grid;
use crate::plans::seatmap::SeatMap;
use crate::runs::{StationCall, TrainFares, TrainRun};
use crate::waiters::{HERE_MS, PartySaleEnd, WaitEndReason, WaitlistOffer, WaitlistStretch};

const NOW_MS: i64 = 1_000_000;

fn hall() -> SeatMap {
    parse_grid("4x10").expect("a hall")
}

/// Makes a party of this size. It is present if `seen_ms` is [`NOW_MS`].
fn waiter(n: u8, quantity: u32, seen_ms: i64) -> Waiter {
    Waiter {
        id: format!("waiter_night-1_{}", hex::encode([n; 16]))
            .parse()
            .expect("an id"),
        visitor: Holder([n; 32]),
        room: "demo".to_owned(),
        party: WaitlistParty {
            quantity,
            categories: Vec::new(),
            accessible: 0,
            stretch: None,
        },
        number: u64::from(n),
        since_ms: 0,
        until_ms: i64::MAX,
        seen_ms,
        offers: 0,
        missed: 0,
        offer: None,
        ended: None,
    }
}

/// Makes the states of a hall in which all seats are sold except the kept and the free ones.
fn states(map: &SeatMap, kept: &[u32], free: &[u32]) -> Vec<CellState> {
    let state = |cell| match (kept.contains(&cell), free.contains(&cell)) {
        (true, _) => CellState::Held,
        (_, true) => CellState::Free,
        _ => CellState::Sold,
    };
    (0..map.cell_count()).map(state).collect()
}

fn layout(map: &SeatMap) -> ShowLayout<'_> {
    ShowLayout { map, run: None }
}

fn shared(kept: &[u32], free: &[u32], line: &[Waiter]) -> (Vec<usize>, Vec<u32>) {
    let map = hall();
    let states = states(&map, kept, free);
    let shares = share(layout(&map), &states, kept, line, NOW_MS, &mut rand::rng());
    let offers = shares.offers.iter().map(|(at, _)| *at).collect();
    (offers, shares.left)
}

#[test]
fn freed_seats_are_offered_to_the_first_present_party_that_they_fit() {
    let line = [
        waiter(1, 4, NOW_MS),
        waiter(2, 2, NOW_MS - HERE_MS),
        waiter(3, 2, NOW_MS - HERE_MS + 1),
        waiter(4, 2, NOW_MS),
    ];
    assert_eq!(shared(&[5, 6], &[], &line), (vec![2], vec![]));
    assert_eq!(
        shared(&[5], &[6], &line),
        (vec![2], vec![]),
        "a free seat completes the kept one"
    );
    assert_eq!(shared(&[5, 6, 7, 8], &[], &line), (vec![0], vec![]));
    assert_eq!(shared(&[0, 1, 20, 21, 30], &[], &line).0, [0]);
    assert_eq!(
        shared(&[5], &[], &line),
        (vec![], vec![5]),
        "one seat fits no party"
    );
}

#[test]
fn a_party_with_an_offer_gets_no_second_offer() {
    let mut line = [waiter(1, 1, NOW_MS), waiter(2, 1, NOW_MS)];
    line[0].offer = Some(WaitlistOffer {
        hold: crate::ids::HoldId::of_offer(&line[0].id, 0),
        until_ms: NOW_MS,
        life: 1,
    });
    let (offers, left) = shared(&[5, 6], &[], &line);
    assert_eq!((offers, left.len()), (vec![1], 1));
}

#[test]
fn a_party_waits_in_vain_if_too_few_seats_are_unsold() {
    let map = hall();
    let line = [waiter(1, 3, NOW_MS), waiter(2, 2, 0), waiter(3, 3, NOW_MS)];
    let states = states(&map, &[5], &[6]);
    assert_eq!(
        never_served(layout(&map), &states, &line, &mut rand::rng()),
        [0, 2]
    );
    let mut named = waiter(4, 1, NOW_MS);
    named.party.categories = vec!["no such".to_owned()];
    assert_eq!(
        never_served(layout(&map), &states, &[named], &mut rand::rng()),
        [0]
    );
}

proptest! {
    #[test]
    fn no_seat_is_offered_twice_no_party_is_passed_over_and_no_kept_seat_is_lost(
        kept in proptest::collection::btree_set(0_u32..40, 0..12),
        free in proptest::collection::btree_set(0_u32..40, 0..4),
        parties in proptest::collection::vec((1_u32..5, proptest::bool::weighted(0.7)), 0..12),
    ) {
        let map = hall();
        let kept: Vec<u32> = kept.into_iter().collect();
        let free: Vec<u32> = free.into_iter().filter(|cell| !kept.contains(cell)).collect();
        let line: Vec<Waiter> = (0..).zip(&parties)
            .map(|(n, (quantity, here))| waiter(n, *quantity, if *here { NOW_MS } else { 0 }))
            .collect();
        let states = states(&map, &kept, &free);
        let shares = share(layout(&map), &states, &kept, &line, NOW_MS, &mut rand::rng());
        let mut given = HashSet::new();
        let mut served = HashSet::new();
        for (at, seated) in &shares.offers {
            prop_assert!(line[*at].is_here(NOW_MS));
            prop_assert_eq!(seated.seats.len(), line[*at].party.quantity as usize);
            prop_assert!(served.insert(*at));
            for cell in &seated.seats {
                prop_assert!(kept.contains(cell) || free.contains(cell));
                prop_assert!(given.insert(*cell), "offered twice");
            }
        }
        // Any seats suit these parties, so a party is passed over only if too few are left.
        let mut remaining = kept.len() + free.len();
        for (at, waiter) in line.iter().enumerate().filter(|(_, waiter)| waiter.is_here(NOW_MS)) {
            let size = waiter.party.quantity as usize;
            prop_assert_eq!(served.contains(&at), size <= remaining, "party {}", at);
            if size <= remaining { remaining -= size; }
        }
        let unoffered: Vec<u32> = kept.iter().copied().filter(|cell| !given.contains(cell)).collect();
        prop_assert_eq!(shares.left, unoffered);
    }
}

/// A train with five stops and twelve seats, six of each class.
struct Line {
    map: SeatMap,
    run: TrainRun,
}

/// The state of a cell before the sharing out.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Sold,
    Basket,
    Kept,
    Free,
}

/// How many people travel, whether they travel in the first class, their first and last stop, and
/// whether they are present.
type Travellers = (u32, bool, (u16, u16), bool);

const STOPS: [&str; 5] = ["A", "B", "C", "D", "E"];
const LEAVES_MS: i64 = 3_600_000;

impl Line {
    fn new() -> Self {
        let mut parts = (*parse_grid("4x3").expect("carriages")).clone();
        for (seat, at) in parts.seats.iter_mut().zip(0_u16..) {
            seat.category = at / 6;
        }
        let leaves = jiff::Timestamp::from_millisecond(LEAVES_MS).ok();
        let call = |station: &str| StationCall {
            station: station.to_owned(),
            name: station.to_owned(),
            time_zone: None,
            arrives: leaves,
            departs: leaves,
            at_m: 0,
            no_boarding: false,
            no_alighting: false,
        };
        let run = TrainRun {
            train: "G1".to_owned(),
            date: jiff::civil::date(2027, 2, 1),
            time_zone: None,
            calls: STOPS.map(call).into(),
            fares: Arc::new(TrainFares::Table(Default::default())),
        };
        let map = SeatMap::new(parts).expect("sound");
        Self { map, run }
    }

    fn house(&self) -> ShowLayout<'_> {
        let (map, run) = (&self.map, Some(&self.run));
        ShowLayout { map, run }
    }

    fn waiter(&self, n: u8, (quantity, first, (from, to), here): Travellers) -> Waiter {
        let class = &self.map.categories[usize::from(!first)];
        let mut waiter = waiter(n, quantity, if here { NOW_MS } else { 0 });
        waiter.party.stretch = Some(WaitlistStretch {
            class: class.key.clone(),
            from: STOPS[usize::from(from)].to_owned(),
            to: STOPS[usize::from(to)].to_owned(),
        });
        waiter
    }

    /// Lists the seats of a class that are free over all these legs. `free` says which cells are
    /// free.
    fn seats_over(&self, free: &[bool], first: bool, legs: Range<u16>) -> Vec<u32> {
        let grid = self.house().grid();
        let seats = (0..6_u32).map(|seat| if first { seat } else { seat + 6 });
        seats
            .filter(|seat| {
                grid.cells_of(*seat, legs.clone())
                    .all(|cell| free[cell as usize])
            })
            .collect()
    }
}

fn a_cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        3 => Just(Cell::Sold),
        2 => Just(Cell::Basket),
        3 => Just(Cell::Kept),
        2 => Just(Cell::Free),
    ]
}

fn travellers() -> impl Strategy<Value = Travellers> {
    let stops = (0_u16..4).prop_flat_map(|from| (Just(from), from + 1..5));
    (
        1_u32..4,
        any::<bool>(),
        stops,
        proptest::bool::weighted(0.7),
    )
}

#[test]
fn a_train_seat_with_a_free_leg_and_a_freed_leg_is_offered() {
    let line = Line::new();
    let grid: CellGrid = line.house().grid();
    assert_eq!((grid.seats, grid.legs), (12, 4));
    let mut states = vec![CellState::Sold; grid.cell_count() as usize];
    // Seat 3: its first leg is in a basket, its second came free and is kept for the waitlist, its
    // third was free all the time, and its last is sold.
    let legs: Vec<u32> = grid.cells_of(3, 0..4).collect();
    states[legs[0] as usize] = CellState::Held;
    states[legs[1] as usize] = CellState::Held;
    states[legs[2] as usize] = CellState::Free;
    let kept = [legs[1]];
    let give = |party: &[Waiter]| {
        share(
            line.house(),
            &states,
            &kept,
            party,
            NOW_MS,
            &mut rand::rng(),
        )
    };
    let waits = |from, to| line.waiter(1, (1, true, (from, to), true));
    let shares = give(&[waits(1, 3)]);
    let (_, seated) = &shares.offers[0];
    assert_eq!((&seated.seats, &seated.legs), (&vec![3], &(1..3)));
    assert!(shares.left.is_empty());
    // The seat's first leg is in a basket and its last leg is sold. The party therefore gets no
    // offer for these journeys, and the kept cell is left.
    for (from, to) in [(0, 2), (1, 4), (0, 1)] {
        let shares = give(&[waits(from, to)]);
        assert_eq!((shares.offers.len(), &shares.left), (0, &vec![legs[1]]));
    }
    // Both parties get the same seat, one after the other.
    let shares = give(&[waits(2, 3), waits(1, 2)]);
    assert_eq!(shares.offers.len(), 2);
}

#[test]
fn a_party_stops_waiting_when_its_train_leaves() {
    let line = Line::new();
    let mut waiter = line.waiter(1, (1, true, (0, 2), true));
    waiter.until_ms = LEAVES_MS + 1_000;
    let (leaves, ends) = (
        PartySaleEnd::Leaves(LEAVES_MS),
        PartySaleEnd::Ends(LEAVES_MS),
    );
    assert_eq!(waiter.time_over(leaves, LEAVES_MS - 1), None);
    assert_eq!(waiter.waits_until_ms(leaves), LEAVES_MS);
    assert_eq!(
        waiter.time_over(leaves, LEAVES_MS),
        Some(WaitEndReason::Departed)
    );
    assert_eq!(
        waiter.time_over(ends, LEAVES_MS),
        Some(WaitEndReason::SalesEnded)
    );
    waiter.until_ms = LEAVES_MS - 1_000;
    assert_eq!(
        waiter.time_over(leaves, LEAVES_MS - 1),
        Some(WaitEndReason::TimeOver)
    );
}

proptest! {
    #[test]
    fn on_a_train_no_cell_is_offered_twice_no_party_is_passed_over_and_vain_waits_are_found(
        cells in proptest::collection::vec(a_cell(), 48),
        parties in proptest::collection::vec(travellers(), 0..14),
    ) {
        let line = Line::new();
        let waiting: Vec<Waiter> = (0..).zip(&parties).map(|(n, party)| line.waiter(n, *party)).collect();
        let states: Vec<CellState> = cells.iter().map(|cell| match cell {
            Cell::Sold => CellState::Sold,
            Cell::Free => CellState::Free,
            Cell::Basket | Cell::Kept => CellState::Held,
        }).collect();
        let kept: Vec<u32> = (0..).zip(&cells).filter(|(_, cell)| **cell == Cell::Kept).map(|(at, _)| at).collect();
        let shares = share(line.house(), &states, &kept, &waiting, NOW_MS, &mut rand::rng());
        let mut free: Vec<bool> = cells.iter().map(|cell| matches!(cell, Cell::Kept | Cell::Free)).collect();
        let mut offers = shares.offers.iter();
        for (at, (quantity, first, (from, to), here)) in parties.iter().enumerate() {
            let free_seats = line.seats_over(&free, *first, *from..*to);
            if !here || free_seats.len() < *quantity as usize {
                continue;
            }
            let Some((served, seated)) = offers.next() else {
                return Err(TestCaseError::fail(format!("party {at} was passed over")));
            };
            prop_assert_eq!(*served, at);
            prop_assert_eq!(&seated.legs, &(*from..*to));
            let distinct: HashSet<u32> = seated.seats.iter().copied().collect();
            prop_assert_eq!(distinct.len(), *quantity as usize);
            for seat in distinct {
                prop_assert!(free_seats.contains(&seat), "seat {} is not free for party {}", seat, at);
                for cell in line.house().grid().cells_of(seat, *from..*to) {
                    free[cell as usize] = false;
                }
            }
        }
        prop_assert!(offers.next().is_none(), "a party was offered seats that do not fit it");
        let unoffered: Vec<u32> = kept.iter().copied().filter(|cell| free[*cell as usize]).collect();
        prop_assert_eq!(shares.left, unoffered);
        let unsold: Vec<bool> = cells.iter().map(|cell| *cell != Cell::Sold).collect();
        let vain: Vec<usize> = parties.iter().enumerate()
            .filter(|(_, (quantity, first, (from, to), _))| line.seats_over(&unsold, *first, *from..*to).len() < *quantity as usize)
            .map(|(at, _)| at).collect();
        prop_assert_eq!(never_served(line.house(), &states, &waiting, &mut rand::rng()), vain);
    }
}
