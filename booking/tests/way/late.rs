//! Tests money that arrives after its order has expired. It buys the same seats, or similar seats
//! with the buyer's consent, or is voided. In every case the reason is in the order's history.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::ends::{reasons, seats_are_free};
use crate::harness::*;

/// The time to pay plus the claim's grace, plus one millisecond.
const PAST_THE_CLAIM_MS: i64 = 300_000 + 30_000 + 1;

/// Returns an order that expired without a payment.
async fn expired(app: &App, who: &Visitor, seats: &[&str]) -> Value {
    let order = app.order(who, seats).await;
    app.clock.advance_ms(PAST_THE_CLAIM_MS);
    app.order_in(&order, "expired").await;
    seats_are_free(app).await;
    order
}

async fn consent(app: &App, order: &Value, accept: bool) -> TestAnswer {
    let path = format!("/v1/orders/{}/consent", text(order, "order"));
    let call = post(&path, &json!({ "accept": accept }));
    app.ask(call.by(&text(order, "order_key"))).await
}

fn labels(seats: &Value) -> Vec<String> {
    let seats = seats.as_array().expect("a list");
    seats.iter().map(|seat| text(seat, "label")).collect()
}

fn voided(order: &Value) -> bool {
    order["payment"]["state"] == "voided"
}

/// Pays for Ana's order too late, while Ben has its seats in his basket, so that other seats are
/// offered. Returns the app, the order as it was made, and the order with its offer.
async fn offered() -> (App, Value, Value) {
    offered_with(json!({})).await
}

/// Does the same as [`offered`], with changes to the show's document.
async fn offered_with(changes: Value) -> (App, Value, Value) {
    let (app, ana, _) = opened_with(changes).await;
    let order = expired(&app, &ana, &["A-1", "A-2"]).await;
    let ben = app.visitor(2);
    app.hold(&ben, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let waiting = app.order_in(&order, "awaiting_consent").await;
    (app, order, waiting)
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_buys_the_same_seats_while_they_are_free() {
    let (app, ana, _) = opened().await;
    let order = expired(&app, &ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let done = app.order_in(&order, "ticketed").await;
    assert_eq!(
        reasons(&done),
        [
            "ordered",
            "payment_deadline",
            "late_money",
            "late_same_seats",
            "payment_captured"
        ]
    );
    assert_eq!(labels(&done["seats"]), ["A-1", "A-2"]);
    assert_eq!(done["tickets"].as_array().map(Vec::len), Some(2));
    let seats = app.seats("night-1").await["unavailable"].clone();
    assert_eq!(seats, json!({"A-1": "sold", "A-2": "sold"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_never_takes_seats_from_a_basket_and_other_seats_are_offered() {
    let (app, order, waiting) = offered().await;
    assert_eq!(labels(&waiting["seats"]), ["A-1", "A-2"]);
    let offer = labels(&waiting["offer"]["seats"]);
    assert_eq!(offer.len(), 2);
    assert!(!offer.contains(&"A-1".to_owned()) && !offer.contains(&"A-2".to_owned()));
    let until = waiting["offer"]["consent_until"].as_str().expect("a time");
    assert_eq!(until, "2027-01-10T09:20:30.001Z");
    let seats = app.seats("night-1").await["unavailable"].clone();
    for label in ["A-1", "A-2", &offer[0], &offer[1]] {
        assert_eq!(seats[label], "held", "{label}");
    }
    let accepted = consent(&app, &order, true).await.is(200);
    assert_eq!(labels(&accepted["seats"]), offer);
    let done = app.order_in(&order, "ticketed").await;
    assert_eq!(
        reasons(&done)[2..],
        [
            "late_money",
            "late_other_seats",
            "consent_given",
            "payment_captured"
        ]
    );
    assert_eq!(
        (labels(&done["seats"]), &done["offer"]),
        (offer.clone(), &Value::Null)
    );
    assert_eq!(done["tickets"].as_array().map(Vec::len), Some(2));
    let again = consent(&app, &order, true).await.is(200);
    assert_eq!(
        again["history"], done["history"],
        "the second consent changes nothing"
    );
    consent(&app, &order, false)
        .await
        .problem(409, "no_consent_awaited");
    until_seats(&app, &offer, "sold").await;
}

async fn until_seats(app: &App, labels: &[String], state: &str) {
    until("the seats' states", async || {
        let seats = app.seats("night-1").await["unavailable"].clone();
        labels
            .iter()
            .all(|label| seats[label] == state)
            .then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn declined_other_seats_are_free_again_and_the_payment_is_voided() {
    let (app, order, waiting) = offered().await;
    consent(&app, &order, false).await.is(200);
    let after = app.order_once(&order, voided).await;
    assert_eq!(
        (&after["state"], &after["reason"]),
        (&json!("cancelled"), &json!("consent_declined"))
    );
    assert_eq!(after["tickets"], json!([]));
    until("only Ben's basket", async || {
        let seats = app.seats("night-1").await["unavailable"].clone();
        (seats == json!({"A-1": "held", "A-2": "held"})).then_some(())
    })
    .await;
    assert_eq!(waiting["payment"]["state"], "authorised");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_answer_the_payment_is_voided_after_a_quarter_of_an_hour() {
    let (app, order, _) = offered().await;
    app.clock.advance_ms(15 * 60 * 1_000 - 1);
    assert_eq!(app.read(&order).await["state"], "awaiting_consent");
    app.clock.advance_ms(1);
    let after = app.order_once(&order, voided).await;
    assert_eq!(
        (&after["state"], &after["reason"]),
        (&json!("expired"), &json!("consent_deadline"))
    );
    consent(&app, &order, true)
        .await
        .problem(409, "no_consent_awaited");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_other_seats_ends_when_its_show_begins() {
    let (app, order, waiting) = offered_with(json!({"starts_at": "2027-01-10T09:15:00Z"})).await;
    assert_eq!(waiting["offer"]["consent_until"], "2027-01-10T09:15:00Z");
    app.clock.advance_ms(10 * 60_000);
    let over = app.order_in(&order, "expired").await;
    assert_eq!(over["reason"], "consent_deadline");
    app.order_once(&order, voided).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_accepts_other_seats_of_a_show_that_was_brought_forward_and_has_begun() {
    let (app, order, _) = offered().await;
    let earlier = json!({"starts_at": "2027-01-10T09:10:00Z"});
    let postpone = post("/v1/promoter/shows/night-1/postpone", &earlier).by(&PROMOTER);
    app.ask(postpone).await.is(200);
    app.clock.advance_ms(6 * 60_000);
    let over = consent(&app, &order, true).await.is(200);
    assert_eq!(
        (&over["state"], &over["reason"]),
        (&json!("cancelled"), &json!("late_show_begun"))
    );
    app.order_once(&order, voided).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_other_seats_is_kept_over_a_restart() {
    let (app, order, waiting) = offered().await;
    let app = app.restarted().await;
    assert_eq!(app.read(&order).await["offer"], waiting["offer"]);
    until_seats(&app, &labels(&waiting["offer"]["seats"]), "held").await;
    consent(&app, &order, true).await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_that_buys_nothing_is_voided_and_the_order_has_the_reason() {
    // No seat is free, because the whole hall is in a basket.
    let app = App::new().await;
    app.put_venue("hall", "grid:1x4").await;
    app.put_show("night-1", json!({})).await;
    let order = expired(&app, &app.visitor(1), &["A-1", "A-2"]).await;
    app.hold(&app.visitor(2), &["A-1", "A-2", "A-3", "A-4"])
        .await;
    app.pay(&order, "approve").await.is(200);
    let after = app.order_once(&order, voided).await;
    assert_eq!(
        (&after["state"], &after["reason"]),
        (&json!("expired"), &json!("late_seats_gone"))
    );
    // The visitor already has as many seats as the show allows.
    let (app, ana, _) = opened_with(json!({"seats_per_visitor": 2})).await;
    let order = expired(&app, &ana, &["A-1", "A-2"]).await;
    app.order(&app.visitor(1), &["B-1", "B-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let after = app.order_once(&order, voided).await;
    assert_eq!(after["reason"], "late_limit");
    // The show has begun.
    let (app, ana, _) = opened_with(json!({"starts_at": "2027-01-10T09:05:00Z"})).await;
    let order = expired(&app, &ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let after = app.order_once(&order, voided).await;
    assert_eq!(after["reason"], "late_show_begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_order_does_not_delay_the_late_money_of_others() {
    let (app, ana, ben) = opened().await;
    let orders = [
        app.order(&ana, &["A-1"]).await,
        app.order(&ben, &["B-1"]).await,
    ];
    app.clock.advance_ms(PAST_THE_CLAIM_MS);
    for order in &orders {
        app.order_in(order, "expired").await;
    }
    seats_are_free(&app).await;
    // The trigger keeps the worker from starting a search for seats until both payments have
    // arrived.
    app.tamper("CREATE TRIGGER away BEFORE UPDATE OF due_at ON late_money BEGIN SELECT RAISE(ABORT, 'away'); END;")
        .await;
    for order in &orders {
        app.pay(order, "approve").await.is(200);
        app.order_once(order, |order| order["reason"] == "late_money")
            .await;
    }
    app.tamper(
        "UPDATE orders SET items = 'rubbish' WHERE items LIKE '%A-1%'; \
         DROP TRIGGER away;",
    )
    .await;
    app.order_in(&orders[1], "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_held_for_late_money_are_freed_if_the_money_is_withdrawn() {
    let (app, ana, _) = opened().await;
    let order = expired(&app, &ana, &["A-1", "A-2"]).await;
    app.tamper("CREATE TRIGGER away BEFORE UPDATE OF outcome ON late_money BEGIN SELECT RAISE(ABORT, 'away'); END;")
        .await;
    app.pay(&order, "approve").await.is(200);
    until_seats(&app, &["A-1".to_owned(), "A-2".to_owned()], "held").await;
    // The money is withdrawn before the next run of the worker.
    app.tamper("UPDATE payments SET state = 'voided'; DROP TRIGGER away;")
        .await;
    app.clock.advance_ms(5_000);
    app.order_once(&order, |order| order["reason"] == "late_money_withdrawn")
        .await;
    seats_are_free(&app).await;
}

/// Returns how many rows of thirty seats the hall has: `FAIRGATE_LATE_ROWS`, or ten. There is an
/// order for each seat, and each order is paid too late.
fn rows() -> u16 {
    let rows = std::env::var("FAIRGATE_LATE_ROWS").ok();
    rows.and_then(|rows| rows.parse().ok()).unwrap_or(10)
}

/// How many seats of each row others buy before the late payments.
const TAKEN_OF_ROW: u16 = 12;

fn label(n: u16) -> String {
    let row = char::from(b'A' + u8::try_from(n / 30).expect("ten rows"));
    format!("{row}-{}", n % 30 + 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn many_late_payments_each_end_with_seats_or_money_back_and_the_reason() {
    let app = App::new().await;
    app.put_venue("hall", &format!("grid:{}x30", rows())).await;
    app.put_show("night-1", json!({"orphans": "allow"})).await;
    all_end_with_seats_or_money_back(&[app]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_late_payments_at_two_nodes_each_end_with_seats_or_money_back() {
    if fairgate_servers::must_skip("many late payments over PostgreSQL and Redis") {
        return;
    }
    let redis = fairgate_servers::RedisServers::single()
        .await
        .expect("Redis starts");
    let quick = json!({
        "orphans": "allow", "starts_at": NODES_BEGIN,
        "hold_s": 3, "grace_s": 1, "claim_grace_s": 1, "pay_s": 3,
    });
    let nodes = App::nodes_selling(2, &redis.url(), &format!("grid:{}x30", rows()), quick).await;
    all_end_with_seats_or_money_back(&nodes).await;
}

/// Orders each seat, lets all orders expire, pays all of them, and checks how each ends. `nodes` is
/// one app whose clock the test moves, or several nodes with the system's clock and short
/// deadlines.
async fn all_end_with_seats_or_money_back(nodes: &[App]) {
    let at = |n: u16| &nodes[usize::from(n) % nodes.len()];
    let app = &nodes[0];
    let (count, taken) = (rows() * 30, rows() * TAKEN_OF_ROW);
    let mut orders = Vec::new();
    for n in 0..count {
        orders.push(at(n).order(&app.visitor(n + 1), &[&label(n)]).await);
    }
    app.clock.advance_ms(PAST_THE_CLAIM_MS);
    for order in &orders {
        app.order_in(order, "expired").await;
    }
    for node in nodes {
        seats_are_free(node).await;
    }
    // Others now buy two of each five seats, so late money cannot buy these.
    for n in 0..taken {
        let bought = at(n).order(&app.visitor(1_000 + n), &[&label(n * 2)]).await;
        at(n + 1).pay(&bought, "approve").await.is(200);
    }
    let approvals = (0..)
        .zip(&orders)
        .map(|(n, order)| at(n).pay(order, "approve"));
    for approved in join_all(approvals).await {
        approved.is(200);
    }
    let decided = |order: &Value| {
        order["state"] == "awaiting_consent" || order["state"] == "ticketed" || voided(order)
    };
    let mut ends: HashMap<String, u32> = HashMap::new();
    let mut owners: HashMap<String, String> = HashMap::new();
    for (n, order) in (0..).zip(&orders) {
        let first = app.order_once(order, decided).await;
        if first["state"] == "awaiting_consent" {
            consent(at(n), order, n % 4 != 0).await.is(200);
        }
        let last = app
            .order_once(order, |order| order["state"] == "ticketed" || voided(order))
            .await;
        let told = reasons(&last);
        assert_eq!(told[..3], ["ordered", "payment_deadline", "late_money"]);
        let how = told
            .iter()
            .rfind(|reason| *reason != "payment_captured")
            .expect("a reason")
            .clone();
        let has_seats = matches!(how.as_str(), "late_same_seats" | "consent_given");
        let back = matches!(how.as_str(), "late_seats_gone" | "consent_declined");
        assert!(has_seats != back, "{how}");
        assert_eq!(last["state"] == "ticketed", has_seats, "{how}");
        let money = if has_seats { "captured" } else { "voided" };
        assert_eq!(last["payment"]["state"], money);
        assert_eq!(
            last["tickets"].as_array().map(Vec::len),
            Some(usize::from(has_seats))
        );
        if has_seats {
            let seat = labels(&last["seats"]).remove(0);
            assert_eq!(seat == label(n), how == "late_same_seats");
            let other = owners.insert(seat.clone(), text(order, "order"));
            assert!(other.is_none(), "{seat} twice");
        }
        *ends.entry(how).or_default() += 1;
    }
    for n in 0..taken {
        assert!(
            !owners.contains_key(&label(n * 2)),
            "late money must not buy a sold seat"
        );
    }
    assert_eq!(ends.values().sum::<u32>(), u32::from(count));
    for how in ["late_same_seats", "late_seats_gone"] {
        assert!(ends.get(how).is_some_and(|count| *count > 0), "{ends:?}");
    }
    let sold = usize::from(taken) + owners.len();
    until("nothing pending and nothing held", async || {
        let backlog = app.ledger().await.backlog().await.expect("readable");
        let seats = app.seats("night-1").await;
        (backlog == (0, 0) && seats["held"] == 0 && seats["sold"] == sold).then_some(())
    })
    .await;
}
