//! Tests refunds on the order's page in a browser. The page shows the fee before the refund, and
//! afterwards that the refund is done.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_tickets_is_refunded_less_the_fee_that_the_page_showed() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let show = json!({"title": "Night one", "refunds": [{"until_h": 48, "fee_pct": 10}]});
    let room =
        json!({"title": "Night one", "method": "open", "draw_at": crate::harness::in_seconds(-30)});
    promoter.on_sale("6x10", show, room).await;
    promoter.selling("sale").await;
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
    ana.until::<bool>("document.querySelectorAll('#refund-tickets input').length === 2")
        .await;
    // At first no ticket is ticked, and nothing can be given back until one is ticked.
    ana.until::<bool>("[...document.querySelectorAll('#refund-tickets input')].every((box) => !box.checked) && document.querySelector('#refund').disabled && document.querySelector('#refund-back').textContent === '€0.00'")
        .await;
    ana.picture("12-refund-offered").await;
    ana.click("#refund-tickets input").await;
    let back: String = ana
        .until("document.querySelector('#refund-back').textContent.includes('89.10') && document.querySelector('#refund-fee').textContent")
        .await;
    assert_eq!(back, "€9.90");
    ana.click("#refund-ask summary").await;
    ana.picture("12-refund-asked").await;
    ana.click("#refund").await;
    ana.until::<bool>("document.querySelector('#refunds li[data-state=done]') && document.querySelector('#order-state').dataset.state === 'partly_refunded'").await;
    ana.until::<bool>("document.querySelectorAll('#tickets li').length === 1")
        .await;
    ana.picture("12-refund-done").await;
    ana.close("Ana").await;
}
