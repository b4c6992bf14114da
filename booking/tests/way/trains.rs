//! Tests a traveller's whole way from a departure of the timetable to a ticket. A departure becomes
//! a show when somebody first holds its seats, and its seats are sold by the leg.

use std::sync::Arc;

use booking::ledger::NewVenuePlan;
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_model::venues::VenueLocation;
use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;
use crate::train::{CLASS, Daily, carriages};

pub const SHOW: &str = "t1-2027-02-01";
const HOLDS: &str = "/v1/shows/t1-2027-02-01/holds";

/// Opens an app with two visitors. It sells a train of ten seats, which leaves S00 at 08:00 and
/// ends at S04.
pub async fn opened() -> (App, Visitor, Visitor) {
    let app = App::new().await;
    let (ana, ben) = on_sale(&app).await;
    (app, ana, ben)
}

pub async fn on_sale(app: &App) -> (Visitor, Visitor) {
    on_sale_until(app, "2027-02-01T08:00:00Z").await
}

/// Does the same as [`on_sale`] for a node. Nodes use the system's clock, so the train must leave
/// in a far future.
pub async fn on_sale_at_node(node: &App) -> (Visitor, Visitor) {
    on_sale_until(node, "2099-02-01T08:00:00Z").await
}

async fn on_sale_until(app: &App, leaves: &str) -> (Visitor, Visitor) {
    let plan = serde_json::to_string(&carriages(10)).expect("a plan");
    let ledger = app.ledger().await;
    let stock = "stock".parse().expect("a slug");
    let plan = NewVenuePlan {
        plan,
        digest: [1; 32],
    };
    let nowhere = VenueLocation::default();
    let stored = ledger.put_venue(&stock, plan, nowhere, app.clock.now_ms());
    stored.await.expect("stored");
    let daily = Daily {
        stock,
        stops: 5,
        seats_per_visitor: 4,
        leaves: leaves.parse().expect("a moment"),
    };
    let sold = app.booking.sell_departures(Arc::new(daily)).await;
    sold.expect("its plan is there");
    (app.visitor_of(EVERYDAY, 1), app.visitor_of(EVERYDAY, 2))
}

pub fn seats(labels: &[&str], from: &str, to: &str) -> Value {
    json!({ "seats": labels, "from": from, "to": to })
}

pub fn best(quantity: u32, from: &str, to: &str) -> Value {
    json!({ "best": { "quantity": quantity, "class": CLASS }, "from": from, "to": to })
}

/// Returns the same wish with `again`, which asks for more seats although the journey is already
/// ordered.
fn again(ask: &Value) -> Value {
    let mut ask = ask.clone();
    ask["again"] = json!(true);
    ask
}

fn labels(hold: &Value) -> Vec<String> {
    let seats = hold["seats"].as_array().expect("a list");
    seats.iter().map(|seat| text(seat, "label")).collect()
}

pub fn names(names: &[&str]) -> Value {
    let mut order = buyer();
    order["travellers"] = names.iter().map(|name| json!({ "name": name })).collect();
    order
}

pub async fn hold(app: &App, who: &Visitor, ask: &Value) -> Value {
    app.ask(post(HOLDS, ask).by(who)).await.is(201)
}

/// Makes an order of a hold and pays it.
pub async fn bought(app: &App, who: &Visitor, hold: &Value, travellers: &[&str]) -> Value {
    let path = format!("/v1/holds/{}/order", text(hold, "hold"));
    let order = app
        .ask(post(&path, &names(travellers)).by(who))
        .await
        .is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn two_journeys_share_a_seat_and_each_ticket_names_its_stops() {
    let (app, ana, ben) = opened().await;
    let first = hold(&app, &ana, &seats(&["A-1"], "S00", "S02")).await;
    assert_eq!(first["journey"]["from"]["name"], "Stop 0");
    assert_eq!(first["journey"]["to"]["at"], "2027-02-01T09:55:00Z");
    // The price is 100 km at 46 minor units per kilometre, plus a base of 200.
    assert_eq!(first["total"]["amount"], 200 + 4_600);
    let refused = app
        .ask(post(HOLDS, &seats(&["A-1"], "S01", "S03")).by(&ben))
        .await;
    let refused = refused.problem(409, "seats_taken");
    assert_eq!(refused["seats"], json!(["A-1"]));
    let instead = &refused["suggestion"];
    assert_eq!(
        (&instead["from"], &instead["to"]),
        (&json!("S01"), &json!("S03"))
    );
    let second = hold(&app, &ben, &seats(&["A-1"], "S02", "S04")).await;
    let order = bought(&app, &ana, &first, &["Ana Perez"]).await;
    bought(&app, &ben, &second, &["Ben Weiss"]).await;

    let record = app.read(&order).await;
    let ticket = &record["tickets"][0];
    assert_eq!(ticket["legs"], json!([0, 1]));
    assert_eq!(
        (&ticket["from"], &ticket["to"]),
        (&json!("S00"), &json!("S02"))
    );
    assert_eq!(record["seats"][0]["traveller"], "Ana Perez");
    assert_eq!(record["journey"]["train"], "T1");
    let path = format!("/v1/tickets/{}", text(ticket, "ticket"));
    let key = text(&order, "order_key");
    let read = app.ask(get(&path).by(&key)).await.is(200);
    assert_eq!(read["name"], "Ana Perez");
    assert_eq!(read["title"], "T1 Stop 0 – Stop 2");
    assert_eq!(read["journey"]["to"]["station"], "S02");
    let signed = app.keyring.verifier().verify_ticket(&text(&read, "signed"));
    let claims = signed.expect("its own signature");
    assert_eq!(claims.name.as_deref(), Some("Ana Perez"));
    assert_eq!(
        (claims.legs, claims.starts_at.as_str()),
        (vec![0, 1], "2027-02-01T08:00:00Z")
    );
    let entry = app.ask(get(&format!("{path}.ics")).by(&key)).await.text();
    for line in [
        "DTSTART:20270201T080000Z",
        "DTEND:20270201T095500Z",
        "LOCATION:Stop 0",
        "Ana Perez",
    ] {
        assert!(entry.contains(line), "{line} is missing in {entry}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_a_departure_stores_nothing_and_the_first_hold_stores_its_row() {
    let (app, ana, _) = opened().await;
    let ledger = app.ledger().await;
    let rows = async || ledger.departures(0, 10).await.expect("readable").len();
    let show = app.ask(get(&format!("/v1/shows/{SHOW}"))).await.is(200);
    assert_eq!(
        (&show["kind"], &show["legs"], &show["room"]),
        (&json!("rail"), &json!(4), &json!(EVERYDAY))
    );
    assert_eq!(show["stops"][1]["station"], "S01");
    let free = app.seats(SHOW).await;
    assert_eq!((&free["free"], &free["version"]), (&json!(40), &json!("0")));
    let frame = app.ask(get(&format!("/v1/shows/{SHOW}/seats"))).await;
    assert_eq!(frame.body.len(), 13 + 10);
    let path = format!("/v1/holds/hold_{SHOW}_{}", "0".repeat(32));
    app.ask(get(&path).by(&ana))
        .await
        .problem(410, "hold_expired");
    assert_eq!(rows().await, 0);

    hold(&app, &ana, &best(1, "S01", "S03")).await;
    assert_eq!(rows().await, 1);
    let listed = app.ask(get("/v1/shows")).await.is(200);
    assert_eq!(listed["total"], 0, "the list of shows has no departures");
    let seats = app.seats(SHOW).await;
    assert_eq!((&seats["held"], &seats["free"]), (&json!(2), &json!(38)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_for_a_journey_returns_the_first_hold_with_any_key() {
    let (app, ana, ben) = opened().await;
    let ask = best(2, "S00", "S02");
    let first = hold(&app, &ana, &ask).await;
    assert_eq!(first["next_to_each_other"], true);
    for call in [post(HOLDS, &ask), post(HOLDS, &ask).keyed("another")] {
        let again = app.ask(call.by(&ana)).await.is(201);
        assert_eq!(again["hold"], first["hold"]);
    }
    let more = app.ask(post(HOLDS, &best(1, "S00", "S02")).by(&ana)).await;
    assert_eq!(more.problem(409, "journey_held")["hold"], first["hold"]);
    let onward = hold(&app, &ana, &best(2, "S02", "S04")).await;
    assert_ne!(onward["hold"], first["hold"]);
    assert_eq!(labels(&onward), labels(&first), "these seats fit tightest");
    assert_ne!(hold(&app, &ben, &ask).await["hold"], first["hold"]);

    // A new request for the journey finds neither an ordered hold nor a deleted one.
    bought(&app, &ana, &first, &["Ana Perez", "Eva Perez"]).await;
    let refused = app.ask(post(HOLDS, &again(&ask)).by(&ana)).await;
    refused.problem(422, "limit_exceeded");
    let path = format!("/v1/holds/{}", text(&onward, "hold"));
    app.ask(delete(&path).by(&ana)).await;
    let anew = hold(&app, &ana, &again(&ask)).await;
    assert_ne!(anew["hold"], first["hold"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journey_that_is_ordered_is_not_held_again_unless_more_seats_are_wanted() {
    let (app, ana, ben) = opened().await;
    let ask = best(1, "S00", "S02");
    let first = hold(&app, &ana, &ask).await;
    let path = format!("/v1/holds/{}/order", text(&first, "hold"));
    let order = post(&path, &names(&["Ana Perez"])).by(&ana);
    let order = app.ask(order).await.is(201);
    let refused = async |key: &str| {
        let call = post(HOLDS, &ask).keyed(key).by(&ana);
        let told = app.ask(call).await.problem(409, "journey_ordered");
        assert_eq!(told["order"], order["order"], "{key}");
    };
    refused("open").await;
    app.pay(&order, "approve").await.is(200);
    refused("being paid").await;
    app.order_in(&order, "ticketed").await;
    refused("paid").await;
    // Ana may hold another stretch, and somebody else may hold the same stretch. With `again`, Ana
    // may hold more seats on the same stretch.
    hold(&app, &ana, &best(1, "S00", "S03")).await;
    hold(&app, &ben, &ask).await;
    let more = hold(&app, &ana, &again(&ask)).await;
    assert_ne!(more["hold"], first["hold"]);
    let same = hold(&app, &ana, &again(&ask)).await;
    assert_eq!(
        same["hold"], more["hold"],
        "the repeated call finds the first hold"
    );
    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", json!({})).await;
    let call = post(
        "/v1/shows/night-1/holds",
        &again(&json!({"seats": ["A-1", "A-2"]})),
    );
    let told = app.ask(call.by(&app.visitor(3))).await;
    assert_eq!(told.problem(422, "invalid_field")["field"], "again");
}

/// The trigger that keeps orders from being written.
const NO_ORDERS: &str =
    "CREATE TRIGGER no_orders BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'no orders'); END";

#[tokio::test(flavor = "multi_thread")]
async fn a_journey_that_is_being_ordered_is_not_held_again() {
    let (app, ana, _) = opened().await;
    let ask = best(1, "S00", "S02");
    let first = hold(&app, &ana, &ask).await;
    app.tamper(NO_ORDERS).await;
    let path = format!("/v1/holds/{}/order", text(&first, "hold"));
    let order = post(&path, &names(&["Ana Perez"])).by(&ana);
    assert_eq!(app.ask(order).await.status, 503);
    // It is not yet known whether the order was written. Only the store has recorded the attempt.
    let again = app.ask(post(HOLDS, &ask).by(&ana)).await;
    again.problem(409, "journey_ordered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journey_whose_order_was_cancelled_can_be_held_again() {
    let (app, ana, _) = opened().await;
    let ask = best(1, "S00", "S02");
    let first = hold(&app, &ana, &ask).await;
    let path = format!("/v1/holds/{}/order", text(&first, "hold"));
    let order = post(&path, &names(&["Ana Perez"])).by(&ana);
    let order = app.ask(order).await.is(201);
    let cancel = format!("/v1/orders/{}/cancel", text(&order, "order"));
    app.ask(post(&cancel, &json!({})).by(&ana)).await.is(200);
    until("the journey to be free of its order", async || {
        let held = app.ask(post(HOLDS, &ask).by(&ana)).await;
        (held.status == 201).then(|| assert_ne!(held.is(201)["hold"], first["hold"]))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_calls_for_one_journey_at_two_nodes_never_get_each_others_seats() {
    if servers::must_skip("one journey asked for at two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    for node in &nodes {
        on_sale_at_node(node).await;
    }
    for n in 0..8 {
        let who = nodes[0].visitor_of(EVERYDAY, 100 + n);
        let wanted = ["A-1", "A-2"];
        let (from, to) = (format!("S0{}", n % 4), format!("S0{}", n % 4 + 1));
        let asks = wanted.map(|seat| seats(&[seat], &from, &to));
        let calls = asks.iter().zip(&nodes).map(|(ask, node)| {
            let call = post(HOLDS, ask).by(&who);
            async move { node.ask(call).await }
        });
        for (answer, wanted) in join_all(calls).await.iter().zip(wanted) {
            match answer.status {
                201 => assert_eq!(labels(&answer.is(201)), [wanted]),
                409 => {
                    let code = text(&answer.is(409), "code");
                    let known = ["journey_held", "seats_taken"].contains(&code.as_str());
                    assert!(known, "{code}");
                }
                _ => panic!("{}", answer.text()),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_a_train_cannot_meet_is_refused_with_its_field() {
    let (app, ana, _) = opened().await;
    let class = |class: Value| json!({ "best": {"quantity": 1, "class": class}, "from": "S00", "to": "S01" });
    for (field, ask) in [
        ("from", json!({ "seats": ["A-1"] })),
        ("to", json!({ "seats": ["A-1"], "from": "S00" })),
        ("from", seats(&["A-1"], "X", "S01")),
        ("to", seats(&["A-1"], "S01", "X")),
        ("to", seats(&["A-1"], "S02", "S01")),
        ("to", seats(&["A-1"], "S01", "S01")),
        ("best.class", class(Value::Null)),
        ("best.class", class(json!("sleeper"))),
        (
            "best.zone",
            json!({ "best": {"quantity": 1, "class": CLASS, "zone": "a"}, "from": "S00", "to": "S01" }),
        ),
        ("best.quantity", best(0, "S00", "S01")),
        (
            "areas",
            json!({ "areas": [{"label": "pit", "quantity": 1}], "from": "S00", "to": "S01" }),
        ),
    ] {
        let refused = app.ask(post(HOLDS, &ask).by(&ana)).await;
        assert_eq!(
            refused.problem(422, "invalid_field")["field"],
            field,
            "{ask}"
        );
    }
    let many = app.ask(post(HOLDS, &best(5, "S00", "S01")).by(&ana)).await;
    many.problem(422, "limit_exceeded");
    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", json!({})).await;
    let fan = app.visitor(3);
    let classy = json!({ "best": {"quantity": 1, "class": "cat1"} });
    let refused = app
        .ask(post("/v1/shows/night-1/holds", &classy).by(&fan))
        .await;
    assert_eq!(refused.problem(422, "invalid_field")["field"], "best.class");
    let put = put(&format!("/v1/promoter/shows/{SHOW}"), &document(json!({})));
    app.ask(put.by(&PROMOTER)).await.is(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_for_a_train_needs_a_name_for_each_seat_and_an_order_for_a_hall_takes_none() {
    let (app, ana, _) = opened().await;
    let held = hold(&app, &ana, &best(2, "S00", "S02")).await;
    let path = format!("/v1/holds/{}/order", text(&held, "hold"));
    for (field, order) in [
        ("travellers", buyer()),
        ("travellers", names(&["Ana"])),
        ("travellers", names(&["Ana", "Ben", "Eva"])),
        ("travellers[1].name", names(&["Ana", " "])),
    ] {
        let refused = app.ask(post(&path, &order).by(&ana)).await;
        assert_eq!(refused.problem(422, "invalid_field")["field"], field);
    }
    app.ask(post(&path, &names(&["Ana", "Ben"])).by(&ana))
        .await
        .is(201);

    app.put_venue("hall", "grid:4x10").await;
    app.put_show("night-1", json!({})).await;
    let fan = app.visitor(3);
    let held = app.hold(&fan, &["A-1"]).await;
    let path = format!("/v1/holds/{}/order", text(&held, "hold"));
    let refused = app.ask(post(&path, &names(&["Ana"])).by(&fan)).await;
    assert_eq!(refused.problem(422, "invalid_field")["field"], "travellers");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_hold_on_a_train_keeps_its_stretch() {
    let (app, ana, ben) = opened().await;
    hold(&app, &ben, &seats(&["A-2"], "S02", "S04")).await;
    let held = hold(&app, &ana, &seats(&["A-1"], "S00", "S02")).await;
    let path = format!("/v1/holds/{}", text(&held, "hold"));
    let change = json!({ "add": ["A-2"], "remove": ["A-1"] });
    let changed = app.ask(patch(&path, &change).by(&ana)).await.is(200);
    assert_eq!(labels(&changed), ["A-2"]);
    assert_eq!(changed["total"], held["total"]);
    assert_eq!(changed["journey"], held["journey"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_has_left_a_stop_is_sold_from_later_stops_only() {
    let (app, ..) = opened().await;
    // The clock moves from 10 January, 09:00 to 1 February, 08:30.
    app.clock.advance_ms((21 * 24 * 60 + 23 * 60 + 30) * 60_000);
    let ana = app.visitor_of(EVERYDAY, 1);
    let refused = app.ask(post(HOLDS, &best(1, "S00", "S02")).by(&ana)).await;
    refused.problem(409, "departed");
    hold(&app, &ana, &best(1, "S01", "S02")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sold_departure_is_unchanged_after_a_restart() {
    let (app, ana, ben) = opened().await;
    let held = hold(&app, &ana, &seats(&["A-1"], "S00", "S02")).await;
    let order = bought(&app, &ana, &held, &["Ana Perez"]).await;
    let app = app.restarted().await;
    // The restarted app has no timetable, but sold departures are in the ledger.
    let taken = app
        .ask(post(HOLDS, &seats(&["A-1"], "S01", "S02")).by(&ben))
        .await;
    taken.problem(409, "seats_taken");
    hold(&app, &ben, &seats(&["A-1"], "S02", "S03")).await;
    let record = app.read(&order).await;
    assert_eq!(record["journey"]["to"]["name"], "Stop 2");
    let missing = app.ask(get("/v1/shows/t1-2027-02-02")).await;
    missing.problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_departure_gets_keys_in_redis_at_its_first_hold_and_every_node_knows_it_then() {
    if servers::must_skip("a departure at two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let (ana, ben) = on_sale_at_node(&nodes[0]).await;
    on_sale_at_node(&nodes[1]).await;
    let keys = async || {
        let keys = redis.command(0, &["KEYS", "*t1-*"]).await;
        match keys.expect("Redis answers") {
            servers::RespReply::List(keys) => keys.len(),
            other => panic!("no list: {other:?}"),
        }
    };
    for node in &nodes {
        assert_eq!(node.seats(SHOW).await["free"], 40);
    }
    assert_eq!(keys().await, 0, "reading the seats makes no key");
    hold(&nodes[0], &ana, &seats(&["A-1"], "S00", "S02")).await;
    assert!(keys().await > 0);
    let taken = nodes[1].ask(post(HOLDS, &seats(&["A-1"], "S01", "S04")).by(&ben));
    taken.await.problem(409, "seats_taken");
    until("the held cells at the other node", async || {
        (nodes[1].seats(SHOW).await["held"] == 2).then_some(())
    })
    .await;
    hold(&nodes[1], &ben, &seats(&["A-1"], "S02", "S04")).await;
}
