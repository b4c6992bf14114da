//! Tests holds on a train that calls twice at each station of a loop, and of journeys that begin or
//! end where nobody may get on or off.

use booking::commands::import_timetable::new_timetable;
use booking::rail::import::read_gtfs;
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_model::timetables::settings::RailFile;
use serde_json::{Value, json};

use crate::harness::*;
use crate::trains;

const FEED: [(&str, &str); 6] = [
    ("agency.txt", "agency_timezone\nUTC\n"),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon\nhub,Hub,50,8\nend,End,51,8\ndepot,Depot,52,8\n",
    ),
    ("routes.txt", "route_id\nr1\n"),
    ("trips.txt", "trip_id,route_id,service_id\nround,r1,daily\n"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
        daily,1,1,1,1,1,1,1,20270101,20271231\n",
    ),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type\n\
        round,08:00:00,08:00:00,hub,1,0,0\nround,09:00:00,09:00:00,end,2,0,0\n\
        round,10:00:00,10:00:00,hub,3,0,0\nround,11:00:00,11:00:00,end,4,0,0\n\
        round,12:00:00,12:00:00,depot,5,1,1\n",
    ),
];

const SHOW: &str = "round-2027-01-11";

/// The terms of trains whose orders may be exchanged.
const EXCHANGED: &str = "[terms]\nexchange = { cheaper = \"refund\" }\n";

async fn opened() -> App {
    opened_with(&RailFile::default()).await
}

async fn opened_with(settings: &RailFile) -> App {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in FEED {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let feed = read_gtfs(folder.path(), settings).expect("a feed without faults");
    let app = App::new().await;
    let timetable = new_timetable(&feed.parts).expect("plans");
    let ledger = app.ledger().await;
    ledger.put_timetable(timetable, 1).await.expect("stored");
    app.restarted().await
}

async fn hold(app: &App, visitor: u16, ride: Value) -> TestAnswer {
    let who = app.visitor_of(EVERYDAY, visitor);
    let mut ask = json!({"best": {"quantity": 1, "class": "second"}});
    for (name, value) in ride.as_object().expect("an object") {
        ask[name] = value.clone();
    }
    let call = post(&format!("/v1/shows/{SHOW}/holds"), &ask);
    app.ask(call.by(&who)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_ride_of_a_loop_is_listed_and_held_by_its_departure() {
    let app = opened().await;
    let path = "/v1/rail/trips?from=hub&to=end&date=2027-01-11";
    let trips = app.ask(get(path)).await.is(200);
    let departs = trips.as_array().expect("a list").iter();
    let departs: Vec<String> = departs.map(|trip| text(trip, "departs")).collect();
    assert_eq!(departs, ["2027-01-11T08:00:00Z", "2027-01-11T10:00:00Z"]);
    let first = json!({"from": "hub", "to": "end"});
    let second = json!({"from": "hub", "to": "end", "departs": departs[1]});
    for (visitor, ride, at) in [(1, &first, 0), (2, &second, 1)] {
        let held = hold(&app, visitor, ride.clone()).await.is(201);
        assert_eq!(text(&held["journey"]["from"], "at"), departs[at]);
    }
    let other = json!({"from": "hub", "to": "end", "departs": "2027-01-11T09:00:00Z"});
    let refused = hold(&app, 3, other).await.problem(422, "invalid_field");
    let told = text(&refused, "detail");
    assert!(
        told.contains(&departs[0]) && told.contains(&departs[1]),
        "{told}"
    );
    // At nine, the first ride has left, and the second is the next one.
    app.clock.advance_ms(24 * 3_600_000);
    let held = hold(&app, 4, first).await.is(201);
    assert_eq!(text(&held["journey"]["from"], "at"), departs[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_holds_a_seat_to_a_station_where_nobody_gets_off() {
    let app = opened().await;
    let trips = app
        .ask(get("/v1/rail/trips?from=hub&to=depot&date=2027-01-11"))
        .await;
    assert_eq!(trips.is(200), json!([]));
    let refused = hold(&app, 1, json!({"from": "hub", "to": "depot"})).await;
    let told = text(&refused.problem(422, "invalid_field"), "detail");
    assert!(told.contains("nobody may get off round at depot"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_feed_forbids_is_still_known_after_the_departure_was_stored() {
    let app = opened().await;
    hold(&app, 1, json!({"from": "hub", "to": "end"}))
        .await
        .is(201);
    let app = app.restarted().await;
    let refused = hold(&app, 2, json!({"from": "hub", "to": "depot"})).await;
    refused.problem(422, "invalid_field");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_exchanged_for_another_ride_of_the_same_loop_by_its_departure() {
    let app = opened_with(&RailFile::parse(EXCHANGED).expect("terms")).await;
    let ana = app.visitor_of(EVERYDAY, 1);
    let first_ride = json!({"from": "hub", "to": "end"});
    let held = hold(&app, 1, first_ride.clone()).await.is(201);
    let order = trains::bought(&app, &ana, &held, &["Ana Perez"]).await;
    let exchange = async |order: &Value, departs: &str| {
        let mut ask = json!({"show": SHOW, "best": {"quantity": 1, "class": "second"}});
        for (name, value) in first_ride.as_object().expect("an object") {
            ask[name] = value.clone();
        }
        ask["departs"] = departs.into();
        let path = format!("/v1/orders/{}/exchange", text(order, "order"));
        app.ask(post(&path, &ask).by(&text(order, "order_key")))
            .await
    };
    let between = exchange(&order, "2027-01-11T09:00:00Z").await;
    between.problem(422, "invalid_field");
    // Both rides cost the same, so the exchange is done at once.
    let later = exchange(&order, "2027-01-11T10:00:00Z").await.is(200);
    assert_eq!(later["state"], "ticketed");
    assert_eq!(later["tickets"][0]["legs"], json!([2]));
    assert_eq!(
        text(&later["journey"]["from"], "at"),
        "2027-01-11T10:00:00Z"
    );
    assert_eq!(later["total"], app.read(&order).await["total"]);
    assert_eq!(later["seats"][0]["traveller"], "Ana Perez");
    // Somebody else may have the seat that was left, on the first ride.
    let seat = &held["seats"][0]["label"];
    let ask = json!({"seats": [seat], "from": "hub", "to": "end"});
    until("the seat of the first ride", async || {
        let call = post(&format!("/v1/shows/{SHOW}/holds"), &ask);
        let taken = app.ask(call.by(&app.visitor_of(EVERYDAY, 2))).await;
        (taken.status == 201).then(|| taken.is(201))
    })
    .await;
}
