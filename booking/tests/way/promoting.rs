//! Tests the documents that a promoter puts: a faulty document is refused as a whole, and no
//! document changes seats that are in use.

use fairgate_servers as servers;
use serde_json::{Value, json};

use crate::harness::*;

async fn put_show(app: &App, changes: Value) -> TestAnswer {
    let call = put("/v1/promoter/shows/night-1", &document(changes));
    app.ask(call.by(&PROMOTER)).await
}

fn fields(problem: &Value) -> Vec<(String, String)> {
    let problems = problem["problems"].as_array().expect("a list");
    let both = |one: &Value| (text(one, "field"), text(one, "code"));
    problems.iter().map(both).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_faults_of_a_show_are_reported_at_once() {
    let (app, ..) = opened().await;
    let before = app.ask(get("/v1/shows/night-1")).await.body;
    let faulty = json!({
        "title": "", "hold_s": 0, "seats_per_visitor": 5_000, "seats_per_card": 2,
        "refunds": [{"until_h": 48, "fee_pct": 10}, {"until_h": 48, "fee_pct": 101}],
        "prices": {"cat1": -1, "balcony": 100},
    });
    let refused = put_show(&app, faulty).await.problem(422, "invalid_field");
    let expected = [
        ("title", "invalid_field"),
        ("hold_s", "invalid_field"),
        ("seats_per_visitor", "invalid_field"),
        ("seats_per_card", "not_available"),
        ("refunds.1.fee_pct", "invalid_field"),
        ("refunds.1.until_h", "invalid_field"),
        ("prices.balcony", "invalid_field"),
        ("prices.cat1", "invalid_field"),
        ("prices", "invalid_field"),
    ];
    assert_eq!(
        fields(&refused),
        expected.map(|(field, code)| (field.to_owned(), code.to_owned()))
    );
    assert_eq!(app.ask(get("/v1/shows/night-1")).await.body, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_are_not_available_are_refused_and_not_ignored() {
    let (app, ..) = opened().await;
    for (field, setting) in [
        ("seats_per_account", json!({"seats_per_account": 2})),
        ("seats_per_card", json!({"seats_per_card": 2})),
    ] {
        let refused = put_show(&app, setting).await.problem(422, "not_available");
        assert_eq!(refused["field"], field);
    }
    for (field, query) in [("repair", "?repair=true"), ("format", "?format=pretix")] {
        let path = format!("/v1/promoter/venues/hall{query}");
        let call = put(&path, &json!({"plan": "grid:1x1"})).by(&PROMOTER);
        let refused = app.ask(call).await.problem(422, "not_available");
        assert_eq!(refused["field"], field);
    }
    let none = put("/v1/promoter/venues/x", &json!({"plan": "grid:0x1"})).by(&PROMOTER);
    app.ask(none).await.problem(422, "plan_invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_our_own_is_sold_with_its_shapes_and_a_faulty_one_is_refused_whole() {
    let app = App::new().await;
    let mut plan = json!({
        "name": "Small Hall", "focal": [40, -50], "stage": {"points": [[0, -60], [80, -60], [40, -40]]},
        "categories": [{"key": "cat1", "label": "Stalls"}, {"key": "cat2", "label": "Gallery"}],
        "sections": [{"label": "S", "category": "cat1", "outline": [[-20, -20], [100, -20], [40, 90]],
            "rows": [{"label": "A", "count": 5, "from": [0, 0], "to": [80, 0], "bend": 9, "accessible": [1]}]}],
        "areas": [{"label": "Pit", "category": "cat2", "capacity": 4, "center": [40, -20]}],
    });
    let path = "/v1/promoter/venues/hall?format=fairgate&city=Berlin";
    let put_plan = async |plan: &Value| app.ask(put(path, plan).by(&PROMOTER)).await;
    let stored = put_plan(&plan).await.is(200);
    assert_eq!(
        (&stored["cells"], &stored["standing"]),
        (&json!(9), &json!(4))
    );
    app.put_show("night-1", json!({})).await;
    let told = app.ask(get("/v1/shows/night-1/seatmap")).await.is(200);
    assert_eq!(told["stage"]["points"][2], json!([40.0, -40.0]));
    assert_eq!(told["outlines"][0]["section"], "S");
    assert_eq!(told["seats"][4]["label"], "S-A-1");
    assert_eq!(told["seats"][4]["accessible"], true);
    let best = post("/v1/shows/night-1/holds", &json!({"best": {"quantity": 2}}));
    let hold = app.ask(best.by(&app.visitor(1))).await.is(201);
    assert_eq!(hold["seats"].as_array().map(Vec::len), Some(2));

    plan["areas"][0]["capacity"] = json!(-1);
    plan["sections"][0]["rows"][0]["category"] = json!("box");
    let refused = put_plan(&plan).await.problem(422, "plan_invalid");
    let faults = refused["faults"].as_array().expect("a list");
    let at: Vec<_> = faults.iter().map(|fault| text(fault, "at")).collect();
    assert_eq!(
        at,
        [r#"areas[0] "Pit""#, r#"sections[0] "S" › rows[0] "A""#]
    );
    let show = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(show["city"], "Berlin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_show_an_order_and_a_ticket_tell_where_the_venue_is() {
    let (app, ana, _) = opened().await;
    let hall = json!({
        "plan": "grid:4x10", "name": "Große Halle", "city": "Berlin", "address": "Am Tor 1", "time_zone": "Europe/Berlin",
    });
    let put_hall = async |hall: &Value| {
        app.ask(put("/v1/promoter/venues/hall", hall).by(&PROMOTER))
            .await
    };
    put_hall(&hall).await.is(200);
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&order, "approve").await.is(200);
    let ordered = app.order_in(&order, "ticketed").await;
    let show = app.ask(get("/v1/shows/night-1")).await.is(200);
    let id = text(&ordered["tickets"][0], "ticket");
    let ticket = app.ask(get(&format!("/v1/tickets/{id}")).by(&ana)).await;
    let calendar = app
        .ask(get(&format!("/v1/tickets/{id}.ics")).by(&ana))
        .await;
    for line in [
        "DTSTART;TZID=Europe/Berlin:20270601T200000",
        "LOCATION:Große Halle\\, Am Tor 1\\, Berlin",
    ] {
        assert!(calendar.text().contains(line), "{}", calendar.text());
    }
    for told in [&show, &ordered, &ticket.is(200)] {
        assert_eq!(told["venue_name"], "Große Halle");
        assert_eq!(told["city"], "Berlin");
        assert_eq!(told["address"], "Am Tor 1");
        assert_eq!(told["time_zone"], "Europe/Berlin");
    }

    let bad = json!({"plan": "grid:4x10", "name": "", "time_zone": "Mars/Base"});
    let refused = put_hall(&bad).await.problem(422, "invalid_field");
    let named = refused["problems"].as_array().expect("a list");
    let named: Vec<_> = named.iter().map(|fault| &fault["field"]).collect();
    assert_eq!(named, ["name", "time_zone"]);
    let twice = put("/v1/promoter/venues/hall?city=Bonn", &hall).by(&PROMOTER);
    app.ask(twice).await.problem(422, "invalid_field");
    let show = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(show["city"], "Berlin", "a refused call changes nothing");

    put_hall(&json!({"plan": "grid:4x10"})).await.is(200);
    let show = app.ask(get("/v1/shows/night-1")).await.is(200);
    assert_eq!(show["time_zone"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_location_that_was_put_at_one_node_is_told_by_the_other() {
    if servers::must_skip("a location that is put at one of two nodes") {
        return;
    }
    let redis = servers::RedisServers::single().await.expect("Redis starts");
    let nodes = App::nodes(2, &redis.url()).await;
    let hall = json!({"plan": "grid:4x10", "city": "Berlin", "time_zone": "Europe/Berlin"});
    let put_hall = put("/v1/promoter/venues/hall", &hall).by(&PROMOTER);
    nodes[0].ask(put_hall).await.is(200);
    for node in &nodes {
        until("the city at every node", async || {
            let show = node.ask(get("/v1/shows/night-1")).await.is(200);
            (show["city"] == "Berlin" && show["time_zone"] == "Europe/Berlin").then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn putting_the_same_documents_again_changes_nothing() {
    let (app, ana, _) = opened().await;
    app.hold(&ana, &["A-1", "A-2"]).await;
    let before = app.seats("night-1").await;
    app.put_venue("hall", "grid:4x10").await;
    let put = put_show(&app, json!({})).await.is(200);
    assert_eq!(put["plan_version"], 1);
    assert_eq!(app.seats("night-1").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_the_ordered_or_sold_seats_is_refused() {
    let (app, ana, ben) = opened().await;
    let order = app.order(&ana, &["D-9", "D-10"]).await;
    app.put_venue("hall", "grid:3x10").await;
    let smaller = || put_show(&app, json!({"plan": 2}));
    let refused = smaller().await.problem(409, "plan_in_use");
    assert_eq!(refused["seats"], json!(["D-9", "D-10"]));
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    smaller().await.problem(409, "plan_in_use");
    app.hold(&ben, &["A-1", "A-2"]).await;
    assert_eq!(app.seats("night-1").await["unavailable"]["A-1"], "held");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_larger_plan_is_sold_after_the_baskets_of_the_old_plan_are_gone() {
    let (app, ana, ben) = opened().await;
    let order = app.order(&ana, &["A-1", "A-2"]).await;
    let hold = text(&app.hold(&ben, &["B-1", "B-2"]).await, "hold");
    app.put_venue("hall", "grid:4x10").await;
    // In a hall of four or five rows, the first half of the rows is cat1. Rows A and B belong to it
    // in both halls.
    app.put_venue("hall", "grid:5x10").await;
    let put = put_show(&app, json!({"plan": 2})).await.is(200);
    assert_eq!(
        (&put["plan_version"], &put["cells"]),
        (&json!(2), &json!(50))
    );
    let ask = || post("/v1/shows/night-1/holds", &json!({"seats": ["E-1", "E-2"]})).by(&ben);
    app.ask(ask()).await.problem(409, "plan_changed");
    app.ask(delete(&format!("/v1/holds/{hold}")).by(&ben))
        .await
        .is(204);
    app.ask(ask()).await.is(201);
    let seats = app.seats("night-1").await;
    assert_eq!((&seats["free"], &seats["held"]), (&json!(46), &json!(4)));
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_keeps_its_price_when_the_prices_change() {
    let (app, ana, ben) = opened().await;
    let hold = app.hold(&ana, &["A-1", "A-2"]).await;
    put_show(&app, json!({"prices": {"cat1": 1}})).await.is(200);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&ana)).await.is(201);
    assert_eq!(order["total"], hold["total"]);
    let blocked = post("/v1/shows/night-1/holds", &json!({"seats": ["C-1"]}));
    app.ask(blocked.by(&ben)).await.problem(422, "not_for_sale");
    assert_eq!(app.seats("night-1").await["unavailable"]["C-1"], "blocked");
    assert_eq!(app.hold(&ben, &["B-1", "B-2"]).await["total"]["amount"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn shows_are_found_by_words_dates_and_categories() {
    let (app, ..) = opened().await;
    app.put_show(
        "night-2",
        json!({"title": "Night two", "starts_at": "2027-06-02T20:00:00+02:00",
        "prices": {"cat1": 1}}),
    )
    .await;
    let midnight =
        json!({"title": "Late", "starts_at": "2027-06-02T00:00:00Z", "prices": {"cat1": 1}});
    app.put_show("midnight", midnight).await;
    let songs = json!({"title": "Dr. Müller & Söhne", "starts_at": "2027-06-03T20:00:00Z", "prices": {"cat1": 1}});
    app.put_show("songs", songs).await;
    for (query, found) in [
        ("", vec!["night-1", "midnight", "night-2", "songs"]),
        ("?q=two%20NIGHT", vec!["night-2"]),
        ("?q=night%20hall", vec!["night-1", "night-2"]),
        ("?q=nihgt%20two", vec!["night-2"]),
        ("?q=doctor%20mueller%20und%20soehne", vec!["songs"]),
        ("?q=Muller%20and", vec!["songs"]),
        ("?q=muller&to=2027-06-02", vec![]),
        ("?from=2027-06-02", vec!["midnight", "night-2", "songs"]),
        ("?from=2027-06-03&to=2027-06-01", vec![]),
        ("?to=2027-06-01", vec!["night-1"]),
        ("?to=2027-06-02T00:00:00Z", vec!["night-1", "midnight"]),
        ("?category=cat2", vec!["night-1"]),
        ("?venue=other", vec![]),
        ("?page=2", vec![]),
    ] {
        let list = app.ask(get(&format!("/v1/shows{query}"))).await.is(200);
        let shows = list["shows"].as_array().expect("a list");
        let ids: Vec<_> = shows.iter().map(|show| text(show, "show")).collect();
        assert_eq!(ids, found, "{query}");
    }
    // A time without a zone is refused, because it is neither a moment nor a day.
    let vague = get("/v1/shows?from=2027-06-01T20:00:00");
    app.ask(vague).await.problem(422, "invalid_field");
}
