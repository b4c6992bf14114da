//! The installation's keys, which sign passes and tickets, and their rotation.

pub mod rotation;
pub mod signing;
