//! Tests two gateways over one Redis and one PostgreSQL, on real listeners. A visitor can call
//! either gateway at any time.

#[path = "many/kept_baskets.rs"]
mod kept_baskets;
mod support;

use std::collections::BTreeSet;

use fairgate_servers::actors::{coming_back, text, until};
use fairgate_servers::{PostgresServer, RedisServers, RespReply, must_skip};
use serde_json::json;
use support::{Gateway, TestShop};

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

    /// Starts a gateway that hosts booking itself.
    async fn whole_gateway(&self, folder: &tempfile::TempDir) -> Gateway {
        let (redis, database) = (self.redis.url(), self.database.url());
        let settings = [
            ("redis_url", &*redis),
            ("database_url", &*database),
            ("trusted_hops", "1"),
        ];
        Gateway::start_whole(folder.path(), &settings).await
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
        // The visitor's entry is reserved, and only the ledger's answer is still missing.
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

/// How long a stopped pass may still be accepted at any gateway.
const STOPPED_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

/// Returns two statuses: of a check of the pass, and of a hold with it.
async fn accepted(gateway: &Gateway, pass: &str) -> (u16, u16) {
    let verify = gateway
        .call("GET", "/v1/verify?room=demo", Some(pass), None)
        .await;
    let wish = json!({"best": {"quantity": 1}});
    let held = gateway.try_hold(pass, "night-1", &wish).await;
    (verify.status, held.status)
}

/// Waits until both gateways refuse all these passes.
async fn refused_everywhere(gateways: [&Gateway; 2], passes: &[&str]) {
    let since = std::time::Instant::now();
    for gateway in gateways {
        for pass in passes {
            loop {
                let found = accepted(gateway, pass).await;
                if found == (401, 401) {
                    break;
                }
                assert!(since.elapsed() < STOPPED_WITHIN, "still {found:?}");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }
}

/// Opens the room `demo` with a show, and admits this many visitors. They come from the addresses
/// 192.0.2.1, 192.0.2.2 and so on. Returns their places and passes.
async fn selling_to(one: &Gateway, other: &Gateway, visitors: u8) -> Vec<(String, String)> {
    selling_in(one, other, visitors, 120).await
}

/// Does what [`selling_to`] does, in a room with this `pass_idle_s`.
async fn selling_in(
    one: &Gateway,
    other: &Gateway,
    visitors: u8,
    pass_idle_s: u64,
) -> Vec<(String, String)> {
    let put = async |what: &str, document| {
        let path = format!("/v1/promoter/{what}");
        let answer = one
            .call("PUT", &path, Some(support::PROMOTER), Some(document))
            .await;
        assert!(answer.status < 300, "{}", answer.text());
    };
    put("venues/hall", json!({"plan": "grid:8x20"})).await;
    let show = json!({
        "venue": "hall", "title": "A night", "starts_at": "2031-06-01T20:00:00+02:00",
        "currency": "EUR", "prices": {"cat1": 9900, "cat2": 4900}, "seats_per_visitor": 10,
    });
    put("shows/night-1", show).await;
    let sale = json!({"shows": ["night-1"], "method": "fifo", "draw_at": "2020-01-02T00:00:00Z",
        "away_s": 10, "pass_idle_s": pass_idle_s});
    one.open_room("demo", sale).await;
    other
        .until("/v1/rooms/demo", None, |room| room["phase"] == "selling")
        .await;
    other.until("/v1/shows/night-1", None, |_| true).await;
    let mut joined = Vec::new();
    for at in 1..=visitors {
        let gateway = if at % 2 == 0 { one } else { other };
        let join = async || {
            let request = gateway.client.post(gateway.url("/v1/rooms/demo/places"));
            let request = request.header("x-forwarded-for", format!("192.0.2.{at}"));
            Gateway::read(request.json(&json!({}))).await
        };
        let place = text(&coming_back(join).await.is(201), "place");
        gateway.until_called("demo", &place).await;
        let pass = claim(gateway, &place).await.json()["pass"]
            .as_str()
            .expect("a pass")
            .to_owned();
        joined.push((place, pass));
    }
    joined
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_ended_at_one_gateway_ends_at_all_and_stays_so_without_redis() {
    if must_skip("ended places at two gateways") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (
        house.whole_gateway(&data).await,
        house.whole_gateway(&data).await,
    );
    let visitors = selling_to(&one, &other, 4).await;
    let [left, by_network, closed_with_room, stays] = &visitors[..] else {
        panic!("four visitors");
    };
    for (_, pass) in &visitors {
        assert_eq!(accepted(&one, pass).await, (204, 201));
        assert_eq!(accepted(&other, pass).await, (204, 201));
    }
    let gone = one
        .call("DELETE", "/v1/rooms/demo/place", Some(&left.0), None)
        .await;
    assert_eq!(gone.status, 204);
    let revoke = json!({"network": "192.0.2.2", "reason": "a bot"});
    let path = "/v1/promoter/rooms/demo/revoke";
    let revoked = other
        .call("POST", path, Some(support::PROMOTER), Some(revoke))
        .await;
    assert_eq!(
        (revoked.status, &revoked.json()["revoked"]),
        (200, &json!(1))
    );
    refused_everywhere([&one, &other], &[&left.1, &by_network.1]).await;
    assert_eq!(accepted(&one, &stays.1).await, (204, 201));

    house.redis.flush_all().await.expect("it is emptied");
    other
        .until("/v1/rooms/demo/place", Some(&stays.0), |place| {
            place["number"].is_u64()
        })
        .await;
    for gateway in [&one, &other] {
        for (place, code) in [(&left.0, "place_left"), (&by_network.0, "revoked")] {
            let answer = gateway
                .call("GET", "/v1/rooms/demo/place", Some(place), None)
                .await;
            assert_eq!(answer.json()["code"], code);
        }
    }
    refused_everywhere([&one, &other], &[&left.1, &by_network.1]).await;

    one.by_hand("demo", "close").await;
    refused_everywhere([&one, &other], &[&closed_with_room.1, &stays.1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_claims_at_once_at_two_gateways_give_one_pass() {
    if must_skip("claims at two gateways at once") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (house.gateway(&data).await, house.gateway(&data).await);
    let sale = json!({"method": "fifo", "draw_at": "2020-01-02T00:00:00Z"});
    one.open_room("demo", sale).await;
    one.core.set_pulse(8, 0, 0);
    other.core.set_pulse(8, 0, 0);
    other
        .until("/v1/rooms/demo", None, |room| room["phase"] == "selling")
        .await;
    let (place, _) = one.newcomer("demo").await;
    other.until_called("demo", &place).await;
    let claims = (0..1_000).map(|at| claim(if at % 2 == 0 { &one } else { &other }, &place));
    let answers = futures_util::future::join_all(claims).await;
    let passes: BTreeSet<String> = answers
        .iter()
        .filter(|answer| answer.status == 201)
        .map(|answer| answer.json()["pass"].to_string())
        .collect();
    assert_eq!(passes.len(), 1, "{passes:?}");
    let refused: BTreeSet<u16> = answers
        .iter()
        .map(|answer| answer.status)
        .filter(|status| *status != 201)
        .collect();
    assert!(refused.is_subset(&[429, 503].into()), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_or_a_room_that_one_gateway_changes_is_soon_in_the_lists_of_the_other() {
    if must_skip("lists at two gateways") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (
        house.whole_gateway(&data).await,
        house.whole_gateway(&data).await,
    );
    let put = async |what: &str, document: serde_json::Value| {
        let path = format!("/v1/promoter/{what}");
        let answer = one
            .call("PUT", &path, Some(support::PROMOTER), Some(document))
            .await;
        assert!(answer.status < 300, "{path}: {}", answer.text());
    };
    let hall = json!({"plan": "grid:2x2", "city": "Lyon", "time_zone": "Europe/Paris"});
    put("venues/hall", hall).await;
    for title in ["Canal", "Bridge"] {
        let show = json!({"venue": "hall", "title": title, "starts_at": "2099-06-01T20:00:00Z",
            "currency": "EUR", "prices": {"cat1": 500, "cat2": 400}, "walk_in": true});
        put("shows/night-1", show).await;
        let path = format!("/v1/rooms?q={title}");
        let found = one.get(&path).await.json();
        assert_eq!(
            found["rooms"][0]["room"], "everyday",
            "the node knows its own change"
        );
        let listed = |list: &serde_json::Value| list["rooms"][0]["room"] == "everyday";
        other.until(&path, None, listed).await;
        let listed = |list: &serde_json::Value| list["shows"][0]["title"] == title;
        other.until("/v1/shows", None, listed).await;
    }
    let room = json!({"title": "The sale", "shows": ["night-*"], "opens_at": "2020-01-01T00:00:00Z",
        "draw_at": "2098-01-01T00:00:00Z"});
    put("rooms/sale", room).await;
    let covered = |list: &serde_json::Value| list["rooms"][0]["room"] == "sale";
    other.until("/v1/rooms?city=lyon", None, covered).await;
    one.by_hand("sale", "close").await;
    let closed = |list: &serde_json::Value| list["rooms"][0]["phase"] == "closed";
    assert!(closed(&one.get("/v1/rooms?city=lyon").await.json()));
    other.until("/v1/rooms?city=lyon", None, closed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_of_the_other_gateway_lapses_if_its_visitor_is_gone_and_stays_if_it_came_back_there()
 {
    if must_skip("baskets at two gateways") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (
        house.whole_gateway(&data).await,
        house.whole_gateway(&data).await,
    );
    let visitors = selling_to(&one, &other, 3).await;
    let [gone, back, stays] = &visitors[..] else {
        panic!("three visitors");
    };
    let socket = async |gateway: &Gateway, who: &(String, String)| {
        gateway.socket("demo", &who.0).await.expect("it opens")
    };
    let of_gone = socket(&one, gone).await;
    let of_back = socket(&one, back).await;
    let _of_stays = socket(&one, stays).await;
    let mut holds = Vec::new();
    for (who, seat) in visitors.iter().zip(["A-1", "A-2", "A-3"]) {
        holds.push(other.hold(&who.1, &[seat]).await);
    }
    let hold_path = |at: usize| format!("/v1/holds/{}", holds[at]["hold"].as_str().expect("an id"));
    let apart = std::time::Duration::from_millis(2_500);
    drop(of_back);
    let closed_at = std::time::Instant::now();
    let _of_back = socket(&other, back).await;
    until("the sockets close apart", async || {
        (closed_at.elapsed() > apart).then_some(())
    })
    .await;
    drop(of_gone);
    // The read is made by somebody else, because a call of the visitor would bring it back.
    let is_free = |seats: &serde_json::Value| seats["unavailable"].get("A-1").is_none();
    until("the seat of the visitor who is gone is free", async || {
        let seats = other.client.get(other.url("/v1/shows/night-1/seats"));
        let seats = Gateway::read(seats.header("accept", "application/json")).await;
        is_free(&seats.json()).then_some(())
    })
    .await;
    for (at, who, status) in [(0, gone, 410), (1, back, 200), (2, stays, 200)] {
        let read = other.call("GET", &hold_path(at), Some(&who.1), None).await;
        assert_eq!(read.status, status, "visitor {at}: {}", read.text());
    }
}

/// How many nights the applied file has.
const NIGHTS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn while_a_file_is_applied_at_one_gateway_nobody_gets_its_seats_at_the_other() {
    if must_skip("a file that is applied at one of two gateways") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let one = house.whole_gateway(&data).await;
    let other = house.whole_gateway(&data).await;
    let apply = async |file: serde_json::Value| {
        let key = Some(support::PROMOTER);
        let answer = one
            .call("POST", "/v1/promoter/apply", key, Some(file))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let show = |id: &str, walk_in: bool| {
        json!({
            "id": id, "venue": "hall", "title": "A night", "starts_at": "2031-06-01T20:00:00+02:00",
            "prices": {"cat1": 9900, "cat2": 4900}, "seats_per_visitor": 100, "walk_in": walk_in,
        })
    };
    let hall = json!([{"id": "hall", "plan": "grid:8x20"}]);
    apply(json!({"venue": hall, "show": [show("matinee", true)]})).await;
    let (place, _) = other.newcomer("everyday").await;
    other.until_called("everyday", &place).await;
    let claim = "/v1/rooms/everyday/pass";
    let claimed = other.call("POST", claim, Some(&place), None).await.json();
    let pass = claimed["pass"].as_str().expect("a pass").to_owned();
    let wish = json!({"best": {"quantity": 1}});
    let held = other.try_hold(&pass, "matinee", &wish).await;
    assert_eq!(held.status, 201, "{}", held.text());

    // The file gives the walk-in to a room, together with forty nights.
    let nights = (0..NIGHTS).map(|n| show(&format!("night-{n}"), false));
    let shows: Vec<_> = nights.chain([show("matinee", true)]).collect();
    let room = json!([{
        "id": "sale", "title": "The nights", "shows": ["night-*", "matinee"],
        "opens_at": "2026-01-01T00:00:00Z", "draw_at": "2031-01-01T00:00:00Z",
    }]);
    let is_applied = std::sync::atomic::AtomicBool::new(false);
    let applying = async {
        apply(json!({"venue": hall, "show": shows, "room": room})).await;
        is_applied.store(true, std::sync::atomic::Ordering::Release);
    };
    let polling = async {
        let mut n = 0;
        while !is_applied.load(std::sync::atomic::Ordering::Acquire) {
            let night = format!("night-{}", n % NIGHTS);
            let held = other.try_hold(&pass, &night, &wish).await;
            assert!(held.status >= 400, "{night} was held: {}", held.text());
            n += 1;
        }
    };
    tokio::join!(applying, polling);
    // The other gateway reads changes three times a second. It must not be behind even now.
    let late = other.try_hold(&pass, "matinee", &wish).await;
    assert_eq!(late.refusal(), (401, "pass_invalid".into()));
    for n in 0..NIGHTS {
        let held = other.try_hold(&pass, &format!("night-{n}"), &wish).await;
        assert!(held.status >= 400, "night-{n} was held: {}", held.text());
    }
}

/// The call that checks a pass of the room `demo`.
const VERIFY: &str = "/v1/verify?room=demo";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_visitor_does_at_one_gateway_counts_at_all_and_an_ended_visit_ends_at_all() {
    if must_skip("idle visitors at two gateways") {
        return;
    }
    let (house, data) = (House::start().await, tempfile::tempdir().expect("a folder"));
    let (one, other) = (
        house.whole_gateway(&data).await,
        house.whole_gateway(&data).await,
    );
    let visitors = selling_in(&one, &other, 2, 10).await;
    let [silent, reader] = &visitors[..] else {
        panic!("two visitors");
    };
    let since = std::time::Instant::now();
    loop {
        // The other gateway only sees this through the store.
        let read = one.call("GET", VERIFY, Some(&reader.1), None).await;
        assert_eq!(read.status, 204);
        let place = other
            .call("GET", "/v1/rooms/demo/place", Some(&silent.0), None)
            .await;
        if place.json()["pass_ended"] == "idle" {
            break;
        }
        assert!(since.elapsed() < std::time::Duration::from_secs(60));
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    assert!(since.elapsed() >= std::time::Duration::from_secs(8));
    refused_everywhere([&one, &other], &[&silent.1]).await;
    for gateway in [&one, &other] {
        let answer = gateway.call("GET", VERIFY, Some(&silent.1), None).await;
        let refused = (answer.status, answer.json()["code"].clone());
        assert_eq!(refused, (401, json!("pass_ended")));
        assert_eq!(accepted(gateway, &reader.1).await, (204, 201));
    }
}
