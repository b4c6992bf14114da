//! Telling everybody at once: messages apart from frames, the hub apart from the socket, polling as the twin.

pub mod cadence;
pub mod drain;
pub mod frame;
mod history;
pub mod http;
pub mod hub;
pub mod limit;
pub mod message;
pub mod seats;
pub mod socket;
pub mod waiting;
pub mod wire;
