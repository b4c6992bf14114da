//! Runs the store's contract on real servers, and cases that need real servers: several processes
//! on one show, lost data, older data, another server's data, and clocks that jump.

use std::sync::Arc;
use std::time::Instant;

use fairgate_databases::LedgerCounter;
use fairgate_model::grid::{CellGrid, CellState};
use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose, HoldStage};
use fairgate_model::ids::HoldId;
use fairgate_pass::Holder;
use fairgate_servers as servers;
use proptest::test_runner::{Config, TestRunner};

use super::scripts::BeginLifeScript;
use super::*;
use crate::store::{InventoryRefusal, InventoryStore, OpeningInventory, contract};

const ANA: Holder = Holder([1; 32]);
const BEN: Holder = Holder([2; 32]);

/// Returns options for the suite, which sets the time itself. The time by Redis's clock is moved
/// far ahead, so that the suite's clock alone decides.
fn suite_options() -> RedisStoreOptions {
    let now = jiff::Timestamp::from_millisecond(contract::NOW_MS).expect("in range");
    RedisStoreOptions {
        clock: Clock::standing_at(now),
        clock_off_ms_max: i64::MAX / 4,
        assumed_ahead_ms: i64::MAX / 8,
        shield: SHIELD,
        idle: IDLE,
    }
}

async fn store_on(url: &str, options: RedisStoreOptions) -> RedisStore {
    let redis = Redis::connect(url).expect("a URL");
    let store = RedisStore::open(redis, "ledger", options).await;
    store.expect("it answers")
}

/// Opens a store with the options of the product.
async fn store(servers: &servers::RedisServers) -> RedisStore {
    store_on(&servers.url(), RedisStoreOptions::new(Clock::system())).await
}

async fn suite_on(servers: &servers::RedisServers) {
    contract::suite(async || {
        servers
            .flush_all()
            .await
            .expect("the server belongs to this test");
        Arc::new(store_on(&servers.url(), suite_options()).await) as Arc<dyn InventoryStore>
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_redis_keeps_the_contract() {
    if servers::must_skip("the inventory's contract on Redis") {
        return;
    }
    suite_on(&servers::RedisServers::single().await.expect("it starts")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_keeps_the_contract() {
    if servers::must_skip("the inventory's contract on a Redis cluster") {
        return;
    }
    suite_on(&servers::RedisServers::cluster().await.expect("it starts")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_account_with_the_rights_of_the_readme_passes_the_contract() {
    if servers::must_skip("the inventory's contract with a restricted account") {
        return;
    }
    let line = include_str!("../../../redis/README.md")
        .lines()
        .find_map(|line| line.strip_prefix("ACL SETUSER fairgate on >PASSWORD "));
    let rules = line.expect("the README has the line");
    let options = servers::RedisServers::options().user("fairgate", "PASSWORD", rules);
    suite_on(&options.single().await.expect("it starts")).await;
}

#[test]
fn redis_and_a_simple_model_never_disagree() {
    if servers::must_skip("the model beside the inventory on Redis") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let redis = runtime
        .block_on(servers::RedisServers::single())
        .expect("it starts");
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(40)
    };
    let played = TestRunner::new(config).run(&contract::model::steps(), |steps| {
        runtime.block_on(async {
            redis
                .flush_all()
                .await
                .expect("the server belongs to this test");
            // The shield refuses a hold from memory, and may give another reason than the model
            // does, although both reasons are right. So the shield is off.
            let shield = Duration::ZERO;
            let options = RedisStoreOptions {
                shield,
                ..suite_options()
            };
            let store = store_on(&redis.url(), options).await;
            contract::model::play(Arc::new(store), steps).await;
        });
        Ok(())
    });
    played.expect("no difference");
}

fn show() -> ShowId {
    "night-1".parse().expect("a slug")
}

fn opening(life: u64, seats: u32) -> OpeningInventory {
    OpeningInventory {
        grid: CellGrid { seats, legs: 1 },
        plan_version: 1,
        incarnation: life,
        blocked: Vec::new(),
        sold: Vec::new(),
        ordered: Vec::new(),
        cursor: 0,
        edition: 1,
        ends_older_holds: false,
    }
}

async fn begin_and_open(store: &RedisStore, opening: OpeningInventory) {
    store
        .begin(&show(), &opening)
        .await
        .expect("it is not open");
    store.open(&show(), opening).await.expect("it has begun");
}

fn basket(key: &str, visitor: Holder, seats: &[u32]) -> Hold {
    let now_ms = Clock::system().now_ms();
    let held = |seat: &u32| HeldSeat {
        seat: *seat,
        legs: 0..1,
    };
    Hold {
        id: HoldId::of_key(&show(), visitor, key),
        visitor,
        room: "demo".to_owned(),
        purpose: HoldPurpose::Basket,
        terms: 1,
        items: seats.iter().map(held).collect(),
        plan_version: 1,
        next_to_each_other: false,
        expires_at_ms: now_ms + 300_000,
        lock_until_ms: now_ms + 305_000,
        extensions_left: 1,
        stage: HoldStage::Basket,
    }
}

/// Waits until the condition holds, for ten seconds at most.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so().await {
        assert!(
            Instant::now() < deadline,
            "it did not happen in time: {what}"
        );
        tokio::task::yield_now().await;
    }
}

async fn seat(store: &RedisStore, seat: usize) -> CellState {
    store.view(&show()).await.expect("a picture").states[seat]
}

#[tokio::test(flavor = "multi_thread")]
async fn of_five_hundred_visitors_at_three_nodes_one_gets_the_seat() {
    if servers::must_skip("five hundred for one seat") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let nodes = [
        store(&redis).await,
        store(&redis).await,
        store(&redis).await,
    ];
    begin_and_open(&nodes[0], opening(1, 20)).await;
    for round in 0..20 {
        let mut visitors = tokio::task::JoinSet::new();
        for n in 0..500_u16 {
            let node = nodes[usize::from(n) % 3].clone();
            let [high, low] = n.to_be_bytes();
            let visitor = Holder([high, low].repeat(16).try_into().expect("32 bytes"));
            visitors.spawn(async move {
                let hold = basket(&format!("round {round}"), visitor, &[round]);
                node.take(hold, 20).await
            });
        }
        let answers = visitors.join_all().await;
        let won = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(won, 1, "round {round}");
        let beaten = Err(InventoryRefusal::Taken(vec![round]));
        let odd = answers
            .iter()
            .find(|answer| answer.is_err() && **answer != beaten);
        assert_eq!(odd, None, "every refusal names the taken seat");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_sees_and_signals_the_changes_of_another_node() {
    if servers::must_skip("two nodes over one Redis") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let (here, there) = (store(&redis).await, store(&redis).await);
    begin_and_open(&here, opening(1, 8)).await;
    assert_eq!(
        there.edition(&show()).await,
        Ok(Some(1)),
        "another node opened it"
    );
    let mut signals = there.signals();
    assert_eq!(seat(&there, 3).await, CellState::Free);
    let hold = here.take(basket("a", ANA, &[3]), 4).await.expect("free");
    until("the hold at the other node", async || {
        seat(&there, 3).await == CellState::Held
    })
    .await;
    assert_eq!(there.hold(&hold.id, ANA).await, Ok(hold.clone()));
    let counts = there
        .counts(&show(), Clock::system().now_ms(), i64::MAX / 2)
        .await;
    assert_eq!(counts.expect("open").1.lapsing_cells, 1);
    let until_ms = hold.lock_until_ms + 60_000;
    here.secure(&hold.id, ANA, &[HoldPurpose::Basket], until_ms)
        .await
        .expect("the visitor's own hold");
    let signal = signals.recv().await.expect("one signal");
    assert_eq!(
        (signal.hold, signal.state),
        (hold.id, fairgate_model::holds::HoldSignalState::Ordered)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_redis_closes_the_show_and_a_later_life_opens_it_again() {
    if servers::must_skip("an emptied Redis") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let store = store(&redis).await;
    begin_and_open(&store, opening(1, 8)).await;
    store.take(basket("a", ANA, &[0]), 4).await.expect("free");
    let before = store.view(&show()).await.expect("open").version;
    redis
        .flush_all()
        .await
        .expect("the server belongs to this test");
    until("the loss", async || store.lost().await == [show()]).await;
    let refused = store.take(basket("b", ANA, &[1]), 4).await;
    assert_eq!(refused, Err(InventoryRefusal::NotReady));
    assert_eq!(store.edition(&show()).await, Ok(None));
    let old = store.view(&show()).await.expect("the last picture");
    assert_eq!((old.version, old.states[0]), (before, CellState::Held));
    begin_and_open(&store, opening(2, 8)).await;
    assert!(store.lost().await.is_empty());
    let after = store.view(&show()).await.expect("open");
    assert!(after.version > before, "versions never decrease");
    assert_eq!(after.states[0], CellState::Free);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_with_old_data_closes_the_show() {
    if servers::must_skip("a restarted Redis") {
        return;
    }
    let redis = servers::RedisServers::options()
        .persistent()
        .single()
        .await
        .expect("it starts");
    let store = store(&redis).await;
    begin_and_open(&store, opening(1, 8)).await;
    redis.command(0, &["SAVE"]).await.expect("it saves");
    store.take(basket("a", ANA, &[0]), 4).await.expect("free");
    redis.kill(0);
    redis.start(0).await.expect("it starts again");
    until("the loss", async || store.lost().await == [show()]).await;
    let refused = store.take(basket("b", BEN, &[0]), 4).await;
    assert_eq!(refused, Err(InventoryRefusal::NotReady));
    begin_and_open(&store, opening(2, 8)).await;
    assert!(store.take(basket("c", BEN, &[0]), 4).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_replica_that_missed_a_hold_closes_the_show() {
    if servers::must_skip("a stale promotion") {
        return;
    }
    let redis = servers::RedisServers::replica_pair()
        .await
        .expect("it starts");
    let store = store(&redis).await;
    begin_and_open(&store, opening(1, 8)).await;
    until("the copy", async || redis.replica_has_all().await).await;
    redis.part_replica().await.expect("the replica is cut off");
    store.take(basket("a", ANA, &[0]), 4).await.expect("free");
    redis.promote_replica().await.expect("promoted");
    until("the loss", async || store.lost().await == [show()]).await;
    let refused = store.take(basket("b", BEN, &[0]), 4).await;
    assert_eq!(refused, Err(InventoryRefusal::NotReady));
    begin_and_open(&store, opening(2, 8)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_frees_no_seat_and_closes_the_show() {
    if servers::must_skip_clock("a clock that jumps") {
        return;
    }
    let redis = servers::RedisServers::options()
        .movable_clock()
        .single()
        .await
        .expect("it starts");
    let store = store(&redis).await;
    begin_and_open(&store, opening(1, 8)).await;
    let hold = store.take(basket("a", ANA, &[0]), 4).await.expect("free");
    redis.set_clock_ahead(1_200).expect("it is movable");
    let swept = store.sweep(Clock::system().now_ms(), 100).await;
    assert!(
        swept.lapsed.is_empty(),
        "nothing is overdue by the ledger's clock"
    );
    until("the loss", async || store.lost().await == [show()]).await;
    let order = Hold {
        stage: HoldStage::Ordered,
        ..hold
    };
    let ordered = OpeningInventory {
        ordered: vec![order.clone()],
        ..opening(2, 8)
    };
    begin_and_open(&store, ordered).await;
    assert_eq!(store.hold(&order.id, ANA).await, Ok(order));
    redis.set_clock_ahead(-3_600).expect("it is movable");
    until("the loss", async || store.lost().await == [show()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_data_on_the_same_server_close_the_show_at_all_nodes() {
    if servers::must_skip("data that were set back") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let (here, there) = (store(&redis).await, store(&redis).await);
    begin_and_open(&here, opening(1, 8)).await;
    let meta = keys::meta_key(&show());
    let before = redis.command(0, &["HGET", &meta, "at"]).await;
    let before = before.expect("it answers");
    assert_eq!(there.edition(&show()).await, Ok(Some(1)));
    here.take(basket("a", ANA, &[0]), 4).await.expect("free");
    assert_eq!(seat(&here, 0).await, CellState::Held);
    // Redis is given its older data again: the lock is gone, the view is empty, and the feed ends
    // at its old point.
    let life = meta.replace("meta", "1:");
    for key in ["held", "feed", "kept", "deadlines", "lock:0"] {
        let key = format!("{life}{key}");
        redis.command(0, &["DEL", &key]).await.expect("it answers");
    }
    let back = ["HSET", &meta, "at", before.text()];
    redis.command(0, &back).await.expect("it answers");
    until("the loss", async || here.lost().await == [show()]).await;
    for node in [&here, &there] {
        // A node that has not heard of the loss still knows that seat 0 is held, so another seat
        // is asked for.
        let refused = node.take(basket("b", BEN, &[1]), 4).await;
        assert_eq!(refused, Err(InventoryRefusal::NotReady));
    }
    let old = here.view(&show()).await.expect("the last picture");
    assert_eq!(old.states[0], CellState::Held);
    begin_and_open(&here, opening(2, 8)).await;
    assert!(here.lost().await.is_empty());
    assert!(there.take(basket("c", BEN, &[0]), 4).await.is_ok());
}

/// Returns how many scripts Redis has run so far.
async fn scripts_run(redis: &servers::RedisServers) -> u64 {
    let stats = redis.command(0, &["INFO", "commandstats"]).await;
    let stats = stats.expect("it answers");
    let calls = stats.text().lines().find_map(|line| {
        let rest = line.strip_prefix("cmdstat_evalsha:calls=")?;
        rest.split(',').next()?.parse().ok()
    });
    calls.unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_shows_come_to_rest_and_their_holds_still_lapse() {
    if servers::must_skip("shows at rest") {
        return;
    }
    const SHOWS: u64 = 60;
    const SWEEP_EVERY: Duration = Duration::from_millis(100);
    let redis = servers::RedisServers::single().await.expect("it starts");
    let options = RedisStoreOptions {
        idle: Duration::from_millis(300),
        ..RedisStoreOptions::new(Clock::system())
    };
    let store = store_on(&redis.url(), options).await;
    for n in 0..SHOWS {
        let show: ShowId = format!("train-{n}").parse().expect("a slug");
        store.begin(&show, &opening(1, 8)).await.expect("fresh");
        store.open(&show, opening(1, 8)).await.expect("begun");
    }
    begin_and_open(&store, opening(1, 8)).await;
    let now_ms = Clock::system().now_ms();
    let short = Hold {
        expires_at_ms: now_ms + 3_000,
        lock_until_ms: now_ms + 3_000,
        ..basket("a", ANA, &[0])
    };
    store.take(short.clone(), 4).await.expect("free");
    until("rest", async || store.in_use().await.is_empty()).await;
    let before = scripts_run(&redis).await;
    let (mut lapsed, mut every) = (Vec::new(), tokio::time::interval(SWEEP_EVERY));
    while lapsed.is_empty() {
        every.tick().await;
        assert!(
            Clock::system().now_ms() < now_ms + 10_000,
            "it never lapsed"
        );
        lapsed = store.sweep(Clock::system().now_ms(), 100).await.lapsed;
    }
    assert_eq!(lapsed, [short.id]);
    let asked = scripts_run(&redis).await - before;
    assert!(asked < SHOWS / 3, "{asked} scripts for shows at rest");
    assert_eq!(store.cursor(&show()).await, Ok(0));
    assert_eq!(
        store.view(&show()).await.expect("open").states[0],
        CellState::Free
    );
    assert!(
        store.in_use().await.is_empty(),
        "reading a show does not count as use"
    );
    assert_eq!(store.edition(&show()).await, Ok(Some(1)));
    assert_eq!(
        store.in_use().await,
        [show()],
        "asking for the edition counts as use"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_nobody_swept_for_days_still_frees_its_seats() {
    if servers::must_skip("a hold that outlived its sweepers") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let store = store(&redis).await;
    begin_and_open(&store, opening(1, 8)).await;
    let hold = store.take(basket("a", ANA, &[0]), 4).await.expect("free");
    let tail = String::from_utf8(keys::hold_tail(&hold.id).to_vec()).expect("digits");
    let life = keys::meta_key(&show()).replace("meta", "1:");
    let ttl = redis
        .command(0, &["PTTL", &format!("{life}hold:{tail}")])
        .await;
    assert_eq!(
        ttl.expect("it answers"),
        servers::RespReply::Int(-1),
        "a hold has no time to live, because a sweep deletes it"
    );
    let lock = format!("{life}lock:0");
    redis
        .command(0, &["DEL", &lock])
        .await
        .expect("the lock is deleted, as when it expires");
    let swept = redis
        .command(0, &["ZADD", &format!("{life}deadlines"), "1", &tail])
        .await;
    swept.expect("it answers");
    let followed = store.inner.followed(&show());
    followed.sweep_anyway.store(true, Ordering::Release);
    until("the sweep", async || {
        store.sweep(Clock::system().now_ms(), 10).await;
        seat(&store, 0).await == CellState::Free
    })
    .await;
    assert!(store.take(basket("b", BEN, &[0]), 4).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_whose_opener_died_takes_no_holds_until_another_process_opens_it() {
    if servers::must_skip("an opener that died") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let (dead, other) = (store(&redis).await, store(&redis).await);
    begin_and_open(&dead, opening(1, 8)).await;
    assert_eq!(other.edition(&show()).await, Ok(Some(1)));
    let followed = dead.inner.followed(&show());
    let begin = BeginLifeScript {
        anew: true,
        ends_older: false,
        seats: 8,
        legs: 1,
        plan: 1,
        edition: 1,
        known: Vec::new(),
    };
    let begun = dead.inner.call(&followed, 2, begin).await;
    assert!(begun.is_ok());
    let refused = other.take(basket("a", ANA, &[0]), 4).await;
    assert_eq!(refused, Err(InventoryRefusal::NotReady));
    let late = other.open(&show(), opening(2, 8)).await;
    assert_eq!(late, Ok(()), "another process may finish the same life");
    let old = other.open(&show(), opening(1, 8)).await;
    assert_eq!(
        old,
        Err(InventoryRefusal::NotReady),
        "an older life cannot be opened"
    );
    assert!(other.take(basket("b", ANA, &[0]), 4).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_of_another_ledger_is_not_used() {
    if servers::must_skip("two ledgers over one Redis") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let _first = store(&redis).await;
    let connected = Redis::connect(&redis.url()).expect("a URL");
    let other = RedisStore::open(
        connected,
        "another",
        RedisStoreOptions::new(Clock::system()),
    )
    .await;
    let Err(error @ RedisStoreOpenError::OtherLedger { .. }) = other else {
        panic!("two ledgers would sell the same seats");
    };
    assert!(error.to_string().contains("Nothing was changed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_seats_can_be_seen_but_not_held() {
    if servers::must_skip("a silent Redis") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let store = store(&redis).await;
    begin_and_open(&store, opening(1, 8)).await;
    store.take(basket("a", ANA, &[0]), 4).await.expect("free");
    assert_eq!(seat(&store, 0).await, CellState::Held);
    redis.kill(0);
    assert_eq!(seat(&store, 0).await, CellState::Held);
    assert_eq!(store.edition(&show()).await, Ok(Some(1)));
    let refused = store.take(basket("b", BEN, &[1]), 4).await;
    assert_eq!(refused, Err(InventoryRefusal::Unreachable));
    assert_eq!(store.warnings().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_show_is_opened_in_less_than_five_seconds() {
    if servers::must_skip("fifty thousand seats") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let store = store(&redis).await;
    let visitor = |n: u32| Holder(n.to_be_bytes().repeat(8).try_into().expect("32 bytes"));
    let four = |n: u32| basket("", visitor(n), &[4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3]);
    let pending = |n: u32| Hold {
        stage: HoldStage::Ordered,
        id: HoldId::of_key(&show(), visitor(n), "order"),
        ..four(n)
    };
    let large = OpeningInventory {
        sold: (0..8_000).map(|n| (visitor(n), four(n).items)).collect(),
        ordered: (8_000..12_500).map(pending).collect(),
        ..opening(1, 50_000)
    };
    let began = Instant::now();
    begin_and_open(&store, large).await;
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let (counts, baskets) = store.counts(&show(), 0, 0).await.expect("open");
    assert_eq!((counts.sold, counts.held, counts.free), (32_000, 18_000, 0));
    assert_eq!(baskets.all, 4_500);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glance_at_a_show_does_not_count_as_use() {
    if servers::must_skip("a glance at a show") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("it starts");
    let (here, there) = (store(&redis).await, store(&redis).await);
    begin_and_open(&here, opening(1, 8)).await;
    here.take(basket("a", ANA, &[0]), 4).await.expect("free");
    let glance = there.glance(&show()).await.expect("open");
    assert_eq!(glance.cells.states[0], CellState::Held);
    assert!(there.in_use().await.is_empty());
    assert_eq!(here.in_use().await, [show()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledgers_counter_only_grows_and_one_of_an_older_version_lacks_the_orders() {
    if servers::must_skip("the ledger's counter in Redis") {
        return;
    }
    let server = servers::RedisServers::single().await.expect("it starts");
    let counter = RedisLedgerCounter::new(Redis::connect(&server.url()).expect("a URL"));
    let read = async || {
        let counted = counter.read().await.expect("it answers");
        counted.map(|counted| (counted.counter, counted.orders_without_provider))
    };
    assert_eq!(read().await, None);
    let older = server.command(0, &["ZADD", "fairgate:counter", "GT", "5", "ledger"]);
    older.await.expect("added");
    assert_eq!(read().await, Some((5, None)));
    for (commits, orders) in [(7, 2), (6, 3), (6, 1)] {
        let counted = LedgerCounter {
            counter: commits,
            orders_without_provider: orders,
            raised_at_ms: 0,
        };
        counter.raise(counted).await.expect("raised");
    }
    assert_eq!(read().await, Some((7, Some(3))));
}
