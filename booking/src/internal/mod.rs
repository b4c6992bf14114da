//! The calls that gateways make to a booking process. Most calls return shows, figures, seat
//! pictures, waiting visitors or signals about holds. The others replace the list of rooms and
//! their shows, or stop passes. None of these calls is public.
//! [`internal`](crate::http::internal) answers the calls, and [`wire`] has their formats for both
//! ends.
//!
//! **Architecture invariant:** nothing here decides anything. The answer to each call is the result
//! of one method of [`GatewayDesk`](gateway_desk::GatewayDesk). A gateway with booking in its own
//! process calls the same method directly.

pub mod finished;
pub mod gateway_desk;
pub mod wire;

/// The path prefix of the internal calls.
pub const PREFIX: &str = "/internal/v1";
