//! Tests orders that cost nothing: they are confirmed at once, ticketed, refunded and exchanged
//! without a payment provider.

use serde_json::{Value, json};

use crate::ends::{reasons, seats_are_free};
use crate::harness::*;

/// Returns the changes for a night whose rows C and D are free of charge. A refund costs a tenth of
/// the price.
fn free_seats() -> Value {
    json!({
        "prices": { "cat1": 9_900, "cat2": 0 }, "orphans": "allow",
        "refunds": [{ "until_h": 1, "fee_pct": 10 }],
    })
}

/// Opens a hall whose rows C and D are free of charge, without a payment provider.
async fn opened_for_nothing() -> (App, Visitor, Visitor) {
    let app = App::without_payments().await;
    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", free_seats()).await;
    let (ana, ben) = (app.visitor(1), app.visitor(2));
    (app, ana, ben)
}

fn order_of(hold: &Value) -> TestCall {
    post(&format!("/v1/holds/{}/order", text(hold, "hold")), &buyer())
}

fn euros(amount: i64) -> Value {
    json!({ "amount": amount, "currency": "EUR" })
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
async fn a_free_order_is_ticketed_at_once_without_a_payment_provider() {
    let (app, ana, _) = opened_for_nothing().await;
    let order = app.order(&ana, &["D-1", "D-2"]).await;
    assert_eq!(order["state"], "ticketed");
    assert_eq!(order["total"], euros(0));
    let payment = &order["payment"];
    assert_eq!(
        (&payment["provider"], &payment["state"], &payment["client"]),
        (&json!("none"), &json!("voided"), &Value::Null)
    );
    let read = app.read(&order).await;
    assert_eq!(read["tickets"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        reasons(&read),
        ["ordered", "nothing_to_pay", "nothing_to_pay"]
    );
    until("the seats to be sold", async || {
        let seats = app.seats("night-1").await;
        (seats["unavailable"] == json!({"D-1": "sold", "D-2": "sold"})).then_some(())
    })
    .await;
    let ticket = text(&read["tickets"][0], "ticket");
    let scan = post(&format!("/v1/tickets/{ticket}/scan"), &json!({})).by(&DOOR);
    app.ask(scan).await.is(200);
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_finds_a_free_order_also_after_a_restart() {
    let (app, ana, _) = opened_for_nothing().await;
    let hold = app.hold(&ana, &["D-1"]).await;
    let made = app.ask(order_of(&hold).by(&ana)).await.is(201);
    let again = app.ask(order_of(&hold).by(&ana)).await.is(201);
    assert_eq!(
        (&again["order"], &again["state"]),
        (&made["order"], &json!("ticketed"))
    );
    let app = app.restarted().await;
    let later = app.ask(order_of(&hold).by(&ana)).await.is(201);
    assert_eq!(later["order"], made["order"]);
    assert_eq!(app.read(&made).await["state"], "ticketed");
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_costs_something_is_refused_without_a_payment_provider() {
    let (app, ana, _) = opened_for_nothing().await;
    let hold = app.hold(&ana, &["A-1", "D-1"]).await;
    let refused = app.ask(order_of(&hold).by(&ana)).await;
    refused.problem(503, "payments_not_configured");
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    let kept = app.ask(get(&path).by(&ana)).await.is(200);
    assert_eq!(kept["expires_at"], hold["expires_at"]);
    // Without the dear seat the order is free of charge.
    let less = patch(&path, &json!({ "remove": ["A-1"] })).by(&ana);
    app.ask(less).await.is(200);
    let made = app.ask(order_of(&hold).by(&ana)).await.is(201);
    assert_eq!(made["state"], "ticketed");
}

#[tokio::test(flavor = "multi_thread")]
async fn free_tickets_are_refunded_at_once() {
    let (app, ana, ben) = opened_for_nothing().await;
    let order = app.order(&ana, &["D-1", "D-2"]).await;
    let read = app.read(&order).await;
    assert_eq!(read["refund_offer"]["amount"], euros(0));
    let path = format!("/v1/orders/{}/refund", text(&order, "order"));
    let one = json!({ "tickets": [read["tickets"][0]["ticket"]] });
    let refund = |body: &Value| post(&path, body).by(&text(&order, "order_key"));
    let after = app.ask(refund(&one)).await.is(200);
    assert_eq!(after["state"], "partly_refunded");
    let after = app.ask(refund(&json!({}))).await.is(200);
    assert_eq!(after["state"], "refunded");
    for refund in after["refunds"].as_array().expect("a list") {
        assert_eq!(
            (&refund["state"], &refund["amount"], &refund["fee"]),
            (&json!("done"), &euros(0), &euros(0))
        );
    }
    seats_are_free(&app).await;
    app.order(&ben, &["D-1"]).await;
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_order_does_not_reach_the_sandbox() {
    let (app, ana, _) = opened_with(free_seats()).await;
    let order = app.order(&ana, &["D-1"]).await;
    assert_eq!(order["state"], "ticketed");
    assert_eq!(order["payment"]["provider"], "none");
    let pressed = app.pay(&order, "approve").await;
    pressed.problem(409, "payment_settled");
    let ledger = app.ledger().await;
    assert_eq!(ledger.backlog().await.expect("readable"), (0, 0));
    assert_eq!(app.read(&order).await["state"], "ticketed");
    // The old seat cost nothing, so an exchange for a seat of 99.00 costs the whole 99.00.
    let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
    let dear = json!({ "show": "night-1", "seats": ["A-1"] });
    let made = app.ask(post(&path, &dear).by(&ana)).await.is(200);
    assert_eq!(made["payment"]["amount"], euros(9_900));
    app.pay(&made, "approve").await.is(200);
    app.order_in(&order, "exchanged").await;
    no_findings(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_seats_counts_free_seats_too() {
    let (app, ana, _) = opened_for_nothing().await;
    app.order(&ana, &["D-1", "D-2", "D-3", "D-4"]).await;
    let more = post("/v1/shows/night-1/holds", &json!({ "seats": ["D-5"] }));
    app.ask(more.by(&ana)).await.problem(422, "limit_exceeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_show_refunds_its_free_tickets() {
    let (app, ana, _) = opened_for_nothing().await;
    let order = app.order(&ana, &["D-1"]).await;
    let cancel = post("/v1/promoter/shows/night-1/cancel", &json!({})).by(&PROMOTER);
    app.ask(cancel).await.is(200);
    let after = app.order_in(&order, "refunded").await;
    assert_eq!(after["refunds"][0]["state"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_needs_a_missing_payment_provider_frees_its_new_seats_at_once() {
    let app = App::without_payments().await;
    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", json!({"prices": {"cat1": 0, "cat2": 0}}))
        .await;
    app.put_show("night-2", json!({})).await;
    let order = app.order(&app.visitor(1), &["A-1"]).await;
    app.order_in(&order, "ticketed").await;
    let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
    let call = post(&path, &json!({"show": "night-2", "seats": ["A-1"]}));
    let told = app.ask(call.by(&text(&order, "order_key"))).await;
    told.problem(503, "payments_not_configured");
    assert_eq!(app.seats("night-2").await["unavailable"], json!({}));
}
