//! Holds: cells locked for one visitor until a deadline, all or none.

pub mod ask;
pub mod instead;
pub mod lapse;
mod natural;
pub mod price;
pub mod refusal;
mod shortage;
pub mod stretch;
pub mod take;

pub use fairgate_model::holds::{
    Held, Hold, Purpose, SeatRowKind, Secured, Stage, cells_of, lock_until_ms,
};
