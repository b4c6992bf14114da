//! Tests how long a code can bring a place to another device. The test sets the time of each call.

mod support;

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use axum::http::HeaderMap;
use booking::door::signing;
use fairgate_base::clock::Clock;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_model::shows::coverage::EVERYDAY;
use gateway::challenge::{ChallengeProviders, ProvidersSettings, WaitTickets, WorkChallenger};
use gateway::follow::RoomFollower;
use gateway::guard::{AttemptGuards, JoinGuard, NetworkHasher, WaitGuard, WishGuard};
use gateway::ledger::RoomLedger;
use gateway::line::{JoinBody, JoinOutcome, JoinRefusal, WaitingLine};
use gateway::load::ProcessLoad;
use gateway::personal::PersonalEventHub;
use gateway::push::hub::RoomSocketHubs;
use gateway::room::{RoomDependencies, RoomRegistry};
use gateway::store::MemoryRoomStore;
use gateway::upstream::health::BookingHealth;
use gateway::web::{WebRequestPolicy, WebSettings};
use tokio::sync::watch;

use support::Bare;

/// The moment at which Ana's code is made.
const MADE: &str = "2027-01-10T09:00:00Z";

/// The line of one node without a listener. Each of its calls is given the time.
struct Node {
    line: WaitingLine,
    _stop: watch::Sender<bool>,
}

impl Node {
    async fn start(data: &Path, clock: Clock) -> Self {
        let writer = SqliteDatabase::open(&data.join("ledger.db")).expect("the file opens");
        let installation = Installation::File(writer);
        let keyring = signing::keyring(&installation, clock.now_ms()).await;
        let ledger = RoomLedger::open(installation).await.expect("migrates");
        let (stop, stopping) = watch::channel(false);
        let load = ProcessLoad::default();
        let (rooms, _opened) = RoomRegistry::new(RoomDependencies {
            store: Arc::new(MemoryRoomStore::new(ledger.clone())),
            ledger,
            core: Arc::new(Bare::default()),
            keyring: keyring.expect("there are keys"),
            clock,
            health: BookingHealth::new(load.clone()),
            stopping,
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

    /// Joins the built-in room from a device that has no place.
    async fn join(&self, code: Option<&str>, now: i64) -> Result<JoinOutcome, JoinRefusal> {
        let room = self.line.rooms.get(EVERYDAY).expect("it is there");
        let peer = "192.0.2.7:5000".parse().expect("an address");
        let network = self.line.web.network(&HeaderMap::new(), peer);
        let body = JoinBody {
            moved: code.map(str::to_owned),
            ..JoinBody::default()
        };
        self.line.join(&room, None, &body, network, now).await
    }
}

#[tokio::test]
async fn a_code_brings_its_place_until_five_minutes_are_over_and_nothing_from_then_on() {
    let data = tempfile::tempdir().expect("a folder");
    let clock = Clock::standing_at(MADE.parse().expect("a moment"));
    let node = Node::start(data.path(), clock.clone()).await;
    let made_ms = clock.now_ms();
    let ana = node.join(None, made_ms).await.expect("a place").place;
    let room = node.line.rooms.get(EVERYDAY).expect("it is there");
    let issued = node.line.issue_move(&room, &ana, made_ms).expect("a code");
    let over_ms = made_ms + 5 * 60_000;
    assert_eq!(issued.expires_at_ms, over_ms);

    for late_ms in [over_ms, over_ms + 1, over_ms + 86_400_000] {
        let refused = node.join(Some(&issued.code), late_ms).await;
        let told = Problem::from(refused.expect_err("its time is over"));
        assert_eq!(told.code, ProblemCode::CodeInvalid);
        assert_eq!(told.extra["field"], "move");
        assert!(told.detail.contains("has expired"), "{}", told.detail);
    }
    // The late tries have not used the code up: a node whose clock is behind still accepts it.
    let brought = node.join(Some(&issued.code), over_ms - 1).await;
    let place = brought.expect("in time").place;
    assert_eq!((place.number, place.holder), (ana.number, ana.holder));
    let again = node.join(Some(&issued.code), over_ms - 1).await;
    let told = Problem::from(again.expect_err("it counts once"));
    assert_eq!(told.code, ProblemCode::CodeUsed);
}
