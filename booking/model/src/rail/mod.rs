//! Railways: timetables, carriages, and a train's run on a date.

pub mod geo;
pub mod run;
pub mod settings;
pub mod stock;
pub mod timetable;
