//! A room: its document, its phase, its draw, and the handle that the rest of the gateway uses.

pub mod activity;
mod calendar;
mod draw_state;
pub mod http;
mod live;
pub mod presence;
mod refused_calls;
mod registry;
pub mod search;
pub mod socket_peers;
mod stops;
mod tick;
mod told_none;
mod troubles;
mod view;
mod wish_board;

pub use draw_state::{DrawState, FrozenLeaves, RankedLine, published};
pub use live::{NewcomersTick, Room};
pub use refused_calls::{RefusedCalls, RefusingRoom};
pub use registry::{RoomDependencies, RoomRegistry, UnknownRoom, random_draw_secret};
pub use stops::RoomStops;
pub use tick::RoomTick;
pub use told_none::{PassTimes, VisitorsToldNone};
pub use troubles::RoomTroubles;
pub use view::{RoomTrust, RoomView, SeatCounts};
pub use wish_board::{LineAtTick, WishBoard, WishOdds, supply_of};

/// How long a place in the everyday room lasts, seconds.
pub const EVERYDAY_PLACE_S: i64 = 86_400;
