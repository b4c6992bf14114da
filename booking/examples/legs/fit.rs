//! Simulates how full a train gets with booking's rule for choosing seats, without a store.
//! Travellers ask for stretches one after the other, and some give their seats back. The result is
//! the number of passenger-legs that stay sold. It is compared with the results of other rules for
//! the same travellers.

use fairgate_model::choosing::rail::{TrainParty, TrainSeatStates, choose};
use fairgate_model::grid::{CellGrid, CellState};
use fairgate_model::plans::seatmap::SeatMap;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::train::carriages;

/// The size of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// The number of seats, in rows of five.
    pub seats: u32,
    /// The number of stops of the train.
    pub stops: u16,
    /// The number of travellers who ask for a seat.
    pub requests: usize,
    /// The share of travellers who later give their seat back, in per cent.
    pub lapsing_pct: u32,
    /// The number of runs, each with other travellers.
    pub seeds: u64,
}

/// The full size: 100 seats, 16 stops, 700 requests, 20 % lapsing, 30 seeds.
pub const SIZE: Simulation = Simulation {
    seats: 100,
    stops: 16,
    requests: 700,
    lapsing_pct: 20,
    seeds: 30,
};

/// The largest value of [`Request::lapses_after`].
const LAPSES_WITHIN: usize = 60;

/// The number of passenger-legs sold, for each way of choosing: the mean over all seeds.
#[derive(Debug, Clone, Copy)]
pub struct Sold {
    /// The seat whose free interval fits the stretch most tightly. Booking chooses this way.
    pub tightest: f64,
    /// Any seat, because all other travellers can get new seats at any time. So a traveller is
    /// refused only if some leg of the stretch is full.
    pub reseating: f64,
    /// The first seat that is free.
    pub first: f64,
    /// A random seat that is free.
    pub random: f64,
}

/// A traveller's request for a stretch.
struct Request {
    from: u16,
    to: u16,
    /// The number of further requests after which the seat is given back. `None` if it is never
    /// given back.
    lapses_after: Option<usize>,
}

#[derive(Clone, Copy)]
enum SeatRule {
    Tightest,
    First,
    Random,
}

/// Simulates all ways of choosing, with all seeds.
pub fn simulate(simulation: Simulation) -> Sold {
    let map = carriages(simulation.seats);
    let mut sums = [0_u64; 4];
    for seed in 0..simulation.seeds {
        let mut dice = StdRng::seed_from_u64(seed);
        let requests = requests(simulation, &mut dice);
        sums[0] += seated(&map, simulation, &requests, SeatRule::Tightest, &mut dice);
        sums[1] += reseated(&map, simulation, &requests);
        sums[2] += seated(&map, simulation, &requests, SeatRule::First, &mut dice);
        sums[3] += seated(&map, simulation, &requests, SeatRule::Random, &mut dice);
    }
    let [tightest, reseating, first, random] = sums.map(|sum| sum as f64 / simulation.seeds as f64);
    Sold {
        tightest,
        reseating,
        first,
        random,
    }
}

fn requests(simulation: Simulation, dice: &mut StdRng) -> Vec<Request> {
    let request = |_| {
        let (a, mut b) = (
            dice.random_range(0..simulation.stops),
            dice.random_range(0..simulation.stops - 1),
        );
        // Every pair of different stops is equally likely.
        b += u16::from(b >= a);
        let lapses = dice.random_range(0..100) < simulation.lapsing_pct;
        Request {
            from: a.min(b),
            to: a.max(b),
            lapses_after: lapses.then(|| dice.random_range(1..=LAPSES_WITHIN)),
        }
    };
    (0..simulation.requests).map(request).collect()
}

/// Gives each traveller one seat for the whole stretch, if there is one. Returns the passenger-legs
/// that stay sold.
fn seated(
    map: &SeatMap,
    simulation: Simulation,
    requests: &[Request],
    way: SeatRule,
    dice: &mut StdRng,
) -> u64 {
    let grid = CellGrid {
        seats: map.cell_count(),
        legs: simulation.stops - 1,
    };
    let mut states = vec![CellState::Free; grid.cell_count() as usize];
    let mut to_give_back: Vec<(usize, u32, &Request)> = Vec::new();
    let mut sold = 0;
    for (now, request) in requests.iter().enumerate() {
        to_give_back.retain(|(at, seat, of)| {
            if *at <= now {
                for cell in grid.cells_of(*seat, of.from..of.to) {
                    states[cell as usize] = CellState::Free;
                }
            }
            *at > now
        });
        let train = TrainSeatStates {
            map,
            grid,
            states: &states,
        };
        let Some(seat) = chosen(&train, request, way, dice) else {
            continue;
        };
        for cell in grid.cells_of(seat, request.from..request.to) {
            assert_eq!(states[cell as usize], CellState::Free, "a taken cell");
            states[cell as usize] = CellState::Held;
        }
        match request.lapses_after {
            Some(after) => to_give_back.push((now + after, seat, request)),
            None => sold += u64::from(request.to - request.from),
        }
    }
    sold
}

fn chosen(
    train: &TrainSeatStates<'_>,
    request: &Request,
    way: SeatRule,
    dice: &mut StdRng,
) -> Option<u32> {
    let legs = request.from..request.to;
    let mut free = (0..train.grid.seats).filter(|seat| train.is_free(*seat, &legs));
    match way {
        SeatRule::First => free.next(),
        SeatRule::Random => {
            let free: Vec<u32> = free.collect();
            let at = (!free.is_empty()).then(|| dice.random_range(0..free.len()))?;
            free.get(at).copied()
        }
        SeatRule::Tightest => {
            let party = TrainParty {
                quantity: 1,
                class: 0,
            };
            choose(train, &legs, party, 0, dice)
                .ok()?
                .cells
                .first()
                .copied()
        }
    }
}

/// Accepts each traveller if no leg of the stretch is full, and counts only the travellers on each
/// leg. Returns the passenger-legs that stay sold.
fn reseated(map: &SeatMap, simulation: Simulation, requests: &[Request]) -> u64 {
    let mut taken = vec![0_u32; usize::from(simulation.stops - 1)];
    let mut to_give_back: Vec<(usize, &Request)> = Vec::new();
    let mut sold = 0;
    for (now, request) in requests.iter().enumerate() {
        to_give_back.retain(|(at, of)| {
            if *at <= now {
                for leg in of.from..of.to {
                    taken[usize::from(leg)] -= 1;
                }
            }
            *at > now
        });
        let mut legs = request.from..request.to;
        if legs.any(|leg| taken[usize::from(leg)] >= map.cell_count()) {
            continue;
        }
        for leg in request.from..request.to {
            taken[usize::from(leg)] += 1;
        }
        match request.lapses_after {
            Some(after) => to_give_back.push((now + after, request)),
            None => sold += u64::from(request.to - request.from),
        }
    }
    sold
}
