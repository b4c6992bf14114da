//! Tests the waitlist from outside: offers on a socket, a server that is killed, and a browser that
//! waits.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Browser, Live, Promoter, Server, TestAnswer, TestShop, Visitor, text, until};

const LIST: &str = "/v1/shows/night/waitlist";

/// Puts a hall of eight seats on sale, and fills it with two baskets of four seats.
async fn full(server: &Server) -> [(Visitor<'_>, Value); 2] {
    let promoter = Promoter::of(server);
    let open = json!({"method": "open", "draw_at": "2020-01-01T00:00:00Z", "opens_at": "2020-01-01T00:00:00Z", "title": "Night one"});
    let show = json!({"hold_s": 1_200, "title": "Night one"});
    promoter.on_sale("2x4", show, open).await;
    [basket(server, "A").await, basket(server, "B").await]
}

async fn basket<'a>(server: &'a Server, row: &str) -> (Visitor<'a>, Value) {
    let who = Visitor::admitted(server, "sale").await;
    let seats: Vec<String> = (1..5).map(|n| format!("{row}-{n}")).collect();
    let held = server
        .try_hold(&who, "night", &json!({ "seats": seats }))
        .await
        .is(201);
    (who, held)
}

pub async fn give_back((who, held): &(Visitor<'_>, Value)) {
    let path = format!("/v1/holds/{}", text(held, "hold"));
    let answer = TestAnswer::of(who.booking(Method::DELETE, &path)).await;
    answer.expect("an answer").is(204);
}

async fn join(who: &Visitor<'_>, quantity: u32) -> Value {
    let body = json!({ "quantity": quantity });
    who.send(Method::POST, LIST, &body).await.is(201)
}

async fn wait_for_state(who: &Visitor<'_>, state: &str) -> Value {
    until(
        &format!("the waitlist state of the visitor is {state}"),
        async || {
            let answer = TestAnswer::of(who.booking(Method::GET, LIST)).await.ok()?;
            let waiter = answer.is(200);
            (waiter["state"] == state).then_some(waiter)
        },
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_reaches_the_visitors_socket_and_a_kill_loses_nobody_on_the_waitlist() {
    let server = Server::start().await;
    let baskets = full(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let ben = Visitor::admitted(&server, "sale").await;
    let mut socket = Live::open(&ana).await;
    assert_eq!(join(&ana, 2).await["ahead"], 0);
    assert_eq!(join(&ben, 3).await["ahead"], 1);
    give_back(&baskets[0]).await;
    let offer = socket.text("offer").await;
    assert_eq!(offer["show"], "night");
    assert_eq!(offer["seats"].as_array().map(Vec::len), Some(2));
    let seen = wait_for_state(&ana, "offered").await["offer"].clone();
    assert_eq!(
        (&seen["hold"], &seen["seats"], &seen["expires_at"]),
        (&offer["hold"], &offer["seats"], &offer["expires_at"])
    );
    server.kill();
    server.restart().await;
    // The killed process loses baskets and offers, but not the waitlist. All seats are free again,
    // so both parties are offered seats.
    let mut seats = Vec::new();
    for (who, size) in [(&ana, 2), (&ben, 3)] {
        let waiter = wait_for_state(who, "offered").await;
        assert_eq!(waiter["missed"], 0);
        let offered = waiter["offer"]["seats"].as_array().cloned();
        let offered = offered.expect("a list");
        assert_eq!(offered.len(), size);
        assert!(offered.iter().all(|seat| !seats.contains(seat)));
        seats.extend(offered);
    }
    let hold = wait_for_state(&ana, "offered").await["offer"]["hold"].clone();
    let path = format!("/v1/holds/{}/order", hold.as_str().expect("an id"));
    let buyer = json!({"buyer": {"name": "Ana", "email": "ana@example.org"}});
    ana.send(Method::POST, &path, &buyer).await.is(201);
    assert_eq!(wait_for_state(&ana, "ended").await["reason"], "taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_visitor_waits_no_more_and_the_next_party_gets_the_seats() {
    let server = Server::start().await;
    let baskets = full(&server).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let ben = Visitor::admitted(&server, "sale").await;
    join(&ana, 2).await;
    join(&ben, 2).await;
    let body = json!({"visitor": ana.holder(), "reason": "resold on another site"});
    let promoter = Promoter::of(&server);
    let revoked = promoter.post_json("rooms/sale/revoke", &body).await;
    assert_eq!(revoked.is(200)["revoked"], 1);
    assert_eq!(wait_for_state(&ana, "ended").await["reason"], "left");
    give_back(&baskets[0]).await;
    wait_for_state(&ben, "offered").await;
    let again = ana.send(Method::POST, LIST, &json!({"quantity": 2})).await;
    again.problem(401, "pass_stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_waits_is_offered_seats_and_takes_them() {
    let (Some(ana), Some(ben)) = (Browser::open().await, Browser::open().await) else {
        return;
    };
    let server = Server::start().await;
    let baskets = full(&server).await;
    for (browser, whose) in [(&ana, "ana"), (&ben, "ben")] {
        browser.go(&server.at("/r/sale")).await;
        browser.click("#join").await;
        browser
            .until::<bool>("!document.querySelector('#turn-form').hidden")
            .await;
        browser.click("#turn").await;
        browser
            .until::<bool>("!document.querySelector('#go-seats').hidden")
            .await;
        browser.click("#go-seats a").await;
        browser
            .until::<bool>("!document.querySelector('#wait-form').hidden")
            .await;
        if whose == "ana" {
            browser.picture("10-wait-invited").await;
        }
        browser.click("#wait-join").await;
        state(browser, "waiting").await;
    }
    ben.picture("11-wait-second-in-line").await;
    let lead: String = ben
        .until("document.querySelector('#wait-lead').textContent")
        .await;
    assert!(lead.contains('1'), "{lead}");
    give_back(&baskets[0]).await;
    for browser in [&ana, &ben] {
        state(browser, "offered").await;
    }
    let clock: String = ana
        .until("document.querySelector('#wait-clock').textContent")
        .await;
    assert!(clock.contains(':'), "{clock}");
    // Two seats at 99.00 EUR each are offered with their prices.
    let prices: String = ana
        .until("!document.querySelector('#wait-sum').hidden && document.querySelector('#wait-seats').textContent + document.querySelector('#wait-total').textContent")
        .await;
    assert!(
        prices.contains("€99.00") && prices.ends_with("€198.00"),
        "{prices}"
    );
    ana.picture("12-wait-offered").await;
    // A page that is loaded again shows its offer.
    ana.go(&server.at("/s/night")).await;
    state(&ana, "offered").await;
    ana.click("#wait-take").await;
    has_basket(&ana).await;
    ana.picture("13-wait-taken").await;
    // A page that is loaded again shows the basket, and waits no longer.
    ana.go(&server.at("/s/night")).await;
    has_basket(&ana).await;
    ana.click("#to-checkout").await;
    ana.until::<bool>("document.querySelector('#pay') && true")
        .await;
    // Nobody else waits, so Ben is offered seats again after he declined. The page counts one
    // missed offer.
    ben.click("#wait-decline").await;
    ben.until::<bool>("document.querySelector('#wait').dataset.missed === '1'")
        .await;
    state(&ben, "offered").await;
    ben.click("#wait-leave").await;
    state(&ben, "none").await;
    for (browser, whose) in [(ana, "Ana"), (ben, "Ben")] {
        browser.close(whose).await;
    }
}

/// Waits until the page shows a basket in place of the waitlist, and checks its clock: the show's
/// baskets last twenty minutes.
async fn has_basket(browser: &Browser) {
    let clock: String = browser
        .until("!document.querySelector('#held').hidden && document.querySelector('#wait').hidden && document.querySelector('#held-clock').textContent")
        .await;
    let mut minutes = ["20:", "19:", "18:"].into_iter();
    assert!(minutes.any(|begins| clock.contains(begins)), "{clock}");
}

pub async fn state(browser: &Browser, state: &str) {
    let condition = format!(
        "document.querySelector('#wait').dataset.state === {}",
        json!(state)
    );
    browser.until::<bool>(&condition).await;
}
