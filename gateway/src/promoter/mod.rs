//! The promoters' calls. They change rooms, and read documents, reports and audits.

mod audit;
mod controls;
mod forecast;
pub mod http;
mod networks;
pub mod onsale;
mod report;
mod revoke;
mod shown;

use fairgate_base::http::keys::RoleKeys;

use crate::challenge::ChallengeProviders;
use crate::follow::RoomFollower;
use crate::guard::NetworkHasher;
use crate::push::hub::RoomSocketHubs;
use crate::room::RoomRegistry;

pub use controls::{ManualPhase, RoomChangeRefusal, RoomPatchInput};
pub use forecast::MadeForecasts;
pub use revoke::{RevokeFault, RevokeInput};

/// The parts that the promoter's calls need.
#[derive(Clone)]
pub struct PromoterControls {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
    /// Takes the lease that lets one node at a time change room documents. Also tells booking which
    /// room covers which shows.
    pub follower: RoomFollower,
    /// Sends the changes of a room to the room's sockets.
    pub hubs: RoomSocketHubs,
    /// Makes the keys under which networks are counted.
    pub hasher: NetworkHasher,
    /// The keys of each role.
    pub keys: RoleKeys,
    /// Knows which providers of challenges are set up.
    pub providers: ChallengeProviders,
    /// The forecasts of the rooms' sales.
    pub forecasts: MadeForecasts,
}
