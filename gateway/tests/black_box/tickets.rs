//! Tests a ticket's page in a browser: what it says, how it is printed, and that a ticket opens
//! without a connection if it was opened before.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server, TestShop, Visitor, text};

/// The sizes of A4 and of Letter, in inches.
const SHEETS: [(f64, f64); 2] = [(8.27, 11.69), (8.5, 11.0)];
/// Whether the page shows the ticket with its QR code.
const SHOWN: &str =
    "!document.querySelector('#ticket').hidden && document.querySelector('#qr svg path') !== null";
/// Whether the whole QR code is in the window before anybody scrolls.
const WHOLE_CODE_IS_SEEN: &str = "(({ top, bottom }) => scrollY === 0 && top >= 0 && bottom <= innerHeight)(document.querySelector('#qr svg').getBoundingClientRect())";
/// Whether the page says that the ticket is stored in the browser.
const SAVED: &str = "!document.querySelector('#saved').hidden";

/// Puts a show on sale in a hall with an address, buys a seat as another client would, and gives
/// the order's key to the browser.
async fn bought(server: &Server, browser: &Browser, show: Value) -> (Value, String) {
    let promoter = Promoter::of(server);
    let room = json!({"title": "Night one", "method": "open"});
    promoter.on_sale("4x10", show, room).await;
    let hall = json!({
        "plan": "grid:4x10", "name": "Große Halle", "address": "Am Ufer 12", "city": "Berlin",
        "time_zone": "Europe/Berlin",
    });
    promoter.put("venues/hall", &hall).await.is(200);
    promoter.draw("sale").await;
    let ana = Visitor::admitted(server, "sale").await;
    let wish = json!({"seats": ["A-1"]});
    let held = server.try_hold(&ana, "night", &wish).await.is(201);
    let order = server.checkout(&ana, &held).await;
    server.pay(&order, "approve").await.is(200);
    let ticketed = server.order_in(&order, "ticketed").await;
    let ticket = text(&ticketed["tickets"][0], "ticket");
    browser.go(&server.at("/")).await;
    let (id, key) = (text(&order, "order"), text(&order, "order_key"));
    browser
        .run(&format!("localStorage.setItem('fairgate.order.{id}', JSON.stringify({{ key: '{key}' }})); localStorage.setItem('fairgate.ticket.{ticket}', JSON.stringify('{id}'))"))
        .await;
    (order, server.at(&format!("/t/{ticket}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_names_person_price_category_and_address_and_prints_on_one_light_sheet() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let title = "A night with a rather long title that needs more than one line of the ticket";
    let (_, page) = bought(&server, &ana, json!({ "title": title })).await;
    ana.go(&page).await;
    ana.until::<bool>(SHOWN).await;
    let said: String = ana
        .until("document.querySelector('#ticket').innerText")
        .await;
    for words in [
        title,
        "A-1",
        "Ana",
        "€99.00",
        "Category 1",
        "Große Halle",
        "Am Ufer 12, Berlin",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    ana.until::<bool>(SAVED).await;
    // At the door, nobody scrolls.
    ana.become_phone().await;
    ana.until::<bool>(WHOLE_CODE_IS_SEEN).await;
    ana.picture("14-ticket").await;
    ana.like_a_dark_print().await;
    for sheet in SHEETS {
        assert_eq!(ana.sheets(sheet).await, 1, "{sheet:?}");
    }
    let colours: Vec<String> = ana
        .until("(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))")
        .await;
    assert_eq!(colours, ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
    ana.picture_of_window("14-ticket-printed").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opened_ticket_opens_without_a_connection_until_it_is_given_back() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let show = json!({"title": "Night one", "refunds": [{"until_h": 1, "fee_pct": 0}]});
    let (order, page) = bought(&server, &ana, show).await;
    ana.go(&page).await;
    ana.until::<bool>(SAVED).await;
    server.kill();
    ana.go(&page).await;
    ana.until::<bool>(&format!(
        "{SHOWN} && !document.querySelector('#stored').hidden"
    ))
    .await;
    let said: String = ana
        .until("document.querySelector('#ticket').innerText")
        .await;
    assert!(said.contains("A-1") && said.contains("€99.00"), "{said}");
    ana.picture("14-ticket-without-a-connection").await;
    // No other page opens without a connection.
    let path = format!("/o/{}", text(&order, "order"));
    assert!(!ana.reaches(&server.at(&path)).await);
    assert!(!ana.reaches(&server.at("/")).await);

    server.restart().await;
    ana.go(&page).await;
    ana.until::<bool>(SAVED).await;
    ana.until::<bool>("document.querySelector('#stored').hidden")
        .await;
    let refund = server.at(&format!("/v1/orders/{}/refund", text(&order, "order")));
    let refund = server.http.request(Method::POST, refund).json(&json!({}));
    let refund = refund.bearer_auth(text(&order, "order_key")).send().await;
    assert!(refund.expect("an answer").status().is_success());
    ana.go(&page).await;
    ana.until::<bool>("document.querySelector('#problem').dataset.code === 'ticket_void'")
        .await;
    server.kill();
    assert!(!ana.reaches(&page).await, "a void ticket is not shown");
    ana.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_whose_order_key_is_forgotten_is_not_shown_without_a_connection() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let (order, page) = bought(&server, &ana, json!({"title": "Night one"})).await;
    ana.go(&page).await;
    ana.until::<bool>(SAVED).await;
    let key = format!("fairgate.order.{}", text(&order, "order"));
    ana.run(&format!("localStorage.removeItem('{key}')")).await;
    server.kill();
    ana.go(&page).await;
    ana.until::<bool>(
        "document.querySelector('#problem').dataset.code === 'offline' && document.querySelector('#ticket').hidden",
    )
    .await;
    // The stored copy is deleted, too.
    assert!(!ana.reaches(&page).await);
    ana.end().await;
}
