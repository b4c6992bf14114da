//! Finds the limit of the measured processes that breaks first as the crowd grows.

use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::simulate;
use serde::Serialize;

use super::BUSY_MAX;
use super::demand::SaleDemand;
use crate::calibration::Calibration;
use crate::rig::RigSpecification;

/// How many sockets a process needs for other things than visitors.
const SOCKETS_KEPT: u64 = 500;
/// The part of a machine's memory that the processes may use.
const MEMORY_MAX: f64 = 0.8;
/// How often the crowd is doubled or halved at most.
const DOUBLED_MAX: i32 = 6;
/// How often the search then halves the range between a crowd within the limits and a crowd beyond
/// them.
const HALVED: u32 = 6;

/// A resource of the measured processes that can run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityLimit {
    /// The processors of the machine.
    Cpu,
    /// The one processor of the Redis server that has the room or the show.
    Redis,
    /// The commits that wait for the ledger's disk.
    Commits,
    /// The sockets that the gateways may have open.
    Sockets,
    /// The memory of the machine.
    Memory,
}

/// The limit that breaks first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FirstLimit {
    /// What there is too little of.
    pub limit: CapacityLimit,
    /// The smallest number of visitors with which the limit breaks.
    pub at_visitors: u64,
    /// This number as a multiple of the planned visitors. If it is below 1, the planned crowd is
    /// too large.
    pub times: f64,
}

impl CapacityLimit {
    /// Returns what there is too little of, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cpu => "the processors",
            Self::Redis => "the one processor of the Redis with the room",
            Self::Commits => "the commits that the ledger's disk takes",
            Self::Sockets => "the sockets that a gateway may have open",
            Self::Memory => "the memory",
        }
    }
}

/// Returns each limit of the calibrated processes, and the part of it that a sale uses in its worst
/// second.
pub fn uses(demand: &SaleDemand, calibration: &Calibration) -> [(CapacityLimit, f64); 5] {
    let machine = &calibration.machine;
    // A rig that cannot be read was changed by hand. It counts as one gateway.
    let rig: RigSpecification = calibration.rig.parse().unwrap_or_default();
    let gateways = rig.gateways as f64;
    let cpu_ms = demand.peak(|second| second.cost(calibration).all_ms());
    let redis_ms = demand.peak(|second| second.cost(calibration).redis_ms);
    let commits = calibration.ledger.commits_per_purchase.unwrap_or(0.0);
    let commits_per_s = demand.peak(|second| second.purchases) * commits;
    let sockets = demand.peak(|second| second.sockets);
    let sockets_max = machine.sockets_max.saturating_sub(SOCKETS_KEPT).max(1) as f64;
    [
        (
            CapacityLimit::Cpu,
            cpu_ms / (machine.cpus as f64 * 1e3 * BUSY_MAX),
        ),
        (CapacityLimit::Redis, redis_ms / (1e3 * BUSY_MAX)),
        (
            CapacityLimit::Commits,
            commits_per_s / calibration.ledger.syncs_per_s.max(1.0),
        ),
        (CapacityLimit::Sockets, sockets / (sockets_max * gateways)),
        (
            CapacityLimit::Memory,
            super::machines::memory_mb(demand, calibration) / (machine.memory_mb * MEMORY_MAX),
        ),
    ]
}

/// Returns the limit that a sale uses most of, and the part of it that the sale uses.
pub fn tightest(demand: &SaleDemand, calibration: &Calibration) -> (CapacityLimit, f64) {
    let all = uses(demand, calibration);
    let tightest = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    tightest.unwrap_or((CapacityLimit::Cpu, 0.0))
}

/// Simulates the sale with larger or smaller crowds, and with booking that answers at once. Finds
/// the crowd with which the first limit breaks. Returns `None` if no limit breaks with 64 times the
/// crowd.
pub fn first_limit(sale: &PlannedSale, calibration: &Calibration, seed: u64) -> Option<FirstLimit> {
    let tried = |times: f64| {
        let larger = times_the_crowd(sale, times);
        let demand = SaleDemand::of(&larger, &simulate(&larger, seed));
        tightest(&demand, calibration)
    };
    let (mut holds, mut breaks) = (None, None);
    if tried(1.0).1 > 1.0 {
        breaks = Some(0);
        for halved in 1..=DOUBLED_MAX {
            if tried(f64::powi(2.0, -halved)).1 <= 1.0 {
                holds = Some(-halved);
                break;
            }
            breaks = Some(-halved);
        }
    } else {
        holds = Some(0);
        for doubled in 1..=DOUBLED_MAX {
            if tried(f64::powi(2.0, doubled)).1 > 1.0 {
                breaks = Some(doubled);
                break;
            }
            holds = Some(doubled);
        }
    }
    let breaks = f64::from(breaks?);
    let (mut low, mut high) = (holds.map_or(breaks - 1.0, f64::from), breaks);
    for _ in 0..HALVED {
        let middle = f64::midpoint(low, high);
        match tried(middle.exp2()).1 > 1.0 {
            true => high = middle,
            false => low = middle,
        }
    }
    let times = high.exp2();
    let larger = times_the_crowd(sale, times);
    Some(FirstLimit {
        limit: tried(times).0,
        at_visitors: larger.visitors(),
        times,
    })
}

/// Returns the sale with a larger or smaller crowd. Bots, and visitors who never read, remain the
/// same share of it.
fn times_the_crowd(sale: &PlannedSale, times: f64) -> PlannedSale {
    let mut larger = sale.clone();
    let scaled = |count: usize| (count as f64 * times).round() as usize;
    larger.server.calls_per_s = None;
    larger.crowd.visitors = scaled(sale.crowd.visitors).max(1);
    larger.crowd.mute = scaled(sale.crowd.mute);
    larger.bots.placed = scaled(sale.bots.placed);
    larger.bots.refused = scaled(sale.bots.refused);
    larger.arrivals = sale.arrivals.as_ref().map(|past| past.times(times));
    larger
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::sale::planned_sale;
    use crate::swarm::scenario_of;

    fn sale() -> PlannedSale {
        let text = r#"
            title = "A test"
            planned_s = 10.0
            deadline_s = 600.0
            [crowd]
            visitors = 1000
            over_s = 10.0
            arrivals = "uniform"
            socket = 1.0
            [[venue]]
            id = "hall"
            plan = "grid:4x5"
            [[show]]
            id = "night"
            venue = "hall"
            title = "A night"
            starts_at = "2031-06-01T20:00:00Z"
            prices = { cat1 = 9900, cat2 = 4900 }
            [[room]]
            id = "sale"
            title = "A night"
            shows = ["night"]
            opens_at = "+0s"
            draw_at = "+20s"
            per_s = 1
        "#;
        let scenario = scenario_of("test", text).expect("a scenario");
        planned_sale(&scenario, None).expect("a sale")
    }

    #[test]
    fn the_first_limit_is_the_one_of_which_there_is_least() {
        let (sale, plenty) = (sale(), Calibration::example());
        // 19,500 sockets are free, and the crowd opens 1,000.
        let by_plenty = first_limit(&sale, &plenty, 1).expect("a limit");
        assert_eq!(by_plenty.limit, CapacityLimit::Sockets);
        assert!((18.0..20.5).contains(&by_plenty.times), "{by_plenty:?}");

        let mut few = plenty.clone();
        few.machine.sockets_max = 500 + 250;
        let by_sockets = first_limit(&sale, &few, 1).expect("a limit");
        assert_eq!(by_sockets.limit, CapacityLimit::Sockets);
        assert!((0.2..0.3).contains(&by_sockets.times), "{by_sockets:?}");

        let mut slow = plenty.clone();
        slow.work.join.gateway_ms = 20.0;
        let by_cpu = first_limit(&sale, &slow, 1).expect("a limit");
        assert_eq!(by_cpu.limit, CapacityLimit::Cpu);
        assert!((0.7..0.9).contains(&by_cpu.times), "{by_cpu:?}");

        let mut small = plenty;
        small.machine.memory_mb = 1.0;
        let by_memory = first_limit(&sale, &small, 1).expect("a limit");
        assert_eq!(by_memory.limit, CapacityLimit::Memory);
    }

    #[test]
    fn a_larger_crowd_has_the_same_share_of_bots_and_mute_visitors() {
        let mut sale = sale();
        sale.crowd.mute = 50;
        (sale.bots.placed, sale.bots.refused) = (400, 300);
        let larger = times_the_crowd(&sale, 4.0);
        assert_eq!((larger.crowd.visitors, larger.crowd.mute), (4_000, 200));
        assert_eq!((larger.bots.placed, larger.bots.refused), (1_600, 1_200));
    }
}
