//! Tests the end of a room: its passes open nothing new from then on, whatever tolerance an expired
//! pass has. What was begun can be paid, read and given back.

use booking::internal::wire::RoomEndNotice;
use fairgate_servers as servers;
use serde_json::json;

use crate::harness::*;
use crate::waiting::{LIST, ended, full, give_back, join, offered};

/// Tells booking that the room is over from this moment on, or that it has no end.
async fn end_room(app: &App, version: u64, over_from_ms: Option<i64>) {
    let end = RoomEndNotice {
        room: ROOM.to_owned(),
        version,
        over_from_ms,
    };
    let told = app.booking.gateways().end_rooms(vec![end]).await;
    told.expect("written");
}

async fn try_hold(app: &App, who: &Visitor, seat: &str) -> TestAnswer {
    let seat = json!({ "seats": [seat] });
    app.try_hold(who, "night-1", &seat).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_of_a_room_that_is_over_opens_nothing_new_and_what_was_begun_goes_on() {
    let (app, ana, ben) = opened_with(json!({ "orphans": "allow" })).await;
    let closes_ms = app.clock.now_ms() + 10_000;
    end_room(&app, 1, Some(closes_ms)).await;
    let held = app.hold(&ana, &["A-1"]).await;
    let path = format!("/v1/holds/{}", text(&held, "hold"));
    app.clock.advance_ms(9_999);
    let last = try_hold(&app, &ben, "B-1").await.is(201);
    app.clock.advance_ms(1);
    for who in [&ana, &ben] {
        let refused = try_hold(&app, who, "C-1").await;
        refused.problem(401, "pass_stopped");
    }
    let add = patch(&path, &json!({ "add": ["A-2"] }));
    app.ask(add.by(&ana)).await.problem(401, "pass_stopped");
    let wait = post(LIST, &json!({ "quantity": 1 }));
    app.ask(wait.by(&ben)).await.problem(401, "pass_stopped");

    app.ask(get(&path).by(&ana)).await.is(200);
    let order = app.checkout(&ana, &held).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    give_back(&app, &(ben, last)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_newest_version_of_a_room_counts() {
    let changes = json!({ "seats_per_visitor": 10, "orphans": "allow" });
    let (app, ana, _) = opened_with(changes).await;
    let now_ms = app.clock.now_ms();
    end_room(&app, 3, Some(0)).await;
    let refused = try_hold(&app, &ana, "A-1").await;
    refused.problem(401, "pass_stopped");
    end_room(&app, 2, None).await;
    let refused = try_hold(&app, &ana, "A-1").await;
    refused.problem(401, "pass_stopped");
    end_room(&app, 4, Some(now_ms + 5_000)).await;
    try_hold(&app, &ana, "A-1").await.is(201);
    let app = app.restarted().await;
    try_hold(&app, &ana, "B-1").await.is(201);
    app.clock.advance_ms(5_000);
    let refused = try_hold(&app, &ana, "C-1").await;
    refused.problem(401, "pass_stopped");
    end_room(&app, 5, None).await;
    try_hold(&app, &ana, "C-1").await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_end_of_its_room_nobody_accepts_an_offer_or_is_offered_seats() {
    let (app, ana, ben) = opened_with(json!({ "hold_s": 3_600 })).await;
    let baskets = full(&app).await;
    join(&app, &ana, 2).await;
    join(&app, &ben, 2).await;
    give_back(&app, &baskets[0]).await;
    let offer = offered(&app, &ana).await["offer"].clone();
    end_room(&app, 1, Some(app.clock.now_ms())).await;
    let path = format!("/v1/holds/{}", text(&offer, "hold"));
    let accept = post(&format!("{path}/accept"), &json!({}));
    let refused = app.ask(accept.by(&ana)).await;
    refused.problem(401, "pass_stopped");
    ended(&app, &ben, "sales_ended").await;
    // The seats of the offer may still be ordered, as before.
    let order = post(&format!("{path}/order"), &buyer());
    app.ask(order.by(&ana)).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_ended_at_one_node_is_over_at_the_other_within_2_s() {
    if servers::must_skip("a room that ends at one of two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let ana = nodes[0].visitor(1);
    end_room(&nodes[0], 1, Some(0)).await;
    let told = std::time::Instant::now();
    let refused = try_hold(&nodes[0], &ana, "A-1").await;
    refused.problem(401, "pass_stopped");
    until("the other node refuses the pass", async || {
        (try_hold(&nodes[1], &ana, "B-1").await.status == 401).then_some(())
    })
    .await;
    assert!(told.elapsed().as_secs() < 2, "{:?}", told.elapsed());
}
