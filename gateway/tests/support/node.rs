//! Runs the line of one node without a listener. Each of its calls is given the time.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use axum::http::HeaderMap;
use booking::door::signing;
use fairgate_base::clock::Clock;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_pass::Keyring;
use gateway::challenge::{ChallengeProviders, ProvidersSettings, WaitTickets, WorkChallenger};
use gateway::follow::RoomFollower;
use gateway::guard::{AttemptGuards, JoinGuard, NetworkHasher, WaitGuard, WishGuard};
use gateway::ledger::RoomLedger;
use gateway::line::WaitingLine;
use gateway::load::ProcessLoad;
use gateway::personal::PersonalEventHub;
use gateway::push::hub::RoomSocketHubs;
use gateway::room::{Room, RoomDependencies, RoomRegistry};
use gateway::store::{MemoryRoomStore, RoomStore};
use gateway::upstream::health::BookingHealth;
use gateway::web::{ClientNetwork, WebRequestPolicy, WebSettings};
use tokio::sync::watch;

use super::Bare;

/// The line of one node.
pub struct Node {
    pub line: WaitingLine,
    _stop: watch::Sender<bool>,
}

impl Node {
    pub async fn start(data: &Path, clock: Clock) -> Self {
        let writer = SqliteDatabase::open(&data.join("ledger.db")).expect("the file opens");
        let installation = Installation::File(writer);
        let secret = InstallationSecret::derive(fairgate_servers::TEST_SECRET);
        let keyring = signing::keyring(&installation, &secret, clock.now_ms()).await;
        let ledger = RoomLedger::open(installation, secret)
            .await
            .expect("migrates");
        let store = Arc::new(MemoryRoomStore::new(ledger.clone()));
        Self::over(store, ledger, keyring.expect("there are keys"), clock).await
    }

    /// Starts another node that shares the line's store, the ledger and the clock with this one.
    pub async fn beside(&self) -> Self {
        let rooms = &self.line.rooms;
        Self::over(
            Arc::clone(rooms.shared_store()),
            rooms.ledger().clone(),
            rooms.keyring().clone(),
            rooms.clock().clone(),
        )
        .await
    }

    async fn over(
        store: Arc<dyn RoomStore>,
        ledger: RoomLedger,
        keyring: Keyring,
        clock: Clock,
    ) -> Self {
        let (stop, stopping) = watch::channel(false);
        let load = ProcessLoad::default();
        let (rooms, _opened) = RoomRegistry::new(RoomDependencies {
            store,
            ledger,
            core: Arc::new(Bare::default()),
            keyring,
            clock,
            health: BookingHealth::new(load.clone()),
            stopping,
            shop_room: None,
        });
        let personal = PersonalEventHub::default();
        let follower =
            RoomFollower::new(rooms.clone(), RoomSocketHubs::default(), personal.clone());
        follower.take_up_all().await.expect("it starts");
        let joins = || JoinGuard::new(NonZeroU32::MAX, NonZeroU32::MAX);
        let providers = ChallengeProviders::new(&ProvidersSettings::default(), [1; 32]);
        let line = WaitingLine {
            rooms,
            web: WebRequestPolicy::new(WebSettings::default()),
            guard: joins(),
            challenge_guard: joins(),
            wait_guard: WaitGuard::default(),
            wish_guard: WishGuard::default(),
            attempts: AttemptGuards::default(),
            challenger: WorkChallenger::new([1; 32]),
            providers: providers.expect("TLS"),
            waits: WaitTickets::new([1; 32]),
            hasher: NetworkHasher::new([1; 32]),
            load,
            personal,
        };
        Self { line, _stop: stop }
    }

    /// Returns the built-in room, which has no end.
    pub fn everyday(&self) -> Room {
        self.line.rooms.get(EVERYDAY).expect("it is there")
    }

    /// Returns the network of an address and a port.
    pub fn network(&self, peer: &str) -> ClientNetwork {
        let peer = peer.parse().expect("an address and a port");
        self.line.web.network(&HeaderMap::new(), peer)
    }
}
