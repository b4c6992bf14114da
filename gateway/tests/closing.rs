//! Tests that no pass takes seats after its room has closed, at either of two gateways that share
//! one Redis and one PostgreSQL. What was begun before can still be paid.

mod support;

use std::time::{Duration, Instant};

use fairgate_servers::actors::text;
use fairgate_servers::{PostgresServer, RedisServers, must_skip};
use jiff::Timestamp;
use serde_json::{Value, json};
use support::{Gateway, TestShop};

/// How long the other gateway may still accept passes after a room was closed by hand.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(2);
/// How long after a room's end the gateways are still tried. Passes have a tolerance of 5 s for the
/// clocks of other machines.
const TRIED_FOR: Duration = Duration::from_secs(7);
/// The clocks of the gateways follow the database's clock, and may differ from it by so much.
const CLOCKS_DIFFER: Duration = Duration::from_millis(50);

/// Two gateways that host booking themselves, and the servers that they share.
struct Two {
    gateways: [Gateway; 2],
    _redis: RedisServers,
    _database: PostgresServer,
    _folder: tempfile::TempDir,
}

impl Two {
    async fn start() -> Self {
        let redis = RedisServers::single().await.expect("it starts");
        let database = PostgresServer::start().await.expect("it starts");
        let folder = tempfile::tempdir().expect("a folder");
        let (redis_url, database_url) = (redis.url(), database.url());
        let settings = [
            ("redis_url", &*redis_url),
            ("database_url", &*database_url),
            ("payments", "sandbox"),
        ];
        let start = || Gateway::start_whole(folder.path(), &settings);
        Self {
            gateways: [start().await, start().await],
            _redis: redis,
            _database: database,
            _folder: folder,
        }
    }

    /// Sells the show `night-1` in the room `demo`, with these changes to the room.
    async fn sell(&self, changes: &Value) {
        let [one, other] = &self.gateways;
        let put = async |what: &str, document| {
            let path = format!("/v1/promoter/{what}");
            let answer = one
                .call("PUT", &path, Some(support::PROMOTER), Some(document))
                .await;
            assert!(answer.status < 300, "{}", answer.text());
        };
        put("venues/hall", json!({"plan": "grid:20x20"})).await;
        let show = json!({
            "venue": "hall", "title": "A night", "starts_at": "2099-06-01T20:00:00+02:00",
            "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900}, "seats_per_visitor": 10,
        });
        put("shows/night-1", show).await;
        one.open_room("demo", room(changes)).await;
        for gateway in [one, other] {
            gateway
                .until("/v1/rooms/demo", None, |room| room["phase"] == "selling")
                .await;
            gateway
                .until("/v1/shows/night-1", None, |show| show["room"] == "demo")
                .await;
        }
    }

    /// Returns a pass of a new visitor of `demo`.
    async fn pass(&self) -> String {
        let gateway = &self.gateways[0];
        let (place, _) = gateway.newcomer("demo").await;
        gateway.until_called("demo", &place).await;
        let path = "/v1/rooms/demo/pass";
        let claimed = gateway.call("POST", path, Some(&place), None).await;
        text(&claimed.is(201), "pass")
    }
}

fn room(changes: &Value) -> Value {
    let mut room = json!({
        "shows": ["night-1"], "method": "fifo", "draw_at": "2020-01-02T00:00:00Z",
    });
    for (field, value) in changes.as_object().expect("fields") {
        room[field] = value.clone();
    }
    room
}

/// Tries to hold one seat, and gives a seat that was held back. Returns the status.
async fn try_hold(gateway: &Gateway, pass: &str) -> u16 {
    let wish = json!({"best": {"quantity": 1}});
    let answer = gateway.try_hold(pass, "night-1", &wish).await;
    if answer.status == 201 {
        let path = format!("/v1/holds/{}", text(&answer.json(), "hold"));
        let released = gateway.call("DELETE", &path, Some(pass), None).await;
        assert_eq!(released.status, 204, "{}", released.text());
    }
    answer.status
}

async fn is_verified(gateway: &Gateway, pass: &str) -> bool {
    let path = "/v1/verify?room=demo";
    gateway.call("GET", path, Some(pass), None).await.status == 204
}

async fn sleep_until(moment: Timestamp) {
    while Timestamp::now() < moment {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_by_hand_stops_passes_before_the_call_returns_and_at_the_other_within_2_s() {
    if must_skip("closing at one of two gateways") {
        return;
    }
    let two = Two::start().await;
    two.sell(&json!({})).await;
    let [one, other] = &two.gateways;
    let passes = [two.pass().await, two.pass().await];
    let wish = json!({"best": {"quantity": 2}});
    let held = one.try_hold(&passes[0], "night-1", &wish).await.is(201);
    one.by_hand("demo", "close").await;
    let closed = Instant::now();
    for pass in &passes {
        assert_eq!(try_hold(one, pass).await, 401);
        assert!(!is_verified(one, pass).await);
    }
    for pass in &passes {
        while try_hold(other, pass).await == 201 || is_verified(other, pass).await {
            assert!(closed.elapsed() < FOLLOWS_WITHIN, "the pass still works");
        }
    }
    let order = other.checkout(&passes[0], &held).await;
    one.pay(&order, "approve").await.is(200);
    other.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hold_is_made_at_any_gateway_after_closes_at() {
    if must_skip("holds around closes_at at two gateways") {
        return;
    }
    let two = Two::start().await;
    let closes_at = Timestamp::now() + Duration::from_secs(10);
    two.sell(&json!({"closes_at": closes_at.to_string()})).await;
    let pass = two.pass().await;
    let (mut made, mut refused) = (0, 0);
    while Timestamp::now() < closes_at + TRIED_FOR {
        for gateway in &two.gateways {
            let asked_at = Timestamp::now();
            let is_late = asked_at > closes_at + CLOCKS_DIFFER;
            match try_hold(gateway, &pass).await {
                201 => {
                    made += 1;
                    let late = asked_at.duration_since(closes_at);
                    assert!(!is_late, "a hold was made {late:#} after closes_at");
                }
                401 => refused += 1,
                other => panic!("{other}"),
            }
        }
    }
    assert!(made > 0 && refused > 0, "{made} made, {refused} refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_whose_end_moved_later_sells_on_until_the_new_end() {
    if must_skip("an end that moves at one of two gateways") {
        return;
    }
    let two = Two::start().await;
    let first_end = Timestamp::now() + Duration::from_secs(10);
    two.sell(&json!({"closes_at": first_end.to_string()})).await;
    let second_end = first_end + Duration::from_secs(6);
    let moved = room(&json!({"closes_at": second_end.to_string()}));
    let put = two.gateways[1].put_room("demo", moved).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let moved = |room: &Value| {
        let end = text(room, "closes_at").parse::<Timestamp>();
        end.expect("a moment") > first_end + Duration::from_secs(1)
    };
    two.gateways[0].until("/v1/rooms/demo", None, moved).await;
    // The pass is made after the end has moved.
    let pass = two.pass().await;
    sleep_until(first_end + CLOCKS_DIFFER).await;
    for gateway in &two.gateways {
        assert_eq!(try_hold(gateway, &pass).await, 201);
    }
    sleep_until(second_end + CLOCKS_DIFFER).await;
    for gateway in &two.gateways {
        assert_eq!(try_hold(gateway, &pass).await, 401);
    }
}
