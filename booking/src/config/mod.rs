//! Settings of booking as a process of its own, and those of payments, which the gateway reads too.

mod payments;
mod service;

pub use payments::PaymentSettings;
pub use service::BookingConfig;
