//! Exchanges the seats of a paid order for others.

pub mod successor;
mod wanted;
