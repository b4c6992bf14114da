//! Turns a simulated second into the figures that the report of a running sale has.

use fairgate_simulation::forecast::RunningFigures;
use fairgate_simulation::outcome::SecondFigures;

/// Returns the figures of a second. The sale began at `began_s`, and a buyer takes `seats_each`
/// seats on average.
pub fn figures(second: &SecondFigures, began_s: f64, seats_each: f64) -> RunningFigures {
    RunningFigures {
        at_s: f64::from(second.at_s) - began_s,
        joined: second.joined,
        left: 0,
        waiting: second.waiting,
        released: second.released,
        claimed: second.entered,
        inside: second.inside,
        done: (second.sold as f64 / seats_each) as u64,
        free: second.free,
        held: second.held,
        sold: second.sold,
    }
}
