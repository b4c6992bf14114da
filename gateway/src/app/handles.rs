//! Builds the handles that the routes use, each with the parts that it needs.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;

use crate::challenge::{ChallengeProviders, WaitTickets, WorkChallenger};
use crate::config::GatewayConfig;
use crate::follow::RoomFollower;
use crate::guard::{AttemptGuards, JoinGuard, NetworkHasher, SearchQuotas, WaitGuard, WishGuard};
use crate::line::WaitingLine;
use crate::line::come_back::LineComeBackTimes;
use crate::line::hold_signals::follow_hold_signals;
use crate::line::visitors_inside::LineVisitorsInside;
use crate::load::ProcessLoad;
use crate::ops::GatewayOpsRoutes;
use crate::personal::PersonalEventHub;
use crate::promoter::{MadeForecasts, PromoterControls};
use crate::push::LiveSockets;
use crate::push::hub::RoomSocketHubs;
use crate::push::limit::SocketLimit;
use crate::push::seats::WatchedShows;
use crate::push::waitlist_offers;
use crate::reverse_proxy::tunnels::OpenTunnels;
use crate::reverse_proxy::{GuardSettings, ReverseProxySettings, ShopGuard};
use crate::room::RoomRegistry;
use crate::room::search::OnSales;
use crate::router::GatewayHandles;
use crate::upstream::door::BookingDoor;
use crate::upstream::foreign_origin::{ForeignOrigin, OriginHealth};
use crate::web::WebRequestPolicy;

/// The rooms of this node, and the parts that send changes to the rooms and to their sockets.
pub(super) struct OpenedRooms {
    pub(super) rooms: RoomRegistry,
    pub(super) follower: RoomFollower,
    pub(super) hubs: RoomSocketHubs,
    pub(super) personal: PersonalEventHub,
}

/// The parts that several handles share.
pub(super) struct SharedParts<'a> {
    pub opened: &'a OpenedRooms,
    pub metrics: &'a PrometheusHandle,
    pub load: &'a ProcessLoad,
    pub providers: &'a ChallengeProviders,
    pub leave: &'a watch::Sender<bool>,
}

/// Builds the handles that the routes use. Also starts the tasks that tell visitors about their own
/// holds and waitlist entries. `secret` is the installation's secret for challenges and networks.
pub(super) fn gateway_handles(
    config: &GatewayConfig,
    shared: &SharedParts<'_>,
    secret: [u8; 32],
) -> GatewayHandles {
    let SharedParts {
        opened,
        metrics,
        load,
        providers,
        leave,
    } = *shared;
    let web = WebRequestPolicy::new(config.web_settings());
    let (per_s, burst) = (config.searches_per_s, config.searches_burst);
    let OpenedRooms {
        rooms,
        follower,
        hubs,
        personal,
    } = opened;
    start_personal_events(rooms, personal);
    GatewayHandles {
        waiting_line: WaitingLine {
            rooms: rooms.clone(),
            web: web.clone(),
            guard: JoinGuard::new(config.joins_per_s, config.joins_burst),
            challenge_guard: JoinGuard::new(config.joins_per_s, config.joins_burst),
            wait_guard: WaitGuard::default(),
            wish_guard: WishGuard::default(),
            attempts: AttemptGuards::default(),
            challenger: WorkChallenger::new(secret),
            providers: providers.clone(),
            waits: WaitTickets::new(secret),
            hasher: NetworkHasher::new(secret),
            load: load.clone(),
            personal: personal.clone(),
        },
        push: LiveSockets {
            rooms: rooms.clone(),
            hubs: hubs.clone(),
            web: web.clone(),
            seats: WatchedShows::new(
                Arc::clone(rooms.core()),
                hubs.cadence().clone(),
                hubs.frame_writer().clone(),
            ),
            personal: personal.clone(),
            limit: SocketLimit::new(config.sockets, config.guard.is_some()),
            leaving: leave.subscribe(),
        },
        promoter: PromoterControls {
            rooms: rooms.clone(),
            follower: follower.clone(),
            hubs: hubs.clone(),
            hasher: NetworkHasher::new(secret),
            keys: config.keys.roles(),
            providers: providers.clone(),
            forecasts: MadeForecasts::default(),
        },
        ops: GatewayOpsRoutes {
            rooms: rooms.clone(),
            follower: follower.clone(),
            hubs: hubs.clone(),
            web: web.clone(),
            providers: providers.clone(),
            shop: OriginHealth::default(),
            metrics: metrics.clone(),
            warnings: config.warnings(),
            keys: config.keys.roles(),
            has_own_port: config.ops.listen.is_some(),
            leaving: leave.subscribe(),
        },
        on_sales: OnSales::new(rooms.clone()),
        door: BookingDoor {
            core: Arc::clone(rooms.core()),
            health: rooms.health().clone(),
            keyring: rooms.keyring().clone(),
            clock: rooms.clock().clone(),
            web,
            load: load.clone(),
            come_back_times: Arc::new(LineComeBackTimes {
                rooms: rooms.clone(),
            }),
            visitors: Arc::new(LineVisitorsInside {
                rooms: rooms.clone(),
            }),
        },
        searches: SearchQuotas::new(per_s, burst, &config.api_keys),
        test: config.payments.is_test(),
        form_origins: config.payments.form_origins(),
    }
}

/// Builds the guard of a shop that is not Fairgate's.
pub(super) fn shop_guard(
    public_url: &str,
    settings: &GuardSettings,
    proxy: &ReverseProxySettings,
    handles: &GatewayHandles,
) -> anyhow::Result<ShopGuard> {
    Ok(ShopGuard {
        waiting_line: handles.waiting_line.clone(),
        follower: handles.ops.follower.clone(),
        come_back_times: Arc::clone(&handles.door.come_back_times),
        origin: ForeignOrigin::new(&proxy.origin, handles.ops.shop.clone())?,
        lobby_url: format!("{public_url}/r/{}", settings.room),
        room: settings.room.clone(),
        scheme: settings.url.scheme().to_owned(),
        when_unverifiable: proxy.when_unverifiable,
        outage: Arc::default(),
        tunnels: OpenTunnels::default(),
    })
}

/// Starts the tasks that tell visitors about their own holds and waitlist entries, and that count
/// lapsed baskets.
fn start_personal_events(rooms: &RoomRegistry, personal: &PersonalEventHub) {
    let core = rooms.core();
    tokio::spawn(follow_hold_signals(rooms.clone(), core.hold_signals()));
    tokio::spawn(personal.clone().forward_signals(core.hold_signals()));
    tokio::spawn(waitlist_offers::report_present_visitors(
        Arc::clone(core),
        personal.clone(),
    ));
}
