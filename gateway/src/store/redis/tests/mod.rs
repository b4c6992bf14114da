//! Runs the store contract over one real Redis and over a cluster. Also tests a Redis that loses
//! its data, and several nodes over one Redis. The ledger is a SQLite file that all nodes of a test
//! share. Two tests in `set_back` use PostgreSQL instead.

mod loss;
mod renamed;
mod set_back;

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Weak;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_pass::{Digest, Holder};
use fairgate_rules::phase::RoomFacts;
use fairgate_rules::room_document::RoomDocument;
use fairgate_servers as servers;

use super::lease::LEASE;
use super::parts::StoreParts;
use super::scripts::{AnyRoomFamily, BeginRoomScript};
use super::*;
use crate::ledger::RoomLedger;
use crate::ledger::{DrawSecret, PassRow, RoomAuditEntry, RoomRow};
use crate::store::contract::{Pair, suite};
use crate::store::{
    AdmissionDecision, CalledRanks, Claimant, NetworkToll, Place, PresentedPlace,
    PresentedPlaceStatus, RecordedPassClaim, RoomStore, ShownCode, StoreFreezeOutcome,
    StoreJoinRefusal, StoreJoinRequest, TickCarryover, TickEnd,
};

/// The longest that a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

async fn ledger_at(path: &std::path::Path) -> RoomLedger {
    let file = Installation::File(SqliteDatabase::open(path).expect("the file opens"));
    let ledger = RoomLedger::open(file, InstallationSecret::derive("a test's secret"))
        .await
        .expect("it migrates");
    let row = RoomRow {
        room: "r".into(),
        document: RoomDocument::everyday(),
        facts: RoomFacts::default(),
        version: 1,
        secret: DrawSecret([1; 32]),
        created_at: 0,
    };
    let entry = RoomAuditEntry {
        at: 0,
        role: "promoter",
        action: "room_created",
        detail: serde_json::Value::Null,
    };
    ledger
        .create_room(row, entry)
        .await
        .expect("the room is created or exists");
    ledger
}

async fn store(url: &str, ledger: &RoomLedger, node: &str) -> RedisRoomStore {
    let redis = Redis::connect(url).expect("an address");
    let store = RedisRoomStore::open(redis, ledger.clone(), Clock::system(), node.into());
    let store = store.await.expect("it is this ledger's");
    store.start_rounds();
    store
}

async fn keeps_the_contract(redis: &servers::RedisServers) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (generation, nodes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let opened: Mutex<Vec<Weak<StoreParts>>> = Mutex::default();
    let opened = &opened;
    suite(|again| {
        let at = generation.fetch_add(usize::from(!again), Ordering::SeqCst) + usize::from(!again);
        let node = nodes.fetch_add(1, Ordering::SeqCst);
        let path = folder.path().join(format!("{at}.db"));
        async move {
            if !again {
                // A node over the ledger of the previous case may be in the middle of a round, and
                // would fill in the emptied room for its own ledger.
                let before = std::mem::take(&mut *opened.lock());
                let until = Instant::now() + PATIENCE;
                while before.iter().any(|parts| parts.strong_count() > 0) {
                    assert!(
                        Instant::now() < until,
                        "a store of the previous case does not end"
                    );
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                redis.flush_all().await.expect("it is emptied");
            }
            let ledger = ledger_at(&path).await;
            let store = store(&redis.url(), &ledger, &format!("node-{node}")).await;
            store.open("r").await.expect("it reads");
            let parts = Arc::downgrade(&store.parts);
            opened.lock().push(parts);
            Pair {
                store: Arc::new(store),
                ledger,
                outlives: true,
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_store_in_one_redis_keeps_the_contract() {
    if servers::must_skip("the room store in one Redis") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    keeps_the_contract(&redis).await;
}

#[tokio::test]
async fn the_store_in_a_cluster_keeps_the_contract() {
    if servers::must_skip("the room store in a Redis cluster") {
        return;
    }
    let redis = servers::RedisServers::cluster().await.expect("it starts");
    keeps_the_contract(&redis).await;
}

/// One Redis, one ledger, and the nodes over them.
struct House {
    redis: servers::RedisServers,
    ledger: RoomLedger,
    nodes: Vec<RedisRoomStore>,
    _folder: tempfile::TempDir,
}

impl House {
    async fn of(nodes: usize) -> Self {
        let redis = servers::RedisServers::single().await.expect("it starts");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ledger = ledger_at(&folder.path().join("ledger.db")).await;
        let mut stores = Vec::new();
        for node in 0..nodes {
            let store = store(&redis.url(), &ledger, &format!("node-{node}")).await;
            store.open("r").await.expect("it reads");
            stores.push(store);
        }
        Self {
            redis,
            ledger,
            nodes: stores,
            _folder: folder,
        }
    }

    /// Joins, and repeats the join until the store gives a number.
    async fn join(&self, node: usize, of: u64) -> Place {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.nodes[node].join("r", entrant(of)).await {
                Ok(place) => return place,
                Err(why) => assert!(Instant::now() < until, "no number yet: {why}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn holder(of: u64) -> Holder {
    Holder(Digest::of_bytes(&of.to_be_bytes()).0)
}

fn entrant(of: u64) -> StoreJoinRequest {
    StoreJoinRequest {
        holder: holder(of),
        code: None,
        needs_code: false,
        toll: NetworkToll::NONE,
        now: 1000,
    }
}

fn shown(number: u64, of: u64) -> PresentedPlace {
    PresentedPlace {
        number,
        holder: holder(of),
        code: None,
        at: 1000,
    }
}

fn number(standing: &PresentedPlaceStatus) -> Option<u64> {
    match standing {
        PresentedPlaceStatus::Here(place) => Some(place.number),
        PresentedPlaceStatus::Left | PresentedPlaceStatus::Unknown => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_joins_at_two_nodes_give_a_thousand_numbers_without_a_gap() {
    if servers::must_skip("joins at two nodes") {
        return;
    }
    let house = House::of(2).await;
    let joins: Vec<_> = (0..1000)
        .map(|of| {
            let store = house.nodes[usize::from(of % 2 == 0)].clone();
            tokio::spawn(async move { store.join("r", entrant(of)).await })
        })
        .collect();
    let mut numbers = BTreeSet::new();
    for join in joins {
        let place = join.await.expect("no panic").expect("a number");
        assert!(numbers.insert(place.number), "{} twice", place.number);
    }
    assert_eq!(numbers, (0..1000).collect());
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    let line = house.ledger.line("r").await.expect("it reads");
    assert_eq!(line.places.len(), 1000);
    assert!(line.life.is_some_and(|life| life.ceiling >= 1000));
}

#[tokio::test]
async fn after_redis_is_emptied_no_number_is_given_twice_and_lost_places_are_restored() {
    if servers::must_skip("an emptied Redis") {
        return;
    }
    let house = House::of(2).await;
    for of in 0..20 {
        assert_eq!(house.join(0, of).await.number, of);
    }
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    let before = house.ledger.line("r").await.expect("it reads").life;
    let ceiling = before.expect("a life").ceiling;
    // These numbers are given after the copy, so they are lost with Redis, unless the copier has
    // copied them too.
    let lost = house.join(1, 20).await.number;
    let second = house.join(1, 21).await.number;
    house.redis.flush_all().await.expect("it is emptied");

    let next = house.join(0, 100).await.number;
    assert!(
        next >= ceiling,
        "{next} lies below {ceiling}, the old block"
    );
    let again = house.join(0, 7).await;
    assert_eq!(
        (again.number, again.fresh),
        (7, false),
        "the ledger has the place"
    );
    for (lost, of) in [(lost, 20), (second, 21)] {
        let here = house.nodes[1]
            .check_presented_place("r", shown(lost, of))
            .await;
        assert_eq!(
            number(&here.expect("it answers")),
            Some(lost),
            "the lost place is restored"
        );
    }
    let stranger = house.nodes[0]
        .check_presented_place("r", shown(second, 99))
        .await;
    assert_eq!(
        stranger.expect("it answers"),
        PresentedPlaceStatus::Unknown,
        "a restored number has one holder"
    );
    let freezing = house.nodes[0].freeze("r", Clock::system().now_ms()).await;
    assert!(
        matches!(
            freezing.expect("it answers"),
            StoreFreezeOutcome::NotBefore(_)
        ),
        "visitors may still show lost places"
    );
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    let stored = house
        .ledger
        .place_of("r", holder(20))
        .await
        .expect("it reads");
    assert_eq!(stored.map(|place| place.join.number), Some(lost));
}

#[tokio::test]
async fn a_slow_builder_is_replaced_only_after_it_falls_silent() {
    if servers::must_skip("a slow builder") {
        return;
    }
    let house = House::of(1).await;
    house.join(0, 1).await;
    let incarnation = async || {
        let line = house.ledger.bare_line("r").await.expect("it reads");
        line.life.expect("a life").incarnation
    };
    // Begins to fill in the emptied room in the name of another node. If this node's keeper began
    // first, empties Redis again.
    let begun = loop {
        house.redis.flush_all().await.expect("it is emptied");
        let life = incarnation().await;
        let begin = BeginRoomScript {
            incarnation: life,
            builder: "another".into(),
            now_ms: Clock::system().now_ms(),
            silent_ms: 5000,
        };
        let told = house.nodes[0]
            .parts
            .keeper
            .scripts
            .run_as("r", AnyRoomFamily {}, begin)
            .await;
        let told = told.expect("it answers");
        if told.as_text() == Ok("begun") && incarnation().await == life {
            break life;
        }
    };
    for _ in 0..3 {
        house.nodes[0]
            .parts
            .keeper
            .maintain_room("r")
            .await
            .expect("the round runs");
    }
    assert_eq!(
        incarnation().await,
        begun,
        "no life begins while the other node builds"
    );
    house.join(0, 2).await;
    assert_eq!(
        incarnation().await,
        begun + 1,
        "a life begins after the other node fell silent"
    );
}

#[tokio::test]
async fn a_holder_with_two_numbers_keeps_the_lower() {
    if servers::must_skip("two numbers of one holder") {
        return;
    }
    let house = House::of(1).await;
    house.join(0, 1).await;
    // The number before `late` is like a number that Redis lost before the copy: it is reserved,
    // and the ledger does not have it.
    house.redis.flush_all().await.expect("it is emptied");
    let late = house.join(0, 2).await.number;
    let lower = late - 1;
    let standing = async |number| {
        let standing = house.nodes[0]
            .check_presented_place("r", shown(number, 2))
            .await;
        standing.expect("it answers")
    };
    assert_eq!(number(&standing(lower).await), Some(lower));
    assert_eq!(
        number(&standing(late).await),
        Some(lower),
        "the higher number is void"
    );
    assert!(
        house.nodes[0]
            .absent_numbers("r")
            .await
            .expect("it answers")
            .contains(late)
    );
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    let line = house.ledger.line("r").await.expect("it reads");
    let voids = line.places.iter().filter(|place| place.void);
    assert_eq!(
        voids.map(|place| place.join.number).collect::<Vec<_>>(),
        [late]
    );
}

#[tokio::test]
async fn after_a_restart_redis_counts_as_another_server_and_a_new_life_begins() {
    if servers::must_skip("a Redis that was started anew") {
        return;
    }
    let house = House::of(1).await;
    let first = house.join(0, 1).await.number;
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    house.redis.kill(0);
    let (asked, here) = (
        Instant::now(),
        house.nodes[0]
            .check_presented_place("r", shown(first, 1))
            .await,
    );
    assert_eq!(
        number(&here.expect("places answer without Redis")),
        Some(first)
    );
    assert!(house.nodes[0].join("r", entrant(2)).await.is_err());
    assert!(
        asked.elapsed() < Duration::from_secs(8),
        "{:?}",
        asked.elapsed()
    );
    house.redis.start(0).await.expect("it starts again");
    assert!(house.join(0, 2).await.number > first);
    let lives = house.ledger.lives().await.expect("it reads");
    assert_eq!(lives[0].1.incarnation, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_during_the_freeze_is_below_n_and_in_the_ledger_or_gets_a_number_from_n_on() {
    if servers::must_skip("a freeze during joins") {
        return;
    }
    let house = House::of(2).await;
    let joins: Vec<_> = (0..2)
        .map(|node| {
            let store = house.nodes[node].clone();
            tokio::spawn(async move {
                let mut given = Vec::new();
                for of in 0..400 {
                    let of = of * 2 + node as u64;
                    let place = store.join("r", entrant(of)).await.expect("a number");
                    given.push((place.number, of));
                }
                given
            })
        })
        .collect();
    let until = Instant::now() + PATIENCE;
    while house.nodes[0]
        .counts("r", 1)
        .await
        .expect("it answers")
        .joined
        < 50
    {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (one, other) = tokio::join!(
        house.nodes[0].freeze("r", 5000),
        house.nodes[1].freeze("r", 5001)
    );
    let (one, other) = (one.expect("it freezes"), other.expect("it freezes"));
    assert_eq!(one, other, "both nodes return the same freeze");
    let StoreFreezeOutcome::Done(freeze) = one else {
        panic!("{one:?}");
    };
    let leaves = house.ledger.leaves("r", freeze.n).await.expect("it reads");
    let (leaves, mut below) = (leaves.as_chunks::<32>().0, 0);
    for join in joins {
        for (number, of) in join.await.expect("no panic") {
            if let Some(leaf) = usize::try_from(number).ok().and_then(|at| leaves.get(at)) {
                assert_eq!(
                    *leaf,
                    holder(of).0,
                    "number {number} was given before the freeze"
                );
                below += 1;
            }
        }
    }
    assert_eq!(
        below, freeze.n,
        "no number below n was given after the freeze"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_together_admit_no_more_visitors_than_may_be_inside() {
    if servers::must_skip("claims at three nodes") {
        return;
    }
    let house = House::of(3).await;
    for of in 0..30 {
        house.join(0, of).await;
    }
    let called = CalledRanks {
        from: 0,
        to: 30,
        people: 30,
        away: std::collections::HashSet::new(),
    };
    let end = TickEnd {
        since: 0,
        until: 1000,
        owed_u: 0,
        credit_u: 0,
        rate_u: Some(1_000_000_000),
        called: Some(called),
        left: TickCarryover::default(),
        now: 1000,
    };
    assert!(house.nodes[0].end_tick("r", end).await.expect("it answers"));
    let claims: Vec<_> = (0..30)
        .map(|number| {
            let store = house.nodes[usize::try_from(number % 3).unwrap_or(0)].clone();
            let claimant = Claimant {
                number,
                rank: number,
                released: 30,
                max_inside: 7,
                line: true,
                idle_ms: 5_500,
                toll: NetworkToll::NONE,
                now: 2000,
            };
            tokio::spawn(async move {
                store
                    .admit_claimant("r", claimant)
                    .await
                    .expect("it answers")
            })
        })
        .collect();
    let mut let_in = Vec::new();
    for (number, claim) in (0..).zip(claims) {
        if claim.await.expect("no panic") == (AdmissionDecision::Let { first: true }) {
            let_in.push(number);
        }
    }
    assert_eq!(let_in.len(), 7);
    let claimed = RecordedPassClaim {
        number: let_in[0],
        reserved: Some(let_in[0]),
        exp_s: 100,
        at_s: 1,
    };
    house.nodes[0]
        .note_claim("r", claimed)
        .await
        .expect("it answers");
    let seen = house.nodes[2]
        .check_presented_place("r", shown(let_in[0], let_in[0]))
        .await;
    assert!(
        matches!(seen, Ok(PresentedPlaceStatus::Here(place)) if place.pass_exp == Some(100)),
        "other nodes see the claim of one node: {seen:?}"
    );
}

#[tokio::test]
async fn passes_and_finished_orders_are_read_back_after_redis_is_emptied() {
    if servers::must_skip("passes over a lost Redis") {
        return;
    }
    let house = House::of(1).await;
    for of in 0..3 {
        house.join(0, of).await;
        let fresh = PassRow {
            number: of,
            rank: of,
            holder: holder(of),
            iat: 0,
            exp: 100,
            jti: format!("pass_{of}"),
        };
        house
            .ledger
            .claim("r", fresh, 0)
            .await
            .expect("it is written");
    }
    house.nodes[0]
        .flush_to_ledger("r")
        .await
        .expect("it is copied");
    house
        .ledger
        .finish("r", 4, &[holder(1)], 0)
        .await
        .expect("it is written");
    house.redis.flush_all().await.expect("it is emptied");
    house.join(0, 50).await;
    let counts = house.nodes[0].counts("r", 50).await.expect("it answers");
    assert_eq!(
        (counts.inside, counts.claimed, counts.done, counts.finished),
        (2, 3, 1, 4)
    );
}

#[tokio::test]
async fn bring_back_restores_all_lost_places_or_returns_an_error() {
    if servers::must_skip("bringing places back") {
        return;
    }
    let house = House::of(1).await;
    house.join(0, 0).await;
    house.redis.flush_all().await.expect("it is emptied");
    let late = house.join(0, 5000).await.number;
    // The first life reserved these numbers and never copied them, so they count as lost.
    let lost: Vec<PresentedPlace> = (1..800).map(|of| shown(of, of)).collect();
    assert!(lost.len() < usize::try_from(late).expect("small"));
    let life = house.nodes[0].bring_back("r", &lost).await;
    assert_eq!(life.ok(), Some(2));
    for shown in &lost {
        let place = house.nodes[0].place_of("r", shown.holder).await;
        let number = place.expect("it answers").map(|place| place.number);
        assert_eq!(number, Some(shown.number));
    }
    house.redis.kill(0);
    assert!(house.nodes[0].bring_back("r", &lost).await.is_err());
    assert!(house.nodes[0].bring_back("r", &[]).await.is_err());
}

#[tokio::test]
async fn a_lost_lower_number_is_not_restored_if_another_holder_used_its_code() {
    if servers::must_skip("a code that another used") {
        return;
    }
    let house = House::of(1).await;
    let code = |of: u64| Digest::of_bytes(&[9, u8::try_from(of).expect("small")]);
    let codes = [1, 2].map(code);
    let entry = RoomAuditEntry {
        at: 0,
        role: "promoter",
        action: "codes_replaced",
        detail: serde_json::Value::Null,
    };
    let put = house.ledger.put_codes("r", codes.to_vec(), entry).await;
    assert!(put.is_ok());
    house.redis.flush_all().await.expect("it is emptied");
    house.join(0, 100).await;
    let with_code = |of: u64, code: Digest| StoreJoinRequest {
        code: Some(counted(code)),
        needs_code: true,
        ..entrant(of)
    };
    let other = house.nodes[0].join("r", with_code(1, code(1))).await;
    let own = house.nodes[0].join("r", with_code(2, code(2))).await;
    let (other, own) = (other.expect("a number"), own.expect("a number"));
    // `lower` is a lost place of the last life. Another holder has used its code since then.
    let lower = PresentedPlace {
        code: Some(code(1)),
        ..shown(5, 2)
    };
    let standing = house.nodes[0].check_presented_place("r", lower).await;
    assert_eq!(number(&standing.expect("it answers")), Some(own.number));
    for (of, place) in [(1, other), (2, own)] {
        let kept = house.nodes[0].place_of("r", holder(of)).await;
        let kept = kept.expect("it answers").map(|place| place.number);
        assert_eq!(kept, Some(place.number));
    }
}

fn counted(digest: Digest) -> ShownCode {
    ShownCode {
        digest,
        is_counted: true,
        kept: 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_share_the_budget_of_wrong_codes() {
    if servers::must_skip("wrong codes at two nodes") {
        return;
    }
    let house = House::of(2).await;
    let wrong = |of: u64| StoreJoinRequest {
        code: Some(counted(Digest::of_bytes(&of.to_be_bytes()))),
        needs_code: true,
        ..entrant(900)
    };
    let mut looked_at = 0;
    for of in 0..300 {
        let node = &house.nodes[usize::from(of % 2 == 1)];
        match node.join("r", wrong(of)).await {
            Err(StoreJoinRefusal::CodeInvalid { recent }) => {
                looked_at += 1;
                assert_eq!(recent, looked_at);
            }
            Err(StoreJoinRefusal::CodesPaused(paused)) => assert_eq!(paused.recent, looked_at),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(looked_at, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_room_does_not_stop_joins_in_other_rooms() {
    if servers::must_skip("a slow room") {
        return;
    }
    let house = House::of(1).await;
    let node = &house.nodes[0];
    node.open("quick").await.expect("it reads");
    // This lock makes the rounds of the room wait, as a long rebuild does.
    let slow = node.parts.rooms.find("r").expect("it is open");
    let _tended = slow.tending.lock().await;
    let (until, slow_for) = (Instant::now() + PATIENCE, LEASE * 3);
    let since = Instant::now() + slow_for;
    while !node.parts.lives.lease().asked_after(since) {
        assert!(Instant::now() < until, "the lives are not read any more");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let place = node.join("quick", entrant(1)).await;
    assert_eq!(place.expect("a number").number, 0);
}

#[tokio::test]
async fn a_builder_reports_that_it_is_alive_while_it_reads_the_ledger() {
    if servers::must_skip("a builder that reads for long") {
        return;
    }
    let house = House::of(1).await;
    let node = &house.nodes[0];
    let state = node.parts.rooms.find("r").expect("it is open");
    let _tended = state.tending.lock().await;
    house.redis.flush_all().await.expect("it is emptied");
    let begin = BeginRoomScript {
        incarnation: 1,
        builder: node.parts.keeper.builder.node.clone(),
        now_ms: 1,
        silent_ms: 5000,
    };
    let told = node
        .parts
        .keeper
        .scripts
        .run_as("r", AnyRoomFamily {}, begin)
        .await;
    let told = told.expect("it answers");
    assert_eq!(told.as_text(), Ok("begun"));
    let redis = Redis::connect(&house.redis.url()).expect("an address");
    let until = Instant::now() + PATIENCE;
    let heard = async {
        loop {
            let ask = fairgate_redis::RedisCommand::new("HGET").arg(keys::life("r"));
            let built = redis.ask(&ask.arg("built_at")).await;
            if built.expect("it answers").as_text() != Ok("1") {
                return Ok(());
            }
            assert!(
                Instant::now() < until,
                "the builder does not report that it is alive"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    node.parts
        .keeper
        .builder
        .read_while_building("r", heard)
        .await
        .expect("it goes on");
}
