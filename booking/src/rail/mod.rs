//! Railways: imports timetables, finds trains between two stations on a date, and makes a train's
//! run on a date a show whose seats are sold by the leg.

pub mod availability;
pub mod free;
pub mod import;
pub mod journey;
pub mod timetables;
