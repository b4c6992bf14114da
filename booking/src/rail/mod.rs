//! Railways: imports timetables, and finds trains between two stations on a date. A train's run on
//! a date becomes a show whose seats are sold by the leg.

pub mod availability;
pub mod free;
pub mod import;
pub mod journey;
pub mod replacement;
pub mod succession;
pub mod timetables;
