//! Tests holds on a train that runs round a loop twice, and holds of journeys that begin or end
//! where nobody may get on or off.

use booking::rail::import::read_gtfs;
use fairgate_model::money::Currency;
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

/// Further trains: `early` and `late` bring travellers to the loop, and `soon` and `after` take
/// them further. `ring` is another loop. Its second ride from hub to end goes a longer way.
const MORE: [(&str, &str); 3] = [
    ("stops.txt", "west,West,49,8\ncoast,Coast,53,8\n"),
    (
        "trips.txt",
        "early,r1,daily\nlate,r1,daily\nsoon,r1,daily\nafter,r1,daily\nring,r1,daily\n",
    ),
    (
        "stop_times.txt",
        "early,06:30:00,06:30:00,west,1,0,0\nearly,07:30:00,07:30:00,hub,2,0,0\n\
        late,08:30:00,08:30:00,west,1,0,0\nlate,09:30:00,09:30:00,hub,2,0,0\n\
        soon,09:30:00,09:30:00,end,1,0,0\nsoon,10:30:00,10:30:00,coast,2,0,0\n\
        after,11:45:00,11:45:00,end,1,0,0\nafter,12:45:00,12:45:00,coast,2,0,0\n\
        ring,13:00:00,13:00:00,hub,1,0,0\nring,14:00:00,14:00:00,end,2,0,0\n\
        ring,15:00:00,15:00:00,hub,3,0,0\nring,16:00:00,16:00:00,depot,4,0,0\n\
        ring,17:00:00,17:00:00,end,5,0,0\n",
    ),
];

const SHOW: &str = "round-2027-01-11";
/// The departure of `ring` on that day.
const RING: &str = "ring-2027-01-11";

/// The terms of trains whose orders may be exchanged.
const EXCHANGED: &str = "[terms]\nexchange = { cheaper = \"refund\" }\n";

async fn opened() -> App {
    opened_with(&RailFile::default(), &[]).await
}

/// Opens an app with the loop, and with these further rows in the files of the feed.
async fn opened_with(settings: &RailFile, more: &[(&str, &str)]) -> App {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in FEED {
        let rows = more.iter().filter(|(file, _)| *file == name);
        let rows: String = rows.map(|(_, rows)| *rows).collect();
        std::fs::write(folder.path().join(name), format!("{text}{rows}")).expect("written");
    }
    let mut settings = settings.clone();
    settings.terms.currency.get_or_insert(Currency::EUR);
    let feed = read_gtfs(folder.path(), &settings).expect("a feed without faults");
    let app = App::new().await;
    app.import_timetable(&feed.parts).await;
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
    // At nine o'clock the first ride has left, so the second ride is the next one.
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
    let app = opened_with(&RailFile::parse(EXCHANGED).expect("terms"), &[]).await;
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
    // The exchange freed the seat on the first ride, so somebody else may hold it.
    let seat = &held["seats"][0]["label"];
    let ask = json!({"seats": [seat], "from": "hub", "to": "end"});
    until("the seat of the first ride", async || {
        let call = post(&format!("/v1/shows/{SHOW}/holds"), &ask);
        let taken = app.ask(call.by(&app.visitor_of(EVERYDAY, 2))).await;
        (taken.status == 201).then(|| taken.is(201))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_exchanged_for_a_ride_of_another_loop_at_the_price_of_that_ride() {
    let app = opened_with(&RailFile::parse(EXCHANGED).expect("terms"), &MORE).await;
    let ana = app.visitor_of(EVERYDAY, 1);
    let held = hold(&app, 1, json!({"from": "hub", "to": "end"})).await;
    let order = trains::bought(&app, &ana, &held.is(201), &["Ana Perez"]).await;
    let exchange = async |order: &Value, departs: &str| {
        let ask = json!({"show": RING, "best": {"quantity": 1, "class": "second"},
            "from": "hub", "to": "end", "departs": departs});
        let path = format!("/v1/orders/{}/exchange", text(order, "order"));
        app.ask(post(&path, &ask).by(&text(order, "order_key")))
            .await
    };
    // The other train does not leave at 10:00.
    let refused = exchange(&order, "2027-01-11T10:00:00Z").await;
    let told = text(&refused.problem(422, "invalid_field"), "detail");
    assert!(
        told.contains("2027-01-11T13:00:00Z") && told.contains("2027-01-11T15:00:00Z"),
        "{told}"
    );
    // The other train's first ride is as long as the old ride, one degree of latitude. So it costs
    // the same.
    let same = exchange(&order, "2027-01-11T13:00:00Z").await.is(200);
    let euros = |amount: i64| json!({"amount": amount, "currency": "EUR"});
    assert_eq!(
        (&same["state"], &same["show"], &same["total"]),
        (&json!("ticketed"), &json!(RING), &euros(5_115))
    );
    assert_eq!(same["tickets"][0]["legs"], json!([0]));
    // The other train's second ride goes by way of the depot. It is three degrees of latitude long.
    let first = app.read(&order).await["exchange"].clone();
    let longer = exchange(&first, "2027-01-11T15:00:00Z").await.is(200);
    assert_eq!(
        (&longer["state"], &longer["total"]),
        (&json!("pending"), &euros(15_345))
    );
    assert_eq!(longer["payment"]["amount"], euros(10_230));
    let second = app.read(&first).await["exchange"].clone();
    app.pay(&app.read(&second).await, "approve").await.is(200);
    let done = app.order_in(&second, "ticketed").await;
    assert_eq!(done["tickets"][0]["legs"], json!([2, 3]));
    assert_eq!(text(&done["journey"]["from"], "at"), "2027-01-11T15:00:00Z");
    assert_eq!(done["seats"][0]["traveller"], "Ana Perez");
}

#[tokio::test(flavor = "multi_thread")]
async fn journeys_with_a_change_name_the_ride_of_a_loop_by_its_departure() {
    let app = opened_with(&RailFile::default(), &MORE).await;
    let journeys = async |from: &str, to: &str| {
        let path = format!("/v1/rail/journeys?from={from}&to={to}&date=2027-01-11");
        let found = app.ask(get(&path)).await.is(200);
        let rides = found.as_array().expect("a list").iter().map(|journey| {
            let ride = |at: usize| {
                let trip = &journey["trips"][at];
                let show = text(trip, "show");
                let train = show.split('-').next().expect("a train").to_owned();
                format!("{train} {}", &text(trip, "departs")[11..16])
            };
            [ride(0), ride(1)]
        });
        rides.collect::<Vec<_>>()
    };
    // The loop is the second train. Each first train connects to another ride of the loop.
    let expected = [
        ["early 06:30", "round 08:00"],
        ["late 08:30", "round 10:00"],
    ];
    assert_eq!(journeys("west", "end").await, expected);
    // The loop is the first train. Each of its rides connects to another train.
    let expected = [
        ["round 08:00", "soon 09:30"],
        ["round 10:00", "after 11:45"],
    ];
    assert_eq!(journeys("hub", "coast").await, expected);
    // A hold can name a ride of the loop by the departure in the answer.
    let ride = json!({"from": "hub", "to": "end", "departs": "2027-01-11T10:00:00Z"});
    let held = hold(&app, 1, ride).await.is(201);
    assert_eq!(text(&held["journey"]["from"], "at"), "2027-01-11T10:00:00Z");
}
