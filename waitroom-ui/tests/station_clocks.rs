//! Tests how the pages of trains tell times: the zone once where all stations share it, and beside
//! each time where they do not.

use serde_json::{Value, json};
use waitroom_ui::render_page;

const PARIS: &str = "Europe/Paris";

/// A train that leaves at 08:00 by the clocks of `zone`, and arrives at 10:10 in Paris.
fn trip(zone: &str) -> Value {
    json!({
        "show": "re-101", "train": "RE 101", "from": "aa", "to": "cc", "departs": "2027-01-11T08:00:00+00:00",
        "arrives": "2027-01-11T10:10:00+01:00", "days": 0, "date": "2027-01-11", "duration_s": 4_200, "stops": 2,
        "time_zone": PARIS, "from_time_zone": zone, "to_time_zone": PARIS, "degraded": true,
        "as_of": "2027-01-10T07:05:00+00:00", "classes": [],
    })
}

/// Returns the words of a page's main part, without its tags.
fn words(page: &str, context: &Value) -> String {
    let html = render_page(page, context).expect("it renders");
    let (_, main) = html.split_once("<h1>").expect("a heading");
    let main = main.replace("&#x2f;", "/");
    let texts = main
        .split('<')
        .map(|part| part.split_once('>').map_or("", |(_, text)| text));
    texts
        .collect::<Vec<_>>()
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn search(trip: &Value, several_zones: bool) -> String {
    let station = |code: &str, name: &str| json!({"station": code, "name": name});
    let (from, to) = (station("aa", "Ahausen"), station("cc", "Cestadt"));
    let journey = json!({"departs": trip["departs"], "arrives": trip["arrives"], "duration_s": 4_200,
        "change": {"station": "bb", "name": "Bedorf", "wait_s": 1_800}, "trips": [trip, trip]});
    words(
        "rail",
        &json!({"test": false, "party": "1", "party_max": 10, "asked": {"from": "aa", "to": "cc", "date": "2027-01-11"},
            "from": from, "to": to, "several_zones": several_zones, "trips": [trip], "journeys": [journey]}),
    )
}

fn train(zones: [&str; 3]) -> String {
    let stop = |code: &str, zone: &str, time: &str| json!({"station": code, "name": code, "time_zone": zone, "arrives": time, "departs": time});
    let stops = [
        stop("aa", zones[0], "2027-01-11T08:00:00+00:00"),
        stop("bb", zones[1], "2027-01-11T09:32:00+01:00"),
        stop("cc", zones[2], "2027-01-11T10:10:00+01:00"),
    ];
    let show = json!({"show": "re-101", "kind": "rail", "title": "RE 101", "train": "RE 101", "room": "everyday",
        "fate": null, "stops": stops, "limits": {"seats_per_visitor": 5}});
    words(
        "train",
        &json!({"test": false, "show": show, "room": null, "trip": trip(zones[0]), "class": "", "quantity": 1,
            "from": "aa", "to": "cc", "from_name": "aa", "to_name": "cc", "first": 0, "last": 2, "date": "2027-01-11",
            "zone": zones[0], "several_zones": zones[0] != zones[2]}),
    )
}

#[test]
fn where_stations_are_in_two_zones_each_time_of_the_search_says_its_own() {
    let shown = search(&trip("Europe/London"), true);
    assert_eq!(
        shown
            .matches("08:00 London time → 10:10 Paris time")
            .count(),
        4,
        "the train, the journey and both of its trains: {shown}"
    );
    assert!(shown.contains("as of 07:05 London time"), "{shown}");
    assert!(!shown.contains("All times are"), "{shown}");
}

#[test]
fn where_stations_share_a_zone_the_search_says_it_once() {
    let shown = search(&trip(PARIS), false);
    assert!(shown.contains("All times are Paris time."), "{shown}");
    assert!(shown.contains("08:00 → 10:10") && shown.contains("as of 07:05"));
    assert_eq!(
        shown.matches("Paris time").count(),
        2,
        "once a list: {shown}"
    );
}

#[test]
fn a_train_that_arrives_on_the_day_before_by_the_clocks_there_says_so() {
    let mut trip = trip("Asia/Tokyo");
    trip["days"] = json!(-1);
    let shown = search(&trip, true);
    assert!(shown.contains("1 day earlier"), "{shown}");
    trip["days"] = json!(1);
    assert!(search(&trip, true).contains("1 day later"));
}

#[test]
fn the_page_of_a_train_tells_each_stop_by_its_own_clocks() {
    let shown = train(["Europe/London", PARIS, PARIS]);
    for words in [
        "08:00 London time → 10:10 Paris time",
        "aa · 08:00 London time",
        "cc · 10:10 Paris time",
        "departs 08:00 London time",
        "arrives 09:32 Paris time",
        "Each time is by the clocks of its station.",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let shown = train([PARIS; 3]);
    for words in [
        "08:00 → 10:10 (Paris time)",
        "aa · 08:00 ",
        "All times are Paris time.",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    assert_eq!(shown.matches("Paris time").count(), 2, "{shown}");
}

#[test]
fn an_order_without_scripts_tells_the_train_and_what_was_bought_before_it_changed() {
    let ride = |train: &str, hour: u8| {
        let end = |name: &str, zone: &str, time: String| json!({"name": name, "station": name, "time_zone": zone, "at": time});
        json!({"train": train, "time_zone": PARIS,
            "from": end("Ahausen", "Europe/London", format!("2027-01-11T{hour:02}:00:00Z")),
            "to": end("Cestadt", PARIS, format!("2027-01-11T{:02}:10:00Z", hour + 1))})
    };
    let order = |sold: Value, offer: Value| {
        let plain = json!({"state": "ticketed", "reason": "payment_captured", "title": "RE 201",
            "journey": ride("RE 201", 9), "journey_as_sold": sold, "refund_offer": offer,
            "seats": [], "tickets": [], "refunds": [], "total": {"amount": 500, "currency": "EUR"}});
        let shown = words(
            "order",
            &json!({"test": false, "order": "order_1", "plain": plain, "key": null}),
        );
        let (plain, _) = shown
            .split_once("Check again")
            .expect("the page without scripts");
        plain.to_owned()
    };
    let shown = order(ride("RE 101", 8), json!({"reason": "train_retimed"}));
    for words in [
        "RE 201 Ahausen – Cestadt",
        "You bought RE 101 Ahausen – Cestadt",
        "without a fee",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let shown = order(ride("RE 101", 8), json!({"reason": "refund_by_buyer"}));
    assert!(
        shown.contains("You bought RE 101") && !shown.contains("without a fee"),
        "{shown}"
    );
    assert!(!order(Value::Null, Value::Null).contains("You bought"));
}
