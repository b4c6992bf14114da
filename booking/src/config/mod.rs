//! The settings of booking as a process of its own, and the payment settings, which the gateway
//! reads too.

mod payments;
mod service;

pub use payments::PaymentSettings;
pub use service::BookingConfig;
