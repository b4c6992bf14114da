//! The calls of the line: challenges, places and passes.

pub mod challenges;
pub mod passes;
pub mod places;
mod refusals;
mod shown_place;

pub use refusals::room_closed;
pub use shown_place::{place_credential, required};
