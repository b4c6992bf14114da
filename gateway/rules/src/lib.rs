#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod cohort;
pub mod counter;
pub mod crowd;
pub mod document;
pub mod draw;
pub mod estimate;
pub mod faults;
pub mod flow;
pub mod limits;
pub mod naming;
pub mod odds;
pub mod pace;
pub mod phase;
pub mod settings;
#[cfg(test)]
mod simulation;
pub mod valve;
pub mod vitals;
