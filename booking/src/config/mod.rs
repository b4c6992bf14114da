//! Settings: each concern reads its own knobs from what was set, for booking as a process of its own and for the gateway.

mod keys;
mod payments;
mod sources;

pub use keys::Keys;
pub use payments::Payments;
pub use sources::{BadConfig, Key, Reader, Sources};
