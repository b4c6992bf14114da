//! Tests that nobody can begin anything new with a place that was left, revoked or closed with its
//! room. What was begun with its pass can still be paid and read.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    Browser, Live, Promoter, Server, TestAnswer, TestShop, Visitor, in_seconds, text, until,
};

/// How long a stopped pass may still be accepted.
const STOPPED_WITHIN: Duration = Duration::from_secs(2);

async fn verify(server: &Server, visitor: &Visitor<'_>) -> TestAnswer {
    let path = format!("/v1/verify/{}/anything", visitor.room);
    let asked = server.http.put(server.at(&path));
    TestAnswer::of(asked.bearer_auth(&visitor.pass))
        .await
        .expect("an answer")
}

async fn revoke(promoter: &Promoter<'_>, body: Value) -> TestAnswer {
    promoter.post_json("rooms/sale/revoke", &body).await
}

/// Waits until both the check of passes and booking refuse this visitor's pass.
async fn stopped(server: &Server, visitor: &Visitor<'_>, seat: &str) {
    let since = Instant::now();
    loop {
        let verified = verify(server, visitor).await;
        let body = json!({"seats": [seat]});
        let held = visitor
            .send_once(Method::POST, "/v1/shows/night/holds", &body)
            .await;
        if verified.status == 401 && held.status == 401 {
            verified.problem(401, "pass_stopped");
            held.problem(401, "pass_stopped");
            return;
        }
        assert!(
            since.elapsed() < STOPPED_WITHIN,
            "the pass is still accepted: {} and {}",
            verified.status,
            held.status
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_leaving_the_pass_takes_nothing_new_and_what_is_held_can_be_paid() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    verify(&server, &ana).await.is(204);
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-1", "A-2"]}))
        .await
        .is(201);
    ana.leave().await.is(204);
    stopped(&server, &ana, "B-1").await;
    ana.try_claim().await.problem(410, "place_left");
    let ordered = server.checkout(&ana, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    server.order_in(&ordered, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_visitor_is_told_and_comes_in_no_more() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let (ana, bob) = (
        Visitor::admitted(&server, "sale").await,
        Visitor::admitted(&server, "sale").await,
    );
    let mut socket = Live::open(&ana).await;
    socket.text("place").await;
    let reason = "resold on another site";
    let body = json!({"visitor": ana.holder(), "reason": reason});
    assert_eq!(revoke(&promoter, body.clone()).await.is(200)["revoked"], 1);
    let told = socket.text("closed").await;
    assert_eq!(
        told,
        json!({"type": "closed", "reason": "revoked", "note": reason})
    );
    assert_eq!(socket.closed().await.0, 1000);
    stopped(&server, &ana, "B-1").await;
    let refused = ana.try_claim().await.problem(403, "revoked");
    assert_eq!(refused["note"], reason);
    let mut again = Visitor::new(&server, "sale");
    again.secret.clone_from(&ana.secret);
    let join = json!({"secret": again.secret});
    again.post("places", &join).await.problem(403, "revoked");
    revoke(&promoter, body).await.problem(404, "not_found");
    // The other visitor's pass is still valid.
    verify(&server, &bob).await.is(204);
    assert_eq!(promoter.room("sale").await["revoked"], 1);
    let audit = promoter.get("rooms/sale/audit").await.is(200);
    let rows = audit["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["action"] == "revoked");
    let detail = &row.expect("it is logged")["detail"];
    assert_eq!(detail["reason"], reason);
    assert_eq!(detail["visitor"], ana.holder());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoter_who_ends_all_places_ends_them_for_good_and_people_may_join_again() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let bob = Visitor::joined(&server, "sale").await;
    let mut socket = Live::open(&bob).await;
    socket.text("place").await;
    let reason = "the wrong prices were shown";
    let body = json!({"all": true, "reason": reason});
    assert_eq!(revoke(&promoter, body).await.is(200)["revoked"], 2);
    assert_eq!(socket.text("closed").await["note"], reason);
    assert_eq!(socket.closed().await.0, 1000);
    stopped(&server, &ana, "B-1").await;
    bob.try_claim().await.problem(403, "revoked");
    let carla = Visitor::admitted(&server, "sale").await;
    assert!(carla.number > bob.number);
    verify(&server, &carla).await.is(204);
    // The line itself is emptied a moment later.
    until("the ended places are counted", async || {
        (promoter.room("sale").await["revoked"] == 2).then_some(())
    })
    .await;
    bob.try_claim().await.problem(403, "revoked");
    let mut again = Visitor::new(&server, "sale");
    again.secret.clone_from(&bob.secret);
    again.join().await;
    assert!(again.number > carla.number);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_room_by_hand_stops_its_passes() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-1"]}))
        .await
        .is(201);
    promoter.post("rooms/sale/close").await.is(200);
    stopped(&server, &ana, "B-1").await;
    let ordered = server.checkout(&ana, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    server.order_in(&ordered, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_ends_with_its_room() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let closes_at = in_seconds(60);
    let room = json!({"draw_at": in_seconds(30), "closes_at": closes_at});
    promoter.on_sale("4x10", json!({}), room).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let claimed = ana.try_claim().await.is(201);
    let moment = |text: &str| text.parse::<jiff::Timestamp>().expect("a moment");
    let (expires, closes_at) = (moment(&text(&claimed, "expires_at")), moment(&closes_at));
    assert!(expires <= closes_at, "{expires} is after {closes_at}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_that_names_nobody_or_too_much_is_refused_whole() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let ana = Visitor::joined(&server, "sale").await;
    for (body, field) in [
        (json!({"all": true, "reason": ""}), "reason"),
        (json!({"reason": "x"}), "visitor"),
        (
            json!({"all": true, "visitor": ana.holder(), "reason": "x"}),
            "visitor",
        ),
        (json!({"visitor": "zz", "reason": "x"}), "visitor"),
        (json!({"network": "10.0.0.0/8", "reason": "x"}), "network"),
        (json!({"all": false, "reason": "x"}), "all"),
    ] {
        let refused = revoke(&promoter, body).await.problem(422, "invalid_field");
        assert_eq!(refused["field"], field);
    }
    for body in [
        json!({"visitor": "00".repeat(32), "reason": "x"}),
        json!({"network": "192.0.2.1", "reason": "x"}),
        json!({"code": "NONE", "reason": "x"}),
    ] {
        revoke(&promoter, body).await.problem(404, "not_found");
    }
    let without_key = server
        .http
        .post(server.at("/v1/promoter/rooms/sale/revoke"));
    let body = json!({"all": true, "reason": "x"});
    let refused = TestAnswer::of(without_key.json(&body))
        .await
        .expect("an answer");
    refused.problem(401, "key_required");
    assert_eq!(ana.look().await["state"], "waiting");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_shows_that_its_place_was_ended_and_why() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    browser.go(&server.at("/r/sale")).await;
    browser.click("#join").await;
    browser
        .until::<bool>("!document.querySelector('#leave-box').hidden")
        .await;
    browser
        .until::<bool>("document.body.innerText.includes('Live: this page updates by itself.')")
        .await;
    let reason = "the wrong prices were shown";
    let body = json!({"all": true, "reason": reason});
    revoke(&promoter, body).await.is(200);
    let told: String = browser
        .until("document.querySelector('#problem[data-code=revoked]:not([hidden])').innerText")
        .await;
    assert!(told.contains(reason), "{told}");
    browser.picture("1-lobby-revoked").await;
}
