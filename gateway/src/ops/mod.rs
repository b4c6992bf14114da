//! The operators' calls: alive, ready, metrics. `readiness` finds out whether visitors can be
//! served.

pub mod http;
mod readiness;

use fairgate_base::http::keys::RoleKeys;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;

use crate::challenge::ChallengeProviders;
use crate::follow::RoomFollower;
use crate::push::hub::RoomSocketHubs;
use crate::room::RoomRegistry;
use crate::upstream::foreign_origin::OriginHealth;
use crate::web::WebRequestPolicy;

/// The parts that the operators' calls need.
#[derive(Clone)]
pub struct GatewayOpsRoutes {
    /// The rooms of this node.
    pub rooms: RoomRegistry,
    /// Knows for how long the changes of other nodes could not be read.
    pub follower: RoomFollower,
    /// Counts the sockets of each room.
    pub hubs: RoomSocketHubs,
    /// Knows whether the addresses of clients can be read from requests.
    pub web: WebRequestPolicy,
    /// Knows which providers of challenges do not answer.
    pub providers: ChallengeProviders,
    /// Knows whether the guarded shop answers, if there is one.
    pub shop: OriginHealth,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Warnings from the settings, which every `/readyz` shows. The process works with these
    /// settings, but an operator should correct them.
    pub warnings: Vec<String>,
    /// The keys of those who may read reasons and warnings.
    pub keys: RoleKeys,
    /// Whether operators have a port of their own. The public port then has no metrics.
    pub has_own_port: bool,
    /// Whether this process was asked to end. It is then no longer ready.
    pub leaving: watch::Receiver<bool>,
}
