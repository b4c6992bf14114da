//! A room: its document, its phase, its draw, and the handle that the rest of the gateway uses.

mod draw_state;
pub mod http;
mod live;
pub mod presence;
mod registry;
mod tick;
mod troubles;
mod view;

pub use draw_state::{DrawState, FrozenLeaves, RankedLine, published};
pub use fairgate_model::shows::coverage::EVERYDAY;
pub use fairgate_rules::document::{
    JoinCodePolicy, LineMethod, PaceMode, RoomDocument, RoomDocumentInput,
};
pub use fairgate_rules::faults::{
    RoomInputFaults, RoomInputRefusal, check_per_s, checked_number, checked_text, micros_per_s,
};
pub use fairgate_rules::naming::{is_slug, overlap};
pub use fairgate_rules::phase::{PhaseInputs, RoomFacts, RoomPhase, draw_due, phase_at};
pub use live::Room;
pub use registry::{RoomDependencies, RoomRegistry, UnknownRoom};
pub use tick::RoomTick;
pub use troubles::RoomTroubles;
pub use view::{RoomTrust, RoomView, SeatCounts};

/// How long a place in [`EVERYDAY`] lasts, seconds.
pub const EVERYDAY_PLACE_S: i64 = 86_400;
