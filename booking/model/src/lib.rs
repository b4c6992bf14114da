#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod choosing;
pub mod counted;
pub mod findings;
pub mod grid;
pub mod holds;
pub mod ids;
pub mod money;
pub mod onsale;
pub mod orders;
pub mod payments;
pub mod plans;
pub mod runs;
pub mod search_text;
pub mod shows;
pub mod stored_forms;
pub mod timetables;
pub mod venues;
pub mod waiters;
