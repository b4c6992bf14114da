//! The contract on real servers.

use std::sync::Arc;

use fairgate_servers as servers;

use super::*;
use crate::store::contract;

/// The suite's time stands still and jumps; Redis's clock is taken to be far ahead, so the suite's decides alone.
fn suite_time() -> Options {
    let now = jiff::Timestamp::from_millisecond(contract::NOW_MS).expect("in range");
    Options {
        clock: Clock::standing_at(now),
        clock_off_ms_max: i64::MAX / 4,
        assumed_ahead_ms: i64::MAX / 8,
    }
}

async fn suite_on(servers: &servers::Redis) {
    contract::suite(async || {
        servers.flush_all().await.expect("it is ours");
        let redis = Redis::connect(&servers.url()).expect("a URL");
        let store = RedisStore::open(redis, "ledger", suite_time()).await;
        Arc::new(store.expect("it answers")) as Arc<dyn InventoryStore>
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_redis_keeps_the_contract() {
    if servers::or_skip("the inventory's contract on Redis") {
        return;
    }
    suite_on(&servers::Redis::single().await.expect("it starts")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_keeps_the_contract() {
    if servers::or_skip("the inventory's contract on a Redis cluster") {
        return;
    }
    suite_on(&servers::Redis::cluster().await.expect("it starts")).await;
}
