//! Tests an exchange on the order's page in a browser: the difference to a dearer night is paid
//! first, and the old tickets stay valid until then.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server};

#[tokio::test(flavor = "multi_thread")]
async fn two_seats_are_exchanged_for_a_dearer_night_and_then_for_other_seats_of_that_night() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"title": "Two nights", "method": "open", "shows": ["night*"], "draw_at": crate::harness::in_seconds(-30)});
    promoter
        .on_sale(
            "6x10",
            json!({"title": "Night one", "exchange": {"cheaper": "refund"}}),
            room,
        )
        .await;
    let later = json!({
        "venue": "hall", "title": "Night two", "starts_at": "2099-06-02T20:00:00+02:00", "currency": "EUR",
        "prices": {"cat1": 12_000, "cat2": 8_000}, "exchange": {"cheaper": "refund"},
    });
    promoter.put("shows/night-2", &later).await.is(200);
    // The order cannot be exchanged for a show of another on-sale, nor for a cancelled night.
    promoter.put("shows/play", &later).await.is(200);
    promoter.put("shows/night-3", &later).await.is(200);
    let cancelled = promoter.post_json("shows/night-3/cancel", &json!({})).await;
    cancelled.is(200);
    promoter.selling("sale").await;
    buy_two(&ana, &server).await;
    ana.until::<bool>("document.querySelectorAll('#exchange-show option').length === 2")
        .await;
    ana.run("document.querySelector('#exchange-show').value = 'night-2'")
        .await;
    ana.click("#exchange-ask summary").await;
    ana.picture("13-exchange-asked").await;
    ana.click("#exchange").await;
    // The new order waits until the difference is paid, and the old tickets are still valid.
    ana.until::<bool>("document.querySelector('#approve') && !document.querySelector('#sandbox').hidden && document.querySelector('#show-title').textContent.includes('Night two')")
        .await;
    let told: String = ana
        .until("!document.querySelector('#difference').hidden && document.querySelector('#difference').textContent")
        .await;
    assert!(told.contains("€42.00"), "{told}");
    ana.picture("13-exchange-to-pay").await;
    ana.click("#approve").await;
    ana.until::<bool>("document.querySelectorAll('#tickets li').length === 2")
        .await;
    // An exchange for the same price needs no payment.
    ana.until::<bool>("document.querySelectorAll('#exchange-show option').length === 2 && document.querySelector('#exchange-show').value === 'night-2'")
        .await;
    let before: String = ana.until("location.pathname").await;
    ana.click("#exchange-ask summary").await;
    ana.click("#exchange").await;
    ana.until::<bool>(&format!(
        "location.pathname !== '{before}' && document.querySelectorAll('#tickets li').length === 2"
    ))
    .await;
    ana.go(&server.at(&before)).await;
    ana.until::<bool>("document.querySelector('#order-state').dataset.state === 'exchanged' && !document.querySelector('#exchanged').hidden")
        .await;
    ana.picture("13-exchanged").await;
    ana.close("Ana").await;
}

async fn buy_two(ana: &Browser, server: &Server) {
    ana.go(&server.at("/s/night?seats=2")).await;
    ana.until::<bool>("Boolean(window.fairgate)").await;
    ana.click("#best-find").await;
    ana.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    ana.click("#to-checkout").await;
    ana.until::<bool>(
        "document.querySelector('#pay') && document.querySelector('#total').textContent !== ''",
    )
    .await;
    ana.fill("#buyer-name", "Ana Fan").await;
    ana.fill("#buyer-email", "ana@example.org").await;
    ana.click("#pay").await;
    ana.until::<bool>(
        "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
    )
    .await;
    ana.click("#approve").await;
    ana.until::<bool>("document.querySelectorAll('#tickets li').length === 2")
        .await;
}
