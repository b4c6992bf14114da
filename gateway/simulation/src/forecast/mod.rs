//! Forecasts when a running sale is sold out. The figures of the sale so far say what its visitors
//! do. The rest of the sale is then simulated several times. Each simulation first repeats the last
//! minutes as they went, and then goes on to the end.

mod habits;
mod rest;
mod running;

use crate::outcome::{SaleOutcome, SecondFigures};
use crate::run::simulate_until_sold_out;
use habits::MeasuredHabits;
use rest::RestOfSale;

pub use running::{RunningFigures, RunningSale};

/// How many times the rest of the sale is simulated at most.
const SEEDS: u64 = 6;
/// How many times the rest of the sale is simulated at least.
const SEEDS_MIN: usize = 2;
/// After [`SEEDS_MIN`] simulations, no further one begins once all of them together have covered
/// more seconds than this. This keeps the forecasts of a minute below 50 ms of processor time on
/// average over a sale.
const SECONDS_MAX: usize = 3_000;
/// Eight in ten values of a normal distribution are at most this many standard deviations from its
/// middle.
const EIGHT_IN_TEN: f64 = 1.28;

/// When a sale is expected to be sold out, in seconds after its beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoldOutForecast {
    /// One in ten such sales is sold out by this time.
    pub p10_s: f64,
    /// Half of such sales are sold out by this time.
    pub p50_s: f64,
    /// Nine in ten such sales are sold out by this time.
    pub p90_s: f64,
}

/// What is known about the end of a sale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SaleForecast {
    /// The sale will be sold out.
    SoldOut(SoldOutForecast),
    /// Seats will be left when nobody waits any more, or when the room closes.
    SeatsLeft,
}

/// Returns how long it takes until the number of the last cells has fallen to 1 / e of itself,
/// about a third, in seconds. It is the median of the simulations. A sale that is n times as large
/// has n times as many cells left at the same time. So it is sold out later, by ln(n) times the
/// returned time.
fn fade_s(outcomes: &[SaleOutcome]) -> f64 {
    let spans = outcomes.iter().filter_map(|outcome| {
        let first_s_with_left = |left: u64| {
            let is_left = |second: &&SecondFigures| second.free + second.held <= left;
            let second = outcome.seconds.iter().find(is_left);
            second.map(|second| f64::from(second.at_s))
        };
        Some(first_s_with_left(1)? - first_s_with_left(4)?)
    });
    let mut spans: Vec<f64> = spans.collect();
    spans.sort_unstable_by(f64::total_cmp);
    // A cell whose buyers give up several times makes one span very long, so the median is used.
    let median_s = spans.get(spans.len() / 2).copied().unwrap_or(0.0);
    // If every cell is sold with the same probability in each second, the first of four cells is
    // sold after a fourth of the returned time on average. The next one is sold after a third of
    // it, and the next after a half.
    let fourths = 1.0 / 4.0 + 1.0 / 3.0 + 1.0 / 2.0;
    median_s / fourths
}

/// Forecasts a running sale. Returns `None` while too few visitors have tickets, and when nothing
/// is left to sell. The same figures give the same forecast.
#[must_use]
pub fn forecast(sale: &RunningSale) -> Option<SaleForecast> {
    let now = sale.figures.last()?;
    let habits = MeasuredHabits::of(&sale.figures)?;
    if now.free + now.held == 0 {
        return None;
    }
    let rest_of_sale = RestOfSale::of(sale, &habits);
    let (mut outcomes, mut simulated_seconds): (Vec<SaleOutcome>, usize) = (Vec::new(), 0);
    for seed in 1..=SEEDS {
        if simulated_seconds > SECONDS_MAX && outcomes.len() >= SEEDS_MIN {
            break;
        }
        let outcome = simulate_until_sold_out(&rest_of_sale.planned(seed), seed);
        simulated_seconds += outcome.seconds.len();
        outcomes.push(outcome);
    }
    let ends = outcomes.iter().filter_map(|outcome| outcome.sold_out_s);
    let mut sold_out: Vec<f64> = ends.map(|end_s| rest_of_sale.from_s + end_s).collect();
    if sold_out.len() * 2 <= outcomes.len() {
        return Some(SaleForecast::SeatsLeft);
    }
    let later_s = fade_s(&outcomes) * rest_of_sale.real_buyers_per_simulated().ln();
    sold_out.iter_mut().for_each(|end| *end += later_s);
    sold_out.sort_unstable_by(f64::total_cmp);
    let count = sold_out.len() as f64;
    let median_s = f64::midpoint(
        sold_out[(sold_out.len() - 1) / 2],
        sold_out[sold_out.len() / 2],
    );
    let variance = sold_out.iter().map(|end| (end - median_s).powi(2));
    let deviation = (variance.sum::<f64>() / count).sqrt();
    let half_width_s = EIGHT_IN_TEN * deviation;
    Some(SaleForecast::SoldOut(SoldOutForecast {
        p10_s: (median_s - half_width_s).max(now.at_s),
        p50_s: median_s.max(now.at_s),
        p90_s: median_s + half_width_s,
    }))
}
