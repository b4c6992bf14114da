//! Tests exchanges of a paid order's seats: at the same price, for more, for less, on another show,
//! and on another stretch.

use serde_json::{Value, json};

use crate::harness::*;
use crate::trains::{self, SHOW};

fn exchange(order: &Value, body: &Value) -> TestCall {
    let path = format!("/v1/orders/{}/exchange", text(order, "order"));
    post(&path, body).by(&text(order, "order_key"))
}

fn to(show: &str, seats: &[&str]) -> Value {
    json!({"show": show, "seats": seats})
}

fn euros(amount: i64) -> Value {
    json!({"amount": amount, "currency": "EUR"})
}

fn labels(order: &Value) -> Value {
    let seats = order["seats"].as_array().expect("a list").iter();
    seats.map(|seat| seat["label"].clone()).collect()
}

/// Opens an app with a paid order of Ana's for, a dearer `night-2` and a cheaper
/// `night-3`. Returns the app, Ben and the order.
async fn opened() -> (App, Visitor, Value) {
    let (app, ana, ben) = crate::harness::opened().await;
    app.put_show(
        "night-2",
        json!({"prices": {"cat1": 12_000, "cat2": 6_000}}),
    )
    .await;
    app.put_show("night-3", json!({"prices": {"cat1": 5_000, "cat2": 5_000}}))
        .await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    (app, ben, order)
}

/// Returns the new order of an exchange, with the key that opens it.
async fn successor(app: &App, old: &Value, made: &Value) -> Value {
    let told = &app.read(old).await["exchange"];
    assert_eq!(told["order"], made["order"]);
    told.clone()
}

async fn unavailable(app: &App, show: &str, wanted: Value) {
    until("the expected states of the seats", async || {
        (app.seats(show).await["unavailable"] == wanted).then_some(())
    })
    .await;
}

async fn no_findings(app: &App) {
    let found = app
        .booking
        .reconciler()
        .reconcile_all(0)
        .await
        .expect("readable");
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_at_the_same_price_costs_nothing() {
    let (app, ben, order) = opened().await;
    let call = || exchange(&order, &to("night-1", &["B-1", "B-2"])).keyed("x");
    let made = app.ask(call()).await.is(200);
    assert_eq!(labels(&made), json!(["B-1", "B-2"]));
    assert_eq!(
        (&made["state"], &made["total"]),
        (&json!("ticketed"), &euros(19_800))
    );
    assert_eq!(made["payment"]["amount"], euros(0));
    assert_eq!(made["exchange_of"], order["order"]);
    assert_eq!(
        app.ask(call()).await.is(200)["order"],
        made["order"],
        "the repeated call finds the first exchange"
    );
    unavailable(&app, "night-1", json!({"B-1": "sold", "B-2": "sold"})).await;
    let old = app.read(&order).await;
    assert_eq!(old["state"], "exchanged");
    assert_eq!(
        (&old["tickets"], &old["refund_offer"]),
        (&json!([]), &Value::Null)
    );
    // The new order has tickets that are valid at the door, and anybody may buy the old seats.
    let new = successor(&app, &order, &made).await;
    let tickets = app.read(&new).await["tickets"].clone();
    assert_eq!(tickets.as_array().map(Vec::len), Some(2));
    let path = format!("/v1/tickets/{}/scan", text(&tickets[0], "ticket"));
    app.ask(post(&path, &json!({})).by(&DOOR)).await.is(200);
    app.hold(&ben, &["A-1", "A-2"]).await;
    let again = app
        .ask(exchange(&order, &to("night-1", &["C-1", "C-2"])))
        .await;
    assert_eq!(again.problem(409, "not_exchangeable")["state"], "exchanged");
    no_findings(&app).await;
    let app = app.restarted().await;
    unavailable(&app, "night-1", json!({"B-1": "sold", "B-2": "sold"})).await;
    assert_eq!(app.read(&new).await["state"], "ticketed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_for_a_dearer_night_is_pending_until_the_difference_is_paid() {
    let (app, _, order) = opened().await;
    let made = app
        .ask(exchange(&order, &to("night-2", &["A-1", "A-2"])))
        .await
        .is(200);
    assert_eq!(
        (&made["state"], &made["total"]),
        (&json!("pending"), &euros(24_000))
    );
    assert_eq!(made["payment"]["amount"], euros(4_200));
    unavailable(&app, "night-1", json!({"A-1": "sold", "A-2": "sold"})).await;
    unavailable(&app, "night-2", json!({"A-1": "held", "A-2": "held"})).await;
    let refund = post(
        &format!("/v1/orders/{}/refund", text(&order, "order")),
        &json!({}),
    );
    app.ask(refund.by(&text(&order, "order_key")))
        .await
        .problem(409, "exchange_open");
    let again = app
        .ask(exchange(&order, &to("night-2", &["B-1", "B-2"])))
        .await;
    assert_eq!(again.problem(409, "exchange_open")["order"], made["order"]);
    let new = successor(&app, &order, &made).await;
    let read = app.read(&new).await;
    app.pay(&read, "approve").await.is(200);
    let done = app.order_in(&new, "ticketed").await;
    assert_eq!(labels(&done), json!(["A-1", "A-2"]));
    assert_eq!(
        (&done["show"], &done["total"]),
        (&json!("night-2"), &euros(24_000))
    );
    assert_eq!(app.read(&order).await["state"], "exchanged");
    unavailable(&app, "night-1", json!({})).await;
    unavailable(&app, "night-2", json!({"A-1": "sold", "A-2": "sold"})).await;
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_and_cancelled_exchange_leaves_the_old_order_with_its_tickets() {
    let (app, _, order) = opened().await;
    let made = app
        .ask(exchange(&order, &to("night-2", &["A-1", "A-2"])))
        .await
        .is(200);
    let new = successor(&app, &order, &made).await;
    app.pay(&app.read(&new).await, "decline").await.is(200);
    let cancel = format!("/v1/orders/{}/cancel", text(&new, "order"));
    let given_up = app
        .ask(post(&cancel, &json!({})).by(&text(&new, "order_key")))
        .await;
    assert_eq!(given_up.is(200)["state"], "cancelled");
    let old = app.read(&order).await;
    assert_eq!(
        (&old["state"], &old["exchange"]["state"]),
        (&json!("ticketed"), &json!("cancelled"))
    );
    assert_eq!(old["tickets"].as_array().map(Vec::len), Some(2));
    unavailable(&app, "night-2", json!({})).await;
    // A later exchange may succeed.
    let other = app
        .ask(exchange(&order, &to("night-1", &["D-1", "D-2"])))
        .await
        .is(200);
    assert_eq!(other["state"], "ticketed");
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_for_a_cheaper_night_refunds_the_difference_and_no_later_refund_the_rest() {
    let (app, _, order) = opened().await;
    app.put_show(
        "night-3",
        json!({"prices": {"cat1": 5_000, "cat2": 5_000}, "refunds": [{"until_h": 1, "fee_pct": 10}]}),
    )
    .await;
    let best = json!({"show": "night-3", "best": {"quantity": 2}});
    let made = app.ask(exchange(&order, &best)).await.is(200);
    assert_eq!(
        (&made["state"], &made["total"]),
        (&json!("ticketed"), &euros(10_000))
    );
    let is_back = |order: &Value| order["refunds"][0]["state"] == "done";
    let old = app.order_once(&order, is_back).await;
    assert_eq!(old["refunds"][0]["amount"], euros(9_800));
    assert_eq!(old["refunds"][0]["reason"], "exchange_difference");
    let new = successor(&app, &order, &made).await;
    let refund = post(
        &format!("/v1/orders/{}/refund", text(&new, "order")),
        &json!({}),
    );
    // The first night takes nothing back, and an exchange does not change that.
    let refused = app.ask(refund.by(&text(&new, "order_key"))).await;
    assert_eq!(
        refused.problem(409, "not_refundable")["reason"],
        "carried_over"
    );
    let kept = app.read(&new).await;
    assert_eq!(
        (&kept["state"], &kept["refund_offer"]),
        (&json!("ticketed"), &Value::Null)
    );
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_is_not_possible_is_refused_and_changes_nothing() {
    let (app, ben, order) = opened().await;
    app.hold(&ben, &["C-5"]).await;
    let ask = async |body: Value| app.ask(exchange(&order, &body)).await;
    ask(to("night-9", &["A-1"])).await.problem(404, "not_found");
    ask(to("night-1", &["B-1"]))
        .await
        .problem(422, "exchange_quantity");
    ask(to("night-1", &["A-1", "A-2"]))
        .await
        .problem(422, "nothing_to_exchange");
    ask(to("night-1", &["C-5", "C-6"]))
        .await
        .problem(409, "seats_taken");
    ask(to("night-1", &["Z-1", "Z-2"]))
        .await
        .problem(422, "unknown_seat");
    ask(json!({"seats": ["B-1", "B-2"]})).await.is(422);
    ask(json!({"show": "night-1", "seats": ["B-1", "B-2"], "from": "X"}))
        .await
        .is(422);
    app.put_show("night-4", json!({"currency": "USD"})).await;
    ask(to("night-4", &["B-1", "B-2"])).await.is(422);
    // The other show belongs to another room, so the exchange needs a pass of that room.
    app.put_show("other-1", json!({})).await;
    let coverage = vec![
        ("demo".to_owned(), vec!["night-*".to_owned()]),
        ("rush".to_owned(), vec!["other-*".to_owned()]),
    ];
    app.booking
        .gateways()
        .replace_coverage(coverage)
        .await
        .expect("covered");
    ask(to("other-1", &["B-1", "B-2"]))
        .await
        .problem(401, "pass_invalid");
    let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
    let stranger = post(&path, &to("night-1", &["B-1", "B-2"])).by(&ben);
    app.ask(stranger).await.problem(403, "not_yours");
    let read = app.read(&order).await;
    assert_eq!(
        (&read["state"], &read["exchange"]),
        (&json!("ticketed"), &Value::Null)
    );
    unavailable(
        &app,
        "night-1",
        json!({"A-1": "sold", "A-2": "sold", "C-5": "held"}),
    )
    .await;
    // An exchange for the best seats never gets the order's own seats.
    let best = ask(json!({"show": "night-1", "best": {"quantity": 2}})).await;
    let best = best.is(200);
    assert!(!text(&best["seats"][0], "label").is_empty() && labels(&best) != json!(["A-1", "A-2"]));
    let order = successor(&app, &order, &best).await;
    // The store learns a moment later that the seats are free again.
    let back = until("its old seats", async || {
        let back = exchange(&order, &to("night-1", &["A-1", "A-2"]));
        let back = app.ask(back).await;
        (back.status == 200).then(|| back.is(200))
    });
    let back = back.await;
    let order = successor(&app, &order, &back).await;
    let ask = async |body: Value| app.ask(exchange(&order, &body)).await;
    // The order may keep one of its seats and exchange the other.
    let half = ask(to("night-1", &["A-1", "B-1"])).await.is(200);
    assert_eq!(labels(&half), json!(["A-1", "B-1"]));
    unavailable(
        &app,
        "night-1",
        json!({"A-1": "sold", "B-1": "sold", "C-5": "held"}),
    )
    .await;
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journey_is_shortened_on_its_own_seat_and_lengthened_again_and_keeps_its_traveller() {
    let (app, ana, ben) = trains::opened().await;
    let whole = trains::hold(&app, &ana, &trains::seats(&["A-1"], "S00", "S04")).await;
    let order = trains::bought(&app, &ana, &whole, &["Ana Perez"]).await;
    let stretch =
        |from: &str, to: &str| json!({"show": SHOW, "seats": ["A-1"], "from": from, "to": to});
    let shorter = app
        .ask(exchange(&order, &stretch("S00", "S02")))
        .await
        .is(200);
    assert_eq!(shorter["state"], "ticketed");
    assert_eq!(shorter["tickets"][0]["legs"], json!([0, 1]));
    assert_eq!(shorter["seats"][0]["traveller"], "Ana Perez");
    let back = app
        .order_once(&order, |order| order["refunds"][0]["state"] == "done")
        .await;
    assert!(back["refunds"][0]["amount"]["amount"].as_i64() > Some(0));
    // Ben holds the rest of the way for a while.
    let rest = until("the rest of the way", async || {
        let ask = post(
            &format!("/v1/shows/{SHOW}/holds"),
            &trains::seats(&["A-1"], "S02", "S04"),
        );
        let held = app.ask(ask.by(&ben)).await;
        (held.status == 201).then(|| held.is(201))
    })
    .await;
    let new = successor(&app, &order, &shorter).await;
    let taken = app.ask(exchange(&new, &stretch("S00", "S04"))).await;
    assert_eq!(taken.problem(409, "seats_taken")["seats"], json!(["A-1"]));
    app.ask(delete(&format!("/v1/holds/{}", text(&rest, "hold"))).by(&ben))
        .await
        .is(204);
    let longer = app
        .ask(exchange(&new, &stretch("S00", "S04")))
        .await
        .is(200);
    assert_eq!(longer["state"], "pending");
    let last = successor(&app, &new, &longer).await;
    app.pay(&app.read(&last).await, "approve").await.is(200);
    let done = app.order_in(&last, "ticketed").await;
    assert_eq!(done["tickets"][0]["legs"], json!([0, 1, 2, 3]));
    assert_eq!(done["seats"][0]["traveller"], "Ana Perez");
    no_findings(&app).await;
    let app = app.restarted().await;
    assert_eq!(app.read(&last).await["state"], "ticketed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_an_exchange_that_failed_after_its_hold_gets_the_seats_of_that_hold() {
    let (app, _, order) = opened().await;
    let call = || exchange(&order, &json!({"show": "night-2", "best": {"quantity": 2}})).keyed("x");
    app.tamper(
        "CREATE TRIGGER away BEFORE INSERT ON exchanges BEGIN SELECT RAISE(ABORT, 'away'); END",
    )
    .await;
    assert_eq!(app.ask(call()).await.status, 503);
    app.tamper("DROP TRIGGER away").await;
    let held = app.seats("night-2").await["unavailable"].clone();
    let made = app.ask(call()).await.is(200);
    let claimed: serde_json::Map<String, Value> = made["seats"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|seat| (text(seat, "label"), json!("held")))
        .collect();
    assert_eq!(
        Value::Object(claimed),
        held,
        "the seats that the first try held"
    );
    let new = successor(&app, &order, &made).await;
    app.pay(&app.read(&new).await, "approve").await.is(200);
    let done = app.order_in(&new, "ticketed").await;
    assert_eq!(labels(&done), labels(&made));
    no_findings(&app).await;
}
