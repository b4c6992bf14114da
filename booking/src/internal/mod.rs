//! What gateways ask booking where it is a process of its own: the shows, the figures, the pictures
//! of seats, the words about holds. None of it is the public's; [`internal`](crate::http::internal)
//! answers it, [`wire`] has its shapes for both ends.
//!
//! **Architecture invariant:** nothing here decides. Each call is one call of
//! [`Booking`](crate::app::Booking), the same that a gateway makes with booking inside.

pub mod wire;

/// Where the internal calls begin.
pub const PREFIX: &str = "/internal/v1";
