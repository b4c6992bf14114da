//! Tests how a browser shows seats that cost nothing, and seats that cost less than the payment
//! provider accepts.

use fairgate_servers::{
    FakeStripeServer, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET,
};
use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, in_seconds};

/// Puts a show on sale in a room without a line. `show` holds the changes to its document.
async fn on_sale(server: &Server, show: Value) {
    let promoter = Promoter::of(server);
    let room = json!({"title": "Night one", "method": "open", "draw_at": in_seconds(-30)});
    promoter.on_sale("6x10", show, room).await;
    promoter.selling("sale").await;
}

/// Holds the best two seats and fills in the checkout.
async fn at_the_checkout(browser: &Browser, server: &Server) {
    browser.go(&server.at("/s/night?seats=2")).await;
    browser.until::<bool>("Boolean(window.fairgate)").await;
    browser.click("#best-find").await;
    browser
        .until::<bool>("!document.querySelector('#held').hidden")
        .await;
    browser.click("#to-checkout").await;
    browser
        .until::<bool>(
            "document.querySelector('#pay') && document.querySelector('#total').textContent !== ''",
        )
        .await;
    browser.fill("#buyer-name", "Ana Fan").await;
    browser.fill("#buyer-email", "ana@example.org").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn free_tickets_are_made_at_once_and_nobody_is_asked_to_pay() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::with(&[("FAIRGATE_PAYMENTS", "none")]).await;
    let free = json!({
        "title": "Night one", "prices": {"cat1": 0, "cat2": 0}, "refunds": [{"until_h": 1, "fee_pct": 10}],
    });
    on_sale(&server, free).await;
    at_the_checkout(&ana, &server).await;
    let words: String = ana
        .until("!document.querySelector('#free-hint').hidden && document.querySelector('#pay').textContent")
        .await;
    assert_eq!(words, "Get my tickets");
    ana.picture("13-free-checkout").await;
    ana.click("#pay").await;
    ana.until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    let page: String = ana
        .until(
            "document.querySelector('#pay-box').hidden && document.querySelector('main').innerText",
        )
        .await;
    for word in ["Paid", "the old seats", "approved"] {
        assert!(!page.contains(word), "{word}: {page}");
    }
    assert!(page.contains("They cost nothing"), "{page}");
    ana.picture("13-free-tickets").await;
    for nth in 1..=2 {
        ana.click(&format!("#refund-tickets li:nth-child({nth}) input"))
            .await;
    }
    ana.click("#refund-ask summary").await;
    ana.click("#refund").await;
    ana.until::<bool>("document.querySelector('#order-state').dataset.state === 'refunded'")
        .await;
    let page: String = ana.until("document.querySelector('main').innerText").await;
    assert!(page.contains("There was no money to give back"), "{page}");
    ana.picture("13-free-given-back").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sum_below_stripes_minimum_is_refused_with_the_minimum_and_the_seats_stay_held() {
    let Some(ana) = Browser::open().await else {
        return;
    };
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
    let cheap = json!({"title": "Night one", "prices": {"cat1": 20, "cat2": 20}});
    on_sale(&server, cheap).await;
    at_the_checkout(&ana, &server).await;
    ana.click("#pay").await;
    let told: String = ana
        .until("document.querySelector('#problem:not([hidden])').innerText")
        .await;
    for words in ["€0.40", "€0.50", "are held until"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    ana.picture("13-sum-too-small").await;
    assert_eq!(stripe.calls(), 0);
    ana.end().await;
}
