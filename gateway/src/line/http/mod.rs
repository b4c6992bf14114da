//! The calls of the line: places and passes.

pub mod passes;
pub mod places;
