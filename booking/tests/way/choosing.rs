//! Tests which seats a request holds, why a request is refused, and which seats are suggested
//! instead.

use serde_json::{Value, json};

use crate::harness::*;

const HOLDS: &str = "/v1/shows/night-1/holds";

fn labels(seats: &Value) -> Vec<String> {
    let seats = seats.as_array().expect("a list");
    seats.iter().map(|seat| text(seat, "label")).collect()
}

async fn best(app: &App, who: &Visitor, best: Value) -> TestAnswer {
    app.ask(post(HOLDS, &json!({ "best": best })).by(who)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_seats_are_side_by_side_in_front_of_the_stage() {
    let (app, ana, ben) = opened().await;
    let hold = best(&app, &ana, json!({"quantity": 2})).await.is(201);
    assert_eq!(labels(&hold["seats"]), ["A-5", "A-6"]);
    assert_eq!(hold["next_to_each_other"], true);
    let cheap = json!({"quantity": 4, "categories": ["cat2"]});
    let hold = best(&app, &ben, cheap).await.is(201);
    assert!(
        labels(&hold["seats"])
            .iter()
            .all(|label| label.starts_with('C'))
    );
    assert_eq!(hold["total"]["amount"], 4 * 4_900);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_larger_than_the_seats_left_is_refused_for_capacity() {
    let (app, ana, ben) = opened_with(json!({"seats_per_visitor": 40, "orphans": "allow"})).await;
    best(&app, &ana, json!({"quantity": 38})).await.is(201);
    let refused = best(&app, &ben, json!({"quantity": 3})).await;
    let refused = refused.problem(409, "best_available_not_found");
    assert_eq!(refused["reason"], "capacity");
    best(&app, &ben, json!({"quantity": 2})).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_how_many_fitting_seats_are_in_baskets() {
    let (app, ana, ben) = opened_with(json!({"seats_per_visitor": 40, "orphans": "allow"})).await;
    let hold = best(&app, &ana, json!({"quantity": 38})).await.is(201);
    let refused = best(&app, &ben, json!({"quantity": 3})).await;
    let refused = refused.problem(409, "best_available_not_found");
    assert_eq!(refused["seats_in_baskets"], 38);
    // Only two seats are free, so at least 18 of the 20 cheap seats are in Ana's basket.
    let cheap = json!({"quantity": 3, "categories": ["cat2"]});
    let refused = best(&app, &ben, cheap.clone()).await;
    let refused = refused.problem(409, "best_available_not_found");
    let baskets = refused["seats_in_baskets"].as_u64().expect("a number");
    assert!((18..=20).contains(&baskets), "{refused}");

    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    until("sold seats", async || {
        (app.seats("night-1").await["sold"] == 38).then_some(())
    })
    .await;
    let refused = best(&app, &ben, cheap).await;
    let refused = refused.problem(409, "best_available_not_found");
    assert_eq!(refused["seats_in_baskets"], 0);
    let told = text(&refused, "detail");
    assert!(
        told.contains("sold") && told.contains("Nothing was held"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_that_wants_the_best_gets_different_seats() {
    let (app, ..) = opened().await;
    let app = std::sync::Arc::new(app);
    let mut running = tokio::task::JoinSet::new();
    for n in 0..20 {
        let app = std::sync::Arc::clone(&app);
        running.spawn(async move {
            let who = app.visitor(n + 10);
            let hold = best(&app, &who, json!({"quantity": 2})).await.is(201);
            labels(&hold["seats"])
        });
    }
    let mut all: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 40);
    assert_eq!(app.seats("night-1").await["free"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn taken_seats_are_named_with_a_suggestion_that_can_be_held() {
    let (app, ana, ben) = opened().await;
    app.hold(&ana, &["A-5", "A-6"]).await;
    let ask = post(HOLDS, &json!({"seats": ["A-4", "A-5"]})).by(&ben);
    let refused = app.ask(ask).await.problem(409, "seats_taken");
    assert_eq!(refused["seats"], json!(["A-5"]));
    assert_eq!(app.seats("night-1").await["held"], 2);
    let instead = refused["suggestion"].clone();
    assert_eq!(
        instead["seats"].as_array().map(Vec::len),
        Some(2),
        "{instead}"
    );
    app.ask(post(HOLDS, &instead).by(&ben)).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_that_would_leave_a_single_seat_are_refused_unless_the_show_allows_it() {
    let (app, ana, _) = opened().await;
    let ask = post(HOLDS, &json!({"seats": ["A-2", "A-3"]})).by(&ana);
    let refused = app.ask(ask).await.problem(422, "would_orphan");
    assert_eq!(refused["seats"], json!(["A-1"]));
    assert_eq!(app.seats("night-1").await["free"], 40);
    let instead = refused["suggestion"].clone();
    app.ask(post(HOLDS, &instead).by(&ana)).await.is(201);
    app.put_show("night-2", json!({"orphans": "allow"})).await;
    let ask = post("/v1/shows/night-2/holds", &json!({"seats": ["A-2", "A-3"]}));
    app.ask(ask.by(&ana)).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_counts_held_and_bought_seats() {
    let (app, ana, ben) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    app.hold(&ana, &["B-1"]).await;
    let ask = post(HOLDS, &json!({"seats": ["C-1", "C-2"]})).by(&ana);
    let refused = app.ask(ask).await.problem(422, "limit_exceeded");
    let figures = [&refused["limit"], &refused["have"], &refused["asked"]];
    assert_eq!(figures, [&json!(4), &json!(3), &json!(2)]);
    app.hold(&ana, &["C-1"]).await;
    app.hold(&ben, &["D-1", "D-2", "D-3", "D-4"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_hold_is_made_as_a_whole_or_not_at_all() {
    let (app, ana, ben) = opened().await;
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    app.hold(&ben, &["B-1", "B-2"]).await;
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    app.clock.advance_ms(10_000);
    let change = json!({"add": ["A-3", "B-1"], "remove": ["A-1"]});
    let refused = app.ask(patch(&path, &change).by(&ana)).await;
    assert_eq!(refused.problem(409, "seats_taken")["seats"], json!(["B-1"]));
    let read = app.ask(get(&path).by(&ana)).await.is(200);
    assert_eq!(read["seats"], hold["seats"]);
    let change = json!({"add": ["A-3", "A-4"], "remove": ["A-2"]});
    let changed = app.ask(patch(&path, &change).by(&ana)).await.is(200);
    assert_eq!(labels(&changed["seats"]), ["A-1", "A-3", "A-4"]);
    assert_eq!(changed["next_to_each_other"], false);
    assert_eq!(changed["expires_at"], hold["expires_at"]);
    assert_eq!(changed["total"]["amount"], 3 * 9_900);
    let over = json!({"add": ["C-1", "C-2"]});
    let refused = app.ask(patch(&path, &over).by(&ana)).await;
    refused.problem(422, "limit_exceeded");
    let none = json!({"remove": ["A-1", "A-3", "A-4"]});
    let refused = app.ask(patch(&path, &none).by(&ana)).await;
    assert_eq!(refused.problem(422, "invalid_field")["field"], "remove");
    let long = json!({"remove": vec!["A-1"; 1_001]});
    let refused = app.ask(patch(&path, &long).by(&ana)).await;
    assert_eq!(refused.problem(422, "invalid_field")["field"], "remove");
    let stranger = app
        .ask(patch(&path, &json!({"remove": ["D-1"]})).by(&ana))
        .await;
    stranger.problem(422, "unknown_seat");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_extended_while_extensions_last() {
    let (app, ana, _) = opened_with(json!({"extensions": 1})).await;
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    let path = format!("/v1/holds/{}/extend", text(&hold, "hold"));
    app.clock.advance_ms(200_000);
    let ask = || post(&path, &json!({})).by(&ana);
    let longer = app.ask(ask()).await.is(200);
    assert_eq!(longer["expires_at"], "2027-01-10T09:08:20Z");
    assert_eq!(longer["extensions_left"], 0);
    app.ask(ask()).await.problem(409, "no_extensions_left");
    let read = format!("/v1/holds/{}", text(&hold, "hold"));
    let read = app.ask(get(&read).by(&ana)).await.is(200);
    assert_eq!(read["expires_at"], longer["expires_at"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordered_hold_is_not_changed_extended_or_given_back() {
    let (app, ana, _) = opened().await;
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    let order = post(&format!("{path}/order"), &buyer()).by(&ana);
    app.ask(order).await.is(201);
    let read = app.ask(get(&path).by(&ana)).await.is(200);
    assert_eq!(read["state"], "ordered");
    for call in [
        delete(&path),
        patch(&path, &json!({"add": ["A-3"]})),
        post(&format!("{path}/extend"), &json!({})),
    ] {
        app.ask(call.by(&ana)).await.problem(409, "hold_ordered");
    }
    assert_eq!(app.seats("night-1").await["held"], 2);
}
