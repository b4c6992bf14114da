//! How often anybody may ask: joins by network, searches by network or by the key of a partner. governor is named only in
//! this folder.

mod joins;
mod networks;
mod searches;

pub use joins::Guard;
pub use searches::{ApiKey, Searches};
