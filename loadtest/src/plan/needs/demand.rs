//! Works out how much work of each kind a simulated sale makes in each second. Also works out what
//! this work costs by the figures of a calibration.

use fairgate_rules::estimate::refresh_s;
use fairgate_simulation::behaviour::SecondsRange;
use fairgate_simulation::outcome::{SaleOutcome, SecondFigures};
use fairgate_simulation::sale::PlannedSale;

use crate::calibration::{Calibration, WorkCost};

/// How many calls a purchase makes after the pass: the hold, the order, the payment, and two that
/// read the order and its ticket.
const CALLS_AFTER_PASS: f64 = 5.0;
/// How many pictures of the seats a visitor who is inside gets in a second.
const PICTURES_PER_S: f64 = 1.0;

/// The work of one second, as the mean of the last few seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct SecondOfWork {
    pub joins: f64,
    pub polls: f64,
    /// The most open sockets in these seconds.
    pub sockets: f64,
    pub sockets_opened: f64,
    pub entries: f64,
    pub calls: f64,
    pub pictures: f64,
    pub purchases: f64,
}

/// The number of seconds in a mean. A shorter overload does no harm: a server that is too busy for
/// a second or two only answers a little later.
const TOGETHER: usize = 5;

/// What a second of work takes: processor milliseconds of each kind of process, and bytes.
pub type UseOfSecond = WorkCost;

/// The work of a sale, second by second.
#[derive(Debug, Clone)]
pub struct SaleDemand {
    seconds: Vec<SecondOfWork>,
    /// The number of places at the end.
    pub places: f64,
    /// How many gateways are needed besides the gateways that do the work. This is one if the plan
    /// loses a gateway, and otherwise none.
    pub spare_gateways: u64,
}

impl SaleDemand {
    /// Works out the work of a simulated sale.
    pub fn of(sale: &PlannedSale, outcome: &SaleOutcome) -> Self {
        let mut before = None;
        let mut seconds = Vec::with_capacity(outcome.seconds.len());
        let tickets = outcome.ends.ticketed.max(1) as f64;
        let sold = outcome.seconds.last().map_or(0, |second| second.sold);
        let cells_each = (sold as f64 / tickets).max(1.0);
        for second in &outcome.seconds {
            seconds.push(work(sale, before, second, cells_each));
            before = Some(second);
        }
        open_again(sale, &mut seconds);
        let is_lost = sale
            .lost_gateway
            .is_some_and(|lost| lost.at_s <= seconds.len() as f64);
        let last = outcome.seconds.last();
        Self {
            seconds: (1..=seconds.len())
                .map(|until| SecondOfWork::mean(&seconds[until.saturating_sub(TOGETHER)..until]))
                .collect(),
            places: last.map_or(0.0, |second| second.joined as f64),
            spare_gateways: u64::from(is_lost),
        }
    }

    /// Returns how long the sale takes, in seconds from the opening of the lobby.
    pub fn length_s(&self) -> f64 {
        self.seconds.len() as f64
    }

    /// Returns the largest value of something over all seconds.
    pub fn peak(&self, of: impl Fn(&SecondOfWork) -> f64) -> f64 {
        self.seconds.iter().map(of).fold(0.0, f64::max)
    }

    /// Returns whether something holds in every second.
    pub fn all_seconds(&self, holds: impl Fn(&SecondOfWork) -> bool) -> bool {
        self.seconds.iter().all(holds)
    }

    /// Returns the sum of something over all seconds.
    pub fn sum(&self, of: impl Fn(&SecondOfWork) -> f64) -> f64 {
        self.seconds.iter().map(of).sum()
    }
}

/// Adds the work of reopening the sockets of a lost gateway. They are reopened evenly over the
/// range `drop_s` after the loss.
fn open_again(sale: &PlannedSale, seconds: &mut [SecondOfWork]) {
    let Some(lost) = sale.lost_gateway else {
        return;
    };
    let SecondsRange(from_s, until_s) = sale.behaviour.drop_s;
    // The first element is second 1.
    let index = |at_s: f64| (at_s.ceil() as usize).saturating_sub(1);
    let first = index(lost.at_s + from_s);
    let last = index(lost.at_s + until_s).max(first);
    let broken = seconds.get(index(lost.at_s));
    let broken = broken.map_or(0.0, |second| second.sockets * lost.share);
    let each = broken / (last - first + 1) as f64;
    for second in seconds.iter_mut().take(last + 1).skip(first) {
        second.sockets_opened += each;
    }
}

fn work(
    sale: &PlannedSale,
    before: Option<&SecondFigures>,
    now: &SecondFigures,
    cells_each: f64,
) -> SecondOfWork {
    let grown = |figure: fn(&SecondFigures) -> u64| {
        let then = before.map_or(0, figure);
        figure(now).saturating_sub(then) as f64
    };
    let (waiting, inside) = (now.waiting as f64, now.inside as f64);
    let socket = sale.crowd.socket;
    let begun = f64::from(now.at_s) >= sale.room.draw_s;
    let middle = begun.then_some(now.waiting / 2);
    let every_s = refresh_s(middle, sale.room.pace.per_s_u) as f64;
    let joins = grown(|second| second.joined);
    SecondOfWork {
        joins,
        polls: waiting * (1.0 - socket) / every_s,
        sockets: (waiting + inside) * socket,
        sockets_opened: joins * socket,
        entries: grown(|second| second.entered),
        calls: grown(|second| second.calls),
        pictures: inside * socket * PICTURES_PER_S,
        purchases: grown(|second| second.sold) / cells_each,
    }
}

impl SecondOfWork {
    /// Returns the mean of the last [`TOGETHER`] seconds. If there are fewer, the missing ones
    /// count as seconds without work.
    fn mean(seconds: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| seconds.iter().map(of).sum::<f64>() / TOGETHER as f64;
        Self {
            joins: mean(|second| second.joins),
            polls: mean(|second| second.polls),
            sockets: seconds
                .iter()
                .map(|second| second.sockets)
                .fold(0.0, f64::max),
            sockets_opened: mean(|second| second.sockets_opened),
            entries: mean(|second| second.entries),
            calls: mean(|second| second.calls),
            pictures: mean(|second| second.pictures),
            purchases: mean(|second| second.purchases),
        }
    }

    /// Returns what this second's work costs by the figures of a calibration.
    pub fn cost(&self, calibration: &Calibration) -> UseOfSecond {
        let work = &calibration.work;
        let parts = [
            (self.joins, work.join),
            (self.polls, work.poll),
            (self.sockets, work.socket_wait),
            (self.sockets_opened, work.socket_open),
            (self.entries, work.enter),
            (self.calls, call(calibration)),
            (self.pictures, work.picture),
        ];
        let mut all = WorkCost::default();
        for (units, cost) in parts {
            all = all.plus(&cost.divided(1.0 / units.max(f64::MIN_POSITIVE)));
        }
        all
    }

    /// Returns whether the calibrated machine has done at least as much of each kind of work.
    pub fn was_reached(&self, calibration: &Calibration) -> bool {
        let work = &calibration.work;
        let done = [
            (self.joins, work.join),
            (self.polls, work.poll),
            (self.sockets, work.socket_wait),
            (self.sockets_opened, work.socket_open),
            (self.entries, work.enter),
            (self.pictures, work.picture),
            (self.calls / CALLS_AFTER_PASS, work.purchase),
            (self.purchases, work.purchase),
        ];
        done.iter().all(|(units, cost)| *units <= cost.per_s)
    }
}

/// Returns what one call to booking costs: the cost of a purchase without the join and the pass,
/// divided by the number of its calls.
pub fn call(calibration: &Calibration) -> WorkCost {
    let work = &calibration.work;
    let bought = work.purchase.without(&work.join).without(&work.enter);
    bought.divided(CALLS_AFTER_PASS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sockets_of_a_lost_gateway_are_opened_again_by_the_others() {
        let text = include_str!("../../../scenarios/calm.toml");
        let scenario = crate::swarm::scenario_of("calm", text).expect("a scenario");
        let mut sale = crate::plan::sale::planned_sale(&scenario, None).expect("a sale");
        let opened = |sale: &PlannedSale| {
            let outcome = fairgate_simulation::simulate(sale, 1);
            let demand = SaleDemand::of(sale, &outcome);
            (demand.sum(|second| second.sockets_opened), demand)
        };
        let (before, demand) = opened(&sale);
        assert_eq!(demand.spare_gateways, 0);
        sale.lost_gateway = Some(fairgate_simulation::sale::LostGateway {
            at_s: sale.room.draw_s + 10.0,
            share: 0.25,
        });
        let (after, demand) = opened(&sale);
        assert_eq!(demand.spare_gateways, 1);
        let sockets = demand.peak(|second| second.sockets);
        let again = after - before;
        assert!(
            (0.15 * sockets..=0.3 * sockets).contains(&again),
            "{again} {sockets}"
        );
    }

    #[test]
    fn the_cost_of_a_second_is_the_sum_of_its_work() {
        let calibration = Calibration::example();
        let second = SecondOfWork {
            joins: 10.0,
            sockets: 1_000.0,
            calls: 10.0,
            ..SecondOfWork::default()
        };
        // 10 × 0.2 + 1,000 × 0.002 + 10 × (3.4 − 0.2 − 0.2) / 5
        let cost = second.cost(&calibration);
        assert!((cost.gateway_ms - 10.0).abs() < 1e-9, "{cost:?}");
        assert!(second.was_reached(&calibration));
        let more = SecondOfWork {
            joins: 1_001.0,
            ..second
        };
        assert!(!more.was_reached(&calibration));
    }
}
