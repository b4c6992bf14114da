//! Tests two card payments in a browser. One uses the provider's own form. The other comes too
//! late, so the buyer is asked to accept other seats.

use fairgate_servers::{
    FakeStripeServer, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET,
};
use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestShop, Visitor, text};

pub(crate) async fn selling_by_card(show: serde_json::Value) -> (FakeStripeServer, Server) {
    let stripe = FakeStripeServer::start(1)
        .await
        .expect("a port for the provider");
    let server = Server::with(&[
        ("FAIRGATE_PAYMENTS", "stripe"),
        ("FAIRGATE_STRIPE_SECRET_KEY", STRIPE_SECRET_KEY),
        ("FAIRGATE_STRIPE_WEBHOOK_SECRET", STRIPE_WEBHOOK_SECRET),
        ("FAIRGATE_STRIPE_PUBLISHABLE_KEY", STRIPE_PUBLISHABLE_KEY),
        ("FAIRGATE_STRIPE_URL", stripe.url()),
    ])
    .await;
    stripe.send_events_to(vec![server.at("/v1/payments/stripe/webhook")]);
    let promoter = Promoter::of(&server);
    promoter
        .on_sale(
            "3x10",
            show,
            json!({"title": "Night one", "method": "open"}),
        )
        .await;
    promoter.draw("sale").await;
    (stripe, server)
}

/// Opens an order's page as the buyer's browser would.
pub(crate) async fn open(browser: &Browser, server: &Server, ordered: &Value) {
    browser.go(&server.at("/")).await;
    let kept = json!({"key": text(ordered, "order_key"), "show": "night"}).to_string();
    browser
        .run(&format!(
            "localStorage.setItem({}, {})",
            json!(format!("fairgate.order.{}", text(ordered, "order"))),
            json!(kept)
        ))
        .await;
    browser
        .go(&server.at(&format!("/o/{}", text(ordered, "order"))))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_declined_card_the_buyer_can_pay_with_another_card() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let (_stripe, server) = selling_by_card(json!({"title": "Night one"})).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let held = server
        .try_hold(&ana, "night", &json!({"best": {"quantity": 2}}))
        .await
        .is(201);
    let ordered = server.checkout(&ana, &held).await;
    open(&browser, &server, &ordered).await;
    browser
        .until::<bool>("!document.querySelector('#stripe-pay').hidden && document.querySelector('#card-number') !== null")
        .await;
    browser.picture("6-order-card-form").await;
    browser.fill("#card-number", "pm_card_chargeDeclined").await;
    browser.click("#stripe-pay").await;
    let fault: String = browser
        .until("document.querySelector('#stripe-fault:not([hidden])').textContent")
        .await;
    assert!(
        fault.contains("declined") && fault.contains("You haven’t been charged"),
        "{fault}"
    );
    browser.picture("6-order-card-declined").await;
    browser
        .run("document.querySelector('#card-number').value = ''")
        .await;
    browser.fill("#card-number", "pm_card_visa").await;
    browser.click("#stripe-pay").await;
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    // The page has told the server of the second try, which had the whole time to pay.
    let done = server.order_in(&ordered, "ticketed").await;
    assert_eq!(done["pay_until"], ordered["pay_until"]);
    let mut steps = done["history"].as_array().expect("steps").iter();
    assert!(steps.any(|step| step["reason"] == "payment_tried_again"));
    browser.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_late_payment_the_buyer_is_offered_other_seats_and_accepts_them() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let short =
        json!({"title": "Night one", "hold_s": 1, "grace_s": 0, "claim_grace_s": 0, "pay_s": 1});
    let (stripe, server) = selling_by_card(short).await;
    let ana = Visitor::admitted(&server, "sale").await;
    let seats = json!({"seats": ["A-1", "A-2"]});
    let ordered = server
        .checkout(&ana, &server.try_hold(&ana, "night", &seats).await.is(201))
        .await;
    server.order_in(&ordered, "expired").await;
    let ben = Visitor::admitted(&server, "sale").await;
    let others = server
        .checkout(&ben, &server.try_hold(&ben, "night", &seats).await.is(201))
        .await;
    confirm(&stripe, &ben, &others).await;
    server.order_in(&others, "ticketed").await;
    confirm(&stripe, &ana, &ordered).await;
    server.order_in(&ordered, "awaiting_consent").await;
    open(&browser, &server, &ordered).await;
    let offered: Vec<String> = browser
        .until("(seats => seats.length > 0 && seats)([...document.querySelectorAll('#consent:not([hidden]) #offered li span')].map(seat => seat.textContent))")
        .await;
    assert_eq!(offered.len(), 2);
    assert!(!offered.iter().any(|label| label == "A-1" || label == "A-2"));
    let left: String = browser
        .until("document.querySelector('#consent-clock').textContent")
        .await;
    assert!(left.contains(':'), "{left}");
    browser.picture("6-order-late-money").await;
    browser.click("#consent-yes").await;
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    browser.close("Ana").await;
}

pub(crate) async fn confirm(stripe: &FakeStripeServer, visitor: &Visitor<'_>, ordered: &Value) {
    let order = visitor.server.read(ordered).await;
    let secret = order["payment"]["client"]["client_secret"]
        .as_str()
        .expect("a secret for the form");
    assert!(stripe.confirm(secret, "pm_card_visa", true).is_some());
}
