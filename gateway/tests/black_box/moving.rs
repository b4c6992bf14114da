//! Tests that a code brings a place to another device once, and that both devices then have one
//! place, with its pass, its basket and its order.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestAnswer, TestShop, Visitor, text};

async fn code_of(visitor: &Visitor<'_>) -> String {
    let made = visitor.post("place/move", &json!({})).await.is(200);
    assert!(made["expires_at"].is_string(), "{made}");
    text(&made, "code")
}

/// Joins with a code, from a device that has no place.
async fn bring(server: &Server, room: &str, code: &str) -> TestAnswer {
    let places = server.at(&format!("/v1/rooms/{room}/places"));
    TestAnswer::of(server.http.post(places).json(&json!({"move": code})))
        .await
        .expect("an answer")
}

/// Holds seats of the night, and returns the hold.
async fn hold(server: &Server, who: &Visitor<'_>, seats: &[&str]) -> Value {
    let wish = json!({ "seats": seats });
    server.try_hold(who, "night", &wish).await.is(201)
}

/// Holds and orders seats of the night, and returns the order.
async fn order(server: &Server, who: &Visitor<'_>, seats: &[&str]) -> Value {
    let held = hold(server, who, seats).await;
    server.checkout(who, &held).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_brings_the_same_place_once_and_it_gives_one_pass() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let mut ana = Visitor::joined(&server, "sale").await;
    let code = code_of(&ana).await;

    // Many devices use the code at once, and only one of them gets the place.
    let tries = (0..8).map(|_| bring(&server, "sale", &code));
    let answers = join_all(tries).await;
    let (brought, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|one| one.status == 200);
    assert_eq!(brought.len(), 1, "{answers:?}");
    for answer in refused {
        assert_eq!(answer.refusal(), (403, "code_used".to_owned()));
    }
    let joined = brought[0].json();
    assert_eq!(joined["number"], ana.number);
    assert!(brought[0].header("set-cookie").contains("fg_sale="));
    assert_eq!(
        promoter.room("sale").await["joined"],
        1,
        "it is no new place"
    );

    let mut phone = Visitor::new(&server, "sale");
    phone.place = text(&joined, "place");
    promoter.draw("sale").await;
    ana.claim().await;
    phone.claim().await;
    assert_eq!(phone.pass, ana.pass, "both devices have one pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_is_wrong_or_whose_place_has_ended_brings_nothing() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let ana = Visitor::joined(&server, "sale").await;
    let code = code_of(&ana).await;

    let last = if code.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{last}", &code[..code.len() - 1]);
    for wrong in ["", "abc", &ana.place, &changed] {
        let refused = bring(&server, "sale", wrong).await;
        assert_eq!(
            refused.refusal(),
            (403, "code_invalid".to_owned()),
            "{wrong}"
        );
    }
    let elsewhere = bring(&server, "everyday", &code).await;
    assert_eq!(elsewhere.refusal(), (403, "code_invalid".to_owned()));
    let nobody = Visitor::new(&server, "sale");
    let refused = nobody.post("place/move", &json!({})).await;
    assert_eq!(refused.refusal(), (401, "place_required".to_owned()));

    let places = server.at("/v1/rooms/sale/places");
    for field in ["secret", "code", "challenge"] {
        let beside = json!({"move": code, field: "ab"});
        let refused = TestAnswer::of(server.http.post(&places).json(&beside)).await;
        let refused = refused.expect("an answer").refusal();
        assert_eq!(refused, (422, "not_available".to_owned()), "{field}");
    }
    // A code is not used up when the device that has the place uses it.
    for _ in 0..2 {
        let here = ana.post("places", &json!({"move": code})).await.is(200);
        assert_eq!(here["number"], ana.number);
    }

    let bob = Visitor::joined(&server, "sale").await;
    let his = code_of(&bob).await;
    let revoked = json!({"visitor": bob.holder(), "reason": "resold"});
    promoter
        .post_json("rooms/sale/revoke", &revoked)
        .await
        .is(200);
    let refused = bring(&server, "sale", &his).await;
    assert_eq!(refused.refusal(), (403, "revoked".to_owned()));
    let no_code = bob.post("place/move", &json!({})).await;
    assert_eq!(no_code.refusal(), (403, "revoked".to_owned()));

    ana.leave().await.is(204);
    let left = bring(&server, "sale", &code).await;
    assert_eq!(left.refusal(), (410, "place_left".to_owned()));
    let no_code = ana.post("place/move", &json!({})).await;
    assert_eq!(no_code.refusal(), (410, "place_left".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_whose_place_ended_with_all_others_brings_nothing_and_says_why() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let ana = Visitor::joined(&server, "sale").await;
    let code = code_of(&ana).await;
    let reason = "the wrong prices were shown";
    let all = json!({"all": true, "reason": reason});
    promoter.post_json("rooms/sale/revoke", &all).await.is(200);
    for refused in [
        bring(&server, "sale", &code).await,
        ana.post("place/move", &json!({})).await,
    ] {
        let told = refused.problem(403, "revoked");
        assert_eq!(
            (&told["reason"], &told["note"]),
            (&json!("cleared"), &json!(reason))
        );
    }
    // Places of later visitors move as before.
    let bob = Visitor::joined(&server, "sale").await;
    let brought = bring(&server, "sale", &code_of(&bob).await).await.is(200);
    assert_eq!(brought["number"], bob.number);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_brings_a_browsers_place_to_another_browser_at_a_tap() {
    let (Some(ana), Some(phone)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    Visitor::joined(&server, "sale").await;
    ana.go(&server.at("/r/sale")).await;
    ana.click("#join").await;
    let number = "document.querySelector('#number').dataset.value === '1'";
    ana.until::<bool>(number).await;
    ana.click("#move-box summary").await;
    ana.click("#move-make").await;
    let link: String = ana
        .until("document.querySelector('#move-link').value")
        .await;
    ana.picture("lobby-move").await;

    phone.go(&link).await;
    phone.picture("lobby-moved-here").await;
    phone.click("#move-use").await;
    phone.until::<bool>(number).await;
    phone.until::<bool>("location.hash === ''").await;
    let joined: Value = promoter.room("sale").await;
    assert_eq!(joined["joined"], 2);

    promoter.draw("sale").await;
    phone.click("#turn").await;
    phone
        .until::<bool>("document.querySelector('#place').dataset.state === 'admitted'")
        .await;
    ana.close("Ana").await;
    phone.close("the phone").await;
}

/// Brings a visitor's place to another device without a browser. Returns the visitor there, and the
/// cookies that the answer sets.
async fn brought<'s>(ana: &Visitor<'s>) -> (Visitor<'s>, Vec<String>) {
    let code = code_of(ana).await;
    let places = ana.server.at(&format!("/v1/rooms/{}/places", ana.room));
    let body = json!({"move": code});
    let answer = ana.server.http.post(places).json(&body).send().await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), 200);
    let cookies = answer.headers().get_all("set-cookie").iter();
    let cookies = cookies.map(|cookie| cookie.to_str().expect("text").to_owned());
    let cookies: Vec<String> = cookies.collect();
    let joined: Value = answer.json().await.expect("JSON");
    let mut phone = Visitor::new(ana.server, &ana.room);
    phone.place = text(&joined, "place");
    (phone, cookies)
}

/// Returns the name and the value of the pass's cookie, or `None` if it is removed.
fn pass_cookie(cookies: &[String]) -> Option<&str> {
    let set = cookies
        .iter()
        .find(|cookie| cookie.starts_with("fgp_sale="));
    let pair = set.expect("the pass's cookie is set or removed");
    let pair = pair.split(';').next().expect("a pair");
    (pair != "fgp_sale=").then_some(pair)
}

/// Lists what the bearer of this cookie has of the show.
async fn own(server: &Server, cookie: &str) -> TestAnswer {
    let list = server.http.get(server.at("/v1/shows/night/holds"));
    TestAnswer::of(list.header("cookie", cookie))
        .await
        .expect("an answer")
}

fn holds(own: &Value) -> BTreeSet<String> {
    let holds = own["holds"].as_array().expect("a list");
    holds.iter().map(|hold| text(hold, "hold")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_moves_after_the_turn_brings_its_pass_its_basket_and_its_order() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let mut ana = Visitor::joined(&server, "sale").await;
    let (_, cookies) = brought(&ana).await;
    assert_eq!(pass_cookie(&cookies), None, "nobody has a pass yet");
    promoter.draw("sale").await;
    ana.claim().await;
    let order = order(&server, &ana, &["A-1"]).await;
    server.pay(&order, "approve").await.is(200);
    server.order_in(&order, "ticketed").await;
    let held = hold(&server, &ana, &["B-1", "B-2"]).await;

    let (phone, cookies) = brought(&ana).await;
    let cookie = pass_cookie(&cookies).expect("the place has a pass");
    let listed = own(&server, cookie).await.is(200);
    assert_eq!(holds(&listed), BTreeSet::from([text(&held, "hold")]));
    assert_eq!(listed["holds"][0]["seats"], held["seats"]);
    assert_eq!(listed["orders"].as_array().expect("a list").len(), 1);
    let key = text(&listed["orders"][0], "order_key");
    assert_eq!(listed["orders"][0]["order"], order["order"]);
    assert_eq!(key, text(&order, "order_key"));
    let read = server
        .http
        .get(server.at(&format!("/v1/orders/{}", text(&order, "order"))));
    let read = TestAnswer::of(read.bearer_auth(key))
        .await
        .expect("an answer");
    assert_eq!(read.is(200)["state"], "ticketed");
    // The phone orders what the first device holds, and both see that it is no basket any more.
    let bought = server.checkout(&ana, &listed["holds"][0]).await;
    server.pay(&bought, "approve").await.is(200);
    server.order_in(&bought, "ticketed").await;
    let after = own(&server, cookie).await.is(200);
    assert_eq!(holds(&after), BTreeSet::new());
    assert_eq!(after["orders"].as_array().expect("a list").len(), 2);
    // It is still one place with one pass.
    let again = phone.try_claim().await.is(201);
    assert_eq!(again["pass"], ana.pass.as_str());
    assert_eq!(promoter.room("sale").await["joined"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_devices_of_one_place_have_one_limit_and_nobody_else_sees_what_they_hold() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let show = json!({"seats_per_visitor": 4});
    promoter.on_sale("8x10", show, json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let ben = Visitor::admitted(&server, "sale").await;
    let (mut phone, _) = brought(&ana).await;
    phone.claim().await;
    assert_eq!(phone.pass, ana.pass);
    // Both devices hold seats at the same time, as when a place moves while seats are being taken.
    let rows = ["A", "B", "C", "D", "E", "F", "G", "H"];
    let tries = rows.iter().enumerate().map(|(at, row)| {
        let device = if at % 2 == 0 { &ana } else { &phone };
        let seats = json!({"seats": [format!("{row}-1"), format!("{row}-2")]});
        let server = &server;
        async move { server.try_hold(device, "night", &seats).await }
    });
    let answers = join_all(tries).await;
    let taken: BTreeSet<String> = answers
        .iter()
        .filter(|answer| answer.status == 201)
        .map(|answer| text(&answer.json(), "hold"))
        .collect();
    assert_eq!(taken.len(), 2, "{answers:?}");
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!(refused.refusal(), (422, "limit_exceeded".to_owned()));
    }
    let list = async |visitor: &Visitor<'_>| {
        let list = visitor.booking(Method::GET, "/v1/shows/night/holds");
        TestAnswer::of(list).await.expect("an answer")
    };
    for device in [&ana, &phone] {
        assert_eq!(holds(&list(device).await.is(200)), taken);
    }
    assert_eq!(holds(&list(&ben).await.is(200)), BTreeSet::new());
    let nobody = list(&Visitor::new(&server, "sale")).await;
    assert_eq!(nobody.refusal(), (429, "waiting_room".to_owned()));
    // Leaving on one device ends the place on both. What was begun can still be read.
    ana.leave().await.is(204);
    let claimed = phone.try_claim().await;
    assert_eq!(claimed.refusal(), (410, "place_left".to_owned()));
    assert_eq!(holds(&list(&phone).await.is(200)), taken);
}
