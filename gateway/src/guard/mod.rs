//! How often anybody may ask: joins by network, searches by network or by the key of a partner. governor is named only in
//! this folder.

mod joins;
mod searches;

pub use joins::Guard;
pub use searches::{ApiKey, Searches};

/// More networks than this are not told apart: the rest share one limit, so that memory stays bounded.
const NETWORKS_MAX: usize = 100_000;
