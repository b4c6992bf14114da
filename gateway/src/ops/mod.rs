//! What operators ask: alive, ready, figures, and the list of calls.

pub mod http;

use metrics_exporter_prometheus::PrometheusHandle;

use crate::follow::RoomFollower;
use crate::push::hub::RoomSocketHubs;
use crate::room::RoomRegistry;

/// The operators' handle.
#[derive(Clone)]
pub struct GatewayOpsRoutes {
    /// Every room.
    pub rooms: RoomRegistry,
    /// Knows for how long other nodes were not heard.
    pub follower: RoomFollower,
    /// Counts sockets by room.
    pub hubs: RoomSocketHubs,
    /// What was counted.
    pub metrics: PrometheusHandle,
    /// Told at every `/readyz`: what works, and should not be left so.
    pub warnings: Vec<String>,
}
