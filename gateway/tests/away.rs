//! Tests a whole gateway, with booking inside, whose Redis and PostgreSQL both fall silent. Calls
//! that only read are answered from memory, joins and holds are refused, and everything works again
//! when the servers answer again.

mod support;

use std::time::{Duration, Instant};

use fairgate_servers::{PostgresServer, RedisServers, must_skip};
use serde_json::{Value, json};

use support::{Gateway, PROMOTER, TestAnswer, TestShop};

/// The longest time until the gateway shows that the servers are silent, or that they are back.
const SEEN_WITHIN: Duration = Duration::from_secs(20);
/// The longest wait for a page while the servers are silent.
const PAGE_MAX: Duration = Duration::from_secs(3);

async fn put(gateway: &Gateway, path: &str, body: Value) {
    let path = format!("/v1/promoter/{path}");
    let answer = gateway.call("PUT", &path, Some(PROMOTER), Some(body)).await;
    assert!(answer.status < 300, "{path}: {}", answer.text());
}

/// Makes a call that must be answered quickly.
async fn quick(gateway: &Gateway, method: &str, path: &str, bearer: Option<&str>) -> TestAnswer {
    let asked = Instant::now();
    let body = (method == "POST").then(|| json!({}));
    let answer = gateway.call(method, path, bearer, body).await;
    let took = asked.elapsed();
    assert!(took < PAGE_MAX, "{method} {path} took {took:?}");
    answer
}

async fn hold(gateway: &Gateway, pass: &str) -> TestAnswer {
    let wish = json!({"best": {"quantity": 1}});
    gateway.try_hold(pass, "night-1", &wish).await
}

#[tokio::test(flavor = "multi_thread")]
async fn while_ledger_and_redis_are_silent_reads_are_answered_and_afterwards_joins_and_holds_work()
{
    if must_skip("a gateway whose ledger and Redis are silent") {
        return;
    }
    let redis = RedisServers::single().await.expect("it starts");
    let database = PostgresServer::start().await.expect("it starts");
    let (cache, ledger) = (redis.url(), database.url());
    let data = tempfile::tempdir().expect("a folder");
    let settings = [("redis_url", &*cache), ("database_url", &*ledger)];
    let gateway = Gateway::start_whole(data.path(), &settings).await;
    put(&gateway, "venues/hall", json!({"plan": "grid:4x8"})).await;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2031-06-01T20:00:00+02:00", "currency": "EUR",
        "prices": {"cat1": 9900, "cat2": 4900},
    });
    put(&gateway, "shows/night-1", show).await;
    let sale = json!({"shows": ["night-1"], "method": "fifo", "draw_at": "2020-01-02T00:00:00Z"});
    gateway.open_room("demo", sale).await;
    let (place, number) = gateway.newcomer("demo").await;
    gateway.until_called("demo", &place).await;
    let claimed = gateway
        .call("POST", "/v1/rooms/demo/pass", Some(&place), None)
        .await;
    assert_eq!(claimed.status, 201, "{}", claimed.text());
    let pass = claimed.json()["pass"].as_str().expect("a pass").to_owned();
    let held = hold(&gateway, &pass).await;
    assert_eq!(held.status, 201, "{}", held.text());
    let ready = gateway.get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.text());

    redis.pause(0);
    database.pause();
    // Once the gateway knows that the servers are silent, nobody waits for them.
    let asked = Instant::now();
    let told = loop {
        let told = gateway.ready().await;
        let is_whole = told.to_string().contains("the ledger took no write");
        if is_whole && told.to_string().contains("the room store has not answered") {
            break told;
        }
        assert!(asked.elapsed() < SEEN_WITHIN, "{told}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(told["ready"], true, "the lobby is served: {told}");
    for round in 0..2 {
        for path in [
            "/",
            "/r/demo",
            "/v1/rooms",
            "/v1/rooms/demo",
            "/v1/shows",
            "/v1/shows/night-1",
            "/v1/shows/night-1/seatmap",
            "/v1/shows/night-1/seats",
            "/healthz",
            "/metrics",
        ] {
            let answer = quick(&gateway, "GET", path, None).await;
            assert_eq!(answer.status, 200, "{path}, {round}: {}", answer.text());
        }
        let shown = quick(&gateway, "GET", "/v1/rooms/demo/place", Some(&place)).await;
        assert_eq!(shown.status, 200, "{}", shown.text());
        assert_eq!(shown.json()["number"], number);
        let joined = quick(&gateway, "POST", "/v1/rooms/demo/places", None).await;
        let (status, code) = joined.refusal();
        assert!([429, 503].contains(&status), "{code}");
        assert!(joined.headers.contains_key("retry-after"), "{code}");
    }
    let refused = hold(&gateway, &pass).await;
    assert_eq!(refused.refusal().0, 503);

    redis.resume(0);
    database.resume();
    let asked = Instant::now();
    for what in ["a place", "seats"] {
        loop {
            let answer = match what {
                "seats" => hold(&gateway, &pass).await,
                _ => gateway.join("demo", json!({})).await,
            };
            if answer.status == 201 {
                break;
            }
            assert!(asked.elapsed() < SEEN_WITHIN, "{what}: {}", answer.text());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let ready = gateway.ready().await;
    let warnings = ready["warnings"].to_string();
    assert!(!warnings.contains("has not answered"), "{warnings}");
}
