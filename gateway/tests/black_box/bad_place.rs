//! Tests places and passes that are tampered with, foreign or expired. Tests that the hash of a
//! holder, which is public, gives no access. Also tests that a visitor cannot use the hold, order
//! or ticket of another visitor.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Promoter, Server, TestAnswer, TestShop, Visitor, get, room, text};

/// Returns a signed text with one letter in the middle changed.
fn tampered(signed: &str) -> String {
    let mut bytes = signed.as_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).expect("letters")
}

async fn ask(server: &Server, method: Method, path: &str, bearer: &str) -> TestAnswer {
    let request = server
        .http
        .request(method, server.at(path))
        .bearer_auth(bearer)
        .json(&json!({}));
    TestAnswer::of(request).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tampered_or_foreign_place_is_refused_and_changes_nothing() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter
        .put("rooms/other", &room("day*", json!({})))
        .await
        .is(201);
    let ana = Visitor::joined(&server, "sale").await;
    let foreign = Visitor::joined(&server, "other").await;
    for bad in [
        tampered(&ana.place),
        foreign.place.clone(),
        format!("{}x", ana.place),
        "a.b.c".to_owned(),
    ] {
        for (method, path) in [
            (Method::GET, "/v1/rooms/sale/place"),
            (Method::POST, "/v1/rooms/sale/pass"),
            (Method::DELETE, "/v1/rooms/sale/place"),
        ] {
            ask(&server, method, path, &bad)
                .await
                .problem(401, "place_invalid");
        }
    }
    // Another installation signed this place with a key that this server does not know.
    let elsewhere = Server::start().await;
    Promoter::of(&elsewhere)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let stranger = Visitor::joined(&elsewhere, "sale").await;
    ask(
        &server,
        Method::GET,
        "/v1/rooms/sale/place",
        &stranger.place,
    )
    .await
    .problem(401, "place_invalid");
    promoter.joined("sale", 1).await;
    assert_eq!(
        ana.look().await["state"],
        "waiting",
        "Ana's place is unchanged"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_holder_hash_gives_no_access_to_its_place() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let mut ana = Visitor::joined(&server, "sale").await;
    promoter.draw("sale").await;
    let proof = server
        .get(&format!("/v1/rooms/sale/draw/proof/{}", ana.number))
        .await
        .is(200);
    let published = proof["holder"].as_str().expect("a holder").to_owned();
    assert_eq!(published, ana.holder());

    // Used as a secret, the published hash is like any other 32 bytes: the join gives a new place,
    // not Ana's.
    let mallory = Visitor {
        secret: published.clone(),
        ..Visitor::new(&server, "sale")
    };
    let joined = mallory
        .post("places", &json!({"secret": published}))
        .await
        .is(201);
    assert_ne!(joined["number"], json!(ana.number));
    // Used as a place or a pass, the published hash is refused.
    for (method, path) in [
        (Method::GET, "place"),
        (Method::POST, "pass"),
        (Method::DELETE, "place"),
    ] {
        let path = format!("/v1/rooms/sale/{path}");
        ask(&server, method.clone(), &path, &published)
            .await
            .problem(401, "place_invalid");
        let cookie = format!("fg_sale={published}");
        let request = server
            .http
            .request(method, server.at(&path))
            .header("cookie", cookie);
        TestAnswer::of(request)
            .await
            .expect("an answer")
            .problem(401, "place_invalid");
    }
    ask(&server, Method::POST, "/v1/shows/night/holds", &published)
        .await
        .problem(401, "pass_invalid");
    ana.claim().await;
}

/// Returns the public seats of the show `night`.
async fn seats(server: &Server) -> Value {
    let request = server
        .http
        .get(server.at("/v1/shows/night/seats"))
        .header("accept", "application/json");
    TestAnswer::of(request).await.expect("an answer").is(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tampered_foreign_or_expired_pass_holds_no_seats() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("4x10", json!({}), json!({"pass_s": 10}))
        .await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let everyday = Visitor::admitted(&server, "everyday").await;
    let before = seats(&server).await;
    let hold = async |pass: &str| {
        let request = server
            .http
            .post(server.at("/v1/shows/night/holds"))
            .bearer_auth(pass);
        TestAnswer::of(request.json(&json!({"seats": ["A-1"]})))
            .await
            .expect("an answer")
    };
    for bad in [&tampered(&ana.pass), &everyday.pass, &ana.place] {
        hold(bad).await.problem(401, "pass_invalid");
    }
    assert_eq!(seats(&server).await, before);

    // With an expired pass a visitor cannot hold other seats, but can order and pay for the seats
    // that are already held.
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["B-1", "B-2"]}))
        .await
        .is(201);
    let expired = crate::harness::until("the pass runs out", async || {
        let answer = TestAnswer::of(ana.booking(Method::GET, "/v1/verify?room=sale"))
            .await
            .expect("an answer");
        (answer.status == 401).then_some(answer)
    })
    .await;
    expired.problem(401, "pass_expired");
    hold(&ana.pass).await.problem(401, "pass_expired");
    let ordered = server.checkout(&ana, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    server.order_in(&ordered, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_can_use_another_visitors_hold_order_or_ticket() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let ben = Visitor::admitted(&server, "sale").await;
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-1"]}))
        .await
        .is(201);
    let bens_hold = server
        .try_hold(&ben, "night", &json!({"seats": ["B-1"]}))
        .await
        .is(201);
    let (hold, order) = (
        format!("/v1/holds/{}", text(&held, "hold")),
        format!("/v1/holds/{}/order", text(&held, "hold")),
    );
    for (method, path, body) in [
        (Method::GET, hold.clone(), json!({})),
        (Method::DELETE, hold.clone(), json!({})),
        (Method::PATCH, hold.clone(), json!({"remove": ["A-1"]})),
        (Method::POST, format!("{hold}/extend"), json!({})),
        (Method::POST, format!("{hold}/accept"), json!({})),
        (Method::POST, order, crate::harness::buyer()),
    ] {
        let answer = ben.send(method, &path, &body).await;
        assert!(matches!(answer.status, 403 | 404 | 410), "{answer:?}");
        answer.problem(
            answer.status,
            answer.json()["code"].as_str().expect("a code"),
        );
    }
    let (anas, bens) = (
        server.checkout(&ana, &held).await,
        server.checkout(&ben, &bens_hold).await,
    );
    server.pay(&anas, "approve").await.is(200);
    let ticketed = server.order_in(&anas, "ticketed").await;
    let ticket = format!(
        "/v1/tickets/{}",
        ticketed["tickets"][0]["ticket"].as_str().expect("a ticket")
    );
    for path in [
        format!("/v1/orders/{}", text(&anas, "order")),
        ticket.clone(),
        format!("{ticket}.svg"),
        format!("{ticket}.ics"),
    ] {
        // The calls carry Ben's pass, the key of Ben's order, or no credential.
        let by_pass = TestAnswer::of(ben.booking(Method::GET, &path))
            .await
            .expect("an answer");
        let by_key = server.ask(get(&path).by(&text(&bens, "order_key"))).await;
        let by_nobody = server.get(&path).await;
        for answer in [by_pass, by_key, by_nobody] {
            assert!(matches!(answer.status, 401 | 403 | 404), "{answer:?}");
            answer.problem(
                answer.status,
                answer.json()["code"].as_str().expect("a code"),
            );
        }
    }
    let now = server.read(&anas).await;
    for member in ["state", "seats", "total", "tickets", "history"] {
        assert_eq!(
            now[member], ticketed[member],
            "{member} of the order changed"
        );
    }
}
