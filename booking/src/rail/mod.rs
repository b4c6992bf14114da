//! Railways: a train's run on a date is a show whose seats are sold by the leg.

pub mod availability;
pub mod free;
pub mod journey;
pub mod run;
