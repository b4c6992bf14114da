//! Tests the waitlist of a train: parties wait for seats of a class between two stops, and are
//! offered seats that become free there.

use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;
use crate::train::CLASS;
use crate::trains::{SHOW, bought, hold, on_sale_at_node, opened, seats};

const LIST: &str = "/v1/shows/t1-2027-02-01/waitlist";
/// The time from 10 January, 09:00 to 1 February, 07:59:30, half a minute before the train leaves.
const TO_HALF_A_MINUTE_BEFORE_MS: i64 = ((21 * 24 + 22) * 60 + 59) * 60_000 + 30_000;

/// Puts each seat of the train, except the seats in `free`, into the basket of a different visitor.
/// The baskets are for the whole way from the first stop to the last.
async fn full_but(app: &App, free: &[&str]) -> Vec<(Visitor, Value)> {
    let mut baskets = Vec::new();
    let labels = ["A", "B"]
        .into_iter()
        .flat_map(|row| (1..6).map(move |n| format!("{row}-{n}")));
    for (label, n) in labels.zip(1_000..) {
        if !free.contains(&label.as_str()) {
            let who = app.visitor_of(EVERYDAY, n);
            let held = hold(app, &who, &seats(&[&label], "S00", "S04")).await;
            baskets.push((who, held));
        }
    }
    baskets
}

fn wish(quantity: u32, from: &str, to: &str) -> Value {
    json!({ "quantity": quantity, "class": CLASS, "from": from, "to": to })
}

async fn join(app: &App, who: &Visitor, wish: &Value) -> Value {
    app.ask(post(LIST, wish).by(who)).await.is(201)
}

async fn look(app: &App, who: &Visitor) -> Value {
    app.ask(get(LIST).by(who)).await.is(200)
}

async fn once(app: &App, who: &Visitor, state: &str) -> Value {
    until(&format!("to be {state}"), async || {
        Some(look(app, who).await).filter(|waiter| waiter["state"] == state)
    })
    .await
}

/// Waits for an offer, and returns its seats.
async fn offered(app: &App, who: &Visitor) -> Value {
    once(app, who, "offered").await["offer"]["seats"].clone()
}

async fn give_back(app: &App, (who, held): &(Visitor, Value)) {
    let path = format!("/v1/holds/{}", text(held, "hold"));
    app.ask(delete(&path).by(who)).await.is(204);
}

/// Waits until this many cells are free.
async fn free(app: &App, cells: u32) {
    until(&format!("{cells} free cells"), async || {
        (app.seats(SHOW).await["free"] == cells).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_party_is_offered_its_stretch_and_the_other_legs_are_free_for_all() {
    let (app, ana, ben) = opened().await;
    let baskets = full_but(&app, &[]).await;
    let joined = join(&app, &ana, &wish(2, "S01", "S03")).await;
    assert_eq!(
        (
            &joined["state"],
            &joined["ahead"],
            &joined["quantity"],
            &joined["class"]
        ),
        (&json!("waiting"), &json!(0), &json!(2), &json!(CLASS))
    );
    let (from, to) = (&joined["journey"]["from"], &joined["journey"]["to"]);
    assert_eq!(
        (&from["station"], &to["name"]),
        (&json!("S01"), &json!("Stop 3"))
    );
    assert_eq!(text(&joined, "until"), "2027-01-10T10:00:00Z");
    give_back(&app, &baskets[1]).await;
    // One seat is not enough for the party.
    free(&app, 4).await;
    give_back(&app, &baskets[2]).await;
    let waiter = once(&app, &ana, "offered").await;
    let offer = &waiter["offer"];
    assert_eq!(offer["seats"], json!(["A-2", "A-3"]));
    assert_eq!(
        (&offer["show"], &offer["journey"]),
        (&json!(SHOW), &waiter["journey"])
    );
    assert_eq!(offer["expires_at"], "2027-01-10T09:01:00Z");
    // Anybody may buy both seats before S01 and after S03.
    free(&app, 4).await;
    hold(&app, &ben, &seats(&["A-2", "A-3"], "S00", "S01")).await;
    hold(&app, &ben, &seats(&["A-2"], "S03", "S04")).await;
    let path = format!("/v1/holds/{}", text(offer, "hold"));
    let held = app.ask(get(&path).by(&ana)).await.is(200);
    assert_eq!(held["journey"], offer["journey"]);
    assert_eq!(
        (&held["state"], &held["next_to_each_other"]),
        (&json!("basket"), &json!(true))
    );
    let order = bought(&app, &ana, &held, &["Ana Perez", "Eva Perez"]).await;
    assert_eq!(once(&app, &ana, "ended").await["reason"], "taken");
    let record = app.read(&order).await;
    assert_eq!(record["tickets"][0]["legs"], json!([1, 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seat_is_offered_when_the_last_leg_of_the_journey_becomes_free() {
    let (app, ana, ben) = opened().await;
    full_but(&app, &["B-5"]).await;
    let first = hold(&app, &ben, &seats(&["B-5"], "S00", "S01")).await;
    let second = hold(&app, &ben, &seats(&["B-5"], "S01", "S03")).await;
    join(&app, &ana, &wish(1, "S00", "S04")).await;
    let ben = || app.visitor_of(EVERYDAY, 2);
    give_back(&app, &(ben(), second)).await;
    free(&app, 3).await;
    assert_eq!(look(&app, &ana).await["state"], "waiting");
    // So far the seat's last three legs are free, and its first leg is held.
    give_back(&app, &(ben(), first)).await;
    assert_eq!(offered(&app, &ana).await, json!(["B-5"]));
    free(&app, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn freed_legs_are_offered_to_the_first_party_that_they_fit_and_a_longer_journey_waits_on() {
    let (app, ana, ben) = opened().await;
    full_but(&app, &["A-1"]).await;
    let early = app.visitor_of(EVERYDAY, 3);
    let half = hold(&app, &early, &seats(&["A-1"], "S00", "S02")).await;
    let late = app.visitor_of(EVERYDAY, 4);
    let rest = hold(&app, &late, &seats(&["A-1"], "S02", "S04")).await;
    join(&app, &ana, &wish(1, "S00", "S04")).await;
    assert_eq!(join(&app, &ben, &wish(1, "S01", "S02")).await["ahead"], 1);
    give_back(&app, &(early, half)).await;
    assert_eq!(offered(&app, &ben).await, json!(["A-1"]));
    free(&app, 1).await;
    give_back(&app, &(late, rest)).await;
    free(&app, 3).await;
    assert_eq!(look(&app, &ana).await["state"], "waiting");
    // Ben leaves the waitlist, and his offer ends. With his leg, the whole journey of Ana is free.
    app.ask(delete(LIST).by(&ben)).await.is(204);
    assert_eq!(offered(&app, &ana).await, json!(["A-1"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn legs_freed_by_an_exchange_are_offered_to_the_waitlist() {
    let (app, ana, ben) = opened().await;
    full_but(&app, &["A-1"]).await;
    let whole = hold(&app, &ana, &seats(&["A-1"], "S00", "S04")).await;
    let order = bought(&app, &ana, &whole, &["Ana Perez"]).await;
    join(&app, &ben, &wish(1, "S02", "S04")).await;
    let path = format!("/v1/orders/{}/exchange", text(&order, "order"));
    let shorter = json!({"show": SHOW, "seats": ["A-1"], "from": "S00", "to": "S02"});
    let call = post(&path, &shorter).by(&text(&order, "order_key"));
    app.ask(call).await.is(200);
    assert_eq!(offered(&app, &ben).await, json!(["A-1"]));
    let seen = app.seats(SHOW).await;
    assert_eq!((&seen["free"], &seen["sold"]), (&json!(0), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_stretch_ends_when_too_few_of_its_seats_can_become_free() {
    let (app, ana, ben) = opened().await;
    full_but(&app, &["A-1", "A-2"]).await;
    let pair = seats(&["A-1", "A-2"], "S01", "S02");
    let held = hold(&app, &ana, &pair).await;
    let path = format!("/v1/holds/{}/order", text(&held, "hold"));
    let mut order = buyer();
    order["travellers"] = json!([{"name": "Ana"}, {"name": "Eva"}]);
    let order = app.ask(post(&path, &order).by(&ana)).await.is(201);
    for n in 1_002..1_010 {
        let (who, label) = (
            app.visitor_of(EVERYDAY, n),
            ["A", "B"][usize::from(n >= 1_005)],
        );
        let label = format!("{label}-{}", (n - 1_000) % 5 + 1);
        let held = hold(&app, &who, &seats(&[&label], "S00", "S04")).await;
        bought(&app, &who, &held, &["Somebody"]).await;
    }
    join(&app, &ben, &wish(2, "S00", "S02")).await;
    app.pay(&order, "approve").await.is(200);
    assert_eq!(once(&app, &ben, "ended").await["reason"], "too_few");
    let again = app.ask(post(LIST, &wish(1, "S01", "S03")).by(&ben)).await;
    assert_eq!(
        again.problem(409, "nothing_to_wait_for")["reason"],
        "too_few"
    );
    // Both seats are unsold on the last two legs, so they are offered there.
    join(&app, &ben, &wish(2, "S02", "S04")).await;
    assert_eq!(offered(&app, &ben).await, json!(["A-1", "A-2"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_and_offers_end_when_the_train_leaves() {
    let (app, ..) = opened().await;
    app.clock.advance_ms(TO_HALF_A_MINUTE_BEFORE_MS);
    let (ana, ben) = (app.visitor_of(EVERYDAY, 1), app.visitor_of(EVERYDAY, 2));
    let baskets = full_but(&app, &[]).await;
    let first = join(&app, &ana, &wish(1, "S00", "S02")).await;
    assert_eq!(text(&first, "until"), "2027-02-01T08:00:00Z");
    let further_on = join(&app, &ben, &wish(1, "S01", "S02")).await;
    assert_eq!(text(&further_on, "until"), "2027-02-01T08:59:30Z");
    give_back(&app, &baskets[3]).await;
    let offer = once(&app, &ana, "offered").await["offer"].clone();
    assert_eq!(offer["expires_at"], "2027-02-01T08:00:00Z");
    // The train leaves after 30 s, and the grace of holds is 5 s.
    app.clock.advance_ms(35_000);
    assert_eq!(once(&app, &ana, "ended").await["reason"], "departed");
    assert_eq!(offered(&app, &ben).await, offer["seats"]);
    let late = app.ask(post(LIST, &wish(1, "S00", "S02")).by(&ana)).await;
    assert_eq!(late.problem(409, "departed")["from"], "S00");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_that_cannot_be_met_is_refused_with_the_name_of_its_wrong_field() {
    let (app, ana, ben) = opened().await;
    let ledger = app.ledger().await;
    let ask = |body: Value, who: &Visitor| app.ask(post(LIST, &body).by(who));
    for (field, body) in [
        ("from", json!({ "quantity": 1, "class": CLASS })),
        (
            "to",
            json!({ "quantity": 1, "class": CLASS, "from": "S00" }),
        ),
        ("from", wish(1, "X", "S01")),
        ("to", wish(1, "S02", "S01")),
        (
            "class",
            json!({ "quantity": 1, "from": "S00", "to": "S01" }),
        ),
        (
            "class",
            json!({ "quantity": 1, "class": "sleeper", "from": "S00", "to": "S01" }),
        ),
        ("quantity", wish(0, "S00", "S01")),
        (
            "categories",
            json!({ "quantity": 1, "categories": [CLASS], "from": "S00", "to": "S01" }),
        ),
        (
            "accessible",
            json!({ "quantity": 1, "class": CLASS, "accessible": 0, "from": "S00", "to": "S01" }),
        ),
    ] {
        let refused = ask(body.clone(), &ana).await.problem(422, "invalid_field");
        assert_eq!(refused["field"], field, "{body}");
        let detail = text(&refused, "detail");
        assert!(detail.contains("You are not on the waitlist."), "{detail}");
    }
    ask(wish(5, "S00", "S01"), &ana)
        .await
        .problem(422, "limit_exceeded");
    // Nobody has held a seat yet, so there is nothing to wait for, and the call stores nothing.
    let refused = ask(wish(1, "S00", "S01"), &ana).await;
    assert_eq!(
        refused.problem(409, "nothing_to_wait_for")["reason"],
        "seats_free"
    );
    assert!(ledger.departures(0, 10).await.expect("readable").is_empty());
    for call in [get(LIST), delete(LIST)] {
        app.ask(call.by(&ana)).await.problem(404, "not_waiting");
    }

    full_but(&app, &[]).await;
    let by_label = json!({ "quantity": 2, "class": CLASS, "from": "S00", "to": "S02" });
    join(&app, &ben, &by_label).await;
    let again = ask(wish(2, "S00", "S02"), &ben).await;
    assert!(matches!(again.status, 200 | 201), "{}", again.status);
    for other in [wish(1, "S00", "S02"), wish(2, "S00", "S03")] {
        ask(other, &ben).await.problem(409, "already_waiting");
    }

    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", json!({})).await;
    let fan = app.visitor(3);
    for (field, body) in [
        ("class", json!({ "quantity": 1, "class": "cat1" })),
        ("from", json!({ "quantity": 1, "from": "S00" })),
        ("to", json!({ "quantity": 1, "to": "S01" })),
    ] {
        let refused = app
            .ask(post("/v1/shows/night-1/waitlist", &body).by(&fan))
            .await;
        assert_eq!(refused.problem(422, "invalid_field")["field"], field);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_waitlist_of_a_train() {
    let (app, ana, _) = opened().await;
    let baskets = full_but(&app, &[]).await;
    join(&app, &ana, &wish(1, "S01", "S02")).await;
    give_back(&app, &baskets[7]).await;
    let lost = once(&app, &ana, "offered").await["offer"]["hold"].clone();
    // Baskets and offers end with their process. The waitlist and the departure are in the ledger.
    let app = app.restarted().await;
    let again = once(&app, &ana, "offered").await;
    assert_ne!(again["offer"]["hold"], lost);
    assert_eq!(
        (&again["missed"], &again["journey"]["from"]["station"]),
        (&json!(0), &json!("S01"))
    );
    free(&app, 39).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_serve_one_waitlist_of_a_train() {
    if servers::must_skip("the waitlist of a train over two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let (ana, ben) = on_sale_at_node(&nodes[0]).await;
    on_sale_at_node(&nodes[1]).await;
    let baskets = full_but(&nodes[0], &[]).await;
    // The second node may not have seen the holds yet. It reads the store before it answers that
    // seats are free.
    join(&nodes[1], &ana, &wish(2, "S01", "S03")).await;
    join(&nodes[0], &ben, &wish(1, "S00", "S01")).await;
    give_back(&nodes[0], &baskets[0]).await;
    assert_eq!(offered(&nodes[1], &ben).await, json!(["A-1"]));
    give_back(&nodes[1], &baskets[1]).await;
    assert_eq!(offered(&nodes[0], &ana).await, json!(["A-1", "A-2"]));
    free(&nodes[0], 8 - 1 - 4).await;
}
