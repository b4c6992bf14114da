//! What the reconciler compares.

pub mod finding;
