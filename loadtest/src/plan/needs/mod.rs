//! Works out what a planned sale needs: gateways, booking processes, Redis, PostgreSQL, bandwidth
//! and money. Also works out which limit breaks first as the crowd grows. Both answers follow from
//! figures that were measured on a machine.

mod demand;
mod limits;
mod machines;
mod origins;
mod prices;

pub use demand::SaleDemand;
pub use limits::{FirstLimit, first_limit, tightest};
pub use machines::NeededMachines;
pub use prices::Prices;

/// The largest part of a machine's processors that may be in use. If more is in use, calls wait for
/// each other so long that visitors notice. There is a second reason: a calibration measures busy
/// processes, which do many things at once. A process that is less busy, such as between two waves
/// of a real crowd, needs more processor time for the same work.
pub const BUSY_MAX: f64 = 0.8;
