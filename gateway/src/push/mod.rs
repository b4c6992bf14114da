//! Live messages to visitors over WebSockets. A visitor who polls gets the same facts.

mod announced_tiers;
pub mod client_wire;
pub mod ending;
pub mod frame;
pub mod frame_writer;
mod history;
pub mod http;
pub mod hub;
pub mod limit;
pub mod message;
pub mod outlet;
mod picture;
pub mod push_cadence;
pub mod read_tracker;
pub mod seat_frames;
pub mod seats;
pub mod socket;
pub mod socket_cadence;
pub mod standing;
pub mod waitlist_offers;

use tokio::sync::watch;

use crate::personal::PersonalEventHub;
use crate::room::RoomRegistry;
use crate::web::WebRequestPolicy;
use hub::RoomSocketHubs;
use limit::SocketLimit;
use seats::WatchedShows;

/// The parts that live sockets need.
#[derive(Clone)]
pub struct LiveSockets {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
    /// The hubs that send the shared frames.
    pub hubs: RoomSocketHubs,
    /// Checks the origin of a socket's request.
    pub web: WebRequestPolicy,
    /// The shows that sockets watch.
    pub seats: WatchedShows,
    /// Gives each socket the events of its visitor's own holds and place.
    pub personal: PersonalEventHub,
    /// Limits how many sockets are open.
    pub limit: SocketLimit,
    /// Whether this process was asked to end. It then opens no more sockets.
    pub leaving: watch::Receiver<bool>,
}
