//! Payments: their states, the sums that providers take, and how providers write them.

pub mod kind;
pub mod limits;
mod payment;
pub mod stripe_sums;

pub use payment::*;
