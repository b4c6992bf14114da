//! Exchanges the seats of a paid order for other seats.

pub mod successor;
mod wanted;
