//! What can be held: the grid of cells, the picture of their states, and choosing among them.

pub mod choose;
pub mod grid;
pub mod picture;

pub use grid::{CellState, Grid};
