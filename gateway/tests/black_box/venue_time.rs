//! Tests that every page shows its times by the venue's clocks, wherever the reader is.

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestShop, Visitor, text};

/// The texts of a page that contain times, once its script has written them.
const TIMES: &str = "(() => {
    const told = [...document.querySelectorAll('time, #sells-until:not([hidden]), #starts, #show-title, #refund-until')];
    const texts = told.map((one) => one.textContent.trim()).filter((text) => /\\d:\\d\\d/.test(text));
    return texts.some((text) => /8:00\\sPM/.test(text)) && texts;
})()";

/// Buys a seat as another client would, and returns the order and one of its tickets.
async fn bought(server: &Server) -> (Value, String) {
    let ana = Visitor::admitted(server, "sale").await;
    let wish = json!({"seats": ["A-1"]});
    let held = server.try_hold(&ana, "night", &wish).await.is(201);
    let order = server.checkout(&ana, &held).await;
    server.pay(&order, "approve").await.is(200);
    let ticketed = server.order_in(&order, "ticketed").await;
    let ticket = text(&ticketed["tickets"][0], "ticket");
    (order, ticket)
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_in_new_york_and_in_greenwich_read_berlins_time_on_every_page() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let hall = json!({"plan": "grid:4x10", "name": "Große Halle", "city": "Berlin", "time_zone": "Europe/Berlin"});
    promoter.put("venues/hall", &hall).await.is(200);
    promoter.draw("sale").await;
    let (order, ticket) = bought(&server).await;
    let (order, key) = (text(&order, "order"), text(&order, "order_key"));
    let pages = [
        "/".to_owned(),
        "/r/sale".to_owned(),
        "/s/night".to_owned(),
        format!("/o/{order}"),
        format!("/t/{ticket}"),
    ];

    let mut read: Vec<Vec<Vec<String>>> = Vec::new();
    for zone in ["America/New_York", "UTC"] {
        let Some(reader) = Browser::in_zone(zone).await else {
            return;
        };
        reader.go(&server.at("/")).await;
        reader
            .run(&format!("localStorage.setItem('fairgate.order.{order}', JSON.stringify({{ key: '{key}' }})); localStorage.setItem('fairgate.ticket.{ticket}', JSON.stringify('{order}'))"))
            .await;
        let mut told = Vec::new();
        for page in &pages {
            reader.go(&server.at(page)).await;
            let times: Vec<String> = reader.until(TIMES).await;
            for time in &times {
                assert!(time.contains("(Berlin time)"), "{page} in {zone}: {time}");
            }
            told.push(times);
        }
        reader
            .picture(&format!(
                "12-ticket-by-the-venues-clocks-{}",
                zone.replace('/', "-")
            ))
            .await;
        read.push(told);
        reader.close(zone).await;
    }
    for ((page, new_york), greenwich) in pages.iter().zip(&read[0]).zip(&read[1]) {
        assert_eq!(new_york, greenwich, "{page}");
    }

    promoter
        .put("venues/hall", &json!({"plan": "grid:4x10"}))
        .await
        .is(200);
    let reader = Browser::in_zone("America/New_York").await;
    let reader = reader.expect("chromium was there");
    reader.go(&server.at("/s/night")).await;
    reader
        .until::<bool>(
            "/2:00\\sPM \\(your time\\)/.test(document.querySelector('time').textContent)",
        )
        .await;
    reader.close("a reader in New York").await;
    promoter.put("venues/hall", &hall).await.is(200);

    let without = Browser::without_scripts()
        .await
        .expect("chromium was there");
    for page in ["/", "/r/sale", "/s/night"] {
        without.go(&server.at(page)).await;
        without
            .shows("main", |html| {
                html.contains("1 June 2031, 20:00 (Berlin time)")
            })
            .await;
    }
    without.close("without scripts").await;
}
