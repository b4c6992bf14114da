//! Letting people in: the pace decides, the release counter moves, a visitor claims a pass.

pub mod claim;
pub mod cohort;
pub mod estimate;
pub mod http;
pub mod pace;
pub mod release;
pub mod state;
