#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod choosing_time;
pub mod claim_timing;
pub mod counter;
pub mod departures;
pub mod draw;
pub mod entry_door;
pub mod entry_gate;
pub mod entry_history;
mod entry_totals;
pub mod estimate;
pub mod faults;
mod finished_history;
pub mod flow;
pub mod idle_passes;
pub mod join_codes;
pub mod lanes;
pub mod limits;
pub mod naming;
pub mod network_limits;
pub mod network_lists;
pub mod odds;
pub mod pace;
pub mod pace_settings;
pub mod phase;
pub mod presence_bitmap;
pub mod recent_places;
pub mod release_cohorts;
pub mod room_document;
pub mod shown_codes;
pub mod valve;
mod visit_habits;
pub mod vitals;
mod wait_memory;
pub mod waits;
pub mod wishes;
pub mod wrong_codes;
