//! Tests the sample charts of seats.io: standing places, thousands of seats, and a faulty chart.

use serde_json::{Value, json};

use crate::harness::*;

async fn put_chart(app: &App, chart: String) -> TestAnswer {
    let call = put("/v1/promoter/venues/hall?format=seatsio", &Value::Null);
    app.ask(call.raw(chart).by(&PROMOTER)).await
}

/// Opens an app that sells a chart. `changes` are changes to the show's document. Returns `None` if
/// the chart is absent.
async fn selling(name: &str, changes: Value) -> Option<(App, Visitor, Visitor)> {
    let chart = chart(name)?;
    let app = App::new().await;
    put_chart(&app, chart).await.is(200);
    app.put_show("night-1", changes).await;
    let (ana, ben) = (app.visitor(1), app.visitor(2));
    Some((app, ana, ben))
}

async fn try_hold(app: &App, who: &Visitor, wish: Value) -> TestAnswer {
    let call = post("/v1/shows/night-1/holds", &wish);
    app.ask(call.by(who)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn standing_places_are_held_paid_and_ticketed_by_quantity() {
    let prices = json!({"prices": {"9": 1_000, "10": 2_000}, "seats_per_visitor": 60});
    let Some((app, ana, ben)) = selling("sampleChart", prices).await else {
        return;
    };
    let ask = json!({"areas": [{"label": "GA1", "quantity": 50}]});
    let hold = try_hold(&app, &ana, ask.clone()).await.is(201);
    assert_eq!(hold["seats"].as_array().map(Vec::len), Some(50));
    assert_eq!(hold["next_to_each_other"], true);
    assert_eq!(hold["total"]["amount"], 50_000);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    let done = app.order_in(&order, "ticketed").await;
    assert_eq!(done["tickets"].as_array().map(Vec::len), Some(50));

    let over = json!({"areas": [{"label": "GA1", "quantity": 51}]});
    let refused = try_hold(&app, &ben, over).await;
    refused.problem(409, "best_available_not_found");
    let fits = try_hold(&app, &ben, ask).await.is(201);
    let path = format!("/v1/holds/{}", text(&fits, "hold"));
    app.ask(delete(&path).by(&ben)).await.is(204);
    let both = json!({"areas": [{"label": "GA1", "quantity": 2}, {"label": "GA2", "quantity": 1}]});
    let hold = try_hold(&app, &ben, both).await.is(201);
    assert_eq!(hold["total"]["amount"], 4_000);
    let named = json!({"seats": ["GA1-1"]});
    let refused = try_hold(&app, &ben, named).await;
    refused.problem(422, "unknown_seat");
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_and_standing_places_are_held_together_and_unpriced_ones_are_not_sold() {
    let prices = json!({"prices": {"Cat1": 1_000}, "orphans": "allow"});
    let Some((app, ana, _)) = selling("sampleChart", prices).await else {
        return;
    };
    let map = app.ask(get("/v1/shows/night-1/seatmap")).await.is(200);
    let seats = map["seats"].as_array().expect("a list");
    let taken = app.seats("night-1").await["unavailable"].clone();
    let (mut priced, mut unpriced) = (None, None);
    for seat in seats.iter().filter(|seat| seat["row"].is_string()) {
        let label = text(seat, "label");
        let slot = if taken[&label] == "blocked" {
            &mut unpriced
        } else {
            &mut priced
        };
        slot.get_or_insert(label);
    }
    let (priced, unpriced) = (priced.expect("a Cat1 seat"), unpriced.expect("another"));
    let ask = json!({"seats": [unpriced]});
    try_hold(&app, &ana, ask).await.problem(422, "not_for_sale");
    let ask = json!({"areas": [{"label": "GA2", "quantity": 1}]});
    let refused = try_hold(&app, &ana, ask).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    let ask = json!({"seats": [priced], "areas": [{"label": "GA1", "quantity": 2}]});
    let hold = try_hold(&app, &ana, ask).await.is(201);
    assert_eq!(hold["total"]["amount"], 3_000);
    assert_eq!(hold["next_to_each_other"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_thousand_eight_hundred_and_ninety_seven_seats_sell() {
    let prices = json!({"prices": {"Goal Stands": 5_000, "Mid Track Stand": 9_000}});
    let Some((app, ana, ben)) = selling("sampleChartWithZones", prices).await else {
        return;
    };
    let seats = app.seats("night-1").await;
    assert_eq!(
        (&seats["free"], &seats["unavailable"]),
        (&json!(8_897), &json!({}))
    );
    let show = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(show["seats"], 8_897);
    let best = json!({"best": {"quantity": 4}});
    let hold = try_hold(&app, &ana, best.clone()).await.is(201);
    assert_eq!(hold["next_to_each_other"], true);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    let other = try_hold(&app, &ben, best).await.is(201);
    assert_ne!(other["seats"], hold["seats"]);
    let frame = app.ask(get("/v1/shows/night-1/seats")).await;
    assert_eq!(frame.body.len(), 13 + 8_897_usize.div_ceil(4));
    assert_eq!(
        (frame.body[0], &frame.body[9..13]),
        (1, &8_897_u32.to_le_bytes()[..])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_chart_is_refused_with_every_fault_and_nothing_is_stored() {
    let Some(chart) = chart("sampleChartWithErrors") else {
        return;
    };
    let app = App::new().await;
    let refused = put_chart(&app, chart).await.problem(422, "plan_invalid");
    let faults = refused["faults"].as_array().expect("a list");
    let codes: Vec<_> = faults.iter().map(|fault| text(fault, "code")).collect();
    assert_eq!(codes, ["duplicate_label", "no_label", "no_category"]);
    assert!(faults.iter().all(|fault| !text(fault, "at").is_empty()));
    let show = put("/v1/promoter/shows/night-1", &document(json!({}))).by(&PROMOTER);
    assert_eq!(
        app.ask(show).await.problem(422, "invalid_field")["field"],
        "venue"
    );
}
