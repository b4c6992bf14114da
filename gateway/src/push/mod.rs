//! Telling everybody at once: messages apart from frames, the hub apart from the socket, polling as
//! the twin.

pub mod cadence;
pub mod drain;
mod ending;
pub mod frame;
mod history;
pub mod http;
pub mod hub;
pub mod limit;
pub mod message;
pub mod seats;
pub mod socket;
pub mod waiting;
pub mod wire;

use crate::personal::PersonalEventHub;
use crate::room::RoomRegistry;
use crate::web::WebRequestPolicy;
use hub::RoomSocketHubs;
use limit::SocketLimit;
use seats::WatchedShows;

/// What sockets need.
#[derive(Clone)]
pub struct LiveSockets {
    /// Every room.
    pub rooms: RoomRegistry,
    /// Where shared frames go out.
    pub hubs: RoomSocketHubs,
    /// Origins.
    pub web: WebRequestPolicy,
    /// Watched shows.
    pub seats: WatchedShows,
    /// Own holds.
    pub personal: PersonalEventHub,
    /// How many there may be.
    pub limit: SocketLimit,
}
