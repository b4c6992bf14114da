//! Letting people in: the pace decides, the release counter moves, a visitor claims a pass.

pub mod claim;
pub mod cohort;
pub mod counter;
pub mod crowd;
pub mod demand;
pub mod estimate;
pub mod flow;
pub mod http;
pub mod limits;
pub mod pace;
pub mod presence;
pub mod release;
#[cfg(test)]
mod simulation;
pub mod state;
pub mod valve;
