//! Simulates a sale with several seeds, on all cores.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::simulate;
use fairgate_simulation::summary::SeedFigures;

/// The shortest time between two messages about the progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// The figures of all seeds.
pub struct SimulatedSeeds {
    /// The figures of each seed, in the order of the seeds.
    pub figures: Vec<SeedFigures>,
    /// The mean time that one seed took on one core, in seconds.
    pub seed_s: f64,
}

/// Simulates the sale with the seeds from `first_seed` on. The same sale and seeds give the same
/// figures on any number of cores.
pub fn simulate_seeds(sale: &PlannedSale, first_seed: u64, count: u32) -> SimulatedSeeds {
    let simulated = each_seed(first_seed, count, |seed| {
        let begun = Instant::now();
        let figures = SeedFigures::from(&simulate(sale, seed));
        (figures, begun.elapsed())
    });
    let took: Duration = simulated.iter().map(|(_, took)| *took).sum();
    SimulatedSeeds {
        figures: simulated.into_iter().map(|(figures, _)| figures).collect(),
        seed_s: took.as_secs_f64() / f64::from(count.max(1)),
    }
}

/// Calls `simulate` for each of the `count` seeds from `first_seed` on, on all cores, and prints
/// the progress to standard error. Returns the results in the order of the seeds.
pub fn each_seed<T: Send>(
    first_seed: u64,
    count: u32,
    simulate: impl Fn(u64) -> T + Sync,
) -> Vec<T> {
    let next = AtomicU32::new(0);
    let results: Mutex<Vec<(u32, T)>> = Mutex::new(Vec::new());
    let last_progress = Mutex::new(Instant::now());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = simulate(first_seed.wrapping_add(u64::from(index)));
            let mut results = results.lock();
            results.push((index, result));
            let mut last_progress = last_progress.lock();
            if last_progress.elapsed() >= PROGRESS_EVERY {
                *last_progress = Instant::now();
                eprintln!("{} of {count} seeds are simulated …", results.len());
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut results = std::mem::take(&mut *results.lock());
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
