//! Checks forecasts of simulated sales. It is known when these sales are sold out.

mod common;
#[path = "common/running.rs"]
mod running;

use fairgate_rules::pace::VISITOR_U;
use fairgate_simulation::behaviour::{SecondsRange, VisitorBehaviour};
use fairgate_simulation::forecast::{RunningFigures, RunningSale, SaleForecast, forecast};
use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::simulate;
use running::figures;

/// The number of seats that everybody buys. It is fixed, so that the number of buyers follows from
/// the sold seats.
const PARTY: f64 = 2.0;

fn sale(seats: u32, per_s: u64, visitors: usize) -> PlannedSale {
    let mut sale = common::sale();
    sale.shows[0].seats = seats;
    sale.shows[0].hold_s = 15;
    sale.shows[0].pay_s = 15;
    sale.room.pace.per_s_u = per_s * VISITOR_U;
    sale.room.pace.pass_s = 60;
    sale.crowd.visitors = visitors;
    sale.behaviour = VisitorBehaviour {
        party: vec![0.0, 1.0],
        give_up: 0.1,
        claim_s: SecondsRange(0.5, 3.0),
        choose_s: SecondsRange(2.0, 10.0),
        order_s: SecondsRange(2.0, 8.0),
        pay_s: SecondsRange(2.0, 12.0),
        tries: 100,
        ..VisitorBehaviour::default()
    };
    sale.until_s = 7_200;
    sale
}

/// Simulates a sale. Returns the figures that a report has after the given share of the time until
/// the sale is sold out. Also returns that time, in seconds after the beginning of the sale.
fn until(sale: &PlannedSale, share: f64, seed: u64) -> (RunningSale, f64) {
    let outcome = simulate(sale, seed);
    let sold_out_s = outcome.sold_out_s.expect("it is sold out");
    let until_s = (sold_out_s * share / 10.0).floor() * 10.0;
    let seconds = outcome.seconds.iter();
    let figures = seconds.map(|second| figures(second, sale.room.draw_s, PARTY));
    let every_ten = |figures: &RunningFigures| {
        figures.at_s >= 0.0 && figures.at_s <= until_s && figures.at_s % 10.0 == 0.0
    };
    let running = RunningSale {
        room: sale.room,
        hold_s: sale.shows[0].hold_s,
        figures: figures.filter(every_ten).collect(),
    };
    (running, sold_out_s)
}

#[test]
fn at_half_of_a_sale_most_forecasts_of_its_end_are_right_within_an_eighth() {
    for (seats, per_s, visitors, sales) in [
        (400, 4, 4_000, 101),
        (4_000, 10, 20_000, 7),
        (20_000, 100, 60_000, 7),
    ] {
        let sale = sale(seats, per_s, visitors);
        // Chance decides when the last seats of a single sale are sold, most of all in a small one.
        // So the test checks the median of several sales.
        let off = (1..=sales).map(|seed| {
            let (running, sold_out_s) = until(&sale, 0.5, seed);
            let Some(SaleForecast::SoldOut(told)) = forecast(&running) else {
                panic!("{seats} seats: it will be sold out");
            };
            assert!(told.p10_s <= told.p50_s && told.p50_s <= told.p90_s);
            (told.p50_s / sold_out_s - 1.0).abs()
        });
        let mut off: Vec<f64> = off.collect();
        off.sort_unstable_by(f64::total_cmp);
        assert!(off[off.len() / 2] <= 0.125, "{seats} seats: {off:?}");
    }
}

#[test]
fn the_same_figures_give_the_same_forecast() {
    let (running, _) = until(&sale(400, 4, 4_000), 0.5, 7);
    let told = forecast(&running);
    assert!(told.is_some());
    assert_eq!(forecast(&running), told);
}

#[test]
fn a_line_that_is_too_short_leaves_seats() {
    let (mut running, _) = until(&sale(400, 4, 4_000), 0.5, 7);
    let joined = running.figures.last().expect("figures").released;
    for figures in &mut running.figures {
        (figures.joined, figures.waiting) = (joined, joined - figures.released);
    }
    assert_eq!(forecast(&running), Some(SaleForecast::SeatsLeft));
}

#[test]
fn nothing_is_told_before_the_first_tickets_and_after_the_last_seat() {
    let (mut running, _) = until(&sale(400, 4, 4_000), 0.5, 7);
    let mut early = running.clone();
    early.figures.truncate(2);
    assert_eq!(forecast(&early), None);
    let last = running.figures.last_mut().expect("figures");
    (last.free, last.held) = (0, 0);
    assert_eq!(forecast(&running), None);
}
