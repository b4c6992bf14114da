//! What can be held: the grid of cells, the picture of their states, and choosing among them. All of it pure.

pub mod choose;
pub mod grid;
pub mod picture;
pub mod seats;

pub use grid::{CellState, Grid};
