//! Holds. A hold locks cells for one visitor until a deadline. It gets all its cells or none.

mod accept;
pub mod ask;
mod change;
pub mod choose;
pub mod instead;
pub mod lapse;
mod natural;
pub mod price;
pub mod refusal;
mod shortage;
pub mod stretch;
mod suggest;
pub mod take;
