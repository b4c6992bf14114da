//! Holds. A hold locks cells for one visitor until a deadline. It gets all its cells or none.

mod accept;
pub mod ask;
mod change;
mod choose;
mod chosen;
pub mod instead;
pub mod lapse;
mod natural;
pub mod price;
pub mod refusal;
pub mod searches;
mod shortage;
pub mod stretch;
mod suggestion;
pub mod take;
