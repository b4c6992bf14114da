//! Tests seats that are sold by the leg: how they are chosen, and a rush on one train.

mod choosing;
#[path = "../../examples/legs/fit.rs"]
mod fit;
#[path = "../../examples/legs/rush.rs"]
mod rush;
mod rushing;
#[path = "../../examples/legs/train.rs"]
mod train;
