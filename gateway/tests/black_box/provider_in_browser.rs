//! Tests what a buyer sees if something happens to the payment at the provider itself: a dispute, a
//! refund in the provider's own pages, a payment that was cancelled there.

use serde_json::{Value, json};

use crate::card_form::{confirm, open, selling_by_card};
use crate::harness::{
    Browser, DOOR_KEY, Promoter, Server, TestAnswer, TestShop, Visitor, post, text, until,
};

/// Buys two seats by card, and opens the order's page once the tickets are there.
async fn bought(
    browser: &Browser,
    stripe: &fairgate_servers::FakeStripeServer,
    server: &Server,
) -> Value {
    let ana = Visitor::admitted(server, "sale").await;
    let wish = json!({"seats": ["A-1", "A-2"]});
    let held = server.try_hold(&ana, "night", &wish).await.is(201);
    let ordered = server.checkout(&ana, &held).await;
    confirm(stripe, &ana, &ordered).await;
    server.order_in(&ordered, "ticketed").await;
    open(browser, server, &ordered).await;
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    ordered
}

/// Pays with the form that the page shows, and returns whether the ticket is there. The page puts a
/// new form in the place of the first one, so each form is used once.
const PAY_ANEW: &str = "(() => {
    const card = document.querySelector('#card-number');
    const pay = document.querySelector('#stripe-pay');
    if (card && !card.dataset.used && !pay.disabled) {
        card.dataset.used = 'yes';
        card.value = 'pm_card_visa';
        card.dispatchEvent(new Event('input', { bubbles: true }));
        pay.click();
    }
    return document.querySelectorAll('#tickets svg').length === 1;
})()";

fn payment_of(ordered: &Value) -> String {
    text(&ordered["payment"], "payment")
}

/// Opens the order's page once the order is as wanted, and waits until the page shows this case or
/// state. Returns the page's words.
async fn opened(
    browser: &Browser,
    (server, ordered): (&Server, &Value),
    wanted: impl Fn(&Value) -> bool,
    shown: &str,
) -> String {
    server.order_once(ordered, wanted).await;
    let page = server.at(&format!("/o/{}", text(ordered, "order")));
    browser.go(&page).await;
    let is_shown = format!(
        "(({{ dataset }}) => (dataset.case || dataset.state) === '{shown}')(document.querySelector('#order-state')) && document.querySelector('#state-box').innerText"
    );
    browser.until(&is_shown).await
}

/// Returns the order's page as a browser without scripts gets it.
async fn without_scripts(server: &Server, ordered: &Value) -> String {
    let (id, key) = (text(ordered, "order"), text(ordered, "order_key"));
    let page = server.http.get(server.at(&format!("/o/{id}")));
    let page = page.header("cookie", format!("fgo_{id}={key}"));
    TestAnswer::of(page).await.expect("an answer").text()
}

async fn scan(server: &Server, ticket: &str) -> TestAnswer {
    let path = format!("/v1/tickets/{ticket}/scan");
    server.ask(post(&path, &json!({})).by(DOOR_KEY)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disputed_payment_blocks_the_tickets_on_every_page_until_the_bank_has_decided() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let (stripe, server) = selling_by_card(json!({"title": "Night one"})).await;
    let ordered = bought(&browser, &stripe, &server).await;
    let ticket = text(&server.read(&ordered).await["tickets"][0], "ticket");

    assert!(stripe.open_dispute(&payment_of(&ordered)));
    let disputed = |order: &Value| order["disputed"] == true;
    let words = opened(&browser, (&server, &ordered), disputed, "disputed").await;
    assert!(words.contains("disputed at the buyer’s bank"), "{words}");
    browser
        .until::<bool>("document.querySelector('#tickets-box').hidden && [...document.querySelectorAll('#history li')].at(-1).innerText.includes(': The payment is disputed')")
        .await;
    browser.picture("16-order-disputed").await;
    let plain = without_scripts(&server, &ordered).await;
    assert!(plain.contains("Your tickets are blocked"));
    assert!(!plain.contains("plain-tickets"));
    scan(&server, &ticket).await.problem(409, "ticket_blocked");
    browser.go(&server.at(&format!("/t/{ticket}"))).await;
    browser
        .until::<bool>("document.body.innerText.includes('This ticket is blocked')")
        .await;
    browser.picture("16-ticket-blocked").await;

    assert!(stripe.close_dispute(&payment_of(&ordered), true));
    let won = |order: &Value| order["disputed"] != true;
    let words = opened(&browser, (&server, &ordered), won, "ticketed").await;
    assert!(!words.contains("disputed"), "{words}");
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    let plain = without_scripts(&server, &ordered).await;
    assert!(plain.contains("plain-tickets"));
    scan(&server, &ticket).await.is(200);
    browser.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_the_provider_gave_back_is_told_on_the_orders_page() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let (stripe, server) = selling_by_card(json!({"title": "Night one"})).await;
    let ordered = bought(&browser, &stripe, &server).await;
    let total = ordered["payment"]["amount"]["amount"].as_i64();
    let total = total.expect("a sum");
    // After a part of it, the tickets stay, and the promoter is asked which ones it was for.
    assert!(stripe.refund_in_dashboard(&payment_of(&ordered), total / 2));
    let promoter = Promoter::of(&server);
    until("the part is listed", async || {
        let listed = promoter.get("attention").await.is(200);
        (listed.as_array()?.len() == 1).then_some(())
    })
    .await;
    browser
        .go(&server.at(&format!("/o/{}", text(&ordered, "order"))))
        .await;
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    browser.picture("16-order-half-given-back").await;

    assert!(stripe.refund_in_dashboard(&payment_of(&ordered), total - total / 2));
    let refunded = |order: &Value| order["state"] == "refunded";
    let words = opened(&browser, (&server, &ordered), refunded, "refunded").await;
    assert!(words.contains("back"), "{words}");
    browser.picture("16-order-given-back-at-the-provider").await;
    browser.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_payment_was_cancelled_at_the_provider_the_buyer_pays_anew_on_the_same_page() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let (stripe, server) = selling_by_card(json!({"title": "Night one"})).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let wish = json!({"seats": ["A-1"]});
    let held = server.try_hold(&ana, "night", &wish).await.is(201);
    let ordered = server.checkout(&ana, &held).await;
    let secret = server.read(&ordered).await["payment"]["client"]["client_secret"].clone();
    open(&browser, &server, &ordered).await;
    browser
        .until::<bool>("!!document.querySelector('#card-number')")
        .await;
    assert!(stripe.cancel_in_dashboard(&payment_of(&ordered)));
    let anew = |order: &Value| {
        let now = &order["payment"]["client"]["client_secret"];
        order["state"] == "pending" && now.is_string() && *now != secret
    };
    server.order_once(&ordered, anew).await;
    browser
        .until::<bool>("document.querySelector('#history').innerText.includes('The payment was cancelled at the payment provider')")
        .await;
    browser.picture("16-order-paid-anew").await;
    browser.until::<bool>(PAY_ANEW).await;
    browser.close("Ana").await;
}
