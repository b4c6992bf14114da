//! The calls of gateways to a booking that is a process of its own. They return the shows, the
//! figures, the seat pictures and the signals about holds. None of this is public.
//! [`internal`](crate::http::internal) answers the calls, and [`wire`] has their formats for both
//! ends.
//!
//! **Architecture invariant:** nothing here decides anything. Each call is one call of
//! [`GatewayDesk`](gateway_desk::GatewayDesk). A gateway with booking inside makes the same call.

pub mod gateway_desk;
pub mod wire;

/// The path prefix of the internal calls.
pub const PREFIX: &str = "/internal/v1";
