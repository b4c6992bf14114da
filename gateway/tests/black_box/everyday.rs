//! Tests that the room `everyday` covers every show that no other room names, so that every client
//! goes the same way: place, pass, hold.

use serde_json::json;

use crate::harness::{Promoter, Server, TestShop, Visitor, room, show};

#[tokio::test(flavor = "multi_thread")]
async fn seats_of_a_show_without_a_room_are_sold_through_the_room_everyday() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .put("venues/hall", &json!({"plan": "grid:4x10"}))
        .await
        .is(200);
    promoter
        .put("shows/tuesday", &show("hall", json!({})))
        .await
        .is(200);
    assert_eq!(
        server.get("/v1/shows/tuesday").await.is(200)["room"],
        "everyday"
    );

    let mut ana = Visitor::joined(&server, "everyday").await;
    // This room has no line, so the first claim gets a pass.
    let claimed = ana.try_claim().await.is(201);
    ana.pass = claimed["pass"].as_str().expect("a pass").to_owned();
    let held = server
        .try_hold(&ana, "tuesday", &json!({"best": {"quantity": 2}}))
        .await
        .is(201);
    let ordered = server.checkout(&ana, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    server.order_in(&ordered, "ticketed").await;
    server
        .get("/v1/rooms/everyday/draw")
        .await
        .problem(404, "no_draw");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lobby_of_the_room_everyday_tells_no_date() {
    let server = Server::start().await;
    let lobby = server.get("/r/everyday").await.text();
    assert!(!lobby.contains(" 1970"), "{lobby}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_of_one_room_cannot_hold_seats_of_another_rooms_show() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let ana = Visitor::admitted(&server, "everyday").await;
    let answer = ana
        .send(
            reqwest::Method::POST,
            "/v1/shows/night/holds",
            &json!({"seats": ["A-1"]}),
        )
        .await;
    answer.problem(401, "pass_invalid");
    assert_eq!(
        promoter.room("sale").await["seats"],
        json!({"free": 40, "held": 0, "sold": 0})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_is_covered_by_one_room_only() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter
        .put("rooms/other", &room("night", json!({})))
        .await
        .problem(409, "show_covered");
    promoter
        .put("rooms/other", &room("nigh*", json!({})))
        .await
        .problem(409, "show_covered");
    server
        .get("/v1/rooms/other")
        .await
        .problem(404, "not_found");
    promoter
        .put("rooms/other", &room("day*", json!({})))
        .await
        .is(201);
}
