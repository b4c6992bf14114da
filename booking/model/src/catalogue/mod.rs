//! What is on sale: plans of venues, and which room covers which show.

pub mod coverage;
pub mod fate;
pub mod plan;
pub mod sale;
pub mod seatmap;
pub mod show;
pub mod terms;
