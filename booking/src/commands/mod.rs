//! The commands of `booking`, except `serve`. Each opens the ledger that the settings name, does
//! one thing, and closes the ledger.

pub mod dump;
pub mod import_programme;
pub mod import_timetable;
pub mod reconcile;
