//! The questions of gateways to booking as a process of its own: the shows, the figures, the seat
//! pictures and the signals about holds. None of this is public.
//! [`internal`](crate::http::internal) answers the calls, and [`wire`] has their formats for both
//! ends.
//!
//! **Architecture invariant:** nothing here decides anything. Each call is one call of
//! [`GatewayDesk`](gateway_desk::GatewayDesk), the same that a gateway makes if booking runs inside
//! it.

pub mod gateway_desk;
pub mod wire;

/// The path prefix of the internal calls.
pub const PREFIX: &str = "/internal/v1";
