//! Railways: timetables from outside, what runs between two stations on a date, and a train's run
//! on a date as the show whose seats are sold by the leg.

pub mod availability;
pub mod free;
pub mod import;
pub mod journey;
pub mod timetables;
