//! Runs the trials of `examples/legs` at a smaller size, so that they run with all other tests.

use std::sync::Arc;

use booking::store::InventoryStore;
use booking::store::memory::MemoryStore;
use fairgate_servers as servers;

use crate::fit::{SIZE, Simulation, simulate};
use crate::rush::{self, RUSH, Rush};

const SMALL: Rush = Rush {
    seats: 100,
    requests: 1_500,
    buyers: 50,
    ..RUSH
};

async fn rushed(stores: Vec<Arc<dyn InventoryStore>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = rush::ledger(folder.path()).await;
    let outcome = rush::run(stores, ledger, SMALL).await;
    assert!(outcome.findings.is_empty(), "{:#?}", outcome.findings);
    assert!(outcome.taken > 100, "{outcome:?}");
    assert!(outcome.given_back > 10, "{outcome:?}");
    assert!(outcome.refused > 0, "the train was never full: {outcome:?}");
    assert!(outcome.filled_pct > 80.0, "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_buyers_at_once_never_share_a_seat_on_a_leg() {
    rushed(vec![Arc::new(MemoryStore::default())]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_buyers_at_once_never_share_a_seat_on_a_leg_in_redis() {
    if servers::must_skip("a rush on a train in Redis") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    rushed(rush::nodes(&redis, 1).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_buyers_at_three_nodes_never_share_a_seat_on_a_leg_in_a_redis_cluster() {
    if servers::must_skip("a rush on a train at three nodes in a Redis cluster") {
        return;
    }
    let cluster = servers::RedisServers::cluster()
        .await
        .expect("Redis starts");
    rushed(rush::nodes(&cluster, 3).await).await;
}

#[test]
fn choosing_the_tightest_fit_sells_nearly_as_much_as_reseating_everybody() {
    let sold = simulate(Simulation { seeds: 8, ..SIZE });
    assert!(sold.tightest >= 0.98 * sold.reseating, "{sold:?}");
    assert!(sold.tightest > sold.first, "{sold:?}");
    assert!(sold.tightest >= 1.02 * sold.random, "{sold:?}");
}
