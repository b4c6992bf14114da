//! Payments: their states, the kinds of providers, the sums that a provider takes, and Stripe's
//! units.

pub mod kind;
pub mod limits;
mod payment;
pub mod stripe_sums;

pub use payment::*;
