//! Payments: their states, money that went back at the provider, the kinds of providers, the sums
//! that a provider takes, the rounding of fees, and Stripe's units.

pub mod fees;
pub mod kind;
pub mod limits;
pub(crate) mod metadata_list;
mod payment;
pub mod refund_copy;
pub mod returns;
pub mod stripe_sums;

pub use payment::*;
