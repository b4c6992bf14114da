//! The installation's keys, which sign passes and tickets.

pub mod signing;
