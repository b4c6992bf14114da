//! Tests a room that covers one train. The room counts the train's seats, and is sold out when no
//! stretch has a free seat. Visitors in the line then get odds of 0.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Promoter, Server, TestShop, Visitor, text, until};
use crate::rail::{date, put_in};

/// One carriage with two seats.
pub const TWO_SEATS: &str = r#"
    [[class]]
    key = "second"
    base = 1000
    per_km = 0
    [[stock]]
    id = "short"
    carriages = [{ class = "second", rows = 1, seats = "AB" }]
"#;

async fn figures(promoter: &Promoter<'_>, expected: [u64; 3], phase: &str) -> Value {
    let [free, held, sold] = expected;
    let seats = json!({"free": free, "held": held, "sold": sold});
    until(&format!("{seats} and {phase}"), async || {
        let room = promoter.room("line").await;
        (room["seats"] == seats && room["phase"] == phase).then_some(room)
    })
    .await
}

async fn bought(visitor: &Visitor<'_>, held: &Value) {
    let path = format!("/v1/holds/{}/order", text(held, "hold"));
    let seats = held["seats"].as_array().expect("seats").iter();
    let names: Vec<Value> = seats.map(|_| json!({"name": "Ana Fan"})).collect();
    let order =
        json!({"buyer": {"name": "Ana Fan", "email": "ana@example.org"}, "travellers": names});
    let ordered = visitor.send(Method::POST, &path, &order).await.is(201);
    visitor.server.pay(&ordered, "approve").await.is(200);
    visitor.server.order_in(&ordered, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_of_one_train_is_sold_out_when_no_stretch_has_a_free_seat() {
    let server = Server::prepared(&[], async |data| {
        put_in("Europe/Berlin", TWO_SEATS, data).await;
    })
    .await;
    let promoter = Promoter::of(&server);
    let show = format!("r1-{}", date());
    let room = json!({
        "title": "The only train", "shows": [show], "method": "fifo",
        "opens_at": crate::harness::in_seconds(-60), "draw_at": crate::harness::in_seconds(-30),
    });
    promoter.put("rooms/line", &room).await.is(201);
    // Nobody has held a seat of the train yet.
    figures(&promoter, [2, 0, 0], "selling").await;
    let ana = Visitor::admitted(&server, "line").await;
    let ask = |from: &str, to: &str| json!({"best": {"quantity": 2, "class": "second"}, "from": from, "to": to});
    let first = server
        .try_hold(&ana, &show, &ask("RVN", "LAK"))
        .await
        .is(201);
    bought(&ana, &first).await;
    // Both seats are still free from Lakeside on, so the room counts them as free.
    figures(&promoter, [2, 0, 0], "selling").await;
    let second = server
        .try_hold(&ana, &show, &ask("LAK", "HIL"))
        .await
        .is(201);
    figures(&promoter, [0, 2, 0], "selling").await;
    bought(&ana, &second).await;
    figures(&promoter, [0, 0, 2], "sold_out").await;
    let ben = Visitor::joined(&server, "line").await;
    let place = ben.look().await;
    assert_eq!(
        (&place["state"], &place["odds"]),
        (&json!("waiting"), &json!(0.0))
    );
}
