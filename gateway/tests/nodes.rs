//! Tests several gateways that share one ledger: each sees what the others change, and none undoes
//! a change of another.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use booking::door::signing;
use fairgate_base::clock::Clock;
use fairgate_base::http::Problem;
use fairgate_base::http::keys::RoleKeys;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, PostgresDatabase};
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_rules::phase::RoomPhase;
use fairgate_rules::room_document::RoomDocumentInput;
use fairgate_servers::{PostgresServer as Server, must_skip};
use gateway::challenge::{ChallengeProviders, ProvidersSettings};
use gateway::clockwork;
use gateway::follow::RoomFollower;
use gateway::guard::NetworkHasher;
use gateway::ledger::RoomLedger;
use gateway::load::ProcessLoad;
use gateway::personal::PersonalEventHub;
use gateway::promoter::{MadeForecasts, ManualPhase, PromoterControls, RoomPatchInput};
use gateway::push::hub::RoomSocketHubs;
use gateway::room::{Room, RoomDependencies, RoomRegistry};
use gateway::store::MemoryRoomStore;
use gateway::upstream::health::BookingHealth;
use serde_json::{Value, json};
use tokio::sync::watch;

use support::{Bare, Gateway};

/// The longest time until one node sees a change of another, even on a busy machine.
const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// A gateway without a listener: the rooms, their loops, and the promoter's controls.
struct Node {
    rooms: RoomRegistry,
    promoter: PromoterControls,
    core: Bare,
    _stop: watch::Sender<bool>,
}

impl Node {
    async fn start(url: &str) -> Self {
        let database = PostgresDatabase::connect(url).await.expect("it connects");
        let clock = Clock::system();
        let installation = Installation::Server(database);
        let secret = InstallationSecret::derive(fairgate_servers::TEST_SECRET);
        let keyring = signing::keyring(&installation, &secret, clock.now_ms()).await;
        let ledger = RoomLedger::open(installation, secret)
            .await
            .expect("migrates");
        let core = Bare::default();
        let (stop, stopping) = watch::channel(false);
        let parts = RoomDependencies {
            store: Arc::new(MemoryRoomStore::new(ledger.clone())),
            ledger,
            core: Arc::new(core.clone()),
            keyring: keyring.expect("there are keys"),
            clock,
            health: BookingHealth::new(ProcessLoad::default()),
            stopping,
            shop_room: None,
        };
        let (rooms, opened) = RoomRegistry::new(parts);
        let hubs = RoomSocketHubs::default();
        let follower = RoomFollower::new(rooms.clone(), hubs.clone(), PersonalEventHub::default());
        follower.take_up_all().await.expect("it starts");
        tokio::spawn(clockwork::run_opened(
            rooms.clone(),
            hubs.clone(),
            PersonalEventHub::default(),
            opened,
        ));
        tokio::spawn(follower.clone().run(rooms.stopping()));
        let promoter = PromoterControls {
            rooms: rooms.clone(),
            follower,
            hubs,
            hasher: NetworkHasher::new([7; 32]),
            keys: RoleKeys::default(),
            providers: ChallengeProviders::new(&ProvidersSettings::default(), [1; 32])
                .expect("TLS"),
            forecasts: MadeForecasts::default(),
        };
        Self {
            rooms,
            promoter,
            core,
            _stop: stop,
        }
    }

    async fn put(&self, room: &str, shows: &str) -> Result<bool, &'static str> {
        let document = json!({
            "title": room, "shows": [shows], "opens_at": "2020-01-01T00:00:00Z",
            "draw_at": "2099-01-01T00:00:00Z",
        });
        let document: RoomDocumentInput = serde_json::from_value(document).expect("a document");
        let put = self.promoter.put_room(room, document).await;
        put.map(|(_, new)| new)
            .map_err(|refusal| Problem::from(refusal).code.as_str())
    }

    async fn patch(&self, room: &str, patch: Value) {
        let patch: RoomPatchInput = serde_json::from_value(patch).expect("a patch");
        let patched = self.promoter.patch_room(room, patch).await;
        assert!(patched.is_ok(), "{patched:?}");
    }

    /// Waits until this node has the room and `wanted` returns true for it. Returns the room.
    async fn sees(&self, room: &str, wanted: impl Fn(&Room) -> bool) -> Room {
        let asked = Instant::now();
        loop {
            match self.rooms.get(room) {
                Ok(room) if wanted(&room) => return room,
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
            assert!(asked.elapsed() < SEEN_WITHIN, "{room} was not seen in time");
        }
    }

    /// Waits until the gateway has sent booking exactly this coverage: each room with its shows.
    async fn covers(&self, expected: &[(&str, &str)]) {
        let expected: Vec<(String, Vec<String>)> = expected
            .iter()
            .map(|(room, shows)| ((*room).to_owned(), vec![(*shows).to_owned()]))
            .collect();
        let asked = Instant::now();
        while self.core.coverage() != expected {
            assert!(asked.elapsed() < SEEN_WITHIN, "{:?}", self.core.coverage());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn two_nodes(what: &str) -> Option<(Server, Node, Node)> {
    if must_skip(what) {
        return None;
    }
    let server = Server::options().without_fsync().start().await;
    let server = server.expect("a server");
    let url = server.url();
    let (one, two) = tokio::join!(Node::start(&url), Node::start(&url));
    Some((server, one, two))
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_start_at_the_same_time_share_one_built_in_room() {
    let Some((_server, one, two)) = two_nodes("starting at once").await else {
        return;
    };
    let commitment = |node: &Node| node.rooms.get(EVERYDAY).expect("it is there").commitment();
    assert_eq!(commitment(&one), commitment(&two));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_made_or_changed_at_one_node_is_seen_at_the_other() {
    let Some((_server, one, two)) = two_nodes("seeing rooms of other nodes").await else {
        return;
    };
    assert_eq!(one.put("a", "a-*").await, Ok(true));
    let room = two.sees("a", |_| true).await;
    assert_eq!(
        room.commitment(),
        one.rooms.get("a").expect("its own").commitment()
    );
    two.covers(&[("a", "a-*")]).await;

    let asked = Instant::now();
    one.patch("a", json!({"message": "hello", "paused": true}))
        .await;
    two.sees("a", |room| {
        room.row().document.message == "hello" && room.row().facts.paused
    })
    .await;
    eprintln!("a change was seen after {:?}", asked.elapsed());
    assert_eq!(two.put("a", "b-*").await, Ok(false));
    one.covers(&[("a", "b-*")]).await;
    let closed = two.promoter.by_hand("a", ManualPhase::Close).await;
    assert!(closed.is_ok());
    one.sees("a", |room| room.phase(0) == RoomPhase::Closed)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_room_is_found_at_the_other_node_as_soon_as_it_is_looked_for() {
    let Some((_server, one, two)) = two_nodes("finding rooms of other nodes").await else {
        return;
    };
    for round in 0..5 {
        let room = format!("new-{round}");
        assert_eq!(one.put(&room, &format!("{room}-*")).await, Ok(true));
        let looks = (0..20).map(|_| two.promoter.follower.look_for(&room));
        futures_util::future::join_all(looks).await;
        assert!(two.rooms.get(&room).is_ok(), "{room}");
    }
    two.promoter.follower.look_for("nobody-made-it").await;
    assert!(two.rooms.get("nobody-made-it").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_made_at_two_nodes_at_the_same_time_are_both_kept() {
    let Some((_server, one, two)) = two_nodes("changes at once").await else {
        return;
    };
    assert_eq!(one.put("a", "a-*").await, Ok(true));
    two.sees("a", |_| true).await;
    for round in 1..=10 {
        let message = format!("round {round}");
        tokio::join!(
            one.patch("a", json!({"per_s": f64::from(round)})),
            two.patch("a", json!({"message": message})),
        );
        for node in [&one, &two] {
            node.sees("a", |room| {
                let row = room.row();
                row.document.message == message
                    && (row.document.per_s - f64::from(round)).abs() < 1e-9
            })
            .await;
        }
    }
    let audit = one.rooms.ledger().audit("a").await.expect("it reads");
    assert_eq!(audit.len(), 21, "each change has its row");
    assert!(audit.windows(2).all(|pair| pair[1].prev == pair[0].hash));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_rooms_that_cover_one_show_only_one_is_made() {
    let Some((_server, one, two)) = two_nodes("covering one show twice").await else {
        return;
    };
    for round in 0..5 {
        let (here, there) = (format!("here-{round}"), format!("there-{round}"));
        let show = format!("show-{round}");
        let (first, second) = tokio::join!(one.put(&here, &show), two.put(&there, &show));
        let outcomes = [first, second];
        assert!(
            outcomes.contains(&Ok(true)) && outcomes.contains(&Err("show_covered")),
            "{outcomes:?}"
        );
    }
    let told = || (one.core.coverage(), two.core.coverage());
    let asked = Instant::now();
    while told().0.len() != 5 || told().0 != told().1 {
        assert!(asked.elapsed() < SEEN_WITHIN, "{:?}", told());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draw_that_one_node_begins_is_the_same_at_the_other() {
    let Some((_server, one, two)) = two_nodes("one draw at two nodes").await else {
        return;
    };
    assert_eq!(one.put("a", "a-*").await, Ok(true));
    two.sees("a", |_| true).await;
    for number in 0..9_u8 {
        let entrant = gateway::store::StoreJoinRequest {
            holder: fairgate_pass::Holder([number + 1; 32]),
            code: None,
            needs_code: false,
            toll: gateway::store::NetworkToll::NONE,
            now: 1,
        };
        let joined = one.rooms.store().join("a", entrant).await;
        assert!(joined.is_ok());
    }
    // This is the state that a node leaves if it dies right after its freeze. Any node completes
    // the draw.
    let frozen = one.rooms.store().freeze("a", 1_000).await;
    assert!(frozen.is_ok());
    let drawn = |room: &Room| room.draw_state().row.drawn.is_some();
    let (here, there) = (one.sees("a", drawn).await, two.sees("a", drawn).await);
    assert_eq!(here.draw_state().row, there.draw_state().row);
    assert_eq!(
        serde_json::to_value(&*here.draw_state().record).expect("JSON"),
        serde_json::to_value(&*there.draw_state().record).expect("JSON")
    );
    let ranks = |room: &Room| (0..9).map(|number| room.rank(number)).collect::<Vec<_>>();
    assert_eq!(ranks(&here), ranks(&there));
    assert_eq!(here.draw_state().row.freeze.map(|freeze| freeze.n), Some(9));
    let audit = one.rooms.ledger().audit("a").await.expect("it reads");
    let actions: Vec<&str> = audit.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["room_created", "frozen", "drawn"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_long_change_no_other_node_gets_the_lease() {
    let Some((_server, one, two)) = two_nodes("a change that takes long").await else {
        return;
    };
    let changing = one
        .promoter
        .follower
        .lease_changes()
        .await
        .expect("it is free");
    let (began, ledger) = (Instant::now(), two.rooms.ledger());
    // A lease that nobody renews ends after five seconds.
    while began.elapsed() < Duration::from_millis(6500) {
        let taken = ledger.lease("rooms", "another", 100).await;
        assert_eq!(taken.ok(), Some(false), "after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    changing.release_lease().await;
    while ledger.lease("rooms", "another", 100).await.ok() != Some(true) {
        let lasting = began.elapsed();
        assert!(
            lasting < Duration::from_secs(9),
            "the lease was not released"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_cannot_be_read_does_not_hide_the_others() {
    let Some((server, one, two)) = two_nodes("a room that cannot be read").await else {
        return;
    };
    let bad = "INSERT INTO gw_rooms (room, document, facts, version, secret, created_at)
        VALUES ('a-bad', '{', '{}', 1, '\\x00', 0)";
    server.query(bad).await.expect("it is written");
    assert_eq!(one.put("b", "b-*").await, Ok(true));
    two.sees("b", |_| true).await;
    one.patch("b", json!({"message": "hello"})).await;
    two.sees("b", |room| room.row().document.message == "hello")
        .await;
    let told = two.rooms.warnings().join("\n");
    assert!(told.contains("\"a-bad\" cannot be read"), "{told}");
    assert_eq!(two.promoter.follower.unheard_for(), None);
    let three = Node::start(&server.url()).await;
    three.sees("b", |_| true).await;
    server
        .query("DELETE FROM gw_rooms WHERE room = 'a-bad'")
        .await
        .expect("it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn once_the_ledger_answers_again_no_node_warns_of_the_outage_that_ended() {
    if must_skip("a node that reads again") {
        return;
    }
    let server = Server::start().await.expect("a server");
    let node = Node::start(&server.url()).await;
    // Only the test makes this follower read.
    let of_node = node.promoter;
    let personal = PersonalEventHub::default();
    let follower = RoomFollower::new(of_node.rooms, of_node.hubs, personal);
    follower.take_up_all().await.expect("it starts");
    let (given, began) = (Duration::from_millis(1_500), Instant::now());
    assert_eq!(follower.unread_for(given).await, None);
    server.kill();
    while follower.unheard_for().is_none() {
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(30), "it is never stale");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(follower.unread_for(given).await.is_some());
    server.ensure_running().await.expect("it starts again");
    assert!(follower.unheard_for().is_some(), "nobody has read since");
    assert_eq!(follower.unread_for(given).await, None);
    assert_eq!(follower.unheard_for(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_ledger_lost_releases_the_counter_does_not_fall_and_new_ranks_are_released() {
    if must_skip("a ledger that lost releases") {
        return;
    }
    let server = Server::options().without_fsync().start().await;
    let server = server.expect("a server");
    let node = Node::start(&server.url()).await;
    node.core.set_pulse(100, 0, 0);
    let document = json!({
        "title": "a", "shows": ["a-*"], "opens_at": "2020-01-01T00:00:00Z", "method": "fifo",
        "draw_at": "2020-01-02T00:00:00Z", "mode": "fixed", "per_s": 1000, "max_inside": 1000,
    });
    let document: RoomDocumentInput = serde_json::from_value(document).expect("a document");
    let put = node.promoter.put_room("a", document).await;
    assert!(put.is_ok());
    let join = async |of: u8| {
        let entrant = gateway::store::StoreJoinRequest {
            holder: fairgate_pass::Holder([of; 32]),
            code: None,
            needs_code: false,
            toll: gateway::store::NetworkToll::NONE,
            now: node.rooms.now_ms(),
        };
        let joined = node.rooms.store().join("a", entrant).await;
        assert!(joined.is_ok());
    };
    for of in 1..=5 {
        join(of).await;
    }
    node.sees("a", |room| room.last_tick().released == 5).await;
    let lose = "UPDATE gw_releases SET released = 2, ticked_at = ticked_at - 60000, memory = ''";
    server.query(lose).await.expect("it is set back");
    join(6).await;
    let room = node
        .sees("a", |room| {
            let released = room.last_tick().released;
            assert!(released >= 5, "the counter fell to {released}");
            released == 6
        })
        .await;
    let stands = node.rooms.ledger().read_release_counter(room.id()).await;
    assert_eq!(stands.expect("it reads").released, 6);
    let told = node.rooms.warnings().join("\n");
    assert!(told.contains("the ledger was set back"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_ledger_is_down_the_lobby_and_places_are_still_answered() {
    if must_skip("a gateway whose ledger is down") {
        return;
    }
    let server = Server::options().without_fsync().start().await;
    let server = server.expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let url = server.url();
    let gateway = Gateway::start_with(folder.path(), &[("database_url", &url)]).await;
    gateway.open_room("demo", json!({})).await;
    let (place, number) = gateway.newcomer("demo").await;
    assert_eq!(number, 0);
    assert_eq!(gateway.get("/readyz").await.status, 200);

    server.pause();
    for path in [
        "/",
        "/r/demo",
        "/v1/rooms",
        "/v1/rooms/demo",
        "/healthz",
        "/metrics",
    ] {
        assert_eq!(gateway.get(path).await.status, 200, "{path}");
    }
    let shown = gateway
        .call("GET", "/v1/rooms/demo/place", Some(&place), None)
        .await;
    assert_eq!(
        (shown.status, shown.json()["number"].as_u64()),
        (200, Some(0))
    );
    let asked = Instant::now();
    loop {
        let ready = gateway.ready().await;
        assert_eq!(ready["ready"], true, "the lobby is still served: {ready}");
        if ready.to_string().contains("the ledger took no write") {
            break;
        }
        assert!(
            asked.elapsed() < Duration::from_secs(2),
            "/readyz does not report the silent ledger"
        );
    }
    assert_eq!(gateway.get("/readyz").await.json(), json!({"ready": true}));

    server.resume();
    let asked = Instant::now();
    while gateway.ready().await.to_string().contains("ledger") {
        assert!(asked.elapsed() < SEEN_WITHIN, "it still warns");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Joins that were refused during the silence are accepted again soon after it.
    let asked = Instant::now();
    loop {
        let joined = gateway.join("demo", json!({})).await;
        if joined.status == 201 {
            assert_eq!(joined.json()["number"], 1, "no number is skipped");
            return;
        }
        assert_eq!(joined.refusal(), (429, "too_many_joins".into()));
        assert!(asked.elapsed() < SEEN_WITHIN, "joins are still refused");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_networks_reach_the_other_node_and_other_changes_keep_them() {
    let Some((_server, one, two)) = two_nodes("lists of networks").await else {
        return;
    };
    assert_eq!(one.put("listed", "l-*").await, Ok(true));
    two.sees("listed", |_| true).await;
    let input = serde_json::from_value(json!({"deny": ["192.0.2.0/24"]})).expect("lists");
    let asked = Instant::now();
    let lists = one.promoter.put_networks("listed", &input).await;
    let lists = lists.expect("good lists");
    let has_them = |room: &Room| room.row().facts.networks == lists;
    two.sees("listed", has_them).await;
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    two.patch("listed", json!({"paused": true})).await;
    let paused = |room: &Room| room.row().facts.paused && has_them(room);
    one.sees("listed", paused).await;
}
