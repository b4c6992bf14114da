//! Checks that every form of Redis starts, works, breaks on demand, and is gone after its drop.

use std::time::{Duration, Instant};

use fairgate_servers::{RedisServers, RespReply, must_skip, must_skip_clock};

const SOON: Duration = Duration::from_secs(20);

/// Waits until `holds` returns true, for at most [`SOON`].
async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < SOON, "{what}: not within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_open(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn ports(redis: &RedisServers) -> Vec<u16> {
    (0..redis.count()).map(|index| redis.port(index)).collect()
}

async fn get(redis: &RedisServers, index: usize, key: &str) -> RespReply {
    redis
        .command(index, &["GET", key])
        .await
        .expect("an answer")
}

fn text(value: &str) -> RespReply {
    RespReply::Text(value.to_owned())
}

#[tokio::test]
async fn a_single_server_answers_loses_its_data_by_a_kill_and_is_gone_after_its_drop() {
    if must_skip("a single Redis") {
        return;
    }
    let redis = RedisServers::single().await.expect("it starts");
    assert_eq!(redis.url(), format!("redis://127.0.0.1:{}", redis.port(0)));
    redis.command(0, &["SET", "a", "1"]).await.expect("set");
    assert_eq!(get(&redis, 0, "a").await, text("1"));
    let policy = redis
        .command(0, &["CONFIG", "GET", "maxmemory-policy"])
        .await;
    assert_eq!(
        policy.expect("told"),
        RespReply::List(vec![text("maxmemory-policy"), text("noeviction")])
    );
    redis.kill(0);
    assert!(!is_open(redis.port(0)));
    redis.start(0).await.expect("it starts again");
    assert_eq!(get(&redis, 0, "a").await, RespReply::Nil);
    redis.command(0, &["SET", "a", "2"]).await.expect("set");
    redis.flush_all().await.expect("flushed");
    assert_eq!(get(&redis, 0, "a").await, RespReply::Nil);
    let port = redis.port(0);
    drop(redis);
    assert!(!is_open(port));
}

#[tokio::test]
async fn a_persistent_server_keeps_its_data_after_a_kill_and_a_paused_server_does_not_answer() {
    if must_skip("a persistent Redis") {
        return;
    }
    let redis = RedisServers::options()
        .persistent()
        .single()
        .await
        .expect("it starts");
    redis.command(0, &["SET", "a", "1"]).await.expect("set");
    redis.kill(0);
    redis.start(0).await.expect("it starts again");
    assert_eq!(get(&redis, 0, "a").await, text("1"));
    redis.pause(0);
    let asked = tokio::time::timeout(Duration::from_millis(200), get(&redis, 0, "a")).await;
    assert!(asked.is_err(), "a paused server answered");
    redis.resume(0);
    assert_eq!(get(&redis, 0, "a").await, text("1"));
}

#[tokio::test]
async fn the_url_names_the_acl_user_who_may_send_only_commands_that_the_rules_allow() {
    if must_skip("a Redis with an ACL user") {
        return;
    }
    let options = RedisServers::options().user("seller", "secret", "~* +get");
    let redis = options
        .maxmemory_policy("allkeys-lru")
        .single()
        .await
        .expect("it starts");
    let port = redis.port(0);
    assert_eq!(
        redis.url(),
        format!("redis://seller:secret@127.0.0.1:{port}")
    );
    let may = async |command: &str| {
        let told = redis
            .command(0, &["ACL", "DRYRUN", "seller", command, "a", "1"])
            .await;
        told.expect("told").text() == "OK"
    };
    assert!(!may("SET").await);
    let told = redis
        .command(0, &["ACL", "DRYRUN", "seller", "GET", "a"])
        .await;
    assert_eq!(told.expect("told"), text("OK"));
}

#[tokio::test]
async fn a_separated_replica_is_promoted_without_the_writes_that_it_missed() {
    if must_skip("a Redis pair") {
        return;
    }
    let redis = RedisServers::replica_pair().await.expect("it starts");
    assert_eq!(redis.primaries().await, [0]);
    redis.command(0, &["SET", "a", "old"]).await.expect("set");
    until("copied", || redis.replica_has_all()).await;
    redis.part_replica().await.expect("parted");
    redis.command(0, &["SET", "a", "new"]).await.expect("set");
    redis.promote_replica().await.expect("promoted");
    assert_eq!(get(&redis, 1, "a").await, text("old"));
    let port = redis
        .url()
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok());
    let leads_to = fairgate_servers::call(port.expect("a port"), &["INFO", "server"]).await;
    let leads_to = leads_to.expect("the server at the address answers");
    assert!(
        leads_to
            .text()
            .contains(&format!("tcp_port:{}", redis.port(1)))
    );
    until("the former primary is a replica", async || {
        redis.primaries().await == [1] && get(&redis, 0, "a").await == text("old")
    })
    .await;
}

#[tokio::test]
async fn sentinels_promote_the_replica_of_a_killed_primary() {
    if must_skip("Redis with sentinels") {
        return;
    }
    let redis = RedisServers::sentinel().await.expect("it starts");
    let ports = ports(&redis);
    let sentinels: Vec<String> = ports[2..]
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    assert_eq!(
        redis.url(),
        format!("redis+sentinel://{}/fairgate", sentinels.join(","))
    );
    assert_eq!(redis.name(4), "sentinel-2");
    redis.kill(0);
    until("promoted", async || redis.primaries().await == [1]).await;
    drop(redis);
    assert!(!ports.into_iter().any(is_open));
}

#[tokio::test]
async fn the_three_nodes_of_a_cluster_share_all_slots() {
    if must_skip("a Redis cluster") {
        return;
    }
    let redis = RedisServers::cluster().await.expect("it starts");
    let ports = ports(&redis);
    assert_eq!(redis.primaries().await, [0, 1, 2]);
    let mut kept = 0;
    for index in 0..redis.count() {
        kept += usize::from(
            redis
                .command(index, &["SET", "{show:a}", "1"])
                .await
                .is_ok(),
        );
    }
    assert_eq!(kept, 1, "only the node that has the slot accepts the key");
    redis.kill(1);
    redis.start(1).await.expect("it starts again");
    until("whole again", async || {
        let told = redis.command(0, &["CLUSTER", "INFO"]).await;
        told.is_ok_and(|told| told.text().contains("cluster_state:ok"))
    })
    .await;
    drop(redis);
    assert!(!ports.into_iter().any(is_open));
}

#[tokio::test]
async fn a_key_expires_when_the_clock_jumps_past_its_deadline() {
    if must_skip_clock("a Redis whose clock jumps") {
        return;
    }
    let redis = RedisServers::options()
        .movable_clock()
        .single()
        .await
        .expect("it starts");
    let ahead_s = async || {
        let told = redis.command(0, &["TIME"]).await.expect("told");
        let RespReply::List(parts) = told else {
            panic!("no list")
        };
        let true_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let true_s = true_s.expect("after 1970").as_secs().cast_signed();
        parts[0].text().parse::<i64>().expect("a number") - true_s
    };
    assert!((-2..=2).contains(&ahead_s().await));
    redis
        .command(0, &["SET", "a", "1", "PX", "600000"])
        .await
        .expect("set");
    redis.set_clock_ahead(1_200).expect("set");
    assert!((1_198..=1_202).contains(&ahead_s().await));
    assert_eq!(get(&redis, 0, "a").await, RespReply::Nil);
    redis.set_clock_ahead(-3_600).expect("set");
    assert!((-3_602..=-3_598).contains(&ahead_s().await));
    let fixed = RedisServers::single().await.expect("it starts");
    assert!(fixed.set_clock_ahead(1).is_err());
}

#[tokio::test]
async fn the_error_of_a_failed_start_contains_the_log_of_the_server() {
    if must_skip("a Redis that does not start") {
        return;
    }
    let started = RedisServers::options()
        .maxmemory_policy("none-such")
        .single()
        .await;
    let told = started.expect_err("no such policy").to_string();
    assert!(told.contains("maxmemory-policy"), "{told}");
}
