//! Goes the fan's whole way in Firefox and in WebKit: join, turn, seats, payment, ticket.

use serde_json::json;

use crate::harness::{OtherBrowser, Promoter, Server};

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_goes_from_the_lobby_to_the_ticket_in_firefox() {
    if let Some(browser) = OtherBrowser::firefox().await {
        whole_way(browser).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_goes_from_the_lobby_to_the_ticket_in_webkit() {
    if let Some(browser) = OtherBrowser::webkit().await {
        whole_way(browser).await;
    }
}

async fn whole_way(fan: OtherBrowser) {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("12x30", json!({}), json!({})).await;

    fan.go(&server.at("/r/sale")).await;
    fan.click("#join").await;
    fan.until::<bool>("document.querySelector('#place').dataset.state === 'waiting_prequeue'")
        .await;
    promoter.draw("sale").await;
    fan.until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    fan.click("#turn").await;
    fan.until::<bool>("!document.querySelector('#go-seats').hidden")
        .await;
    fan.click("#go-seats a").await;
    fan.until::<bool>("document.querySelector('#freshness').dataset.phase === 'selling'")
        .await;
    fan.until::<bool>("document.querySelector('#map').dataset.version !== undefined")
        .await;
    fan.click("#best-find").await;
    let held: usize = fan
        .until("!document.querySelector('#held').hidden && document.querySelectorAll('#held-seats li').length")
        .await;
    fan.click("#to-checkout").await;
    fan.until::<bool>(
        "document.querySelector('#pay') && document.querySelector('#total').textContent !== ''",
    )
    .await;
    fan.fill("#buyer-name", "Ana Fan").await;
    fan.fill("#buyer-email", "ana@example.org").await;
    fan.click("#pay").await;
    fan.until::<bool>("!document.querySelector('#sandbox').hidden")
        .await;
    fan.click("#approve").await;
    let tickets: usize = fan
        .until("document.querySelectorAll('.ticket-link').length")
        .await;
    assert_eq!(tickets, held, "{}", fan.name);
    fan.click(".ticket-link").await;
    fan.until::<bool>(
        "document.querySelector('#qr svg') && !document.querySelector('#ticket').hidden",
    )
    .await;
    fan.close().await;
}
