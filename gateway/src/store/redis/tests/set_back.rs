//! Tests of a ledger that failed over to an older copy of itself, and of a Redis that belongs to
//! another installation.

use super::*;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::PostgresDatabase;

/// Opens one node over a Redis and a PostgreSQL. A test can then set back the rows in PostgreSQL.
/// Returns the node and the ceiling of its room.
async fn over(
    database: &servers::PostgresServer,
    redis: &servers::RedisServers,
) -> (RedisRoomStore, u64) {
    let database = PostgresDatabase::connect(&database.url())
        .await
        .expect("it connects");
    let ledger = RoomLedger::open(
        Installation::Server(database),
        InstallationSecret::derive("a test's secret"),
    )
    .await;
    let ledger = ledger.expect("it migrates");
    let store = store(&redis.url(), &ledger, "node-0").await;
    store.open("r").await.expect("it reads");
    let ceiling = store
        .parts
        .lives
        .lease()
        .last_known_life("r")
        .expect("it lives")
        .ceiling;
    (store, ceiling)
}

async fn joined(store: &RedisRoomStore, of: u64) -> u64 {
    let until = Instant::now() + PATIENCE;
    loop {
        match store.join("r", entrant(of)).await {
            Ok(place) => return place.number,
            Err(why) => assert!(Instant::now() < until, "no number yet: {why}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_the_ledger_lost_is_reserved_again_and_no_number_is_given_twice() {
    if servers::must_skip("a ledger that lost a block") {
        return;
    }
    let database = servers::PostgresServer::options()
        .without_fsync()
        .start()
        .await;
    let database = database.expect("it starts");
    let redis = servers::RedisServers::single().await.expect("it starts");
    let (store, ceiling) = over(&database, &redis).await;
    assert_eq!(joined(&store, 0).await, 0);
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());

    let lose = "UPDATE gw_lives SET ceiling = 1";
    database.query(lose).await.expect("it is set back");
    let until = Instant::now() + PATIENCE;
    let has = async || {
        let lives = store.parts.line.ledger.lives().await.expect("it reads");
        lives[0].1.ceiling
    };
    while has().await < ceiling {
        assert!(Instant::now() < until, "the block is not reserved again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told = store.warnings().join("\n");
    assert!(told.contains("the ledger was set back"), "{told}");

    // The ledger and Redis lose the block at the same time, so only this node remembers it.
    database.query(lose).await.expect("it is set back");
    redis.flush_all().await.expect("it is emptied");
    let next = joined(&store, 1).await;
    assert!(next >= ceiling, "{next} may have been given before");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_ledger_lost_a_life_joins_go_on_and_no_number_is_given_twice() {
    if servers::must_skip("a ledger that lost a life") {
        return;
    }
    let database = servers::PostgresServer::options()
        .without_fsync()
        .start()
        .await;
    let database = database.expect("it starts");
    let redis = servers::RedisServers::single().await.expect("it starts");
    let (store, _) = over(&database, &redis).await;
    for of in 0..3 {
        redis.flush_all().await.expect("it is emptied");
        joined(&store, of).await;
    }
    let issued = store.parts.lives.lease().issued("r");
    let lose = "UPDATE gw_lives SET incarnation = 1, first = 0, ceiling = 5";
    database.query(lose).await.expect("it is set back");
    // The next read of the lives finds that the ledger was set back. From then on joins fail until
    // the lives agree.
    let until = Instant::now() + PATIENCE;
    while store.warnings().is_empty() {
        assert!(
            Instant::now() < until,
            "no warning says that the ledger was set back"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(
        joined(&store, 10).await < issued,
        "the life in Redis goes on"
    );
    redis.flush_all().await.expect("it is emptied");
    assert!(joined(&store, 11).await >= issued);
}

#[tokio::test]
async fn a_node_with_another_ledger_does_not_start_and_a_change_of_the_ledger_id_in_redis_stops_joins()
 {
    if servers::must_skip("a Redis of another ledger") {
        return;
    }
    let house = House::of(1).await;
    house.join(0, 1).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let other = ledger_at(&folder.path().join("other.db")).await;
    let redis = Redis::connect(&house.redis.url()).expect("an address");
    let opened = RedisRoomStore::open(redis, other, Clock::system(), "node-1".into()).await;
    let refused = opened.err().map(|why| why.to_string()).unwrap_or_default();
    assert!(refused.contains("another ledger"), "{refused}");

    let taken = house.redis.command(0, &["SET", keys::LEDGER, "another's"]);
    taken.await.expect("it is set");
    let until = Instant::now() + PATIENCE;
    while house.nodes[0].join("r", entrant(2)).await.is_ok() {
        assert!(
            Instant::now() < until,
            "the node still uses the data of another ledger"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told = house.nodes[0].warnings().join("\n");
    assert!(told.contains("another ledger"), "{told}");
    house.redis.kill(0);
    while !house.nodes[0]
        .warnings()
        .join("")
        .contains("has not answered")
    {
        assert!(
            Instant::now() < until,
            "no warning says that Redis does not answer"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
