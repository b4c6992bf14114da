//! Tests stations, trains and journeys over HTTP, from an imported timetable.

use booking::rail::import::{ImportedRailFeed, read_timetable};
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_model::timetables::settings::RailFile;
use serde_json::json;

use crate::harness::*;

const STATIONS: &str = "telecode,name,pinyin,abbr,pinyin_code,lon,lat\n\
    AAA,甲城,jiacheng,jc,jch,0.0,0.0\n\
    BBB,乙城,yicheng,yc,ych,1.0,0.0\n\
    CCC,丙城,bingcheng,bc,bch,2.0,0.0\n";
const TRAINS: &str = "trip_id,train_code,kind,service_days,first_day,last_day\n\
    t1,G1,fast,ALL,,\nt2,G2,fast,ALL,,\nt3,G3,fast,2,2027-01-10,2027-01-11\n";
const STOP_TIMES: &str = "trip_id,stop_sequence,station,arrival,departure,day_offset_arrival,day_offset_departure\n\
    t1,1,甲城,,08:00,,0\nt1,2,乙城,09:00,,0,\n\
    t2,1,乙城,,09:30,,0\nt2,2,丙城,10:30,,0,\n\
    t3,1,甲城,,12:00,,0\nt3,4,乙城,13:00,13:02,0,0\nt3,5,丙城,14:00,,0,\n";

fn feed() -> ImportedRailFeed {
    feed_on(&RailFile::default())
}

fn feed_on(settings: &RailFile) -> ImportedRailFeed {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("stations.csv", STATIONS),
        ("trains.csv", TRAINS),
        ("stop_times.csv", STOP_TIMES),
    ] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let read = read_timetable(folder.path(), "Asia/Shanghai", settings);
    read.expect("a feed without faults")
}

async fn import(app: &App, feed: &ImportedRailFeed) {
    app.import_timetable(&feed.parts).await;
}

/// Opens an app that has read the timetable from its ledger when it started.
async fn railway() -> App {
    let app = App::new().await;
    import(&app, &feed()).await;
    app.restarted().await
}

#[tokio::test(flavor = "multi_thread")]
async fn trips_between_two_stations_are_listed_with_prices_and_free_seats() {
    let app = railway().await;
    let path = "/v1/rail/trips?from=AAA&to=CCC&date=2027-01-11";
    let trips = app.ask(get(path)).await.is(200);
    let expected = json!([{
        "show": "g3-2027-01-11", "train": "G3", "from": "AAA", "to": "CCC",
        "departs": "2027-01-11T04:00:00Z", "arrives": "2027-01-11T06:00:00Z",
        "duration_s": 7_200, "stops": 2, "departed": false, "fate": null, "time_zone": "Asia/Shanghai",
        "from_time_zone": "Asia/Shanghai", "to_time_zone": "Asia/Shanghai",
        "classes": [
            {"class": "business", "label": "Business class", "free": 24,
                "price": {"amount": 32_247, "currency": "CNY"}},
            {"class": "first", "label": "First class", "free": 52,
                "price": {"amount": 16_457, "currency": "CNY"}},
            {"class": "second", "label": "Second class", "free": 510,
                "price": {"amount": 10_230, "currency": "CNY"}},
        ],
        "degraded": false, "as_of": "2027-01-10T09:00:00Z",
    }]);
    assert_eq!(trips, expected);
    let by_name = "/v1/rail/trips?from=%E7%94%B2%E5%9F%8E&to=ccc&date=2027-01-11";
    assert_eq!(app.ask(get(by_name)).await.is(200), expected);
    let path = "/v1/rail/trips?from=AAA&to=BBB&date=2027-01-11";
    let trips = app.ask(get(path)).await.is(200);
    let shows: Vec<_> = trips
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| text(of, "show"))
        .collect();
    assert_eq!(shows, ["g1-2027-01-11", "g3-2027-01-11"]);
    let path = "/v1/rail/trips?from=CCC&to=AAA&date=2027-01-11";
    assert_eq!(app.ask(get(path)).await.is(200), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_departure_that_was_found_can_be_held() {
    let app = railway().await;
    let show = app.ask(get("/v1/shows/g3-2027-01-11")).await.is(200);
    assert_eq!((&show["kind"], &show["legs"]), (&json!("rail"), &json!(2)));
    let ana = app.visitor_of(EVERYDAY, 1);
    let ask = json!({"best": {"quantity": 2, "class": "second"}, "from": "AAA", "to": "BBB"});
    let call = post("/v1/shows/g3-2027-01-11/holds", &ask);
    let hold = app.ask(call.by(&ana)).await.is(201);
    // The price is 111.2 km at 0.46, rounded up.
    assert_eq!(
        hold["total"],
        json!({"amount": 2 * 5_115, "currency": "CNY"})
    );
    assert_eq!(hold["next_to_each_other"], true);
    for (from, to, free) in [
        ("AAA", "BBB", 508),
        ("AAA", "CCC", 508),
        ("BBB", "CCC", 510),
    ] {
        let path = format!("/v1/rail/trips?from={from}&to={to}&date=2027-01-11");
        let told = until("the held seats", async || {
            let trips = app.ask(get(&path)).await.is(200);
            let of = |trip: &&serde_json::Value| trip["show"] == "g3-2027-01-11";
            let trips = trips.as_array().expect("a list").clone();
            let trip = trips.iter().find(of).expect("it runs").clone();
            (trip["degraded"] == false).then(|| trip["classes"][2]["free"].clone())
        })
        .await;
        assert_eq!(told, json!(free), "{from} to {to}");
    }
    let gone = app.ask(get("/v1/shows/g3-2027-01-20")).await;
    gone.problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn held_seats_are_missing_only_in_searches_over_their_legs() {
    let app = railway().await;
    let free = async |to: &str| {
        // A second later, the cached free seats are old enough to be read anew.
        app.clock.advance_ms(1_000);
        let path = format!("/v1/rail/trips?from=AAA&to={to}&date=2027-01-11");
        let trips = app.ask(get(&path)).await.is(200);
        let trips = trips.as_array().expect("a list").clone();
        let of = |trip: &serde_json::Value| {
            let second = &trip["classes"][2];
            (
                text(trip, "show"),
                second["free"].clone(),
                trip["degraded"].clone(),
            )
        };
        trips.iter().map(of).collect::<Vec<_>>()
    };
    let whole = |show: &str| (show.to_owned(), json!(510), json!(false));
    let less = |show: &str| (show.to_owned(), json!(508), json!(false));
    assert_eq!(
        free("BBB").await,
        [whole("g1-2027-01-11"), whole("g3-2027-01-11")]
    );
    let ana = app.visitor_of(EVERYDAY, 1);
    let ask = json!({"best": {"quantity": 2, "class": "second"}, "from": "BBB", "to": "CCC"});
    let call = post("/v1/shows/g3-2027-01-11/holds", &ask);
    let hold = app.ask(call.by(&ana)).await.is(201);
    // Every seat is free up to BBB. From BBB on, two fewer are free.
    until("the search to show the change", async || {
        (free("CCC").await == [less("g3-2027-01-11")]).then_some(())
    })
    .await;
    assert_eq!(
        free("BBB").await,
        [whole("g1-2027-01-11"), whole("g3-2027-01-11")]
    );
    let path = format!("/v1/holds/{}", text(&hold, "hold"));
    app.ask(delete(&path).by(&ana)).await;
    until("the search to show the change", async || {
        (free("CCC").await == [whole("g3-2027-01-11")]).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journey_with_a_change_is_two_trips() {
    let app = railway().await;
    let path = "/v1/rail/journeys?from=AAA&to=CCC&date=2027-01-20";
    let journeys = app.ask(get(path)).await.is(200);
    assert_eq!(journeys.as_array().map(Vec::len), Some(1));
    let journey = &journeys[0];
    assert_eq!(journey["departs"], "2027-01-20T00:00:00Z");
    assert_eq!(journey["duration_s"], 9_000);
    let change =
        json!({"station": "BBB", "name": "乙城", "time_zone": "Asia/Shanghai", "wait_s": 1_800});
    assert_eq!(journey["change"], change);
    let shows = [&journey["trips"][0]["show"], &journey["trips"][1]["show"]];
    assert_eq!(shows, ["g1-2027-01-20", "g2-2027-01-20"]);
    assert_eq!(journey["trips"][1]["classes"][2]["free"], 510);
}

#[tokio::test(flavor = "multi_thread")]
async fn stations_are_found_by_name_and_by_position() {
    let app = railway().await;
    let found = app.ask(get("/v1/rail/stations?q=yich")).await.is(200);
    let expected = json!([{
        "station": "BBB", "name": "乙城", "time_zone": "Asia/Shanghai", "pinyin": "yicheng",
        "lon": 1.0, "lat": 0.0,
    }]);
    assert_eq!(found, expected);
    let near = app
        .ask(get("/v1/rail/stations?lat=0&lon=0.1"))
        .await
        .is(200);
    assert_eq!(near.as_array().map(Vec::len), Some(1), "within 50 km");
    assert_eq!(near[0]["station"], "AAA");
    assert_eq!(near[0]["distance_m"], 11_120);
    let near = app
        .ask(get("/v1/rail/stations?lat=0&lon=0.1&radius_km=200"))
        .await;
    assert_eq!(near.is(200).as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_makes_no_sense_is_refused_with_its_field() {
    let app = railway().await;
    let trips = |query: &str| get(&format!("/v1/rail/trips?{query}"));
    for (query, field) in [
        ("to=BBB&date=2027-01-10", "from"),
        ("from=AAA&date=2027-01-10", "to"),
        ("from=AAA&to=BBB", "date"),
        ("from=AAA&to=BBB&date=tomorrow", "date"),
        ("from=AAA&to=AAA&date=2027-01-10", "to"),
        ("from=AAA&to=BBB&date=2027-01-09", "date"),
        ("from=AAA&to=BBB&date=2027-02-09", "date"),
    ] {
        let problem = app.ask(trips(query)).await.problem(422, "invalid_field");
        assert_eq!(problem["field"], field, "{query}");
    }
    let outside = app.ask(trips("from=AAA&to=BBB&date=2027-02-09")).await;
    let outside = outside.problem(422, "invalid_field");
    let window = (&outside["first"], &outside["last"]);
    assert_eq!(window, (&json!("2027-01-10"), &json!("2027-02-08")));
    let last = app.ask(trips("from=AAA&to=BBB&date=2027-02-08")).await;
    assert_eq!(last.is(200).as_array().map(Vec::len), Some(1));
    let unknown = app.ask(trips("from=yichen&to=BBB&date=2027-01-10")).await;
    let unknown = unknown.problem(404, "not_found");
    assert_eq!(unknown["field"], "from");
    assert_eq!(unknown["near"], json!([{"station": "BBB", "name": "乙城"}]));
    for query in [
        "",
        "?lat=1",
        "?q=a&lat=1&lon=1",
        "?lat=91&lon=0",
        "?lat=1&lon=1&radius_km=-1",
        "?lat=nan&lon=1",
        "?lat=1&lon=inf",
        "?lat=1&lon=1e999",
        "?lat=1&lon=1&radius_km=NaN",
    ] {
        let call = get(&format!("/v1/rail/stations{query}"));
        app.ask(call).await.problem(422, "invalid_field");
    }
    let odd = app.ask(trips("from=AAA&to=BBB&day=1")).await;
    odd.problem(400, "invalid_query");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_timetable_trips_are_not_available_and_an_import_is_adopted_while_serving() {
    let app = App::new().await;
    let trips = || get("/v1/rail/trips?from=AAA&to=BBB&date=2027-01-20");
    let refused = app.ask(trips()).await.problem(422, "not_available");
    assert!(
        text(&refused, "detail").contains("booking import"),
        "{refused:#}"
    );
    let mut feed = feed();
    import(&app, &feed).await;
    let found = until("the timetable", async || {
        let answer = app.ask(trips()).await;
        (answer.status == 200).then(|| answer.is(200))
    })
    .await;
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    feed.parts.terms.window_days = 1;
    import(&app, &feed).await;
    until("the newer timetable", async || {
        (app.ask(trips()).await.status == 422).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trains_that_have_left_are_marked_and_have_no_free_seats() {
    let app = railway().await;
    // It is 17:00 by the stations' clocks, and both trains have left.
    let path = |date: &str| format!("/v1/rail/trips?from=AAA&to=BBB&date={date}");
    let today = app.ask(get(&path("2027-01-10"))).await.is(200);
    let today = today.as_array().expect("a list");
    assert_eq!(today.len(), 2);
    for trip in today {
        assert_eq!(trip["departed"], true);
        let classes = trip["classes"].as_array().expect("a list");
        assert!(classes.iter().all(|class| class["free"] == 0), "{trip:#}");
    }
    let tomorrow = app.ask(get(&path("2027-01-11"))).await.is(200);
    assert_eq!(tomorrow[0]["departed"], false);
    assert_eq!(tomorrow[0]["classes"][2]["free"], 510);
    let path = "/v1/rail/journeys?from=AAA&to=CCC&date=2027-01-10";
    let journeys = app.ask(get(path)).await.is(200);
    assert_eq!(journeys[0]["departed"], true);
    assert_eq!(journeys[0]["trips"][1]["departed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_train_has_no_free_seats() {
    let app = railway().await;
    let cancel = post("/v1/promoter/shows/g1-2027-01-11/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    let path = "/v1/rail/trips?from=AAA&to=BBB&date=2027-01-11";
    let trips = app.ask(get(path)).await.is(200);
    assert_eq!(trips[0]["fate"], "cancelled");
    assert_eq!(trips[0]["classes"][2]["free"], 0);
    assert_eq!(trips[1]["fate"], json!(null));
}

/// The number of seats of a train.
const SEATS: u64 = 24 + 52 + 510;

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_of_a_room_count_the_seats_of_its_trains_until_they_leave() {
    let app = railway().await;
    let patterns = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect();
    let coverage = vec![
        ("g1".to_owned(), patterns(&["g1-*"])),
        ("today".to_owned(), patterns(&["g3-2027-01-10"])),
        ("past".to_owned(), patterns(&["g2-2026-12-24"])),
    ];
    app.booking
        .gateways()
        .replace_coverage(coverage)
        .await
        .expect("covered");
    let figures = async |room: &str| {
        let pulse = app
            .booking
            .gateways()
            .pulse(&pulse_of(room, &[], 0))
            .await
            .expect("readable");
        (pulse.free, pulse.held, pulse.sold, pulse.gone)
    };
    // Today's train has left. The trains of 29 more days are on sale.
    assert_eq!(figures("g1").await, (29 * SEATS, 0, 0, SEATS));
    assert_eq!(figures("today").await, (0, 0, 0, SEATS));
    assert_eq!(figures("past").await, (0, 0, 0, SEATS));
    assert_eq!(figures("nothing").await, (0, 0, 0, 0));
    // The built-in room has all other trains: G2 on every day, and G3 tomorrow. Today's G2 has
    // left.
    assert_eq!(figures(EVERYDAY).await, (30 * SEATS, 0, 0, SEATS));
    let ana = app.visitor_of("g1", 1);
    let ask = json!({"best": {"quantity": 2, "class": "second"}, "from": "AAA", "to": "BBB"});
    let call = post("/v1/shows/g1-2027-01-11/holds", &ask).by(&ana);
    app.ask(call).await.is(201);
    assert_eq!(figures("g1").await, (29 * SEATS - 2, 2, 0, SEATS));
    let cancel = post("/v1/promoter/shows/g1-2027-01-12/cancel", &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    assert_eq!(figures("g1").await, (28 * SEATS - 2, 2, 0, 2 * SEATS));
    // A day later the train with the two held seats has left, and one more day is on sale.
    app.clock.advance_ms(86_400_000);
    assert_eq!(figures("g1").await, (28 * SEATS, 0, 0, 2 * SEATS));
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_of_a_train_are_refunded_one_by_one_by_the_terms_of_the_timetable() {
    let app = App::new().await;
    let terms = "[terms]\nrefunds = [{ until_h = 24, fee_pct = 0 }, { until_h = 2, fee_pct = 20 }]";
    let settings = RailFile::parse(terms).expect("valid");
    import(&app, &feed_on(&settings)).await;
    let app = app.restarted().await;
    let ana = app.visitor_of(EVERYDAY, 1);
    let show = "g3-2027-01-11";
    let told = app.ask(get(&format!("/v1/shows/{show}"))).await.is(200);
    assert_eq!(told["refunds"][1], json!({"until_h": 2, "fee_pct": 20}));
    let ask = json!({"best": {"quantity": 2, "class": "second"}, "from": "BBB", "to": "CCC"});
    let hold = post(&format!("/v1/shows/{show}/holds"), &ask).by(&ana);
    let hold = app.ask(hold).await.is(201);
    let mut order = buyer();
    order["travellers"] = json!([{"name": "Ana Perez"}, {"name": "Ben Weiss"}]);
    let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
    let order = app.ask(post(&path, &order).by(&ana)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    let read = app.order_in(&order, "ticketed").await;
    let offer = &read["refund_offer"];
    // The deadline is two hours before the train leaves BBB at 05:02 UTC. The departure from the
    // first station at 04:00 UTC does not count.
    assert_eq!(
        (&offer["fee_pct"], &offer["until"]),
        (&json!(20), &json!("2027-01-11T03:02:00Z"))
    );
    let price = hold["seats"][0]["price"]["amount"].as_i64();
    let price = price.expect("an amount");
    let kept = price * 20 / 100;
    let path = format!("/v1/orders/{}/refund", text(&order, "order"));
    let key = text(&order, "order_key");
    let refund = |at: usize| {
        let ticket = text(&offer["tickets"][at], "ticket");
        post(&path, &json!({ "tickets": [ticket] })).by(&key)
    };
    let after = app.ask(refund(0)).await.is(200);
    assert_eq!(after["state"], "partly_refunded");
    assert_eq!(
        (
            &after["refunds"][0]["amount"]["amount"],
            &after["refunds"][0]["fee"]["amount"]
        ),
        (&json!(price - kept), &json!(kept))
    );
    until("the refunded seat in the search", async || {
        app.clock.advance_ms(1_000);
        let trips = get("/v1/rail/trips?from=BBB&to=CCC&date=2027-01-11");
        let trips = app.ask(trips).await.is(200);
        let trips = trips.as_array().expect("a list").iter();
        let free = trips
            .filter(|trip| trip["show"] == show)
            .map(|trip| &trip["classes"][2]["free"]);
        free.into_iter().any(|free| *free == 509).then_some(())
    })
    .await;
    // After the deadline the other ticket can no longer be refunded.
    app.clock.advance_ms(20 * 3_600_000);
    let late = app.ask(refund(1)).await.problem(409, "not_refundable");
    assert_eq!(late["reason"], "too_late");
    assert_eq!(
        app.read(&order).await["tickets"].as_array().map(Vec::len),
        Some(1)
    );
}
