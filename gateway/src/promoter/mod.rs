//! What promoters change of a room, and what they read of it.

mod audit;
mod controls;
pub mod http;
mod report;
mod shown;

use fairgate_base::http::keys::RoleKeys;

use crate::follow::RoomFollower;
use crate::push::hub::RoomSocketHubs;
use crate::room::RoomRegistry;

pub use controls::{ManualPhase, RoomChangeRefusal, RoomPatchInput};

/// The parts that the promoter's calls need.
#[derive(Clone)]
pub struct PromoterControls {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
    /// Changes documents under the lease of all nodes.
    pub follower: RoomFollower,
    /// Tells sockets what changed.
    pub hubs: RoomSocketHubs,
    /// The keys of each role.
    pub keys: RoleKeys,
}
