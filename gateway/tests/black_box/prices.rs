//! Tests that a room shows its prices by category, and says at once when a category has no free
//! seats.

use serde_json::{Value, json};

use crate::harness::{Browser, Live, Promoter, Server, Visitor, until};

/// Returns the label and the number of free seats of each tier.
fn free(prices: &Value) -> Vec<(String, u64)> {
    let tiers = prices.as_array().expect("a list").iter();
    let one = |tier: &Value| {
        let label = tier["label"].as_str().expect("a label").to_owned();
        (label, tier["free"].as_u64().expect("a count"))
    };
    tiers.map(one).collect()
}

async fn hold(visitor: &Visitor<'_>, seats: &[&str]) -> Value {
    let body = json!({"seats": seats});
    let holds = "/v1/shows/night/holds";
    visitor
        .send(reqwest::Method::POST, holds, &body)
        .await
        .is(201)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_tells_its_prices_and_when_a_category_is_gone() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let show = json!({"prices": {"cat1": 9_900, "cat2": 4_900}, "seats_per_visitor": 4});
    promoter.on_sale("2x2", show, json!({})).await;
    let before = until("the room has prices", async || {
        let prices = promoter.room("sale").await["prices"].take();
        (!free(&prices).is_empty()).then_some(prices)
    })
    .await;
    assert_eq!(before.as_array().map(Vec::len), Some(2));
    assert_eq!(
        (
            &before[0]["from"],
            &before[0]["to"],
            &before[0]["currency"],
            &before[0]["free"]
        ),
        (&json!(4_900), &json!(4_900), &json!("EUR"), &json!(2))
    );
    let dear = before[1]["label"].as_str().expect("a label").to_owned();

    fan.go(&server.at("/r/sale")).await;
    let gone = "document.querySelector('#tiers li:last-child').dataset.left === 'none'";
    fan.until::<bool>("document.querySelectorAll('#tiers li').length === 2")
        .await;
    fan.click("#join").await;
    fan.until::<bool>("document.querySelector('#number').dataset.value === '0'")
        .await;
    promoter
        .patch("rooms/sale", &json!({"paused": true}))
        .await
        .is(200);
    promoter.draw("sale").await;
    let ana = Visitor::joined(&server, "sale").await;
    let mut socket = Live::open(&ana).await;
    promoter
        .patch("rooms/sale", &json!({"paused": false}))
        .await
        .is(200);
    let mut ana = ana;
    ana.claim().await;

    hold(&ana, &["A-1", "A-2"]).await;
    let news = socket
        .text_where("room", |room| {
            free(&room["prices"]).contains(&(dear.clone(), 0))
        })
        .await;
    assert_eq!(news["prices"][0]["free"], 2, "{news}");
    let line = socket
        .text_where("line", |line| line["left"] == json!([2, 0]))
        .await;
    assert_eq!(line["seats"]["free"], 2);
    fan.until::<bool>(gone).await;
    fan.close("the fan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_has_the_opening_and_the_draw() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("2x2", json!({}), json!({})).await;
    let calendar = server.get("/v1/rooms/sale.ics").await;
    assert_eq!(calendar.status, 200);
    assert!(calendar.media().starts_with("text/calendar"));
    assert_eq!(calendar.text().matches("BEGIN:VEVENT").count(), 2);
    for none in ["/v1/rooms/everyday.ics", "/v1/rooms/nowhere.ics"] {
        assert_eq!(
            server.get(none).await.refusal(),
            (404, "not_found".to_owned())
        );
    }
}
