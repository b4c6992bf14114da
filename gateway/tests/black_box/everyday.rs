//! Tests who sells a show: the room that names it, the room `everyday` if it is a walk-in, and
//! otherwise nobody.

use serde_json::json;

use crate::harness::{Promoter, Server, TestShop, Visitor, post, room, show};

#[tokio::test(flavor = "multi_thread")]
async fn seats_of_a_walk_in_are_sold_through_the_room_everyday() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .put("venues/hall", &json!({"plan": "grid:4x10"}))
        .await
        .is(200);
    let tuesday = show("hall", json!({"walk_in": true}));
    let put = promoter.put("shows/tuesday", &tuesday).await;
    assert_eq!(put.is(200)["warnings"], json!([]));
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
async fn a_show_that_no_room_names_is_announced_and_sold_to_nobody() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .put("venues/hall", &json!({"plan": "grid:4x10"}))
        .await
        .is(200);
    let put = promoter
        .put("shows/tuesday", &show("hall", json!({})))
        .await;
    let warned = put.is(200)["warnings"][0].to_string();
    assert!(
        warned.contains("tuesday") && warned.contains("walk_in"),
        "{warned}"
    );
    let shown = server.get("/v1/shows/tuesday").await.is(200);
    assert_eq!(
        (&shown["state"], &shown["room"]),
        (&json!("announced"), &json!(null))
    );
    let ana = Visitor::admitted(&server, "everyday").await;
    let best = json!({"best": {"quantity": 2}});
    let refused = server.try_hold(&ana, "tuesday", &best).await;
    refused.problem(409, "not_on_sale");
    // The answer is the same without a pass, so nobody is sent to a room that does not sell it.
    let without_a_pass = server.ask(post("/v1/shows/tuesday/holds", &best)).await;
    without_a_pass.problem(409, "not_on_sale");
    let page = server.get("/s/tuesday").await.text();
    assert!(page.contains("data-fate=\"announced\"") && !page.contains("plain-hold"));
    assert!(server.get("/").await.text().contains("Not on sale yet"));
    // The seats are sold as soon as a room that names the show lets people in.
    let naming = json!({"method": "open", "draw_at": crate::harness::in_seconds(-30)});
    promoter
        .put("rooms/sale", &room("tuesday", naming))
        .await
        .is(201);
    let ben = Visitor::admitted(&server, "sale").await;
    server.try_hold(&ben, "tuesday", &best).await.is(201);
    let refused = server.try_hold(&ana, "tuesday", &best).await;
    refused.problem(401, "pass_invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_in_that_a_room_names_is_sold_by_this_room_alone_also_after_it_has_closed() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let selling = json!({"method": "open", "draw_at": crate::harness::in_seconds(-30)});
    promoter
        .on_sale("4x10", json!({"walk_in": true}), selling.clone())
        .await;
    let ana = Visitor::admitted(&server, "everyday").await;
    let best = json!({"best": {"quantity": 1}});
    let refused = server.try_hold(&ana, "night", &best).await;
    refused.problem(401, "pass_invalid");
    let ben = Visitor::admitted(&server, "sale").await;
    server.try_hold(&ben, "night", &best).await.is(201);
    promoter.post("rooms/sale/close").await.is(200);
    let refused = server.try_hold(&ana, "night", &best).await;
    refused.problem(401, "pass_invalid");
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
