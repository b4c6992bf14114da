//! Telling everybody at once: messages apart from frames, the hub apart from the socket, polling as the twin.

pub mod frame;
pub mod hub;
pub mod message;
pub mod personal;
pub mod seats;
pub mod socket;
