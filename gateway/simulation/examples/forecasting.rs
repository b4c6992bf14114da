//! Measures how much time the forecasts of a room's report take while its sale runs. It does so for
//! a sale of minutes, a sale of an hour, and a sale with long baskets. The exit code is 1 if the
//! forecasts take too long.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/running.rs"]
mod running;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use fairgate_rules::pace::VISITOR_U;
use fairgate_rules::room_document::PaceMode;
use fairgate_simulation::behaviour::{SecondsRange, VisitorBehaviour};
use fairgate_simulation::crowd::ArrivalPattern;
use fairgate_simulation::forecast::{RunningFigures, RunningSale, forecast};
use fairgate_simulation::sale::PlannedSale;
use fairgate_simulation::simulate;
use running::figures;

/// The forecasts of a minute may take this much time of one core, in milliseconds. The limit is for
/// the mean over a sale, because the first forecasts simulate nearly all of the sale, and the last
/// ones little.
const MINUTE_MS_MAX: f64 = 50.0;
/// How many seconds pass between two samples of a report: first in the first [`FIRST_S`] seconds of
/// a sale, then later.
const SAMPLE_S: [u32; 2] = [5, 10];
const FIRST_S: u32 = 300;

fn main() -> ExitCode {
    let sales = [
        ("400 seats, minutes", sale(400, 5, 15)),
        ("40,000 seats, an hour", sale(40_000, 25, 300)),
        ("8,000 seats, long baskets", sale(8_000, 10, 600)),
    ];
    let mut out = std::io::stdout();
    let mut all_in_time = true;
    for (name, sale) in sales {
        let minutes = minutes_ms(&sale);
        let most = minutes.iter().copied().fold(0.0, f64::max);
        let mean = minutes.iter().sum::<f64>() / minutes.len().max(1) as f64;
        all_in_time &= mean <= MINUTE_MS_MAX && !minutes.is_empty();
        // It is no error if nobody reads the output any more.
        let _ = writeln!(
            out,
            "{name}: forecasts of a minute take {mean:.1} ms of a core, at most {most:.1} ms, over {} minutes",
            minutes.len()
        );
    }
    ExitCode::from(u8::from(!all_in_time))
}

/// Returns how long the forecasts of each minute of a sale take, in milliseconds. Minutes without a
/// forecast are left out.
fn minutes_ms(sale: &PlannedSale) -> Vec<f64> {
    let outcome = simulate(sale, 1);
    let tickets = outcome.ends.ticketed.max(1) as f64;
    let sold = outcome.seconds.last().map_or(0, |second| second.sold);
    let each = (sold as f64 / tickets).max(1.0);
    let samples = outcome.seconds.iter().filter(|second| {
        let every_s = SAMPLE_S[usize::from(second.at_s > FIRST_S)];
        (second.at_s - 1) % every_s == 0
    });
    let samples: Vec<RunningFigures> = samples.map(|second| figures(second, 1.0, each)).collect();
    let (mut minutes, mut last_s) = (Vec::<f64>::new(), 0.0);
    for known in 1..=samples.len() {
        let now = samples[known - 1];
        let is_short = now.is_short_sale(&samples[0]);
        if now.at_s - last_s < if is_short { 10.0 } else { 60.0 } {
            continue;
        }
        last_s = now.at_s;
        let running = RunningSale {
            room: sale.room,
            hold_s: sale.shows[0].hold_s,
            figures: samples[..known].to_vec(),
        };
        let (made, took_ms) = least_ms(&running);
        let minute = (now.at_s / 60.0) as usize;
        if made {
            minutes.resize(minutes.len().max(minute + 1), 0.0);
            minutes[minute] += took_ms;
        }
    }
    minutes.retain(|minute_ms| *minute_ms > 0.0);
    minutes
}

/// Returns whether a forecast was made, and the least time of three tries, in milliseconds. Other
/// work of the machine can only add to the time.
fn least_ms(running: &RunningSale) -> (bool, f64) {
    let tries = (0..3).map(|_| {
        let begun = Instant::now();
        let made = forecast(running).is_some();
        (made, begun.elapsed().as_secs_f64() * 1e3)
    });
    let least = tries.min_by(|(_, one), (_, other)| one.total_cmp(other));
    least.unwrap_or((false, 0.0))
}

/// Returns a sale with ten visitors for each seat, at a pace of `per_s` visitors a second.
fn sale(seats: u32, per_s: u64, hold_s: u32) -> PlannedSale {
    let part = f64::from(hold_s) / 6.0;
    let range = || SecondsRange(part * 0.2, part);
    let mut sale = common::sale();
    sale.room.draw_s = 0.0;
    sale.room.pace.mode = PaceMode::Auto;
    sale.room.pace.per_s_u = per_s * VISITOR_U;
    sale.room.pace.max_inside = 8_000;
    sale.shows[0].seats = seats;
    sale.shows[0].hold_s = hold_s;
    sale.crowd.visitors = seats as usize * 10;
    sale.crowd.over_s = 0.0;
    sale.crowd.arrivals = ArrivalPattern::Uniform;
    sale.behaviour = VisitorBehaviour {
        party: vec![1.0, 5.0, 2.0, 3.0],
        give_up: 0.1,
        decline: 0.05,
        choose_s: range(),
        order_s: range(),
        pay_s: range(),
        tries: 10,
        ..VisitorBehaviour::default()
    };
    sale
}
