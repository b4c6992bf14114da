//! Tests the wishes of visitors who wait, in a whole gateway with booking inside.

mod support;

use fairgate_servers::{PostgresServer, RedisServers, must_skip};
use serde_json::{Value, json};

use support::{Gateway, PROMOTER, TestAnswer};

async fn put(gateway: &Gateway, path: &str, body: Value) {
    let path = format!("/v1/promoter/{path}");
    let answer = gateway.call("PUT", &path, Some(PROMOTER), Some(body)).await;
    assert!(answer.status < 300, "{path}: {}", answer.text());
}

/// Sells a hall of 32 seats in two categories, in a paused room with these settings.
async fn sell(gateway: &Gateway, settings: Value) {
    put(gateway, "venues/hall", json!({"plan": "grid:4x8"})).await;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2031-06-01T20:00:00+02:00", "currency": "EUR",
        "prices": {"cat1": 9900, "cat2": 4900}, "seats_per_visitor": 6,
    });
    put(gateway, "shows/night-1", show).await;
    let mut room = json!({"shows": ["night-1"], "max_inside": 5});
    for (field, value) in settings.as_object().expect("an object") {
        room[field] = value.clone();
    }
    gateway.open_room("night", room).await;
}

async fn wish(gateway: &Gateway, place: &str, wishes: Value) -> TestAnswer {
    let path = "/v1/rooms/night/place/wishes";
    gateway.call("PUT", path, Some(place), Some(wishes)).await
}

/// Waits until the room knows what it sells.
async fn until_seats_are_known(gateway: &Gateway) {
    let known = |room: &Value| !room["prices"].as_array().expect("prices").is_empty();
    gateway.until("/v1/rooms/night", None, known).await;
}

/// Waits until a place shows the odds of its first wish.
async fn until_odds(gateway: &Gateway, place: &str) -> Value {
    let told = |place: &Value| place["wishes"][0]["odds"].is_number();
    let path = "/v1/rooms/night/place";
    gateway.until(path, Some(place), told).await
}

async fn pause(gateway: &Gateway, paused: bool) {
    let path = "/v1/promoter/rooms/night";
    let change = Some(json!({"paused": paused}));
    let answer = gateway.call("PATCH", path, Some(PROMOTER), change).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn each_wish_has_odds_that_fall_along_the_line() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_whole(data.path(), &[]).await;
    sell(&gateway, json!({"per_s": 0.1})).await;
    until_seats_are_known(&gateway).await;
    let wishes =
        json!([{"quantity": 2, "categories": ["cat1"]}, {"show": "night-1", "quantity": 2}]);
    let mut places = Vec::new();
    for number in 0..40 {
        let (place, own) = gateway.newcomer("night").await;
        let kept = wish(&gateway, &place, wishes.clone()).await.is(200);
        assert_eq!((&kept["number"], own), (&json!(number), number));
        places.push(place);
    }
    let before = until_odds(&gateway, &places[0]).await;
    assert_eq!(before["wishes"][0]["categories"], json!(["cat1"]));
    assert_eq!(before["wishes"][1]["show"], "night-1");

    pause(&gateway, true).await;
    gateway.by_hand("night", "draw").await;
    gateway.until_drawn("night").await;
    let mut odds = Vec::new();
    for place in &places {
        let here =
            |place: &Value| place["ahead"].is_number() && place["wishes"][0]["odds"].is_number();
        let path = "/v1/rooms/night/place";
        let place = gateway.until(path, Some(place), here).await;
        let of = |wish: usize| place["wishes"][wish]["odds"].as_f64().expect("odds");
        odds.push((place["ahead"].as_u64().expect("ahead"), of(0), of(1)));
    }
    odds.sort_by_key(|(ahead, _, _)| *ahead);
    assert!(odds.iter().all(|(_, first, any)| any >= first), "{odds:?}");
    assert_eq!((odds[0].1, odds[0].2), (1.0, 1.0), "{odds:?}");
    assert!(odds[39].1 < 0.2 && odds[39].2 < 0.5, "{odds:?}");
    // A basket that lapses helps those who are called at that time, so the odds do not fall at
    // every step.
    for (ahead, next) in odds.iter().zip(&odds[1..]) {
        assert!(
            next.1 <= ahead.1 + 0.35 && next.2 <= ahead.2 + 0.35,
            "{odds:?}"
        );
    }
    assert!(odds[12].2 > odds[12].1, "{odds:?}");
}

#[tokio::test]
async fn wishes_end_with_the_claim_and_wrong_ones_change_nothing() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_whole(data.path(), &[]).await;
    sell(
        &gateway,
        json!({"method": "fifo", "draw_at": "2020-01-02T00:00:00Z"}),
    )
    .await;
    until_seats_are_known(&gateway).await;
    let (place, _) = gateway.newcomer("night").await;
    let silent = gateway.place("night", &place).await;
    assert_eq!(silent["wishes"], Value::Null, "nothing was said");
    wish(&gateway, &place, json!([{"quantity": 1}]))
        .await
        .is(200);
    for (wrong, code, field) in [
        (json!([{"quantity": 7}]), "invalid_field", "[0].quantity"),
        (
            json!([{"quantity": 1, "show": "night-2"}]),
            "invalid_field",
            "[0].show",
        ),
        (
            json!([{"quantity": 1}, {"quantity": 1, "categories": ["x"]}]),
            "invalid_field",
            "[1].categories",
        ),
        (
            json!(vec![json!({"quantity": 1}); 4]),
            "invalid_field",
            "wishes",
        ),
        (
            json!([{"quantity": 1, "row": "A"}]),
            "unknown_field",
            "[0].row",
        ),
    ] {
        let refused = wish(&gateway, &place, wrong).await;
        assert_eq!(refused.refusal(), (422, code.into()), "{}", refused.text());
        assert_eq!(refused.json()["field"], field, "{}", refused.text());
    }
    for wrong in [
        json!({"quantity": 1}),
        json!([{"quantity": -1}]),
        json!("x"),
    ] {
        let refused = wish(&gateway, &place, wrong).await;
        assert_eq!(refused.status / 100, 4, "{}", refused.text());
    }
    let nobody = wish(&gateway, "rubbish", json!([{"quantity": 1}])).await;
    assert_eq!(nobody.refusal(), (401, "place_invalid".into()));
    let kept = gateway.place("night", &place).await;
    assert_eq!(kept["wishes"].as_array().expect("wishes").len(), 1);

    gateway.until_called("night", &place).await;
    let called = wish(&gateway, &place, json!([{"quantity": 2}]))
        .await
        .is(200);
    assert_eq!(called["wishes"], json!([{"quantity": 2, "odds": null}]));
    let path = "/v1/rooms/night/pass";
    gateway.call("POST", path, Some(&place), None).await.is(201);
    let late = wish(&gateway, &place, json!([])).await;
    assert_eq!(late.refusal(), (409, "already_claimed".into()));

    let left = gateway.newcomer("night").await.0;
    let path = "/v1/rooms/night/place";
    gateway.call("DELETE", path, Some(&left), None).await;
    let gone = wish(&gateway, &left, json!([{"quantity": 1}])).await;
    assert_eq!(gone.refusal(), (410, "place_left".into()));
}

#[tokio::test]
async fn a_room_in_which_nobody_waits_takes_no_wishes() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_whole(data.path(), &[]).await;
    let (place, _) = gateway.newcomer("everyday").await;
    let path = "/v1/rooms/everyday/place/wishes";
    let wishes = Some(json!([{"quantity": 1}]));
    let refused = gateway.call("PUT", path, Some(&place), wishes).await;
    assert_eq!(refused.refusal(), (422, "not_available".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn wishes_that_one_node_took_are_known_at_the_other() {
    if must_skip("two gateways over Redis") {
        return;
    }
    let redis = RedisServers::single().await.expect("it starts");
    let database = PostgresServer::start().await.expect("it starts");
    let (cache, ledger) = (redis.url(), database.url());
    let settings = [("redis_url", &*cache), ("database_url", &*ledger)];
    let data = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let one = Gateway::start_whole(data[0].path(), &settings).await;
    sell(&one, json!({})).await;
    let two = Gateway::start_whole(data[1].path(), &settings).await;
    for node in [&one, &two] {
        until_seats_are_known(node).await;
    }
    let (place, _) = one.newcomer("night").await;
    let wishes = json!([{"quantity": 3, "categories": ["cat2", "cat1"], "accessible": 1}]);
    wish(&one, &place, wishes).await.is(200);
    let there = until_odds(&two, &place).await;
    let told = &there["wishes"][0];
    assert_eq!(
        (&told["quantity"], &told["accessible"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(told["odds"], 0.0, "the hall has no accessible seats");
    wish(&two, &place, json!([])).await.is(200);
    let here = one.place("night", &place).await;
    assert_eq!(here["wishes"], json!([]));
}
