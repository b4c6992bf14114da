//! A room: its document, its phase, its draw, and the handle that everything else asks.

mod draw_state;
pub mod http;
mod live;
pub mod presence;
mod registry;
mod tick;
mod troubles;
mod view;

pub use draw_state::{DrawState, Frozen, Ranked, published};
pub use fairgate_model::shows::coverage::EVERYDAY;
pub use fairgate_rules::document::{Codes, Document, DocumentInput, Method, Mode};
pub use fairgate_rules::faults::{Faults, Refused, check_per_s, micros_per_s, text, whole};
pub use fairgate_rules::naming::{is_slug, overlap};
pub use fairgate_rules::phase::{Facts, Known, Phase, draw_due, next};
pub use live::Room;
pub use registry::{RoomParts, Rooms, UnknownRoom};
pub use tick::Tick;
pub use troubles::RoomTroubles;
pub use view::{RoomView, SeatCounts, Trust};

/// How long a place in [`EVERYDAY`] lasts, seconds.
pub const EVERYDAY_PLACE_S: i64 = 86_400;
