//! Tests that the pages of a checkout and of an order follow what happens elsewhere by themselves,
//! in words that are true.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::card_form::{confirm, open, selling_by_card};
use crate::harness::{
    Browser, Promoter, Server, TestAnswer, TestShop, Visitor, in_seconds, show, text, until,
};

/// How long the page may still show the old state after the server knows the new one. While an
/// order moves, its page reads it again within 2 s, which a test of the page's own script checks.
/// On a busy machine the answer and the drawing come on top. An order that does not move is read
/// once a minute, so a page that takes it for one fails here.
const SHOWN_WITHIN: Duration = Duration::from_secs(8);

/// Gives the held seats back on the page of their show, and returns whether they are given back.
const RELEASE: &str = "(() => {
    const bar = document.querySelector('#held');
    if (!window.pressed && window.fairgate && !bar.hidden) {
        window.pressed = true;
        document.querySelector('#release').click();
    }
    return window.pressed === true && bar.hidden;
})()";

/// Waits until the server's order is as wanted. Then waits until the page shows `shown`, which is
/// the page's case or, if it has none, its state. Returns the page's words.
async fn follows(
    browser: &Browser,
    (server, ordered): (&Server, &Value),
    wanted: impl Fn(&Value) -> bool,
    shown: &str,
) -> String {
    until(&format!("the order is {shown}"), async || {
        wanted(&server.read(ordered).await).then_some(())
    })
    .await;
    let known = Instant::now();
    let is_shown = format!(
        "(({{ dataset }}) => (dataset.case || dataset.state) === '{shown}')(document.querySelector('#order-state')) && document.querySelector('#state-box').innerText"
    );
    let words: String = browser.until(&is_shown).await;
    let took = known.elapsed();
    eprintln!("FIGURE {shown} is shown after {} ms", took.as_millis());
    assert!(took < SHOWN_WITHIN, "{shown} after {took:?}");
    words
}

async fn holds(server: &Server, seats: &[&str]) -> Value {
    let who = Visitor::admitted(server, "sale").await;
    let held = server
        .try_hold(&who, "night", &json!({ "seats": seats }))
        .await
        .is(201);
    server.checkout(&who, &held).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_shows_a_declined_payment_and_a_cancellation_in_another_tab() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"title": "Night one", "method": "open"});
    promoter.on_sale("3x10", json!({}), room).await;
    promoter.draw("sale").await;
    let ordered = holds(&server, &["A-1", "A-2"]).await;
    open(&ana, &server, &ordered).await;
    follows(
        &ana,
        (&server, &ordered),
        |order| order["state"] == "pending",
        "pending",
    )
    .await;
    server.pay(&ordered, "decline").await.is(200);
    let declined = |order: &Value| order["reason"] == "payment_declined";
    let words = follows(&ana, (&server, &ordered), declined, "declined").await;
    assert!(words.contains("You haven’t been charged"), "{words}");
    assert!(words.contains("one minute"), "{words}");
    ana.picture("15-order-declined").await;
    let cancel = "(() => {
        if (!window.pressed && !document.querySelector('#pay-box').hidden) {
            window.pressed = true;
            document.querySelector('#cancel').click();
        }
        return document.querySelector('#order-state').dataset.state === 'cancelled';
    })()";
    let page = server.at(&format!("/o/{}", text(&ordered, "order")));
    ana.in_other_tab(&page, cancel).await;
    let cancelled = |order: &Value| order["state"] == "cancelled";
    follows(&ana, (&server, &ordered), cancelled, "cancelled").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_lapsed_says_that_no_payment_arrived_until_one_arrives_late() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let short =
        json!({"title": "Night one", "hold_s": 1, "grace_s": 0, "claim_grace_s": 0, "pay_s": 4});
    let (stripe, server) = selling_by_card(short).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let seats = json!({"seats": ["A-1", "A-2"]});
    let held = server.try_hold(&ana, "night", &seats).await.is(201);
    let ordered = server.checkout(&ana, &held).await;
    open(&browser, &server, &ordered).await;
    let expired = |order: &Value| order["state"] == "expired";
    let words = follows(&browser, (&server, &ordered), expired, "expired").await;
    assert!(words.contains("no payment has arrived"), "{words}");
    browser.picture("15-order-lapsed").await;

    // Somebody else has the seats, so the late payment gets an offer of other seats.
    let ben = Visitor::admitted(&server, "sale").await;
    let held = server.try_hold(&ben, "night", &seats).await.is(201);
    let others = server.checkout(&ben, &held).await;
    confirm(&stripe, &ben, &others).await;
    server.order_in(&others, "ticketed").await;
    confirm(&stripe, &ana, &ordered).await;
    let offered = |order: &Value| order["state"] == "awaiting_consent";
    let words = follows(&browser, (&server, &ordered), offered, "awaiting_consent").await;
    assert!(!words.contains("no payment has arrived"), "{words}");
    // Without scripts, a form shows the seats and asks the same question.
    let (id, key) = (text(&ordered, "order"), text(&ordered, "order_key"));
    let plain = server.http.get(server.at(&format!("/o/{id}")));
    let plain = plain.header("cookie", format!("fgo_{id}={key}"));
    let plain = TestAnswer::of(plain).await.expect("an answer").text();
    for part in ["plain-offered", "plain-take"] {
        assert!(plain.contains(part), "{part}");
    }
    // The buyer declines in another tab, and gets the money back.
    let decline = "(() => {
        if (!window.pressed && !document.querySelector('#consent').hidden) {
            window.pressed = true;
            document.querySelector('#consent-no').click();
        }
        return document.querySelector('#order-state').dataset.state === 'cancelled';
    })()";
    let page = server.at(&format!("/o/{}", text(&ordered, "order")));
    browser.in_other_tab(&page, decline).await;
    let cancelled = |order: &Value| order["state"] == "cancelled";
    let words = follows(&browser, (&server, &ordered), cancelled, "cancelled").await;
    assert!(words.contains("money goes back"), "{words}");
    browser.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_payment_that_buys_nothing_is_said_to_go_back() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let short =
        json!({"title": "Night one", "hold_s": 1, "grace_s": 0, "claim_grace_s": 0, "pay_s": 1});
    let (stripe, server) = selling_by_card(short).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let seats = json!({"seats": ["A-1"]});
    let held = server.try_hold(&ana, "night", &seats).await.is(201);
    let ordered = server.checkout(&ana, &held).await;
    open(&browser, &server, &ordered).await;
    let expired = |order: &Value| order["state"] == "expired";
    follows(&browser, (&server, &ordered), expired, "expired").await;
    let ended = json!({"title": "Night one", "sells_until": in_seconds(-1)});
    let promoter = Promoter::of(&server);
    let ended = promoter.put("shows/night", &show("hall", ended)).await;
    ended.is(200);
    confirm(&stripe, &ana, &ordered).await;
    let back = |order: &Value| order["reason"] == "late_sales_ended";
    let words = follows(&browser, (&server, &ordered), back, "late_back").await;
    assert!(
        words.contains("money goes back") && !words.contains("charged"),
        "{words}"
    );
    browser.picture("15-order-late-money-back").await;
    browser.close("Ana").await;
}

/// Puts a show on sale in a room without a line, and holds its best two seats in the browser.
async fn at_the_checkout(ana: &Browser, changes: Value) -> Server {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"title": "Night one", "method": "open", "draw_at": in_seconds(-30)});
    promoter.on_sale("6x10", changes, room).await;
    let hall = json!({"plan": "grid:6x10", "name": "Große Halle", "city": "Berlin", "time_zone": "Europe/Berlin"});
    promoter.put("venues/hall", &hall).await.is(200);
    promoter.selling("sale").await;
    ana.go(&server.at("/s/night?seats=2")).await;
    ana.until::<bool>("Boolean(window.fairgate)").await;
    ana.click("#best-find").await;
    ana.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    ana.click("#to-checkout").await;
    ana.until::<bool>("document.querySelector('#basket') && !document.querySelector('#basket').hidden && document.querySelector('#total').textContent !== ''")
        .await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_shows_what_is_bought_from_the_start_and_that_another_tab_gave_it_back() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = at_the_checkout(&ana, json!({"title": "Night one"})).await;
    let path: String = ana.until("location.pathname").await;
    let sent = server.get(&path).await.text();
    for words in ["Night one", "Große Halle, Berlin", "(Berlin time)"] {
        assert!(sent.contains(words), "{words}: {sent}");
    }
    let said: String = ana.until("document.querySelector('main').innerText").await;
    for words in ["Night one", "Große Halle, Berlin", "€99.00", "€198.00"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    ana.picture("15-checkout").await;
    ana.in_other_tab(&server.at("/s/night"), RELEASE).await;
    let known = Instant::now();
    ana.until::<bool>("document.querySelector('#problem').dataset.code === 'hold_released' && document.querySelector('#buyer-form').hidden")
        .await;
    assert!(known.elapsed() < SHOWN_WITHIN, "{:?}", known.elapsed());
    ana.picture("15-checkout-given-back").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_says_at_once_that_its_time_is_over() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let _server = at_the_checkout(&ana, json!({"title": "Night one", "hold_s": 5})).await;
    ana.until::<bool>("document.querySelector('#problem').dataset.code === 'hold_expired' && document.querySelector('#buyer-form').hidden")
        .await;
    let late: bool = ana
        .until("!document.querySelector('#clock').textContent")
        .await;
    assert!(late);
    ana.picture("15-checkout-lapsed").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_show_says_that_another_tab_gave_its_seats_back() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = at_the_checkout(&ana, json!({"title": "Night one"})).await;
    ana.go(&server.at("/s/night")).await;
    ana.until::<bool>("window.fairgate && !document.querySelector('#held').hidden")
        .await;
    ana.in_other_tab(&server.at("/s/night"), RELEASE).await;
    let known = Instant::now();
    ana.until::<bool>("document.querySelector('#problem').dataset.code === 'hold_released' && document.querySelector('#held').hidden")
        .await;
    assert!(known.elapsed() < SHOWN_WITHIN, "{:?}", known.elapsed());
    ana.close("Ana").await;
}
