//! Trains.

pub mod run;
