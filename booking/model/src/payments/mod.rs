//! What can be paid.

pub mod limits;
mod payment;
pub mod settling;

pub use payment::*;
