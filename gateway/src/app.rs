//! Builds the parts of the gateway, starts its loops, and stops them again in order.

mod handles;
pub mod keys;
mod ports;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use axum::Router;
use booking::door::signing::{self, KeyFollower};
use booking::open;
use fairgate_base::clock::Clock;
use fairgate_base::http::Problem;
use fairgate_base::log_failed_try;
use fairgate_base::process::connections::ConnectionLimits;
use fairgate_base::process::data::DataLock;
use fairgate_base::process::leases::{ProcessLeases, ProcessStoreKind};
use fairgate_base::process::serve::EndSignals;
use fairgate_base::process::warning_log::log_warnings;
use fairgate_base::process::{LedgerLost, recorder, serve, stopped, until_ended};
use fairgate_base::secret::{InstallationSecret, open_secret, sealed_value};
use fairgate_databases::Installation;
use metrics_exporter_prometheus::PrometheusHandle;
use rand::{Rng, RngExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::challenge::ChallengeProviders;
use crate::clockwork;
use crate::config::GatewayConfig;
use crate::follow::RoomFollower;
use crate::guard::SearchQuotas;
use crate::ledger::RoomLedger;
use crate::line::WaitingLine;
use crate::load::ProcessLoad;
use crate::personal::PersonalEventHub;
use crate::push::hub::RoomSocketHubs;
use crate::push::push_cadence::PushCadence;
use crate::reverse_proxy::tunnels::end_stopped_tunnels;
use crate::room::{RoomDependencies, RoomRegistry};
use crate::router::{self, GatewayHandles};
use crate::store::redis::RedisRoomStore;
use crate::store::{MemoryRoomStore, RoomStore};
use crate::upstream::health::BookingHealth;
use crate::upstream::{BookingCore, BookingDependencies};
use ports::ServedPorts;

/// How long sockets may take to end while the process drains.
const SOCKETS_DRAIN_MAX: Duration = Duration::from_secs(5);
/// How long a gateway behind a proxy serves on after it was asked to end, if no setting says
/// otherwise. The proxies of the samples ask twice a second whether a gateway is ready.
const DRAIN_NOTICE_BEHIND_PROXY: Duration = Duration::from_secs(2);
const EVICT_EVERY: Duration = Duration::from_secs(60);
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// A gateway that is built but does not serve yet.
pub struct GatewayApp {
    listener: TcpListener,
    router: Router,
    /// The port and the routes of a guarded shop.
    guard: Option<(TcpListener, Router)>,
    operators: Option<(TcpListener, Router)>,
    rooms: RoomRegistry,
    hubs: RoomSocketHubs,
    /// Says that the process was asked to end.
    leave: watch::Sender<bool>,
    /// How long the process serves as before after that.
    notice: Duration,
    /// Ends the loops and the sockets.
    stop: watch::Sender<bool>,
    leases: Option<ProcessLeases>,
    installation: Installation,
    calls_drain_max: Duration,
    connections: ConnectionLimits,
    _lock: Option<DataLock>,
}

impl GatewayApp {
    /// Opens the stores and the ports, builds all parts, and starts their tasks. `open_core` opens
    /// booking from the shared parts.
    ///
    /// # Errors
    /// Fails if a part cannot be opened. Then the tasks that were already started end.
    pub async fn build<F>(
        config: &GatewayConfig,
        open_core: impl FnOnce(BookingDependencies) -> F,
    ) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<Arc<dyn BookingCore>>>,
    {
        let (installation, lock) = open::open_installation(&config.stores, &config.data).await?;
        let secret = open_secret(&installation, &config.secret, &config.data).await?;
        let ledger = RoomLedger::open(installation.clone(), secret.clone())
            .await
            .context("the ledger cannot be used")?;
        let is_shared = config.stores.redis_url.is_some();
        let mut kept_stores = vec![(ProcessStoreKind::Rooms, is_shared)];
        if config.upstream.bases.is_empty() {
            kept_stores.push((ProcessStoreKind::Seats, is_shared));
        }
        let leases = open::process_leases(&installation, &kept_stores).await?;
        let load = ProcessLoad::default();
        let (stop, stopping) = watch::channel(false);
        let leave = watch::Sender::new(false);
        let parts = RoomParts {
            config,
            installation: &installation,
            secret: &secret,
            ledger,
            load: load.clone(),
            stopping,
        };
        let parts = parts.open(open_core).await?;
        let opened = take_up_rooms(parts, PushCadence::new(load.clone())).await?;
        let metrics = recorder();
        let secret = door_secret(&installation, &secret).await?;
        open::erase_plain_values(&installation).await;
        let providers = ChallengeProviders::new(&config.providers, secret)
            .context("no connections by TLS can be made")?;
        let shared = handles::SharedParts {
            opened: &opened,
            metrics: &metrics,
            load: &load,
            providers: &providers,
            leave: &leave,
        };
        let handles = handles::gateway_handles(config, &shared, secret);
        let ops = handles.ops.clone();
        start_upkeep(
            handles.waiting_line.clone(),
            handles.searches.clone(),
            metrics,
        );
        // A gateway that is still starting refuses connections, so that a proxy in front asks
        // another gateway. So it listens once it can answer.
        let guard = open_guard(config, &handles).await?;
        let operators = match config.ops.listen {
            Some(address) => Some(serve::listen(address, "FAIRGATE_OPS_LISTEN").await?),
            None => None,
        };
        let listener = serve::listen(config.listen, "FAIRGATE_LISTEN").await?;
        // A process that cannot start says only why.
        tokio::spawn(log_warnings(
            async move || ops.troubles().await,
            opened.rooms.stopping(),
        ));
        Ok(Self {
            listener,
            router: router::build(&handles),
            operators: operators
                .map(|listener| (listener, router::operators_port(handles.ops.clone()))),
            guard,
            rooms: opened.rooms,
            hubs: opened.hubs,
            leave,
            notice: drain_notice(config),
            stop,
            leases,
            installation,
            calls_drain_max: config.drain.calls,
            connections: ConnectionLimits::of_process(config.trusted_hops == 0),
            _lock: lock,
        })
    }

    /// Returns the address that this gateway listens on.
    ///
    /// # Errors
    /// Fails if the system does not report the address.
    pub fn address(&self) -> std::io::Result<std::net::SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the address at which this gateway guards a shop, if it guards one.
    #[must_use]
    pub fn guard_address(&self) -> Option<std::net::SocketAddr> {
        let (listener, _) = self.guard.as_ref()?;
        listener.local_addr().ok()
    }

    /// Returns whether this installation has a room of that name.
    #[must_use]
    pub fn has_room(&self, room: &str) -> bool {
        self.rooms.get(room).is_ok()
    }

    /// Returns all routes, for calls from this process.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Serves until `shutdown`. Then `/readyz` reports that the process is draining, and the
    /// process serves on for the notice, so that proxies stop sending visitors. Then sockets are
    /// asked to reconnect, running calls end, and the ledger is closed. A process that lost a lease
    /// or its ledger's file gives no notice.
    ///
    /// # Errors
    /// [`LedgerLost`] if the process ended because it lost a lease or its ledger's file.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), LedgerLost> {
        let Self {
            listener,
            router,
            guard,
            operators,
            rooms: _,
            hubs,
            leave,
            notice,
            stop,
            leases,
            installation,
            calls_drain_max,
            connections,
            _lock,
        } = self;
        let (close, closing) = watch::channel(false);
        let end = EndSignals {
            leaving: leave.subscribe(),
            closing,
        };
        let ports = ServedPorts {
            public: (listener, router),
            guard,
            operators,
        };
        let mut serving = ports.serve(connections, &end, calls_drain_max);
        let shutdown = async {
            shutdown.await;
            tracing::info!(notice_s = notice.as_secs(), "not ready: this process ends");
            leave.send_replace(true);
            tokio::time::sleep(notice).await;
        };
        let ended = until_ended(shutdown, leases.as_ref(), Some(&installation)).await;
        tracing::info!("draining");
        leave.send_replace(true);
        stop.send_replace(true);
        let sockets_max = SOCKETS_DRAIN_MAX.min(calls_drain_max);
        drain_sockets(|| hubs.listener_count(), sockets_max).await;
        close.send_replace(true);
        while let Some(ended) = serving.join_next().await {
            if ended.is_err() {
                tracing::error!("an accept loop had failed");
            }
        }
        if let Some(leases) = leases {
            leases.release_all().await;
        }
        open::close_installation(&installation).await;
        ended
    }
}

/// Returns how long a process that was asked to end serves as before. Only a proxy in front needs
/// the notice.
fn drain_notice(config: &GatewayConfig) -> Duration {
    let usual = if config.trusted_hops > 0 {
        DRAIN_NOTICE_BEHIND_PROXY
    } else {
        Duration::ZERO
    };
    config.drain.notice.unwrap_or(usual)
}

/// Opens the port of a guarded shop, if there is one that this gateway forwards to.
async fn open_guard(
    config: &GatewayConfig,
    handles: &GatewayHandles,
) -> anyhow::Result<Option<(TcpListener, Router)>> {
    let Some((settings, proxy)) = config
        .guard
        .as_ref()
        .and_then(|settings| Some((settings, settings.proxy.as_ref()?)))
    else {
        return Ok(None);
    };
    let public_url = config.public_url.as_deref().unwrap_or_default();
    let guard = handles::shop_guard(public_url, settings, proxy, handles)?;
    let listener = serve::listen(proxy.listen, "FAIRGATE_GUARD_LISTEN").await?;
    tracing::info!(address = %listener.local_addr()?, origin = %proxy.origin, room = guard.room, "guarding a shop");
    let stopping = guard.waiting_line.rooms.stopping();
    tokio::spawn(end_stopped_tunnels(guard.clone(), stopping));
    Ok(Some((listener, router::build_shop_guard(guard))))
}

/// The parts that booking and the room store are opened with.
struct RoomParts<'a> {
    config: &'a GatewayConfig,
    installation: &'a Installation,
    secret: &'a InstallationSecret,
    ledger: RoomLedger,
    load: ProcessLoad,
    stopping: watch::Receiver<bool>,
}

impl RoomParts<'_> {
    /// Opens booking and the room store, and starts to measure the ledger.
    async fn open<F>(
        self,
        open_core: impl FnOnce(BookingDependencies) -> F,
    ) -> anyhow::Result<RoomDependencies>
    where
        F: Future<Output = anyhow::Result<Arc<dyn BookingCore>>>,
    {
        let Self {
            config,
            installation,
            secret,
            ledger,
            load,
            stopping,
        } = self;
        let clock = open::installation_clock(installation).await?;
        let keyring = signing::keyring(installation, secret, clock.now_ms())
            .await
            .context("there is no key to sign with")?;
        let followed_keys = KeyFollower::new(installation, secret, &keyring);
        let mut ending = stopping.clone();
        tokio::spawn(async move {
            tokio::select! {
                never = followed_keys.run() => match never {},
                () = stopped(&mut ending) => {}
            }
        });
        let ledger_id = installation.ledger_id().await?;
        let core = open_core(BookingDependencies {
            installation: installation.clone(),
            secret: secret.clone(),
            redis_url: config.stores.redis_url.clone(),
            keyring: keyring.clone(),
            clock: clock.clone(),
            keys: config.keys.roles(),
            payments: config.payments.clone(),
            public_url: config.public_url.clone(),
            upstream: config.upstream.clone(),
            ledger: hex::encode(ledger_id),
        })
        .await?;
        // Redis knows the numbers that it gave.
        if config.stores.redis_url.is_none() {
            let voided = ledger.void_lost_numbers().await?;
            if voided > 0 {
                tracing::warn!(
                    voided,
                    "the ledger went back, so each room begins again this far above its last number"
                );
            }
        }
        let store = room_store(config, &ledger, &clock).await?;
        tokio::spawn(load.clone().run_probes(ledger.clone(), stopping.clone()));
        Ok(RoomDependencies {
            ledger,
            store,
            core,
            keyring,
            clock,
            health: BookingHealth::new(load),
            stopping,
            shop_room: config.guard.as_ref().map(|guard| guard.room.clone()),
        })
    }
}

/// Opens all rooms in the ledger, starts their loops, and sends booking the list of the shows that
/// the rooms cover.
async fn take_up_rooms(
    parts: RoomDependencies,
    cadence: PushCadence,
) -> anyhow::Result<handles::OpenedRooms> {
    let (rooms, opened) = RoomRegistry::new(parts);
    let hubs = RoomSocketHubs::new(cadence);
    let personal = PersonalEventHub::default();
    let follower = RoomFollower::new(rooms.clone(), hubs.clone(), personal.clone());
    follower
        .take_up_all()
        .await
        .context("the rooms cannot be taken up")?;
    tokio::spawn(clockwork::run_opened(
        rooms.clone(),
        hubs.clone(),
        personal.clone(),
        opened,
    ));
    tokio::spawn(follower.clone().run(rooms.stopping()));
    let changing = follower.lease_changes().await?;
    let published = follower.publish_coverage().await;
    changing.release_lease().await;
    published.map_err(|failure| anyhow!("{}", Problem::from(failure).detail))?;
    if let Err(error) = follower.publish_ends().await {
        log_failed_try!(
            error,
            "booking is told which rooms are over as soon as it answers"
        );
    }
    Ok(handles::OpenedRooms {
        rooms,
        follower,
        hubs,
        personal,
    })
}

/// Returns the secret with which all nodes sign challenges and hash networks. If the ledger has
/// none yet, makes one and stores it, sealed.
async fn door_secret(
    installation: &Installation,
    secret: &InstallationSecret,
) -> anyhow::Result<[u8; 32]> {
    let mut new_secret = [0; 32];
    rand::rng().fill_bytes(&mut new_secret);
    let stored = sealed_value(installation, secret, "door_secret", &new_secret).await?;
    <[u8; 32]>::try_from(stored).map_err(|_| {
        anyhow!("the ledger holds a door_secret of another length; restore it from a backup")
    })
}

/// Opens the room store: in this process, or in the Redis that all gateways share.
async fn room_store(
    config: &GatewayConfig,
    ledger: &RoomLedger,
    clock: &Clock,
) -> anyhow::Result<Arc<dyn RoomStore>> {
    let ledger = ledger.clone();
    Ok(match &config.stores.redis_url {
        None => Arc::new(MemoryRoomStore::new(ledger)),
        Some(url) => {
            let redis = open::open_redis(url).await?;
            let node = format!("{:016x}", rand::rng().random::<u64>());
            let store = RedisRoomStore::open(redis, ledger, clock.clone(), node).await?;
            store.start_rounds();
            Arc::new(store)
        }
    })
}

/// Waits until all sockets have closed themselves, at most for `drain`. The accept loop does not
/// track upgraded sockets, so they are awaited here. Meanwhile the process still accepts
/// connections and answers `/readyz`.
async fn drain_sockets(sockets: impl Fn() -> usize, drain: Duration) {
    let all_gone = async {
        while sockets() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(drain, all_gone).await.is_err() {
        tracing::warn!(
            left = sockets(),
            "some sockets did not close in time and were cut"
        );
    }
}

fn start_upkeep(waiting_line: WaitingLine, searches: SearchQuotas, metrics: PrometheusHandle) {
    tokio::spawn(async move {
        let mut evicted = tokio::time::Instant::now();
        loop {
            tokio::time::sleep(UPKEEP_EVERY).await;
            metrics.run_upkeep();
            if evicted.elapsed() >= EVICT_EVERY {
                evicted = tokio::time::Instant::now();
                waiting_line.evict_guards();
                waiting_line
                    .rooms
                    .socket_peers()
                    .forget_gone(waiting_line.rooms.now_ms());
                searches.evict();
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn while_sockets_drain_readyz_tells_new_connections_that_the_process_is_draining() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let flags = [
            ("listen", "127.0.0.1:0".to_owned()),
            ("data", folder.path().display().to_string()),
        ];
        let config = GatewayConfig::resolve(&fairgate_base::config::SettingSources {
            flags: flags.into(),
            ..fairgate_base::config::SettingSources::default()
        })
        .expect("good settings");
        let app = GatewayApp::build(&config, crate::upstream::local::open)
            .await
            .expect("it builds");
        let address = app.address().expect("an address");
        // This socket is slow to close.
        let (outlet, _client) = crate::push::outlet::tests::outlet().await;
        let hub = app.hubs.of_room(app.rooms.all()[0].id());
        let socket = hub.listen(outlet, 0);
        let mut stopping = app.stop.subscribe();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        stop.send(()).expect("it runs");
        fairgate_base::process::stopped(&mut stopping).await;
        let answer = reqwest::get(format!("http://{address}/readyz"))
            .await
            .expect("it still accepts");
        assert_eq!(answer.status().as_u16(), 503);
        let told = answer.text().await.expect("a body");
        assert_eq!(told, r#"{"ready":false}"#);
        drop(socket);
        assert_eq!(running.await.expect("it ends"), Ok(()));
        assert!(
            reqwest::get(format!("http://{address}/readyz"))
                .await
                .is_err()
        );
    }
}
