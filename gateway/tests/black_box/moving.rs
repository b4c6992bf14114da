//! Tests that a code brings a place to another device once, and that both devices then have one
//! place.

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestAnswer, Visitor, text};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_code_brings_the_same_place_once_and_it_gives_one_pass() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let mut ana = Visitor::joined(&server, "sale").await;
    let code = code_of(&ana).await;

    // Many devices use the code at once, and only one of them gets the place.
    let tries = (0..8).map(|_| bring(&server, "sale", &code));
    let answers = futures_util::future::join_all(tries).await;
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
