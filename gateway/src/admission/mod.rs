//! Letting people in: the pace decides, the release counter moves, a visitor claims a pass.

pub mod claim;
pub mod http;
pub mod presence;
pub mod release;
pub mod state;

pub use fairgate_rules::{
    cohort, counter, crowd, demand, estimate, flow, limits, pace, settings, valve,
};
