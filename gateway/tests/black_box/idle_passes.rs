//! Tests how visits end before their passes run out: because nobody does anything, and because
//! baskets lapse. Whoever had a pass is called again behind those who stood in line.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Browser, Live, Promoter, Server, TestAnswer, TestShop, Visitor, text, until};

/// The shortest `pass_idle_s` that a room can have.
const IDLE_S: u64 = 10;

async fn sale(server: &Server, show: Value, room: Value) {
    sale_of("4x10", server, show, room).await;
}

async fn sale_of(plan: &str, server: &Server, show: Value, mut room: Value) {
    room["method"] = json!("fifo");
    room["pass_idle_s"] = json!(IDLE_S);
    let promoter = Promoter::of(server);
    promoter.on_sale(plan, show, room).await;
    promoter.draw("sale").await;
}

async fn hold(who: &Visitor<'_>, seat: &str) -> TestAnswer {
    let wish = json!({ "seats": [seat] });
    who.server.try_hold(who, "night", &wish).await
}

/// Waits until the visitor's visit has ended, and returns the answer to a hold.
async fn ended(who: &Visitor<'_>, seat: &str) -> Value {
    until("the visit ends", async || {
        let place = who.look().await;
        place["pass_ended"].is_string().then_some(())
    })
    .await;
    let refused = hold(who, seat).await;
    refused.problem(401, "pass_ended")
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_nothing_is_asked_and_then_waits_behind_the_others() {
    let server = Server::start().await;
    sale(&server, json!({}), json!({"max_inside": 1})).await;
    let mut idle = Visitor::admitted(&server, "sale").await;
    let since = Instant::now();
    let mut next = Visitor::joined(&server, "sale").await;
    let mut socket = Live::open(&idle).await;
    let asked = socket.text("idle").await;
    assert!(asked["ends_at"].is_string(), "{asked}");
    let ends_in_s = asked["ends_in_s"].as_u64().expect("seconds");
    assert!((IDLE_S / 2..=IDLE_S).contains(&ends_in_s), "{asked}");
    // Any sign of the visitor takes the question away.
    idle.post("place/here", &Value::Null).await.is(204);
    let taken_away = socket.text("idle").await;
    assert_eq!(taken_away["ends_at"], Value::Null);
    let told = socket.text("pass_ended").await;
    assert_eq!(told["cause"], "idle");
    // A page that was not there at that moment is told when it comes back.
    let mut back = Live::open(&idle).await;
    assert_eq!(back.text("pass_ended").await["cause"], "idle");
    let lasted = since.elapsed();
    assert!(
        lasted > Duration::from_secs(IDLE_S + IDLE_S / 2),
        "{lasted:?}"
    );
    let refused = ended(&idle, "A-1").await;
    assert_eq!(
        (&refused["cause"], &refused["room"]),
        (&json!("idle"), &json!("sale"))
    );
    idle.post("place/here", &Value::Null)
        .await
        .problem(401, "pass_ended");
    let verified = server.http.get(server.at("/v1/verify?room=sale"));
    let verified = TestAnswer::of(verified.bearer_auth(&idle.pass)).await;
    verified.expect("an answer").problem(401, "pass_ended");
    // The other one stood in line, so it enters first.
    next.claim().await;
    hold(&next, "A-2").await.is(201);
    let place = idle.look().await;
    assert_eq!(
        (&place["pass_ended"], &place["rank"]),
        (&json!("idle"), &json!(0))
    );
    assert_eq!(idle.try_claim().await.status, 409, "the room is full");
    next.leave().await.is(204);
    let first_pass = idle.pass.clone();
    idle.claim().await;
    assert_ne!(idle.pass, first_pass);
    hold(&idle, "A-1").await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_and_reads_of_seats_keep_a_pass_and_an_open_socket_does_not() {
    let server = Server::start().await;
    sale(&server, json!({"hold_s": 30}), json!({})).await;
    let [with_basket, reader, silent] = [
        Visitor::admitted(&server, "sale").await,
        Visitor::admitted(&server, "sale").await,
        Visitor::admitted(&server, "sale").await,
    ];
    let _socket = Live::open(&silent).await;
    hold(&with_basket, "A-1").await.is(201);
    let since = Instant::now();
    let read = async || {
        let path = "/v1/shows/night/seats";
        let read = reader.send(Method::GET, path, &Value::Null).await;
        assert_eq!(read.status, 200);
    };
    until("the silent visitor's visit ends", async || {
        read().await;
        let place = silent.look().await;
        (place["pass_ended"] == "idle").then_some(())
    })
    .await;
    assert!(since.elapsed() >= Duration::from_secs(IDLE_S));
    // The time of the visitor with a basket begins when the basket ends.
    until("the basket's time is over", async || {
        read().await;
        (since.elapsed() > Duration::from_secs(32)).then_some(())
    })
    .await;
    for who in [&with_basket, &reader] {
        let place = who.look().await;
        assert_eq!(place["state"], "admitted", "{place}");
    }
    until("the visit ends after the basket", async || {
        read().await;
        let place = with_basket.look().await;
        (place["pass_ended"] == "idle").then_some(())
    })
    .await;
    hold(&reader, "A-3").await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_ends_after_as_many_lapsed_baskets_as_the_room_allows() {
    let server = Server::start().await;
    let show = json!({"hold_s": 2, "grace_s": 1, "seats_per_visitor": 4});
    sale(&server, show, json!({"lapses_max": 2})).await;
    let mut who = Visitor::admitted(&server, "sale").await;
    let mut socket = Live::open(&who).await;
    let given_back = hold(&who, "A-4").await.is(201);
    let path = format!("/v1/holds/{}", given_back["hold"].as_str().expect("an id"));
    who.send(Method::DELETE, &path, &Value::Null).await.is(204);
    for seat in ["A-1", "A-2"] {
        hold(&who, seat).await.is(201);
        let lapsed = |frame: &Value| frame["state"] == "lapsed";
        socket.text_where("hold", lapsed).await;
    }
    assert_eq!(socket.text("pass_ended").await["cause"], "lapses");
    let refused = ended(&who, "A-3").await;
    assert_eq!(refused["cause"], "lapses");
    // Nobody else waits, so the visitor is called again at once.
    who.claim().await;
    hold(&who, "A-3").await.is(201);
}

/// A visitor takes seats after the deadline of the last basket, but before the basket has lapsed.
#[tokio::test(flavor = "multi_thread")]
async fn seats_that_are_taken_while_the_last_basket_lapses_are_free_when_the_visit_ends() {
    let server = Server::start().await;
    let show = json!({"hold_s": 10, "grace_s": 3, "seats_per_visitor": 4});
    sale(&server, show, json!({"lapses_max": 1})).await;
    let who = Visitor::admitted(&server, "sale").await;
    let mut socket = Live::open(&who).await;
    let first = hold(&who, "A-1").await.is(201);
    let deadline: Timestamp = text(&first, "expires_at").parse().expect("a time");
    until("the deadline is over", async || {
        (Timestamp::now() > deadline).then_some(())
    })
    .await;
    let taken = hold(&who, "A-2").await.is(201);
    assert_eq!(socket.text("pass_ended").await["cause"], "lapses");
    let path = format!("/v1/holds/{}", text(&taken, "hold"));
    until("the seat is free", async || {
        let read = who.send(Method::GET, &path, &Value::Null).await;
        (read.status != 200).then_some(())
    })
    .await;
    let deadline: Timestamp = text(&taken, "expires_at").parse().expect("a time");
    assert!(Timestamp::now() < deadline, "the basket was ended early");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_without_a_fitting_seat_does_not_move_the_visitor_behind_the_line() {
    let server = Server::start().await;
    sale_of("1x2", &server, json!({}), json!({"max_inside": 2})).await;
    let buyer = Visitor::admitted(&server, "sale").await;
    let unlucky = Visitor::admitted(&server, "sale").await;
    let waiting = Visitor::joined(&server, "sale").await;
    let pair = json!({"best": {"quantity": 2}});
    server.try_hold(&buyer, "night", &pair).await.is(201);
    let one = json!({"best": {"quantity": 1}});
    let none = server.try_hold(&unlucky, "night", &one).await;
    none.problem(409, "best_available_not_found");
    let turn = async |who: &Visitor<'_>| {
        let place = who.look().await;
        (place["pass_ended"].clone(), place["turn"].clone())
    };
    until("the visit ends", async || {
        (turn(&unlucky).await == (json!("idle"), json!(1))).then_some(())
    })
    .await;
    assert_eq!(turn(&waiting).await, (Value::Null, json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_asks_before_the_turn_ends_and_any_key_keeps_it() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    sale(&server, json!({}), json!({})).await;
    ana.go(&server.at("/r/sale")).await;
    ana.click("#join").await;
    ana.until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    ana.click("#turn").await;
    ana.until::<bool>("document.querySelector('#place').dataset.state === 'admitted'")
        .await;
    ana.go(&server.at("/s/night")).await;
    let asked = "document.querySelector('#still[open]') !== null";
    ana.until::<bool>(asked).await;
    ana.fits("the question").await;
    ana.picture("9-still-there").await;
    let focused: String = ana.until("document.activeElement.id").await;
    assert_eq!(focused, "still-yes", "a screen reader hears the question");
    ana.press_key("Tab").await;
    ana.until::<bool>("document.querySelector('#still') === null")
        .await;
    // The question comes again, and this time nobody answers.
    ana.until::<bool>(asked).await;
    let told = ana
        .until::<String>("document.querySelector('#problem:not([hidden])')?.dataset.code === 'pass_ended' && document.querySelector('#problem').innerText")
        .await;
    assert!(told.contains("Your turn is over"), "{told}");
    ana.picture("9-turn-over").await;
    let lobby: String = ana
        .until("document.querySelector('#problem a').pathname")
        .await;
    assert_eq!(lobby, "/r/sale");
    ana.close("Ana").await;
}
