//! What no room names is covered by the room `everyday`, so that every client walks the same way:
//! place, pass, hold.

use serde_json::json;

use crate::harness::{Promoter, Server, Visitor, room, show};

#[tokio::test(flavor = "multi_thread")]
async fn a_show_without_a_room_is_reached_through_everyday_at_once() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .put("venues/hall", &json!({"plan": "grid:4x10"}))
        .await
        .expect(200);
    promoter
        .put("shows/tuesday", &show("hall", json!({})))
        .await
        .expect(200);
    assert_eq!(
        server.get("/v1/shows/tuesday").await.expect(200)["room"],
        "everyday"
    );

    let mut ana = Visitor::joined(&server, "everyday").await;
    // Nobody waits where there is no line: the very first question is answered with a pass.
    let claimed = ana.try_claim().await.expect(201);
    ana.pass = claimed["pass"].as_str().expect("a pass").to_owned();
    let held = ana.hold("tuesday", &json!({"best": {"quantity": 2}})).await;
    let ordered = ana.order(&held).await;
    ana.settle(&ordered, "approve").await.expect(200);
    ana.order_is(&ordered, "ticketed").await;
    server
        .get("/v1/rooms/everyday/draw")
        .await
        .refused(404, "no_draw");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_of_one_room_does_not_open_the_shows_of_another() {
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
    answer.refused(401, "pass_invalid");
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
        .refused(409, "show_covered");
    promoter
        .put("rooms/other", &room("nigh*", json!({})))
        .await
        .refused(409, "show_covered");
    server
        .get("/v1/rooms/other")
        .await
        .refused(404, "not_found");
    promoter
        .put("rooms/other", &room("day*", json!({})))
        .await
        .expect(201);
}
