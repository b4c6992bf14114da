//! Tests what an exchange carries over: it is no way around a refund rule, in whatever order seats
//! are exchanged, postponed, cancelled and given back.

mod chains;

use serde_json::{Value, json};

use crate::harness::*;

const BEGINS: &str = "2027-06-01T20:00:00+02:00";
const LATER: &str = "2027-06-10T20:00:00+02:00";

fn call(order: &Value, way: &str, body: &Value) -> TestCall {
    let path = format!("/v1/orders/{}/{way}", text(order, "order"));
    post(&path, body).by(&text(order, "order_key"))
}

/// Returns a paid order of `who` with its tickets.
async fn bought(app: &App, who: &Visitor, show: &str, seats: &[&str]) -> Value {
    let hold = post(&format!("/v1/shows/{show}/holds"), &json!({"seats": seats}));
    let hold = app.ask(hold.by(who)).await.is(201);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(who)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    order
}

/// Exchanges an order for seats of a show, pays what is due, and returns the new order.
async fn exchanged(app: &App, order: &Value, show: &str, seats: &[&str]) -> Value {
    let wish = json!({"show": show, "seats": seats});
    let made = app.ask(call(order, "exchange", &wish)).await.is(200);
    let told = app.read(order).await["exchange"].clone();
    if made["state"] == "pending" {
        let read = app.read(&told).await;
        app.pay(&read, "approve").await.is(200);
    }
    app.order_in(&told, "ticketed").await;
    told
}

async fn postponed(app: &App, show: &str) {
    let path = format!("/v1/promoter/shows/{show}/postpone");
    let told = app.ask(post(&path, &json!({"starts_at": LATER})).by(&PROMOTER));
    told.await.is(200);
}

/// Opens an app with three nights: the first takes nothing back, the second everything for 10 %,
/// and the third costs twice as much and takes everything back for 20 %.
async fn three_nights() -> (App, Visitor, Visitor) {
    let rule = |fee_pct| json!([{"until_h": 2, "fee_pct": fee_pct}]);
    let (app, ana, ben) = opened_with(json!({"starts_at": BEGINS})).await;
    app.put_show("night-2", json!({"starts_at": BEGINS, "refunds": rule(10)}))
        .await;
    let dear = json!({"starts_at": BEGINS, "refunds": rule(20), "prices": {"cat1": 19_800, "cat2": 9_800}});
    app.put_show("night-3", dear).await;
    (app, ana, ben)
}

/// Gives an order back and returns what came back, in minor units.
async fn given_back(app: &App, order: &Value) -> i64 {
    let read = app.ask(call(order, "refund", &json!({}))).await.is(200);
    let refunds = read["refunds"].as_array().expect("a list");
    let last = refunds.last().expect("a refund");
    last["amount"]["amount"].as_i64().expect("a sum")
}

/// Checks that an order cannot be given back because of what it was exchanged for.
async fn stays(app: &App, order: &Value) {
    let refused = app.ask(call(order, "refund", &json!({}))).await;
    let reason = refused.problem(409, "not_refundable")["reason"].clone();
    assert_eq!(reason, "carried_over");
    let read = app.read(order).await;
    assert_eq!(
        (&read["state"], &read["refund_offer"]),
        (&json!("ticketed"), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_that_could_not_be_given_back_cannot_after_an_exchange() {
    let (app, ana, _) = three_nights().await;
    let order = bought(&app, &ana, "night-1", &["A-1", "A-2"]).await;
    let second = exchanged(&app, &order, "night-2", &["A-1", "A-2"]).await;
    stays(&app, &second).await;
    // What is added in a further exchange follows the rule of its own show.
    let third = exchanged(&app, &second, "night-3", &["A-1", "A-2"]).await;
    let offer = app.read(&third).await["refund_offer"].clone();
    assert_eq!(offer["amount"]["amount"], 15_840);
    assert_eq!(
        offer["carried"],
        json!({
            "amount": {"amount": 19_800, "currency": "EUR"}, "refundable": {"amount": 0, "currency": "EUR"},
        })
    );
    assert_eq!(given_back(&app, &third).await, 15_840);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_came_too_late_does_not_come_back_through_an_exchange() {
    let (app, ana, _) = three_nights().await;
    app.put_show(
        "night-4",
        json!({"starts_at": LATER, "refunds": [{"until_h": 0, "fee_pct": 10}]}),
    )
    .await;
    let order = bought(&app, &ana, "night-2", &["A-1"]).await;
    let early = bought(&app, &app.visitor(3), "night-2", &["B-3"]).await;
    let early = exchanged(&app, &early, "night-4", &["B-1"]).await;
    // One hour before the show, its rule has ended, and exchanges are still possible.
    let begins: jiff::Timestamp = BEGINS.parse().expect("a moment");
    let now_ms = app.clock.now_ms();
    app.clock
        .advance_ms(begins.as_millisecond() - now_ms - 3_600_000);
    let late = app.ask(call(&order, "refund", &json!({}))).await;
    assert_eq!(late.problem(409, "not_refundable")["reason"], "too_late");
    let new = exchanged(&app, &order, "night-4", &["A-1"]).await;
    stays(&app, &new).await;
    assert_eq!(given_back(&app, &early).await, 8_910, "exchanged in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postponement_frees_what_was_bought_or_exchanged_before_it_and_nothing_else() {
    let (app, ana, ben) = three_nights().await;
    let before = bought(&app, &ana, "night-1", &["A-1"]).await;
    let before = exchanged(&app, &before, "night-2", &["A-1"]).await;
    let waiting = bought(&app, &app.visitor(4), "night-1", &["B-1"]).await;
    app.clock.advance_ms(1_000);
    postponed(&app, "night-2").await;
    app.clock.advance_ms(1_000);
    let after = exchanged(&app, &waiting, "night-2", &["B-1"]).await;
    let bought_after = bought(&app, &ben, "night-2", &["A-5"]).await;
    stays(&app, &after).await;
    assert_eq!(given_back(&app, &before).await, 9_900);
    assert_eq!(
        given_back(&app, &bought_after).await,
        8_910,
        "by the show's rule"
    );
    // A second postponement comes after them.
    postponed(&app, "night-2").await;
    assert_eq!(given_back(&app, &after).await, 9_900);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_frees_all_that_was_carried_over() {
    let (app, ana, _) = three_nights().await;
    let order = bought(&app, &ana, "night-1", &["A-1", "A-2"]).await;
    let second = exchanged(&app, &order, "night-2", &["A-1", "A-2"]).await;
    let third = exchanged(&app, &second, "night-3", &["A-1", "A-2"]).await;
    let cancel = post("/v1/promoter/shows/night-3/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    let back = app.order_in(&third, "refunded").await;
    assert_eq!(back["refunds"][0]["amount"]["amount"], 39_600);
    // All of it is the money of the cancelled show, whichever payment it comes from.
    let report = get("/v1/promoter/shows/night-3/refunds").by(&VIEWER);
    let report = app.ask(report).await.is(200);
    let sum: i64 = ["on_its_way", "done", "failed"]
        .iter()
        .map(|part| report[part]["amount"]["amount"].as_i64().expect("a sum"))
        .sum();
    assert_eq!(sum, 39_600);
    for other in ["night-1", "night-2"] {
        let path = format!("/v1/promoter/shows/{other}/refunds");
        let report = app.ask(get(&path).by(&VIEWER)).await.is(200);
        assert_eq!(report["done"]["refunds"], 0, "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn single_tickets_give_back_their_shares_and_together_no_more_than_all() {
    let (app, ana, _) = three_nights().await;
    let order = bought(&app, &ana, "night-2", &["A-1", "B-1", "C-1"]).await;
    let third = exchanged(&app, &order, "night-3", &["A-1", "B-1", "C-1"]).await;
    let read = app.read(&third).await;
    let whole = read["refund_offer"]["amount"]["amount"]
        .as_i64()
        .expect("a sum");
    assert_eq!(whole, 49_400 * 8 / 10);
    let mut sum = 0;
    for ticket in read["tickets"].as_array().expect("a list") {
        let one = json!({"tickets": [ticket["ticket"]]});
        let read = app.ask(call(&third, "refund", &one)).await.is(200);
        let refunds = read["refunds"].as_array().expect("a list");
        sum += refunds.last().expect("a refund")["amount"]["amount"]
            .as_i64()
            .expect("a sum");
    }
    assert_eq!(sum, whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_ends_if_the_old_show_is_cancelled_or_postponed_before_the_difference_is_paid()
{
    for fate in ["cancel", "postpone"] {
        let (app, ana, _) = three_nights().await;
        let order = bought(&app, &ana, "night-1", &["A-1"]).await;
        let price = app.read(&order).await["total"]["amount"].clone();
        let wish = json!({"show": "night-3", "seats": ["A-1"]});
        app.ask(call(&order, "exchange", &wish)).await.is(200);
        let successor = app.read(&order).await["exchange"].clone();
        app.clock.advance_ms(1_000);
        if fate == "cancel" {
            let path = "/v1/promoter/shows/night-1/cancel";
            app.ask(post(path, &json!({})).by(&PROMOTER)).await.is(200);
        } else {
            postponed(&app, "night-1").await;
        }
        let read = app.read(&successor).await;
        app.pay(&read, "approve").await.is(200);
        app.order_in(&successor, "cancelled").await;
        if fate == "cancel" {
            app.order_in(&order, "refunded").await;
            let read = app.read(&order).await;
            assert_eq!(read["refunds"][0]["amount"]["amount"], price);
        } else {
            assert_eq!(app.read(&order).await["state"], "ticketed");
            assert_eq!(json!(given_back(&app, &order).await), price);
        }
    }
}
