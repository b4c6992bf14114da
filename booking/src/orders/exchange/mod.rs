//! An exchange: the seats of a paid order for others.

pub mod desk;
pub mod http;

pub use fairgate_model::orders::exchange::*;
