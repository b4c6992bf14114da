//! Tests of a server whose `master_replid` (the id of its history of data) changes, with the same
//! data and with other data.

use super::*;

async fn replicate(of: &servers::RedisServers, from: Option<&servers::RedisServers>) {
    let port = from.map(|from| from.port(0).to_string());
    let words = match &port {
        Some(port) => ["REPLICAOF", "127.0.0.1", port],
        None => ["REPLICAOF", "NO", "ONE"],
    };
    of.command(0, &words).await.expect("it does");
}

async fn replication(of: &servers::RedisServers) -> String {
    let info = of.command(0, &["INFO", "replication"]).await;
    info.expect("it answers").text().to_owned()
}

async fn until(of: &servers::RedisServers, holds: impl Fn(&str) -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds(&replication(of).await) {
        assert!(Instant::now() < until, "{}", replication(of).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn name(info: &str) -> String {
    let line = info.lines().find(|line| line.starts_with("master_replid:"));
    line.expect("it has one").to_owned()
}

#[tokio::test]
async fn a_first_replica_begins_no_new_life_and_other_data_on_the_server_does() {
    if servers::must_skip("a server that gets a replica") {
        return;
    }
    let house = House::of(1).await;
    let other = servers::RedisServers::single().await.expect("it starts");
    house.join(0, 1).await;
    let incarnation = async || {
        let lives = house.ledger.lives().await.expect("it reads");
        lives[0].1.incarnation
    };
    let before = name(&replication(&house.redis).await);
    replicate(&other, Some(&house.redis)).await;
    until(&house.redis, |info| name(info) != before).await;
    until(&other, |info| info.contains("master_link_status:up")).await;
    assert_eq!(house.join(0, 2).await.number, 1);
    assert_eq!(incarnation().await, 1, "nothing was lost");

    // The room's server becomes a replica of the other server and is promoted again. It is the same
    // process with other data.
    replicate(&other, None).await;
    house.join(0, 3).await;
    replicate(&house.redis, Some(&other)).await;
    until(&house.redis, |info| info.contains("master_link_status:up")).await;
    replicate(&house.redis, None).await;
    assert!(house.join(0, 4).await.number > 2);
    assert!(incarnation().await > 1, "number 2 was lost");
}
