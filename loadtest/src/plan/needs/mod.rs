//! Works out what a planned sale takes from the figures that were measured on a machine: gateways,
//! bookings, Redis, PostgreSQL, bandwidth and money, and which limit breaks first as the crowd
//! grows.

mod demand;
mod limits;
mod machines;
mod origins;
mod prices;

pub use demand::SaleDemand;
pub use limits::{FirstLimit, first_limit, tightest};
pub use machines::NeededMachines;
pub use prices::Prices;

/// The part of its processors that a machine may use. Beyond it, calls wait for each other so long
/// that visitors feel it. A calibration measures busy processes, which do much at once; between
/// two waves of a real crowd the same work takes more.
pub const BUSY_MAX: f64 = 0.8;
