//! Tests refunds of tickets that their buyers return, and of tickets for a cancelled or postponed
//! show.

use serde_json::{Value, json};

use crate::ends::reasons;
use crate::harness::*;

/// Waits until no seat is held or sold. The seats of a cancelled show are all blocked.
async fn nothing_is_taken(app: &App) {
    until("no held or sold seat", async || {
        let seats = app.seats("night-1").await;
        let taken = seats["unavailable"].as_object().expect("an object");
        taken.values().all(|state| state == "blocked").then_some(())
    })
    .await;
}

fn rules() -> Value {
    json!({"refunds": [{"until_h": 48, "fee_pct": 10}]})
}

/// Returns a paid order of `who` with its tickets.
async fn ticketed(app: &App, who: &Visitor, seats: &[&str]) -> Value {
    let order = app.order(who, seats).await;
    app.pay(&order, "approve").await.is(200);
    let read = app.order_in(&order, "ticketed").await;
    let mut order = order;
    order["tickets"] = read["tickets"].clone();
    order
}

fn refund(order: &Value, body: &Value) -> TestCall {
    let path = format!("/v1/orders/{}/refund", text(order, "order"));
    post(&path, body).by(&text(order, "order_key"))
}

fn euros(amount: i64) -> Value {
    json!({"amount": amount, "currency": "EUR"})
}

fn is_back(order: &Value) -> bool {
    let refunds = order["refunds"].as_array().expect("a list");
    !refunds.is_empty() && refunds.iter().all(|refund| refund["state"] == "done")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_ticket_is_refunded_less_the_fee_of_the_offer() {
    let (app, ana, ben) = opened_with(rules()).await;
    let order = ticketed(&app, &ana, &["A-1", "A-2"]).await;
    let before = app.read(&order).await;
    let offer = &before["refund_offer"];
    assert_eq!(offer["fee_pct"], 10);
    assert_eq!(offer["until"], "2027-05-30T18:00:00Z");
    assert_eq!(
        (&offer["amount"], &offer["fee"]),
        (&euros(17_820), &euros(1_980))
    );
    let ticket = text(&offer["tickets"][0], "ticket");
    assert_eq!(offer["tickets"][0]["amount"], euros(8_910));
    let ask = json!({"tickets": [ticket]});
    for _ in 0..2 {
        let after = app.ask(refund(&order, &ask).keyed("one")).await.is(200);
        assert_eq!(after["state"], "partly_refunded");
        assert_eq!(after["refunds"].as_array().map(Vec::len), Some(1));
    }
    let done = app.order_once(&order, is_back).await;
    assert_eq!(done["refunds"][0]["amount"], euros(8_910));
    assert_eq!(done["refunds"][0]["fee"], euros(990));
    assert_eq!(done["refunds"][0]["seats"], json!(["A-1"]));
    assert_eq!(
        done["total"],
        euros(19_800),
        "the total of the order does not change"
    );
    assert_eq!(done["tickets"].as_array().map(Vec::len), Some(1));
    let gone: Vec<&Value> = done["seats"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|seat| seat["refunded"] == true)
        .map(|seat| &seat["label"])
        .collect();
    assert_eq!(gone, ["A-1"]);
    // The refunded ticket is refused at the door, and the other ticket is accepted.
    let scan = |ticket: &str| post(&format!("/v1/tickets/{ticket}/scan"), &json!({})).by(&DOOR);
    app.ask(scan(&ticket)).await.problem(409, "ticket_void");
    let read = get(&format!("/v1/tickets/{ticket}")).by(&text(&order, "order_key"));
    app.ask(read).await.problem(409, "ticket_void");
    app.ask(scan(&text(&done["tickets"][0], "ticket")))
        .await
        .is(200);
    until("the seat to be free", async || {
        let seats = app.seats("night-1").await;
        (seats["unavailable"] == json!({"A-2": "sold"})).then_some(())
    })
    .await;
    app.hold(&ben, &["A-1"]).await;
    let whole = app.ask(refund(&order, &json!({}))).await;
    assert_eq!(
        whole.problem(409, "ticket_scanned")["seats"],
        json!(["A-2"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seats_of_a_refunded_order_are_free_also_after_a_restart() {
    let (app, ana, ben) = opened_with(rules()).await;
    let order = ticketed(&app, &ana, &["A-1", "A-2"]).await;
    let kept = ticketed(&app, &ben, &["B-1", "B-2"]).await;
    let one = json!({"tickets": [kept["tickets"][0]["ticket"]]});
    app.ask(refund(&kept, &one)).await.is(200);
    let after = app.ask(refund(&order, &json!({}))).await.is(200);
    assert_eq!(after["state"], "refunded");
    assert_eq!(after["refund_offer"], Value::Null);
    let again = app.ask(refund(&order, &json!({}))).await.is(200);
    assert_eq!(again["history"], after["history"]);
    app.order_once(&order, is_back).await;
    let free = async |app: &App| {
        until("the freed seats", async || {
            let seats = app.seats("night-1").await;
            (seats["unavailable"] == json!({"B-2": "sold"})).then_some(())
        })
        .await;
    };
    free(&app).await;
    let app = app.restarted().await;
    free(&app).await;
    let found = app
        .booking
        .reconciler()
        .reconcile_all(0)
        .await
        .expect("readable");
    assert!(found.is_empty(), "{found:?}");
    // A visitor may have four seats, and refunded seats no longer count.
    app.hold(&app.visitor(1), &["A-1", "A-2", "A-3", "A-4"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_is_not_allowed_is_refused_and_changes_nothing() {
    let (app, ana, _) = opened_with(rules()).await;
    let pending = app.order(&ana, &["C-1", "C-2"]).await;
    let refused = app.ask(refund(&pending, &json!({}))).await;
    assert_eq!(refused.problem(409, "not_refundable")["state"], "pending");
    app.pay(&pending, "approve").await.is(200);
    let order = app.order_in(&pending, "ticketed").await;
    let bad = |body: Value| refund(&pending, &body);
    let none = app.ask(bad(json!({"tickets": []}))).await;
    none.problem(422, "invalid_field");
    let stranger = format!("ticket_night-1_{}", "0".repeat(32));
    let stranger = app.ask(bad(json!({"tickets": [stranger]}))).await;
    stranger.problem(422, "invalid_field");
    app.clock.advance_ms(200 * 24 * 3_600_000);
    let late = app.ask(bad(json!({}))).await;
    assert_eq!(late.problem(409, "not_refundable")["reason"], "too_late");
    let after = app.read(&pending).await;
    assert_eq!(after["history"], order["history"]);
    assert_eq!(
        (&after["refunds"], &after["refund_offer"]),
        (&json!([]), &Value::Null)
    );
    let foreign = post(
        &format!("/v1/orders/{}/refund", text(&pending, "order")),
        &json!({}),
    );
    app.ask(foreign.by(&app.visitor(9)))
        .await
        .problem(403, "not_yours");
}

async fn report(app: &App) -> Value {
    app.ask(get("/v1/promoter/shows/night-1/refunds").by(&VIEWER))
        .await
        .is(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_show_refunds_everything_and_sells_nothing_more() {
    let (app, ana, ben) = opened_with(rules()).await;
    let paid = ticketed(&app, &ana, &["A-1", "A-2"]).await;
    let open = app.order(&ben, &["B-1", "B-2"]).await;
    let basket = app.hold(&app.visitor(3), &["C-1", "C-2"]).await;
    let cancel = || post("/v1/promoter/shows/night-1/cancel", &json!({}));
    app.ask(cancel().by(&VIEWER)).await.problem(403, "key_role");
    for _ in 0..2 {
        let told = app.ask(cancel().by(&PROMOTER)).await.is(200);
        assert_eq!(told["fate"], "cancelled");
    }
    let more = post("/v1/shows/night-1/holds", &json!({"seats": ["D-1", "D-2"]}));
    app.ask(more.by(&app.visitor(4)))
        .await
        .problem(409, "show_cancelled");
    let path = format!("/v1/holds/{}/order", text(&basket, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&app.visitor(3))).await;
    order.problem(409, "show_cancelled");
    let back = app.order_in(&paid, "refunded").await;
    assert_eq!(back["reason"], "show_cancelled");
    assert_eq!(back["refunds"][0]["fee"], euros(0));
    // An order that was not paid ends, and a payment that arrives all the same goes back.
    let ended = app.order_in(&open, "cancelled").await;
    assert_eq!(ended["reason"], "cancelled_with_show");
    app.pay(&open, "approve").await.is(200);
    let is_voided = |order: &Value| order["payment"]["state"] == "voided";
    let late = app.order_once(&open, is_voided).await;
    assert!(reasons(&late).contains(&"late_money_voided".to_owned()));
    until("the end of all refunds", async || {
        let told = report(&app).await;
        (told["on_its_way"]["refunds"] == 0).then_some(())
    })
    .await;
    let told = report(&app).await;
    assert_eq!(
        (&told["orders_left"], &told["orders_refunded"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(told["done"], json!({"refunds": 1, "amount": euros(19_800)}));
    let path = format!("/v1/holds/{}", text(&basket, "hold"));
    app.ask(delete(&path).by(&app.visitor(3))).await.is(204);
    nothing_is_taken(&app).await;
    let shown = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(shown["fate"], "cancelled");
    let back = post(
        "/v1/promoter/shows/night-1/postpone",
        &json!({"starts_at": "2027-09-01T20:00:00Z"}),
    );
    app.ask(back.by(&PROMOTER))
        .await
        .problem(409, "show_cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mass_refund_goes_on_after_a_crash() {
    let (app, ana, ben) = opened().await;
    let orders = [
        ticketed(&app, &ana, &["A-1", "A-2"]).await,
        ticketed(&app, &ben, &["B-1", "B-2"]).await,
    ];
    // The cancellation is in the ledger, and the process dies before it refunds anything.
    let ledger = app.ledger().await;
    let show = "night-1".parse().expect("a slug");
    let fate = booking::ledger::NewFate::CANCELLED;
    let written = ledger.put_fate(&show, fate, app.clock.now_ms()).await;
    assert!(written.expect("written"));
    let app = app.restarted().await;
    for order in &orders {
        app.order_in(order, "refunded").await;
        app.order_once(order, is_back).await;
    }
    nothing_is_taken(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn buyers_of_a_postponed_show_get_a_refund_without_a_fee() {
    let (app, ana, ben) = opened().await;
    let order = ticketed(&app, &ana, &["A-1", "A-2"]).await;
    assert_eq!(app.read(&order).await["refund_offer"], Value::Null);
    let postpone = |body: Value| post("/v1/promoter/shows/night-1/postpone", &body).by(&PROMOTER);
    for bad in [
        json!({"starts_at": "2020-01-01T00:00:00Z"}),
        json!({"starts_at": "2027-09-01T20:00:00Z", "refunds_until": "2027-09-02T00:00:00Z"}),
        json!({}),
    ] {
        let refused = app.ask(postpone(bad)).await;
        assert_eq!(refused.status, 422, "{}", refused.text());
    }
    let body =
        json!({"starts_at": "2027-09-01T20:00:00Z", "refunds_until": "2027-07-01T00:00:00Z"});
    let told = app.ask(postpone(body)).await.is(200);
    assert_eq!(
        (&told["fate"], &told["refunds_until"]),
        (&json!("postponed"), &json!("2027-07-01T00:00:00Z"))
    );
    let read = app.read(&order).await;
    assert_eq!(read["starts_at"], "2027-09-01T20:00:00Z");
    assert_eq!(read["refund_offer"]["fee"], euros(0));
    assert_eq!(read["refund_offer"]["reason"], "show_postponed");
    // The show is still sold, for its new date.
    app.hold(&ben, &["C-1", "C-2"]).await;
    let back = app.ask(refund(&order, &json!({}))).await.is(200);
    assert_eq!(
        (&back["state"], &back["reason"]),
        (&json!("refunded"), &json!("show_postponed"))
    );
    app.order_once(&order, is_back).await;
}
