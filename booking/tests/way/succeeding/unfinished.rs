//! Exchanges and late payments that are not finished while their trains get other stops.

use super::*;

const LATER: &str = "re-103-2027-01-11";
/// The time to pay plus the claim's grace, plus one millisecond.
const PAST_THE_CLAIM_MS: i64 = 300_000 + 30_000 + 1;

/// Two trains that call at these stations.
fn both_calling_at(stations: &[&'static str]) -> [Train; 2] {
    [("t1", "RE 101", "09:00"), ("t2", "RE 103", "13:00")].map(|(trip, number, leaves)| Train {
        stations: stations.to_vec(),
        ..train(trip, number, leaves)
    })
}

async fn hold_between(app: &App, visitor: u16, show: &str, ride: &Value) -> TestAnswer {
    let who = app.visitor_of(EVERYDAY, visitor);
    let call = post(&format!("/v1/shows/{show}/holds"), ride);
    app.ask(call.by(&who)).await
}

/// Waits until a hold of a train's new legs is answered, and returns the answer.
async fn held_on_new_legs(app: &App, visitor: u16, show: &str, ride: &Value) -> TestAnswer {
    until("the seats on the new legs", async || {
        let held = hold_between(app, visitor, show, ride).await;
        (![400, 422, 503].contains(&held.status)).then_some(held)
    })
    .await
}

/// Makes an order of a seat from Ahausen to Bedorf that is not paid in time.
async fn expired(app: &App) -> Value {
    let hold = held(app, 1, SOLD, SEAT).await.is(201);
    let who = app.visitor_of(EVERYDAY, 1);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let mut wanted = buyer();
    wanted["travellers"] = json!([{"name": "Ana Perez"}]);
    let order = app.ask(post(&path, &wanted).by(&who)).await.is(201);
    app.clock.advance_ms(PAST_THE_CLAIM_MS);
    app.order_in(&order, "expired").await;
    order
}

fn legs_of(order: &Value) -> Value {
    order["tickets"][0]["legs"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_is_not_paid_yet_goes_on_after_both_trains_got_another_stop() {
    let app = railway(&both_calling_at(&["aa", "bb", "cc"])).await;
    let order = sold(&app, 1, SOLD, SEAT).await;
    let wanted = json!({"show": LATER, "best": {"quantity": 1, "class": "business"}, "from": "aa", "to": "cc"});
    let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
    let asked = post(&path, &wanted).by(&text(&order, "order_key"));
    let made = app.ask(asked).await.is(200);
    assert_eq!(made["state"], "pending", "{made:#}");
    let new = app.read(&order).await["exchange"].clone();
    let to_pay = app.read(&new).await;
    let seat = made["seats"][0]["label"].clone();

    succeed(&app, &both_calling_at(&["aa", "dd", "bb", "cc"]), none()).await;
    let taken = json!({"seats": [seat], "from": "dd", "to": "bb"});
    let refused = held_on_new_legs(&app, 2, LATER, &taken).await;
    refused.problem(409, "seats_taken");
    let kept = json!({"seats": [SEAT], "from": "dd", "to": "bb"});
    let refused = held_on_new_legs(&app, 3, SOLD, &kept).await;
    refused.problem(409, "seats_taken");

    app.pay(&to_pay, "approve").await.is(200);
    let done = app.order_in(&new, "ticketed").await;
    assert_eq!(legs_of(&done), json!([0, 1, 2]));
    app.order_in(&order, "exchanged").await;
    held_on_new_legs(&app, 2, LATER, &taken)
        .await
        .problem(409, "seats_taken");
    until("the seat that was given back", async || {
        let held = hold_between(&app, 3, SOLD, &kept).await;
        (held.status == 201).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_buys_the_same_seat_after_the_train_got_another_stop() {
    let app = railway(&both_calling_at(&["aa", "bb", "cc"])).await;
    let order = expired(&app).await;
    succeed(&app, &both_calling_at(&["aa", "dd", "bb", "cc"]), none()).await;
    app.pay(&order, "approve").await.is(200);
    // The money waits if this node has not read the new stops yet.
    let done = until("the same seat", async || {
        app.clock.advance_ms(1_000);
        let order = app.read(&order).await;
        assert_ne!(order["reason"], "late_plan_changed", "{order:#}");
        (order["state"] == "ticketed").then_some(order)
    })
    .await;
    assert_eq!(legs_of(&done), json!([0, 1]));
    let kept = json!({"seats": [SEAT], "from": "dd", "to": "bb"});
    let refused = held_on_new_legs(&app, 3, SOLD, &kept).await;
    refused.problem(409, "seats_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_for_late_money_ends_with_a_seat_or_the_money_after_the_train_got_another_stop() {
    for accepts in [true, false] {
        let app = railway(&both_calling_at(&["aa", "bb", "cc"])).await;
        let order = expired(&app).await;
        held(&app, 2, SOLD, SEAT).await.is(201);
        app.pay(&order, "approve").await.is(200);
        let waiting = app.order_in(&order, "awaiting_consent").await;
        let offered = waiting["offer"]["seats"][0]["label"].clone();
        succeed(&app, &both_calling_at(&["aa", "dd", "bb", "cc"]), none()).await;
        let consent = format!("/v1/orders/{}/consent", text(&order, "order"));
        let asked = post(&consent, &json!({ "accept": accepts }));
        app.ask(asked.by(&text(&order, "order_key"))).await.is(200);
        let ride = json!({"seats": [offered], "from": "dd", "to": "bb"});
        let other = held_on_new_legs(&app, 3, SOLD, &ride).await;
        assert_eq!(other.status == 409, accepts, "{other:?}");
        if accepts {
            let done = app.order_in(&order, "ticketed").await;
            assert_eq!(legs_of(&done), json!([0, 1]));
        } else {
            app.order_once(&order, |order| order["payment"]["state"] == "voided")
                .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_not_paid_ends_with_its_cancelled_train_and_so_does_a_basket() {
    let app = railway(&both_calling_at(&["aa", "bb", "cc"])).await;
    let hold = held(&app, 1, SOLD, SEAT).await.is(201);
    let who = app.visitor_of(EVERYDAY, 1);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let mut wanted = buyer();
    wanted["travellers"] = json!([{"name": "Ana Perez"}]);
    let order = app.ask(post(&path, &wanted).by(&who)).await.is(201);
    let basket = held(&app, 2, SOLD, "3-1B").await.is(201);
    let cancel = ShowChoices {
        cancel: [SOLD.parse().expect("a slug")].into(),
        ..none()
    };
    succeed(&app, &[train("t2", "RE 103", "13:00")], cancel).await;
    let ended = app.order_in(&order, "cancelled").await;
    assert_eq!(ended["reason"], "cancelled_with_show");
    // Money that comes all the same goes back.
    app.pay(&order, "approve").await.is(200);
    let back = app
        .order_once(&order, |order| order["payment"]["state"] == "voided")
        .await;
    assert_eq!(back["tickets"], json!([]));
    let other = app.visitor_of(EVERYDAY, 2);
    let path = format!("/v1/holds/{}", text(&basket, "hold"));
    let told = app.ask(get(&path).by(&other)).await;
    told.problem(409, "show_cancelled");
}
