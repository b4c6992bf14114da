#![doc = include_str!("../README.md")]

pub mod calendar;
pub mod clock;
pub mod config;
pub mod day;
pub mod http;
pub mod prepared;
pub mod process;
pub mod retry;
pub mod secret;
