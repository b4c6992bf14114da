//! The commands of `booking` besides serving. Each opens what the settings name, does one thing,
//! and closes it.

pub mod dump;
pub mod import_programme;
pub mod import_timetable;
pub mod reconcile;
