#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod behaviour;
pub mod crowd;
pub mod forecast;
pub mod line;
pub mod outcome;
mod run;
pub mod sale;
mod schedule;
mod server;
mod stock;
pub mod summary;
mod told_odds;
pub mod told_waits;
mod told_wishes;
mod train_seats;
pub mod varied_rooms;
mod visit;
mod waitlist;
pub mod wishes;

pub use run::{simulate, simulate_told_waits};
