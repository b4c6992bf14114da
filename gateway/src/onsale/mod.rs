//! The on-sale file: venues, shows and rooms in TOML. `file` reads it, and `tables` knows the line
//! and column of each of its fields. `client` is `gateway apply`, which sends the file to a
//! gateway. The gateway applies it in one step, in [`crate::promoter`]. `reopen` is `gateway
//! reopen`, which asks a gateway to sell closed shows again.

pub mod client;
pub mod file;
pub mod reopen;
pub mod tables;
