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

use crate::personal::PersonalEvents;
use crate::room::Rooms;
use crate::web::Web;
use hub::Hubs;
use limit::SocketLimit;
use seats::WatchedShows;

/// What sockets need.
#[derive(Clone)]
pub struct LiveSockets {
    /// Every room.
    pub rooms: Rooms,
    /// Where shared frames go out.
    pub hubs: Hubs,
    /// Origins.
    pub web: Web,
    /// Watched shows.
    pub seats: WatchedShows,
    /// Own holds.
    pub personal: PersonalEvents,
    /// How many there may be.
    pub limit: SocketLimit,
}
