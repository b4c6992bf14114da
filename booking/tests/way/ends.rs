//! Tests declined payments, cancelled and expired orders, lapsed and deleted baskets, and expired
//! passes.

use serde_json::{Value, json};

use crate::harness::*;

pub fn reasons(order: &Value) -> Vec<String> {
    let history = order["history"].as_array().expect("a list");
    history.iter().map(|step| text(step, "reason")).collect()
}

pub async fn seats_are_free(app: &App) {
    until("free seats", async || {
        let seats = app.seats("night-1").await;
        (seats["unavailable"] == json!({})).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_payment_may_be_tried_again() {
    let (app, ana, ben) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "decline").await.is(200);
    let declined = |order: &Value| order["reason"] == "payment_declined";
    let after = app.order_once(&order, declined).await;
    assert_eq!(after["state"], "pending");
    assert_eq!(after["payment"]["state"], "declined");
    let taken = post("/v1/shows/night-1/holds", &json!({"seats": ["A-1", "A-2"]}));
    app.ask(taken.by(&ben)).await.problem(409, "seats_taken");
    app.pay(&order, "approve").await.is(200);
    let done = app.order_in(&order, "ticketed").await;
    assert_eq!(
        reasons(&done),
        [
            "ordered",
            "payment_declined",
            "payment_authorised",
            "payment_captured"
        ]
    );
    let late = app.pay(&order, "decline").await;
    late.problem(409, "payment_settled");
}

async fn try_again(app: &App, order: &Value) -> TestAnswer {
    let path = format!("/v1/orders/{}/try-again", text(order, "order"));
    let call = post(&path, &json!({}));
    app.ask(call.by(&text(order, "order_key"))).await
}

async fn declined(app: &App, order: &Value) -> Value {
    app.pay(order, "decline").await.is(200);
    let declined = |order: &Value| order["reason"] == "payment_declined";
    app.order_once(order, declined).await
}

#[tokio::test(flavor = "multi_thread")]
async fn another_try_to_pay_has_the_whole_time_and_a_decline_leaves_a_minute() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    assert_eq!(order["pay_until"], "2027-01-10T09:05:00Z");
    let after = declined(&app, &order).await;
    assert_eq!(after["pay_until"], "2027-01-10T09:01:00Z");
    app.clock.advance_ms(30_000);
    let tried = try_again(&app, &order).await.is(200);
    assert_eq!(tried["pay_until"], "2027-01-10T09:05:00Z");
    assert_eq!(tried["reason"], "payment_tried_again");
    let repeated = try_again(&app, &order).await.is(200);
    assert_eq!(repeated["history"], tried["history"]);
    let after = declined(&app, &order).await;
    assert_eq!(after["pay_until"], "2027-01-10T09:01:30Z");
    try_again(&app, &order).await.is(200);
    // The bank's app takes three minutes.
    app.clock.advance_ms(180_000);
    app.pay(&order, "approve").await.is(200);
    let done = app.order_in(&order, "ticketed").await;
    let refused = try_again(&app, &order).await;
    let refused = refused.problem(409, "not_payable");
    assert_eq!(refused["state"], "ticketed");
    assert_eq!(app.read(&order).await["history"], done["history"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seats_of_a_declined_order_are_free_when_nobody_tries_again() {
    let (app, ana, ben) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    declined(&app, &order).await;
    app.clock.advance_ms(60_001);
    let refused = try_again(&app, &order).await;
    let refused = refused.problem(409, "not_payable");
    let detail = text(&refused, "detail");
    assert!(detail.contains("ended at 2027-01-10T09:01:00Z"), "{detail}");
    assert_eq!(app.read(&order).await["state"], "pending");
    app.clock.advance_ms(29_999);
    let expired = app.order_in(&order, "expired").await;
    let steps = ["ordered", "payment_declined", "payment_deadline"];
    assert_eq!(reasons(&expired), steps);
    seats_are_free(&app).await;
    app.hold(&ben, &["A-1", "A-2"]).await;
    try_again(&app, &order).await.problem(409, "not_payable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_order_frees_its_seats_and_late_money_is_voided() {
    let (app, ana, ben) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    let path = format!("/v1/orders/{}/cancel", text(&order, "order"));
    let cancel = || post(&path, &json!({})).by(&ana);
    let cancelled = app.ask(cancel()).await.is(200);
    assert_eq!(
        (&cancelled["state"], &cancelled["reason"]),
        (&json!("cancelled"), &json!("by_visitor"))
    );
    assert_eq!(
        app.ask(cancel()).await.is(200)["history"],
        cancelled["history"]
    );
    seats_are_free(&app).await;
    app.hold(&ben, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let voided = |order: &Value| order["payment"]["state"] == "voided";
    let after = app.order_once(&order, voided).await;
    assert_eq!(after["state"], "cancelled");
    assert_eq!(
        reasons(&after),
        ["ordered", "by_visitor", "late_money_voided"]
    );
    assert_eq!(after["tickets"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_order_cannot_be_cancelled() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let done = app.order_in(&order, "ticketed").await;
    let path = format!("/v1/orders/{}/cancel", text(&order, "order"));
    let refused = app.ask(post(&path, &json!({})).by(&ana)).await;
    assert_eq!(refused.problem(409, "not_cancellable")["state"], "ticketed");
    assert_eq!(app.read(&order).await["history"], done["history"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unpaid_order_expires_on_time() {
    let (app, ana, ben) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    assert_eq!(order["pay_until"], "2027-01-10T09:05:00Z");
    // The claim lasts thirty seconds longer than the time to pay that the page shows.
    app.clock.advance_ms(300_000 + 29_999);
    assert_eq!(app.read(&order).await["state"], "pending");
    app.clock.advance_ms(1);
    let expired = app.order_in(&order, "expired").await;
    assert_eq!(expired["reason"], "payment_deadline");
    seats_are_free(&app).await;
    app.hold(&ben, &["A-1", "A-2"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_lapses_on_time_and_can_no_longer_be_used() {
    let (app, ana, ben) = opened().await;
    let hold = text(&app.hold(&ana, &["A-1", "A-2"]).await, "hold");
    app.clock.advance_ms(305_000);
    seats_are_free(&app).await;
    let path = format!("/v1/holds/{hold}");
    let gone = app.ask(get(&path).by(&ana)).await;
    gone.problem(410, "hold_expired");
    let gone = app.ask(delete(&path).by(&ana)).await;
    gone.problem(410, "hold_expired");
    let order = post(&format!("{path}/order"), &buyer()).by(&ana);
    app.ask(order).await.problem(410, "hold_expired");
    app.hold(&ben, &["A-1", "A-2"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seats_of_a_deleted_basket_are_free_at_once() {
    let (app, ana, ben) = opened().await;
    let path = format!(
        "/v1/holds/{}",
        text(&app.hold(&ana, &["A-1", "A-2"]).await, "hold")
    );
    app.ask(delete(&path).by(&ana)).await.is(204);
    app.hold(&ben, &["A-1", "A-2"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_an_expired_pass_seats_are_removed_and_ordered_but_not_added() {
    let (app, ana, _ben) = opened_with(json!({"hold_s": 1_200})).await;
    let hold = app.hold(&ana, &["A-1", "A-2", "A-3"]).await;
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    app.clock.advance_ms(700_000);
    let change = |body: Value| patch(&path, &body).by(&ana);
    let more = app.ask(change(json!({"add": ["A-4"]}))).await;
    more.problem(401, "pass_expired");
    let left = app.ask(change(json!({"remove": ["A-3"]}))).await.is(200);
    assert_eq!(left["seats"].as_array().map(Vec::len), Some(2));
    let order = format!("{path}/order");
    app.ask(post(&order, &buyer()).by(&ana)).await.is(201);
}
