//! What `booking` does by command, beside serving: each opens what the settings name, does one
//! thing, and closes it.

pub mod dump;
pub mod import_programme;
pub mod import_timetable;
pub mod reconcile;
