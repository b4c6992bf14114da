//! Where settings come from.

mod sources;

pub use sources::{BadConfig, Key, Reader, Sources};
