//! Tests the end of a sale: no seat can be held from then on, and seats that were held in time can
//! still be paid.

use serde_json::{Value, json};

use crate::harness::*;

const HOLDS: &str = "/v1/shows/night-1/holds";
const LIST: &str = "/v1/shows/night-1/waitlist";
/// The end of the sale. The app's clock begins at 09:00.
const END: &str = "2027-01-10T09:05:00Z";
const TO_THE_END_MS: i64 = 5 * 60 * 1_000;

fn ask(seats: &[&str]) -> Value {
    json!({ "seats": seats })
}

async fn is_over(app: &App, who: &Visitor) {
    let call = post(HOLDS, &ask(&["D-1"])).by(who);
    let refused = app.ask(call).await.problem(409, "sales_ended");
    assert_eq!(refused["since"], END);
    let detail = text(&refused, "detail");
    assert!(detail.contains("Nothing was held"), "{detail}");
    let call = post(LIST, &json!({"quantity": 1})).by(who);
    let refused = app.ask(call).await.problem(409, "sales_ended");
    assert_eq!(refused["since"], END);
    let detail = text(&refused, "detail");
    assert!(detail.contains("not on the waitlist"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_end_of_the_sale_no_seat_is_held_and_an_earlier_hold_can_be_paid() {
    let (app, ana, ben) = opened_with(json!({"sells_until": END, "extensions": 1})).await;
    app.clock.advance_ms(TO_THE_END_MS - 1);
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    app.clock.advance_ms(1);
    is_over(&app, &ben).await;
    let add = patch(&path, &json!({"add": ["A-3"]})).by(&ana);
    let refused = app.ask(add).await.problem(409, "sales_ended");
    assert!(text(&refused, "detail").contains("hold is as it was"));
    let remove = patch(&path, &json!({"remove": ["A-2"]})).by(&ana);
    app.ask(remove).await.is(200);
    let extend = post(&format!("{path}/extend"), &json!({})).by(&ana);
    app.ask(extend).await.is(200);
    let order = post(&format!("{path}/order"), &buyer()).by(&ana);
    let order = app.ask(order).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_after_the_end_finds_the_hold_that_was_taken_in_time() {
    let (app, ana, ben) = opened_with(json!({"sells_until": END, "hold_s": 600})).await;
    let taken = app.ask(post(HOLDS, &ask(&["A-1"])).by(&ana).keyed("one"));
    let taken = taken.await.is(201);
    app.tamper("DELETE FROM kept_answers").await;
    app.clock.advance_ms(TO_THE_END_MS);
    // Ben's key is the same text, but no earlier call of his took a hold under it.
    let call = post(HOLDS, &ask(&["A-1"])).by(&ben).keyed("one");
    app.ask(call).await.problem(409, "sales_ended");
    let again = app.ask(post(HOLDS, &ask(&["A-1"])).by(&ana).keyed("one"));
    assert_eq!(again.await.is(201)["hold"], taken["hold"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sale_ends_when_the_show_begins_and_goes_on_if_the_show_is_postponed() {
    let (app, ana, ben) = opened_with(json!({"starts_at": END})).await;
    let told = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(
        (&told["sells_until"], &told["sales_ended"]),
        (&json!(END), &json!(false))
    );
    app.clock.advance_ms(TO_THE_END_MS);
    is_over(&app, &ana).await;
    let told = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(told["sales_ended"], true);
    let later = json!({"starts_at": "2027-02-01T20:00:00Z"});
    let postpone = post("/v1/promoter/shows/night-1/postpone", &later).by(&PROMOTER);
    app.ask(postpone).await.is(200);
    let told = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(told["sells_until"], "2027-02-01T20:00:00Z");
    app.hold(&ben, &["D-1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_sells_after_its_start_if_the_end_of_the_sale_is_later() {
    let later = json!({"starts_at": END, "sells_until": "2027-01-10T10:00:00+01:00"});
    let (app, _, ben) = opened_with(later).await;
    let told = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(told["sells_until"], "2027-01-10T09:00:00Z");
    app.ask(post(HOLDS, &ask(&["D-1"])).by(&ben))
        .await
        .problem(409, "sales_ended");
    app.put_show(
        "night-1",
        json!({"starts_at": END, "sells_until": "2027-01-10T09:30:00Z"}),
    )
    .await;
    app.clock.advance_ms(TO_THE_END_MS + 1);
    app.hold(&ben, &["D-1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_is_voided_if_the_sale_has_ended() {
    let (app, ana, _) = opened_with(json!({"sells_until": END})).await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.clock.advance_ms(2 * TO_THE_END_MS);
    app.order_in(&order, "expired").await;
    app.pay(&order, "approve").await.is(200);
    let voided = |order: &Value| order["payment"]["state"] == "voided";
    let after = app.order_once(&order, voided).await;
    assert_eq!(after["reason"], "late_sales_ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_at_the_end_of_the_sale() {
    let app = App::new().await;
    app.put_venue("hall", "grid:1x2").await;
    app.put_show("night-1", json!({"sells_until": END})).await;
    let (ana, ben) = (app.visitor(1), app.visitor(2));
    app.clock.advance_ms(TO_THE_END_MS - 1_000);
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    let call = post(LIST, &json!({"quantity": 1})).by(&ben);
    assert_eq!(app.ask(call).await.is(201)["until"], END);
    app.clock.advance_ms(1_000);
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    app.ask(delete(&path).by(&ana)).await.is(204);
    let ended = until("the end of the waiting", async || {
        let waiter = app.ask(get(LIST).by(&ben)).await.is(200);
        (waiter["state"] != "waiting").then_some(waiter)
    });
    let ended = ended.await;
    assert_eq!(
        (&ended["state"], &ended["reason"]),
        (&json!("ended"), &json!("sales_ended"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_show_has_no_free_seats() {
    let (app, ana, _) = opened().await;
    app.hold(&ana, &["A-1"]).await;
    let cancel = post("/v1/promoter/shows/night-1/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    let seats = app.seats("night-1").await;
    assert_eq!((&seats["free"], &seats["held"]), (&json!(0), &json!(1)));
    assert_eq!(seats["unavailable"]["B-1"], "blocked");
    let told = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(told["fate"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_states_of_seats_have_a_tag_that_changes_with_them() {
    let (app, ana, _) = opened().await;
    let read = async |known: &str| {
        let call = get("/v1/shows/night-1/seats").header("accept", "application/json");
        app.ask(call.header("if-none-match", known)).await
    };
    let mut tags = vec!["\"other\"".to_owned()];
    let cancel = post("/v1/promoter/shows/night-1/cancel", &json!({}));
    for step in ["begin", "hold", "cancel"] {
        match step {
            "hold" => drop(app.hold(&ana, &["A-1"]).await),
            "cancel" => drop(app.ask(cancel.clone().by(&PROMOTER)).await.is(200)),
            _ => {}
        }
        for known in &tags {
            assert_eq!(read(known).await.status, 200, "after {step}");
        }
        let tag = read("").await.header("etag").to_owned();
        assert_eq!(read(&tag).await.status, 304, "after {step}");
        tags.push(tag);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_of_an_ended_sale_or_a_cancelled_show_count_as_gone() {
    let (app, ana, ben) = opened_with(json!({"sells_until": END, "hold_s": 600})).await;
    let figures = async || {
        let pulse = app
            .booking
            .gateways()
            .pulse(&pulse_of(ROOM, &["night-1"], 0))
            .await;
        let pulse = pulse.expect("readable");
        (pulse.free, pulse.held, pulse.sold, pulse.gone)
    };
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    let hold = app.hold(&ben, &["B-1"]).await;
    until("the sale in the figures", async || {
        (figures().await == (37, 1, 2, 0)).then_some(())
    })
    .await;
    app.clock.advance_ms(TO_THE_END_MS);
    assert_eq!(figures().await, (0, 0, 2, 38));
    // The seat in the basket counts as gone, but may still be bought.
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ben)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    until("the last sale in the figures", async || {
        (figures().await == (0, 0, 3, 37)).then_some(())
    })
    .await;
    let cancel = post("/v1/promoter/shows/night-1/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    assert_eq!(figures().await, (0, 0, 0, 40));
}
