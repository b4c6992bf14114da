//! The handles that the routes are served with, each with the parts that it needs.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;

use crate::challenge::{WaitTickets, WorkChallenger};
use crate::config::GatewayConfig;
use crate::follow::RoomFollower;
use crate::guard::{JoinGuard, NetworkHasher, SearchQuotas};
use crate::line::WaitingLine;
use crate::line::come_back::LineComeBackTimes;
use crate::load::ProcessLoad;
use crate::ops::GatewayOpsRoutes;
use crate::personal::PersonalEventHub;
use crate::promoter::PromoterControls;
use crate::push::LiveSockets;
use crate::push::hub::RoomSocketHubs;
use crate::push::limit::SocketLimit;
use crate::push::seats::WatchedShows;
use crate::push::waitlist_offers;
use crate::room::RoomRegistry;
use crate::router::GatewayHandles;
use crate::upstream::BookingCore;
use crate::upstream::door::BookingDoor;
use crate::web::WebRequestPolicy;

/// Puts together the handles that the routes are served with. `secret` is the installation's secret
/// for challenges and networks.
pub(super) fn gateway_handles(
    config: &GatewayConfig,
    rooms: &RoomRegistry,
    follower: &RoomFollower,
    hubs: &RoomSocketHubs,
    metrics: &PrometheusHandle,
    load: &ProcessLoad,
    secret: [u8; 32],
) -> GatewayHandles {
    let web = WebRequestPolicy::new(config.web_settings());
    let (per_s, burst) = (config.searches_per_s, config.searches_burst);
    let personal = start_personal_events(rooms.core());
    GatewayHandles {
        lobby: WaitingLine {
            rooms: rooms.clone(),
            web: web.clone(),
            guard: JoinGuard::new(config.joins_per_s, config.joins_burst),
            challenge_guard: JoinGuard::new(config.joins_per_s, config.joins_burst),
            challenger: WorkChallenger::new(secret),
            waits: WaitTickets::new(secret),
            hasher: NetworkHasher::new(secret),
            load: load.clone(),
            personal: personal.clone(),
        },
        push: LiveSockets {
            rooms: rooms.clone(),
            hubs: hubs.clone(),
            web: web.clone(),
            seats: WatchedShows::new(Arc::clone(rooms.core()), load.clone()),
            personal,
            limit: SocketLimit::new(config.sockets),
        },
        promoter: PromoterControls {
            rooms: rooms.clone(),
            follower: follower.clone(),
            hubs: hubs.clone(),
            keys: config.keys.roles(),
        },
        ops: GatewayOpsRoutes {
            rooms: rooms.clone(),
            follower: follower.clone(),
            hubs: hubs.clone(),
            web: web.clone(),
            metrics: metrics.clone(),
            warnings: config.warnings(),
            keys: config.keys.roles(),
            has_own_port: config.ops.listen.is_some(),
        },
        door: BookingDoor {
            core: Arc::clone(rooms.core()),
            health: rooms.health().clone(),
            keyring: rooms.keyring().clone(),
            clock: rooms.clock().clone(),
            web,
            load: load.clone(),
            waits: Arc::new(LineComeBackTimes {
                rooms: rooms.clone(),
            }),
        },
        searches: SearchQuotas::new(per_s, burst, &config.api_keys),
        test: config.payments.is_test(),
        form_origins: config.payments.form_origins(),
    }
}

/// Starts the tasks that send visitors news of their own holds and waitlist entries.
fn start_personal_events(core: &Arc<dyn BookingCore>) -> PersonalEventHub {
    let personal = PersonalEventHub::default();
    tokio::spawn(personal.clone().forward_signals(core.hold_signals()));
    tokio::spawn(waitlist_offers::tell_forever(
        Arc::clone(core),
        personal.clone(),
    ));
    personal
}
