//! What promoters do with a room, and what they read of it.

mod audit;
mod controls;
pub mod http;
mod report;
mod shown;

use crate::follow::RoomFollower;
use crate::push::hub::Hubs;
use crate::room::Rooms;
use crate::upstream::RoleKeys;

pub use controls::{PatchInput, PhaseByHand, RoomChangeRefusal};

/// The promoter's handle.
#[derive(Clone)]
pub struct Promoter {
    /// Every room.
    pub rooms: Rooms,
    /// Changes documents under the lease of all nodes.
    pub follower: RoomFollower,
    /// Tells sockets what changed.
    pub hubs: Hubs,
    /// Keys by role.
    pub keys: RoleKeys,
}
