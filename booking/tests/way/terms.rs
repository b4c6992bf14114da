//! Tests prices and rules: a hold names its terms, an order keeps them, and a hold is valid only
//! for the purpose for which it was made.

use fairgate_model::ids::{HoldId, HoldIdDeriver, OrderId, ShowId};
use serde_json::{Value, json};

use crate::harness::*;

fn exchange(order: &Value, body: &Value) -> TestCall {
    let path = format!("/v1/orders/{}/exchange", text(order, "order"));
    post(&path, body).by(&text(order, "order_key"))
}

fn refund(order: &Value) -> TestCall {
    let path = format!("/v1/orders/{}/refund", text(order, "order"));
    post(&path, &json!({})).by(&text(order, "order_key"))
}

fn checkout(hold: &str) -> TestCall {
    post(&format!("/v1/holds/{hold}/order"), &buyer())
}

fn to(show: &str, seats: &[&str]) -> Value {
    json!({"show": show, "seats": seats})
}

fn euros(amount: i64) -> Value {
    json!({"amount": amount, "currency": "EUR"})
}

async fn paid(app: &App, who: &Visitor, seats: &[&str]) -> Value {
    let order = app.order(who, seats).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    order
}

/// Derives the id of an exchange's hold from the installation's secret, which no visitor knows.
async fn hold_of(app: &App, order: &Value, show: &str, key: &str) -> HoldId {
    let show: ShowId = show.parse().expect("a slug");
    let order: OrderId = text(order, "order").parse().expect("an order's id");
    let secret = app
        .ledger()
        .await
        .secret(&secret(), "call_ids", [0; 32])
        .await;
    HoldIdDeriver::new(secret.expect("readable")).hold_of_exchange(&show, &order, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hold_of_an_exchange_cannot_be_ordered_like_a_basket() {
    let (app, ana, _) = opened().await;
    app.put_show(
        "night-2",
        json!({"prices": {"cat1": 10_000, "cat2": 10_000}}),
    )
    .await;
    let order = paid(&app, &ana, &["A-1", "A-2"]).await;
    let made = app
        .ask(exchange(&order, &to("night-2", &["A-1", "A-2"])).keyed("x"))
        .await
        .is(200);
    assert_eq!(made["payment"]["amount"], euros(200));
    let hold = hold_of(&app, &order, "night-2", "x").await;
    let refused = app.ask(checkout(hold.as_str()).by(&ana)).await;
    assert_eq!(refused.problem(409, "hold_purpose")["purpose"], "exchange");
    for call in [
        delete(&format!("/v1/holds/{hold}")),
        post(&format!("/v1/holds/{hold}/extend"), &json!({})),
        patch(&format!("/v1/holds/{hold}"), &json!({"remove": ["A-1"]})),
    ] {
        app.ask(call.by(&ana)).await.problem(409, "hold_purpose");
    }
    // These calls do not disturb the exchange.
    let told = app.read(&order).await["exchange"].clone();
    app.pay(&made, "approve").await.is(200);
    app.order_in(&told, "ticketed").await;
    let seats = app.seats("night-2").await;
    assert_eq!(seats["unavailable"], json!({"A-1": "sold", "A-2": "sold"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_six_exchanges_at_once_one_succeeds_and_the_seats_of_the_others_are_free_at_once() {
    let (app, ana, _) = opened().await;
    let order = paid(&app, &ana, &["A-1"]).await;
    for round in ["B", "C", "D"] {
        let current = newest(&app, &order).await;
        let (app, ana) = (&app, &ana);
        let mut tries = Vec::new();
        for seat in 1..=6 {
            let wish = to("night-1", &[&format!("{round}-{}", seat + 1)]);
            let key = format!("{round}{seat}");
            let (current, hold) = (
                current.clone(),
                hold_of(app, &current, "night-1", &key).await,
            );
            tries.push(async move {
                // A visitor who has guessed the hold's id tries to order the hold during the
                // exchange and after it.
                let beside = async {
                    for _ in 0..50 {
                        let tried = app.ask(checkout(hold.as_str()).by(ana)).await;
                        assert_ne!(tried.status, 201, "the hold of an exchange was ordered");
                    }
                };
                let (made, ()) =
                    tokio::join!(app.ask(exchange(&current, &wish).keyed(&key)), beside);
                let tried = app.ask(checkout(hold.as_str()).by(ana)).await;
                assert_ne!(tried.status, 201, "the hold of an exchange was ordered");
                made.status
            });
        }
        let told = join_all(tries).await;
        assert_eq!(told.iter().filter(|status| **status == 200).count(), 1);
        let taken = app.seats("night-1").await["unavailable"].clone();
        assert_eq!(
            taken.as_object().map(serde_json::Map::len),
            Some(1),
            "{taken}"
        );
    }
}

/// Returns the order that now has the seats.
async fn newest(app: &App, order: &Value) -> Value {
    let mut order = order.clone();
    loop {
        let next = app.read(&order).await["exchange"].clone();
        if next.is_null() {
            return order;
        }
        order = next;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_keeps_its_price_and_the_next_hold_costs_the_new_price() {
    let (app, ana, ben) = opened().await;
    let hold = app.hold(&ana, &["A-1"]).await;
    app.put_show(
        "night-1",
        json!({"prices": {"cat1": 15_000, "cat2": 4_900}}),
    )
    .await;
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    let read = app.ask(get(&path).by(&ana)).await.is(200);
    assert_eq!(read["total"], euros(9_900));
    let more = patch(&path, &json!({"add": ["A-2"]})).by(&ana);
    app.ask(more).await.problem(409, "terms_changed");
    let order = app
        .ask(checkout(&text(&hold, "hold")).by(&ana))
        .await
        .is(201);
    assert_eq!(order["total"], euros(9_900));
    assert_eq!(app.order(&ben, &["A-2"]).await["total"], euros(15_000));
    // The order keeps its price over a restart.
    let app = app.restarted().await;
    assert_eq!(app.read(&order).await["total"], euros(9_900));
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_keep_their_refund_and_exchange_rules_when_the_show_drops_its_rules() {
    let rules = json!({"refunds": [{"until_h": 48, "fee_pct": 10}]});
    let (app, ana, ben) = opened_with(rules).await;
    let before = paid(&app, &ana, &["A-1", "A-2"]).await;
    let bare = json!({"refunds": [], "exchange": null});
    app.put_show("night-1", bare).await;
    let after = paid(&app, &ben, &["B-1"]).await;
    let refused = app.ask(refund(&after)).await;
    assert_eq!(
        refused.problem(409, "not_refundable")["reason"],
        "no_refunds"
    );
    let refused = app.ask(exchange(&after, &to("night-1", &["C-1"]))).await;
    let refused = refused.problem(409, "not_exchangeable");
    assert_eq!(refused["reason"], "no_exchange");
    assert_eq!(app.read(&after).await["exchange_offer"], Value::Null);
    let read = app.read(&before).await;
    assert_eq!(read["refund_offer"]["fee"], euros(1_980));
    assert_eq!(read["exchange_offer"]["kept_pct"], 0);
    // The hours of a rule count back from the start of the show. If the start was moved after the
    // purchase, the later of the two starts counts.
    app.clock.advance_ms(142 * 24 * 3_600_000);
    let late = app.ask(refund(&before)).await;
    assert_eq!(late.problem(409, "not_refundable")["reason"], "too_late");
    // `refunds_until` is over at once, so only the rules allow the refund.
    let moved = json!({
        "starts_at": "2028-06-01T20:00:00+02:00", "refunds_until": "2027-01-10T09:00:00Z",
    });
    let postpone = post("/v1/promoter/shows/night-1/postpone", &moved);
    app.ask(postpone.by(&PROMOTER)).await.is(200);
    let given_back = app.ask(refund(&before)).await.is(200);
    assert_eq!(given_back["state"], "refunded");
    assert_eq!(given_back["refunds"][0]["amount"], euros(17_820));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_currency_cannot_change_while_seats_are_held_or_ordered() {
    let (app, ana, _) = opened().await;
    let in_francs = || {
        let francs = document(json!({"currency": "CHF"}));
        put("/v1/promoter/shows/night-1", &francs).by(&PROMOTER)
    };
    let hold = app.hold(&ana, &["A-1"]).await;
    let refused = app.ask(in_francs()).await;
    assert_eq!(refused.problem(409, "currency_in_use")["field"], "currency");
    let order = app
        .ask(checkout(&text(&hold, "hold")).by(&ana))
        .await
        .is(201);
    app.ask(in_francs()).await.problem(409, "currency_in_use");
    app.ask(
        post(
            &format!("/v1/orders/{}/cancel", text(&order, "order")),
            &json!({}),
        )
        .by(&text(&order, "order_key")),
    )
    .await
    .is(200);
    until("the seats to be free", async || {
        (app.seats("night-1").await["held"] == 0).then_some(())
    })
    .await;
    app.ask(in_francs()).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_for_cheaper_seats_refunds_no_more_than_the_refund_rule_would() {
    let rules = json!({"refunds": [{"until_h": 48, "fee_pct": 10}], "exchange": {"fee": 500}});
    let (app, ana, _) = opened_with(rules).await;
    let order = paid(&app, &ana, &["A-1", "A-2"]).await;
    assert_eq!(app.read(&order).await["exchange_offer"]["kept_pct"], 10);
    app.put_show("night-2", json!({"prices": {"cat1": 4_900, "cat2": 4_900}}))
        .await;
    let made = app
        .ask(exchange(&order, &to("night-2", &["A-1", "A-2"])))
        .await;
    assert_eq!(made.is(200)["state"], "ticketed");
    // The new seats cost 100.00 less. A tenth of that and the fee of the exchange are kept.
    let back = app.read(&order).await["refunds"][0].clone();
    assert_eq!(back["amount"], euros(8_500));
    let found = app
        .booking
        .reconciler()
        .reconcile_all(0)
        .await
        .expect("readable");
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_to_another_room_needs_a_pass_of_that_room_and_counts_for_its_holder() {
    let (app, ana, _) = opened().await;
    app.put_show("other-1", json!({"seats_per_visitor": 2}))
        .await;
    let coverage = vec![
        (ROOM.to_owned(), vec!["night-*".to_owned()]),
        ("rush".to_owned(), vec!["other-*".to_owned()]),
    ];
    app.booking
        .gateways()
        .replace_coverage(coverage)
        .await
        .expect("covered");
    let order = paid(&app, &ana, &["A-1", "A-2"]).await;
    let cleo = app.visitor_of("rush", 7);
    let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
    let with = |key: &str, seats: &[&str]| {
        let call = post(&path, &to("other-1", seats)).by(&cleo);
        call.header("order-key", key)
    };
    let key = text(&order, "order_key");
    let stranger = format!("orderkey_{}", "0".repeat(64));
    app.ask(with(&stranger, &["A-1", "A-2"]))
        .await
        .problem(403, "not_yours");
    // The limit of the other show counts the seats of the visitor whose pass is for that show's
    // room.
    let hold = post("/v1/shows/other-1/holds", &json!({"seats": ["C-1"]}));
    let held = app.ask(hold.by(&cleo)).await.is(201);
    let refused = app.ask(with(&key, &["A-1", "A-2"])).await;
    refused.problem(422, "limit_exceeded");
    app.ask(delete(&format!("/v1/holds/{}", text(&held, "hold"))).by(&cleo))
        .await
        .is(204);
    let made = app.ask(with(&key, &["A-1", "A-2"])).await.is(200);
    assert_eq!(made["state"], "ticketed");
    let path = format!("/v1/orders/{}", text(&made, "order"));
    app.ask(get(&path).by(&cleo)).await.is(200);
    let hold = post("/v1/shows/other-1/holds", &json!({"seats": ["C-1"]}));
    app.ask(hold.by(&cleo)).await.problem(422, "limit_exceeded");
    assert_eq!(app.read(&order).await["state"], "exchanged");
}
