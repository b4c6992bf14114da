//! What can be paid.

pub mod kind;
pub mod limits;
mod payment;
pub mod stripe_sums;

pub use payment::*;
