//! Tests two gateways over one Redis and one PostgreSQL, on real listeners and with stand-ins for
//! booking. A visitor can call either gateway at any time.

mod support;

use std::collections::BTreeSet;

use fairgate_servers::{PostgresServer, RedisServers, RespReply, must_skip};
use serde_json::json;
use support::Gateway;

/// The servers that both gateways share.
struct House {
    redis: RedisServers,
    database: PostgresServer,
}

impl House {
    async fn start() -> Self {
        Self {
            redis: RedisServers::single().await.expect("it starts"),
            database: PostgresServer::start().await.expect("it starts"),
        }
    }

    async fn gateway(&self, folder: &tempfile::TempDir) -> Gateway {
        let (redis, database) = (self.redis.url(), self.database.url());
        let settings = [("redis_url", &*redis), ("database_url", &*database)];
        Gateway::start_with(folder.path(), &settings).await
    }
}

/// Returns how many members a sorted set of Redis has.
async fn count(house: &House, key: &str) -> i64 {
    match house.redis.command(0, &["ZCARD", key]).await {
        Ok(RespReply::Int(count)) => count,
        other => panic!("{other:?}"),
    }
}

async fn claim(gateway: &Gateway, place: &str) -> support::TestAnswer {
    gateway
        .call("POST", "/v1/rooms/demo/pass", Some(place), None)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_from_one_gateway_is_drawn_called_and_claimed_at_the_other() {
    if must_skip("two gateways over one Redis") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, mut other) = (house.gateway(&data).await, house.gateway(&data).await);
    one.open_room("demo", json!({})).await;
    other
        .until("/v1/rooms/demo", None, |room| room["phase"] == "prequeue")
        .await;
    let mut visitors = Vec::new();
    for at in 0..20 {
        let gateway = if at % 2 == 0 { &one } else { &other };
        visitors.push(gateway.newcomer("demo").await);
    }
    let numbers: BTreeSet<_> = visitors.iter().map(|(_, number)| *number).collect();
    assert_eq!(
        numbers,
        (0..20).collect(),
        "both gateways give numbers of one line"
    );

    other.by_hand("demo", "draw").await;
    let record = one.until_drawn("demo").await;
    assert_eq!(record, other.until_drawn("demo").await, "one draw for both");
    assert_eq!((&record["n"], &record["voids"]), (&json!(20), &json!(0)));

    for (at, (place, number)) in visitors.iter().enumerate() {
        let (here, there) = if at % 2 == 0 {
            (&other, &one)
        } else {
            (&one, &other)
        };
        let called = here.until_called("demo", place).await;
        assert_eq!(called["number"], *number);
        let pass = claim(there, place).await;
        assert_eq!(pass.status, 201, "{}", pass.text());
        assert_eq!(
            pass.json(),
            claim(here, place).await.json(),
            "the same pass"
        );
    }

    // All places are still valid after one gateway has stopped.
    other.stop().await;
    for (place, number) in &visitors {
        assert_eq!(one.place("demo", place).await["number"], *number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_redis_was_emptied_every_place_is_kept_and_no_number_is_given_twice() {
    if must_skip("an emptied Redis under two gateways") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (house.gateway(&data).await, house.gateway(&data).await);
    one.open_room("demo", json!({})).await;
    other
        .until("/v1/rooms/demo", None, |room| room["phase"] == "prequeue")
        .await;
    let mut visitors = Vec::new();
    for _ in 0..10 {
        visitors.push(one.newcomer("demo").await);
        visitors.push(other.newcomer("demo").await);
    }
    house.redis.flush_all().await.expect("it is emptied");
    for (place, number) in &visitors {
        let found = other
            .until("/v1/rooms/demo/place", Some(place), |place| {
                place["number"].is_u64()
            })
            .await;
        assert_eq!(found["number"], *number);
    }
    let mut numbers: BTreeSet<_> = visitors.iter().map(|(_, number)| *number).collect();
    let mut tries = 0;
    while numbers.len() < 30 {
        let joined = one.join("demo", json!({})).await;
        if joined.status == 201 {
            let number = joined.json()["number"].as_u64().expect("a number");
            assert!(numbers.insert(number), "{number} twice");
            continue;
        }
        assert_eq!(joined.refusal(), (503, "line_unavailable".into()));
        tries += 1;
        assert!(tries < 200, "joins are still refused");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_made_while_redis_is_silent_is_counted_when_redis_answers_again() {
    if must_skip("a claim while Redis is silent") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let gateway = house.gateway(&data).await;
    let open = json!({"method": "fifo", "draw_at": "2020-01-02T00:00:00Z"});
    gateway.open_room("demo", open).await;
    gateway.core.set_pulse(8, 0, 0);
    let (place, _) = gateway.newcomer("demo").await;
    gateway.until_called("demo", &place).await;
    house.database.pause();
    let claiming = claim(&gateway, &place);
    let silencing = async {
        // The visitor's entry is reserved, and only the ledger's answer is missing.
        let entering = "{room:demo}:entering";
        while count(&house, entering).await != 1 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        house.redis.pause(0);
        house.database.resume();
    };
    let (pass, ()) = tokio::join!(claiming, silencing);
    assert_eq!(pass.status, 201, "{}", pass.text());
    house.redis.resume(0);
    let asked = std::time::Instant::now();
    while count(&house, "{room:demo}:inside").await != 1 {
        assert!(asked.elapsed().as_secs() < 10, "the visitor is not inside");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
