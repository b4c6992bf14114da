//! Tests what a promoter may change in a show while people have seats: a new document never moves
//! an order to another date or hall, and never pins another plan by itself. A call that cancels or
//! postpones takes only what it knows.

use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;

const CANCEL: &str = "/v1/promoter/shows/night-1/cancel";
const POSTPONE: &str = "/v1/promoter/shows/night-1/postpone";
const NEXT_DAY: &str = "2027-06-02T20:00:00+02:00";
const AN_HOUR_LATER: &str = "2027-06-01T21:00:00+02:00";

async fn put_show(app: &App, changes: Value) -> TestAnswer {
    let call = put("/v1/promoter/shows/night-1", &document(changes));
    app.ask(call.by(&PROMOTER)).await
}

async fn cancelled_orders(app: &App, order: &Value) {
    let path = format!("/v1/orders/{}/cancel", text(order, "order"));
    let call = post(&path, &json!({})).by(&text(order, "order_key"));
    app.ask(call).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_with_orders_keeps_its_date_its_hour_and_its_hall() {
    let (app, ana, _) = opened().await;
    app.put_venue("annex", "grid:4x10").await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    let before = app.ask(get("/v1/shows/night-1")).await.is(200);
    let refuses = async |changes: Value, fields: Value| {
        let refused = put_show(&app, changes).await;
        let refused = refused.problem(409, "postpone_instead");
        assert_eq!(refused["fields"], fields);
        let detail = text(&refused, "detail");
        assert!(detail.contains("Nothing was changed"), "{detail}");
        assert_eq!(app.ask(get("/v1/shows/night-1")).await.is(200), before);
    };
    refuses(json!({"starts_at": NEXT_DAY}), json!(["starts_at"])).await;
    refuses(json!({"starts_at": AN_HOUR_LATER}), json!(["starts_at"])).await;
    refuses(json!({"venue": "annex"}), json!(["venue"])).await;
    let both = json!({"starts_at": NEXT_DAY, "venue": "annex"});
    refuses(both.clone(), json!(["starts_at", "venue"])).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    let before = app.ask(get("/v1/shows/night-1")).await.is(200);
    put_show(&app, both).await.problem(409, "postpone_instead");
    assert_eq!(app.ask(get("/v1/shows/night-1")).await.is(200), before);
    // The same moment in another offset is no other hour.
    let same = json!({"starts_at": "2027-06-01T18:00:00Z", "title": "Another name"});
    put_show(&app, same).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_without_orders_moves_to_another_date_and_hall() {
    let (app, ana, _) = opened().await;
    app.put_venue("annex", "grid:4x10").await;
    let order = app.order(&ana, &["A-1"]).await;
    let moved = json!({"starts_at": NEXT_DAY, "venue": "annex"});
    put_show(&app, moved.clone())
        .await
        .problem(409, "postpone_instead");
    cancelled_orders(&app, &order).await;
    put_show(&app, moved).await.is(200);
    let told = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(told["starts_at"], "2027-06-02T18:00:00Z");
    assert_eq!(told["venue"], "annex");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_of_the_old_date_is_not_ordered_for_the_new_one() {
    let (app, ana, _) = opened().await;
    let hold = text(&app.hold(&ana, &["A-1"]).await, "hold");
    put_show(&app, json!({"starts_at": NEXT_DAY})).await.is(200);
    let order = || post(&format!("/v1/holds/{hold}/order"), &buyer()).by(&ana);
    app.ask(order()).await.problem(409, "terms_changed");
    app.ask(delete(&format!("/v1/holds/{hold}")).by(&ana))
        .await
        .is(204);
    let order = app.order(&ana, &["A-1"]).await;
    assert_eq!(app.read(&order).await["starts_at"], "2027-06-02T18:00:00Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_of_a_postponed_show_is_not_ordered_for_a_date_that_its_visitor_did_not_see() {
    let (app, ana, _) = opened().await;
    let hold = text(&app.hold(&ana, &["A-1"]).await, "hold");
    let later = json!({"starts_at": NEXT_DAY});
    app.ask(post(POSTPONE, &later).by(&PROMOTER)).await.is(200);
    let order = post(&format!("/v1/holds/{hold}/order"), &buyer()).by(&ana);
    app.ask(order).await.problem(409, "terms_changed");
    let read = app.ask(get(&format!("/v1/holds/{hold}")).by(&ana)).await;
    read.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_buys_no_seat_of_another_date() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.clock.advance_ms(10 * 60 * 1_000);
    app.order_in(&order, "expired").await;
    put_show(&app, json!({"starts_at": NEXT_DAY})).await.is(200);
    app.pay(&order, "approve").await.is(200);
    let voided = |order: &Value| order["payment"]["state"] == "voided";
    let after = app.order_once(&order, voided).await;
    assert_eq!(after["reason"], "late_plan_changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_order_and_another_date_that_come_at_once_at_two_nodes_one_wins() {
    if servers::must_skip("an order and another date at once") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let mut begins = NODES_BEGIN.to_owned();
    for round in 0..8_u16 {
        let who = nodes[1].visitor(round);
        let hold = text(&nodes[1].hold(&who, &["A-1"]).await, "hold");
        let other = format!("2099-06-{:02}T18:00:00Z", round + 2);
        let put = async {
            let document = document(json!({"starts_at": other}));
            let call = put("/v1/promoter/shows/night-1", &document).by(&PROMOTER);
            nodes[0].ask(call).await
        };
        let order = async {
            let call = post(&format!("/v1/holds/{hold}/order"), &buyer()).by(&who);
            nodes[1].ask(call).await
        };
        let (put, ordered) = tokio::join!(put, order);
        match (put.status, ordered.status) {
            (200, 409) => {
                ordered.problem(409, "terms_changed");
                let released = delete(&format!("/v1/holds/{hold}")).by(&who);
                nodes[1].ask(released).await.is(204);
                begins = other;
            }
            (409, 201) => {
                put.problem(409, "postpone_instead");
                let order = ordered.is(201);
                let begun = text(&nodes[1].read(&order).await, "starts_at");
                let [begun, expected] =
                    [&begun, &begins].map(|at| at.parse::<jiff::Timestamp>().expect("a moment"));
                assert_eq!(begun, expected, "round {round}");
                cancelled_orders(&nodes[1], &order).await;
            }
            both => panic!("round {round}: {both:?} {}{}", put.text(), ordered.text()),
        }
        until("the seat to be free", async || {
            let seats = nodes[1].seats("night-1").await;
            (seats["held"] == 0).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_price_or_title_keeps_the_plan_until_another_one_is_named() {
    let (app, ana, _) = opened().await;
    app.put_venue("hall", "grid:5x10").await;
    let told = put_show(&app, json!({"title": "Another name"}))
        .await
        .is(200);
    assert_eq!(
        (&told["plan_version"], &told["cells"]),
        (&json!(1), &json!(40))
    );
    assert_eq!(told["newest_plan_version"], 2);
    let dearer = json!({"prices": {"cat1": 9_901, "cat2": 4_900}});
    let told = put_show(&app, dearer).await.is(200);
    assert_eq!(told["plan_version"], 1);
    let order = app.order(&ana, &["A-1"]).await;
    let told = put_show(&app, json!({"plan": 2})).await.is(200);
    assert_eq!(
        (&told["plan_version"], &told["cells"]),
        (&json!(2), &json!(50))
    );
    // What is named once stays.
    let told = put_show(&app, json!({"title": "A third name"}))
        .await
        .is(200);
    assert_eq!(told["plan_version"], 2);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_cannot_be_pinned_is_refused_by_its_field() {
    let (app, ..) = opened().await;
    for plan in [json!(0), json!(2), json!(4_000_000_000_u32)] {
        let refused = put_show(&app, json!({"plan": plan})).await;
        let refused = refused.problem(422, "invalid_field");
        assert_eq!(refused["field"], "plan", "{refused}");
    }
    for plan in [json!(-1), json!(1.5), json!("newest")] {
        let refused = put_show(&app, json!({"plan": plan})).await;
        assert_eq!(refused.problem(422, "invalid_field")["field"], "plan");
    }
    app.put_venue("hall", "grid:5x10").await;
    put_show(&app, json!({"plan": 2})).await.is(200);
    let refused = put_show(&app, json!({"plan": 1})).await;
    let refused = refused.problem(422, "invalid_field");
    assert_eq!(refused["field"], "plan", "{refused}");
    let shown = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(shown["seats"], 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_that_is_new_in_a_venue_gets_the_venues_newest_plan() {
    let (app, ..) = opened().await;
    for rows in 1..=3 {
        app.put_venue("annex", &format!("grid:{rows}x10")).await;
    }
    let told = put_show(&app, json!({"venue": "annex"})).await.is(200);
    assert_eq!(
        (&told["plan_version"], &told["cells"]),
        (&json!(3), &json!(30))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cancels_or_postpones_refuses_what_it_does_not_know() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1"]).await;
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    let before = app.ask(get("/v1/shows/night-1")).await.is(200);
    let date = json!({"starts_at": "2027-09-01T20:00:00Z"});
    let with = |more: Value| {
        let mut body = date.clone();
        body.as_object_mut()
            .expect("a document")
            .extend(more.as_object().expect("fields").clone());
        body
    };
    for (path, body, status, code) in [
        (
            CANCEL.to_owned(),
            json!({"dry_run": true}),
            422,
            "unknown_field",
        ),
        (
            CANCEL.to_owned(),
            json!({"confirm": "*"}),
            422,
            "unknown_field",
        ),
        (
            CANCEL.to_owned(),
            json!({"reason": 5}),
            422,
            "invalid_field",
        ),
        (
            CANCEL.to_owned(),
            json!({"reason": " "}),
            422,
            "invalid_field",
        ),
        (
            CANCEL.to_owned(),
            json!({"reason": "x".repeat(501)}),
            422,
            "invalid_field",
        ),
        (
            CANCEL.to_owned(),
            json!({"scanned": "refund"}),
            422,
            "not_available",
        ),
        (
            CANCEL.to_owned(),
            json!({"scanned": "maybe"}),
            422,
            "invalid_field",
        ),
        (CANCEL.to_owned(), json!(true), 422, "invalid_field"),
        (
            format!("{CANCEL}?dry_run=true"),
            json!({}),
            400,
            "invalid_query",
        ),
        (
            format!("{CANCEL}?preview=true"),
            json!({}),
            422,
            "not_available",
        ),
        (
            POSTPONE.to_owned(),
            with(json!({"dry_run": true})),
            422,
            "unknown_field",
        ),
        (
            POSTPONE.to_owned(),
            with(json!({"reason": ""})),
            422,
            "invalid_field",
        ),
        (
            format!("{POSTPONE}?preview=true"),
            date.clone(),
            422,
            "not_available",
        ),
        (
            format!("{POSTPONE}?dry_run=true"),
            date.clone(),
            400,
            "invalid_query",
        ),
    ] {
        let refused = app.ask(post(&path, &body).by(&PROMOTER)).await;
        refused.problem(status, code);
    }
    let form = post(CANCEL, &json!({})).raw("dry_run=true");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let refused = app.ask(form.by(&PROMOTER)).await;
    refused.problem(415, "unsupported_media_type");
    let raw = post(CANCEL, &json!({})).raw("dry_run").by(&PROMOTER);
    app.ask(raw).await.problem(400, "invalid_json");
    assert_eq!(app.ask(get("/v1/shows/night-1")).await.is(200), before);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_of_a_postponement_and_of_a_cancellation_is_told() {
    let (app, ..) = opened().await;
    let refunds = async || {
        let call = get("/v1/promoter/shows/night-1/refunds").by(&VIEWER);
        app.ask(call).await.is(200)
    };
    assert_eq!(refunds().await["reason"], Value::Null);
    let later = json!({"starts_at": NEXT_DAY, "reason": "The singer is ill."});
    let told = app.ask(post(POSTPONE, &later).by(&PROMOTER)).await.is(200);
    assert_eq!(told["reason"], "The singer is ill.");
    assert_eq!(refunds().await, told);
    let cancel = json!({"reason": "The hall burnt down.", "scanned": "keep"});
    let told = app.ask(post(CANCEL, &cancel).by(&PROMOTER)).await.is(200);
    assert_eq!(told["reason"], "The hall burnt down.");
    // The same call again changes nothing.
    let again = json!({"reason": "Another reason."});
    let again = app.ask(post(CANCEL, &again).by(&PROMOTER)).await.is(200);
    assert_eq!(again["reason"], "The hall burnt down.");
    assert_eq!(refunds().await["reason"], "The hall burnt down.");
}

/// Returns the value of a line of a calendar.
fn line<'c>(calendar: &'c str, name: &str) -> &'c str {
    let mut lines = calendar.lines();
    let value = lines.find_map(|line| line.strip_prefix(&format!("{name}:")));
    value.unwrap_or_else(|| panic!("no {name} in {calendar}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calendar_entry_of_a_postponed_show_has_a_larger_sequence_and_a_new_stamp() {
    let (app, ana, _) = opened().await;
    let order = app.order(&ana, &["A-1"]).await;
    app.pay(&order, "approve").await.is(200);
    let ordered = app.order_in(&order, "ticketed").await;
    let path = format!("/v1/tickets/{}.ics", text(&ordered["tickets"][0], "ticket"));
    let entry = async || app.ask(get(&path).by(&ana)).await.text();
    let first = entry().await;
    assert_eq!(line(&first, "SEQUENCE"), "0");
    let mut last = first.clone();
    for (sequence, date) in [("1", NEXT_DAY), ("2", AN_HOUR_LATER), ("3", NEXT_DAY)] {
        app.clock.advance_ms(60_000);
        let later = json!({ "starts_at": date });
        app.ask(post(POSTPONE, &later).by(&PROMOTER)).await.is(200);
        let moved = entry().await;
        assert_eq!(line(&moved, "SEQUENCE"), sequence);
        assert!(line(&moved, "DTSTAMP") > line(&last, "DTSTAMP"), "{moved}");
        assert_eq!(line(&moved, "UID"), line(&first, "UID"));
        assert_ne!(line(&moved, "DTSTART"), line(&last, "DTSTART"));
        assert_eq!(entry().await, moved, "nothing moved since");
        last = moved;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_take_no_body_refuse_one() {
    let (app, ana, _) = opened_with(json!({"extensions": 1})).await;
    let order = app.order(&ana, &["A-1"]).await;
    let hold = text(&app.hold(&ana, &["B-1"]).await, "hold");
    let key = text(&order, "order_key");
    let dry = json!({"dry_run": true});
    let cancel = format!("/v1/orders/{}/cancel", text(&order, "order"));
    for call in [
        post(&cancel, &dry).by(&key),
        post(&format!("/v1/holds/{hold}/extend"), &dry).by(&ana),
    ] {
        app.ask(call).await.problem(422, "unknown_field");
    }
    app.order_in(&order, "pending").await;
}
