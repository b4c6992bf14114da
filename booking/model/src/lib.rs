#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod holds;
pub mod ids;
pub mod inventory;
pub mod money;
pub mod orders;
pub mod payments;
pub mod rail;
pub mod reconciler;
pub mod stored_forms;
pub mod waitlist;
