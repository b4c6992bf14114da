//! Tests a train between stations of two time zones, from the search to the ticket and its calendar
//! entry. Moments stay the same, and each station tells its zone.

use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_model::timetables::TimetableParts;
use serde_json::{Value, json};

use crate::harness::*;
use crate::small_feed::small_feed;
use crate::trains::bought;

const LONDON: &str = "Europe/London";
const PARIS: &str = "Europe/Paris";

/// The small feed, with Ahausen in London's zone. Its times are in that of Paris.
fn two_zones(more: &[(&str, &str)]) -> TimetableParts {
    let stops = (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,stop_timezone\n\
         aa,Ahausen,50.0,8.0,Europe/London\nbb,Bedorf,50.0,8.5,\ncc,Cestadt,50.0,9.0,\n",
    );
    small_feed(&[&[stops], more].concat(), "[terms]\ncurrency = \"EUR\"\n")
}

async fn railway(more: &[(&str, &str)]) -> App {
    let app = App::new().await;
    app.import_timetable(&two_zones(more)).await;
    app.restarted().await
}

/// Returns the zones of the two ends of a journey.
fn zones(journey: &Value) -> [&Value; 2] {
    ["from", "to"].map(|end| &journey[end]["time_zone"])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_the_basket_and_the_ticket_tell_the_zone_of_each_station() {
    let app = railway(&[]).await;
    let path = "/v1/rail/trips?from=aa&to=cc&date=2027-01-11";
    let trip = app.ask(get(path)).await.is(200)[0].clone();
    assert_eq!(trip["departs"], "2027-01-11T08:00:00Z");
    assert_eq!(trip["arrives"], "2027-01-11T09:10:00Z");
    assert_eq!(
        ["from_time_zone", "to_time_zone", "time_zone"].map(|zone| &trip[zone]),
        [LONDON, PARIS, PARIS]
    );
    let station = app.ask(get("/v1/rail/stations?q=ahausen")).await.is(200);
    assert_eq!(station[0]["time_zone"], LONDON);
    let show = app.ask(get("/v1/shows/re-101-2027-01-11")).await.is(200);
    let stops = [0, 1, 2].map(|at| &show["stops"][at]["time_zone"]);
    assert_eq!(stops, [LONDON, PARIS, PARIS]);
    assert_eq!(show["time_zone"], LONDON, "it begins there");

    let ana = app.visitor_of(EVERYDAY, 1);
    let ask = json!({"best": {"quantity": 1, "class": "second"}, "from": "aa", "to": "cc"});
    let call = post("/v1/shows/re-101-2027-01-11/holds", &ask).by(&ana);
    let hold = app.ask(call).await.is(201);
    assert_eq!(zones(&hold["journey"]), [LONDON, PARIS]);
    let order = bought(&app, &ana, &hold, &["Ana Perez"]).await;
    let record = app.read(&order).await;
    assert_eq!(zones(&record["journey"]), [LONDON, PARIS]);
    let path = format!("/v1/tickets/{}", text(&record["tickets"][0], "ticket"));
    let key = text(&order, "order_key");
    let ticket = app.ask(get(&path).by(&key)).await.is(200);
    assert_eq!(zones(&ticket["journey"]), [LONDON, PARIS]);
    assert_eq!(ticket["time_zone"], LONDON);
    let entry = app.ask(get(&format!("{path}.ics")).by(&key)).await.text();
    for line in [
        "DTSTART;TZID=Europe/London:20270111T080000",
        "DTEND;TZID=Europe/Paris:20270111T101000",
        "TZID:Europe/London",
        "TZID:Europe/Paris",
    ] {
        let line = format!("\r\n{line}\r\n");
        assert!(entry.contains(&line), "{line} is missing in {entry}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ride_that_begins_later_is_told_by_the_clocks_where_it_begins() {
    let app = railway(&[]).await;
    let ana = app.visitor_of(EVERYDAY, 1);
    let ask = json!({"best": {"quantity": 1, "class": "second"}, "from": "bb", "to": "cc"});
    let call = post("/v1/shows/re-101-2027-01-11/holds", &ask).by(&ana);
    let hold = app.ask(call).await.is(201);
    assert_eq!(zones(&hold["journey"]), [PARIS, PARIS]);
    let order = bought(&app, &ana, &hold, &["Ana Perez"]).await;
    let record = app.read(&order).await;
    let path = format!("/v1/tickets/{}.ics", text(&record["tickets"][0], "ticket"));
    let key = text(&order, "order_key");
    let entry = app.ask(get(&path).by(&key)).await.text();
    // As before stations had zones: the end is in UTC where the zone is that of the beginning.
    for line in [
        "DTSTART;TZID=Europe/Paris:20270111T093200",
        "DTEND:20270111T091000Z",
    ] {
        let line = format!("\r\n{line}\r\n");
        assert!(entry.contains(&line), "{line} is missing in {entry}");
    }
}

/// The train leaves at 00:20 in Paris. At Ahausen that is 23:20 of the day before.
#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_found_on_the_day_where_one_gets_on_and_keeps_the_id_of_its_service_date() {
    let night = (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
         t,00:20:00,00:20:00,aa,1\nt,01:50:00,01:55:00,bb,2\nt,03:00:00,03:00:00,cc,3\n",
    );
    let app = railway(&[night]).await;
    let shows = async |from: &str, date: &str| {
        let path = format!("/v1/rail/trips?from={from}&to=cc&date={date}");
        let trips = app.ask(get(&path)).await.is(200);
        let trips = trips.as_array().expect("a list").iter();
        let shows: Vec<String> = trips.map(|trip| text(trip, "show")).collect();
        shows
    };
    assert_eq!(shows("aa", "2027-01-11").await, ["re-101-2027-01-12"]);
    assert_eq!(shows("bb", "2027-01-12").await, ["re-101-2027-01-12"]);
    // The last date on sale is 8 February, and the train of the 9th is not on sale yet.
    assert_eq!(shows("aa", "2027-02-07").await, ["re-101-2027-02-08"]);
    assert_eq!(shows("aa", "2027-02-08").await, Vec::<String>::new());
    let held = json!({"best": {"quantity": 1, "class": "second"}, "from": "aa", "to": "cc"});
    let call = post("/v1/shows/re-101-2027-01-12/holds", &held);
    let hold = app.ask(call.by(&app.visitor_of(EVERYDAY, 1))).await.is(201);
    assert_eq!(hold["journey"]["from"]["at"], "2027-01-11T23:20:00Z");
    // A departure with a row is found in the same way.
    assert_eq!(shows("aa", "2027-01-11").await, ["re-101-2027-01-12"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_tells_zones_changes_what_sold_trains_show_and_not_when_they_leave() {
    let app = App::new().await;
    let settings = "[terms]\ncurrency = \"EUR\"\n";
    app.import_timetable(&small_feed(&[], settings)).await;
    let app = app.restarted().await;
    let ana = app.visitor_of(EVERYDAY, 1);
    let ask = json!({"best": {"quantity": 1, "class": "second"}, "from": "aa", "to": "cc"});
    let call = post("/v1/shows/re-101-2027-01-11/holds", &ask).by(&ana);
    let hold = app.ask(call).await.is(201);
    let order = bought(&app, &ana, &hold, &["Ana Perez"]).await;
    assert_eq!(zones(&app.read(&order).await["journey"]), [PARIS, PARIS]);
    app.import_timetable(&two_zones(&[])).await;
    let app = app.restarted().await;
    let journey = app.read(&order).await["journey"].clone();
    assert_eq!(zones(&journey), [LONDON, PARIS]);
    assert_eq!(journey["from"]["at"], "2027-01-11T08:00:00Z");
}
