#![doc = include_str!("../README.md")]

pub mod app;
pub mod catalogue;
pub mod cinema;
pub mod commands;
pub mod config;
pub mod door;
pub mod dump;
pub mod holds;
pub mod http;
pub mod idempotency;
pub mod internal;
pub mod inventory;
pub mod ledger;
pub mod open;
pub mod orders;
pub mod payments;
pub mod pruner;
pub mod rail;
pub mod reconciler;
pub mod retention;
pub mod router;
pub mod service;
pub mod store;
pub mod tickets;
pub mod waitlist;
pub mod wake;

pub use fairgate_base::{clock, process};
pub use fairgate_model::{ids, money};
