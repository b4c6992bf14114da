//! What can be paid.

pub mod limits;
