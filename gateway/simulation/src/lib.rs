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
mod told_wishes;
mod train_seats;
mod visit;
mod waitlist;
pub mod wishes;

pub use run::simulate;
