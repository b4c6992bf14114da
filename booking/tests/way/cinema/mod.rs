//! Tests cinema programmes from the promoter's document to a sold seat: they are put, searched,
//! sold, changed and refused.

mod faults;
mod focal;
mod importing;
mod mended;
mod succeeding;

use serde_json::{Value, json};

use crate::harness::*;

/// Returns a programme with two cities, three cinemas, four halls, two films and five showings. The
/// last showing is over, because the app's clock begins at 2027-01-10 09:00 UTC.
pub fn programme() -> Value {
    let cinema = |id: &str, code: &str, lat: f64, lon: f64, halls: Value| {
        json!({"id": id, "name": format!("Kino {id}"), "address": "Lange Straße 1", "postal_code": code,
            "lat": lat, "lon": lon, "halls": halls})
    };
    let hall = |id: &str| json!({"id": id, "name": "Saal", "plan": "grid:4x10"});
    let showing = |film: &str, hall: &str, at: &str, price: i64| json!({"film": film, "hall": hall, "starts_at": at, "prices": {"cat1": price + 200, "Category 2": price}});
    json!({
        "cities": [
            {"id": "berlin", "name": "Berlin", "country": "DE", "time_zone": "Europe/Berlin", "cinemas": [
                cinema("mitte", "10115", 52.53, 13.38, json!([hall("mitte-1"), hall("mitte-2")])),
                cinema("potsdam", "14467", 52.40, 13.06, json!([hall("potsdam-1")])),
            ]},
            {"id": "york", "name": "York", "time_zone": "Europe/London", "cinemas": [
                cinema("picture", "YO1 9TL", 53.96, -1.08, json!([hall("picture-1")])),
            ]},
        ],
        "films": [
            {"id": "orchard", "title": "The Orchard Keeper", "description": "A year among trees.", "duration_s": 6_000,
                "genre": "Drama", "language": "en", "rating": 12, "release_date": "2026-12-24", "country": "Ireland"},
            {"id": "tram", "title": "Tram", "duration_s": 5_400},
        ],
        "showings": [
            showing("orchard", "mitte-1", "2027-01-11T20:00:00+01:00", 1_000),
            showing("orchard", "potsdam-1", "2027-01-12T00:30:00+01:00", 900),
            showing("tram", "mitte-2", "2027-01-11T18:00:00+01:00", 1_100),
            showing("tram", "picture-1", "2027-01-11T18:00:00Z", 700),
            {"id": "long-ago", "film": "tram", "hall": "picture-1", "starts_at": "2027-01-09T18:00:00Z", "prices": {"cat1": 700}},
        ],
    })
}

pub async fn put_programme(app: &App, programme: &Value) -> TestAnswer {
    let call = put("/v1/promoter/cinema", programme);
    app.ask(call.by(&PROMOTER)).await
}

pub async fn search(app: &App, query: &str) -> Value {
    let path = format!("/v1/cinema/showings{query}");
    app.ask(get(&path)).await.is(200)
}

pub fn shows(found: &Value) -> Vec<String> {
    let showings = found["showings"].as_array().expect("a list");
    showings
        .iter()
        .map(|showing| text(showing, "show"))
        .collect()
}

/// Opens an app that sells [`programme`].
async fn on() -> App {
    let app = App::new().await;
    let put = put_programme(&app, &programme()).await.is(200);
    let none = json!({"shows": 0, "tickets": 0, "buyers": 0, "paid": 0});
    assert_eq!(
        put,
        json!({"cities": 2, "cinemas": 3, "halls": 4, "films": 2, "showings": 5, "new_plans": 4,
            "new_showings": 5, "changed_showings": 0, "unsold_showings": 0, "left_out": [],
            "earlier": {"unchanged": none, "moved": none, "retitled": none, "repriced": none, "kept": none, "cancelled": none, "left_out": none},
            "preview": false, "notes": []})
    );
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn a_programme_is_listed_by_city_by_film_and_by_showing() {
    let app = on().await;
    let cities = app.ask(get("/v1/cinema/cities")).await.is(200);
    assert_eq!(
        cities["cities"],
        json!([
            {"city": "berlin", "name": "Berlin", "country": "DE", "time_zone": "Europe/Berlin", "cinemas": 2, "showings": 3},
            {"city": "york", "name": "York", "country": null, "time_zone": "Europe/London", "cinemas": 1, "showings": 1},
        ])
    );
    let films = app.ask(get("/v1/cinema/cities/york/films")).await.is(200);
    assert_eq!(
        films,
        json!({"city": "york", "films": [{"film": "tram", "title": "Tram", "description": "", "duration_s": 5_400,
            "genre": null, "language": null, "version": null, "rating": null, "release_date": null, "country": null, "showings": 1,
            "next": "2027-01-11T18:00:00Z"}]})
    );
    app.ask(get("/v1/cinema/cities/nowhere/films"))
        .await
        .problem(404, "not_found");
    let found = search(&app, "?film=orchard&cinema=mitte&lat=52.53&lon=13.38").await;
    let category = |key: &str, label: &str, amount: i64| json!({"key": key, "label": label, "price": {"amount": amount, "currency": "EUR"}, "status": "available"});
    assert_eq!(
        found,
        json!({"total": 1, "page": 1, "per_page": 20, "near_only": false, "showings": [{
            "show": "mitte-1-20270111t1900", "film": "orchard", "title": "The Orchard Keeper",
            "description": "A year among trees.", "duration_s": 6_000, "genre": "Drama", "language": "en",
            "version": null, "rating": "12", "release_date": "2026-12-24", "country": "Ireland",
            "cinema": {"cinema": "mitte", "name": "Kino mitte", "address": "Lange Straße 1", "postal_code": "10115",
                "city": "berlin", "city_name": "Berlin", "time_zone": "Europe/Berlin", "lat": 52.53, "lon": 13.38},
            "hall": {"hall": "mitte-1", "name": "Saal"},
            "start": "2027-01-11T19:00:00Z", "end": "2027-01-11T20:40:00Z",
            "sells_until": "2027-01-11T19:00:00Z", "sales_ended": false, "distance_km": 0.0, "fate": null,
            "categories": [category("cat1", "Category 1", 1_200), category("cat2", "Category 2", 1_000)],
        }]})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_showing_has_its_own_language_version_and_rating_or_those_of_its_film() {
    let app = App::new().await;
    let mut programme = programme();
    programme["films"][0]["version"] = json!("OmU");
    programme["showings"][0]["language"] = json!("de");
    programme["showings"][0]["version"] = json!("Dubbed, 3D");
    programme["showings"][1]["rating"] = json!("PG-13");
    put_programme(&app, &programme).await.is(200);
    let app = app.restarted().await;
    let found = search(&app, "?film=orchard").await;
    for (at, expected) in [["de", "Dubbed, 3D", "12"], ["en", "OmU", "PG-13"]]
        .iter()
        .enumerate()
    {
        let showing = &found["showings"][at];
        let told = ["language", "version", "rating"].map(|name| text(showing, name));
        assert_eq!(&told, expected);
    }
    let films = app.ask(get("/v1/cinema/cities/berlin/films")).await.is(200);
    let orchard = &films["films"][0];
    assert_eq!(
        (text(orchard, "language"), text(orchard, "version")),
        ("en".to_owned(), "OmU".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_and_sort_order_finds_the_expected_showings() {
    let app = on().await;
    let (mitte, potsdam) = ("mitte-1-20270111t1900", "potsdam-1-20270111t2330");
    let (tram, york) = ("mitte-2-20270111t1700", "picture-1-20270111t1800");
    for (query, expected) in [
        ("", vec![tram, york, mitte, potsdam]),
        ("?keyword=&film=&page=", vec![tram, york, mitte, potsdam]),
        ("?keyword=orchrad", vec![mitte, potsdam]),
        ("?keyword=orchrad&fuzzy=false", vec![]),
        ("?keyword=drama", vec![mitte, potsdam]),
        ("?city=york", vec![york]),
        ("?postal_code=yo19tl", vec![york]),
        ("?from=2027-01-12", vec![potsdam]),
        ("?to=2027-01-11&city=berlin", vec![tram, mitte]),
        ("?from=2027-01-09&to=2027-01-10", vec!["long-ago"]),
        (
            "?from=2027-01-11T18:00:00Z&to=2027-01-11T19:00:00Z",
            vec![york, mitte],
        ),
        ("?lat=52.53&lon=13.38&radius_km=5", vec![tram, mitte]),
        (
            "?lat=53.9&lon=-1&sort=distance",
            vec![york, potsdam, tram, mitte],
        ),
        ("?sort=price", vec![york, potsdam, mitte, tram]),
        ("?sort=title", vec![mitte, potsdam, tram, york]),
        ("?per_page=3&page=2", vec![potsdam]),
    ] {
        assert_eq!(shows(&search(&app, query).await), expected, "{query}");
    }
    assert_eq!(search(&app, "?keyword=orchrad").await["near_only"], true);
    for (query, field, code) in [
        ("?radius=5", "radius", "invalid_query"),
        ("?radius_km=5", "radius_km", "invalid_field"),
        ("?sort=distance", "sort", "invalid_field"),
        ("?per_page=31", "per_page", "invalid_field"),
        ("?from=soon", "from", "invalid_field"),
        ("?lat=99&lon=0", "lat", "invalid_field"),
    ] {
        let path = format!("/v1/cinema/showings{query}");
        let status = if code == "invalid_query" { 400 } else { 422 };
        let refused = app.ask(get(&path)).await.problem(status, code);
        assert!(text(&refused, "detail").contains(field), "{refused:#}");
    }
}

async fn hold(app: &App, who: &Visitor, show: &str, best: Value) -> TestAnswer {
    let call = post(&format!("/v1/shows/{show}/holds"), &json!({ "best": best }));
    app.ask(call.by(who)).await
}

/// Returns the status of each category of the only showing in York that has not begun.
async fn statuses(app: &App) -> Vec<String> {
    let found = search(app, "?city=york").await;
    let categories = found["showings"][0]["categories"]
        .as_array()
        .expect("a list")
        .clone();
    categories
        .iter()
        .map(|category| text(category, "status"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_at_most_ten_seats_lasts_five_minutes_and_changes_the_status_of_its_category() {
    let app = on().await;
    let york = "picture-1-20270111t1800";
    let [ana, ben] = [1, 2].map(|n| app.visitor_of("everyday", n));
    assert_eq!(statuses(&app).await, ["available", "available"]);
    hold(&app, &ana, york, json!({"quantity": 11}))
        .await
        .problem(422, "limit_exceeded");
    let of = |quantity| json!({"quantity": quantity, "categories": ["cat1"]});
    let held = hold(&app, &ana, york, of(10)).await.is(201);
    assert_eq!(text(&held, "expires_at"), "2027-01-10T09:05:00Z");
    hold(&app, &ben, york, of(9)).await.is(201);
    let begun_ms = app.clock.now_ms();
    // A list of showings is shared for a second.
    let turned = async |expected: [&str; 2]| {
        until("the status", async || {
            app.clock.advance_ms(1_000);
            (statuses(&app).await == expected).then_some(())
        })
        .await;
    };
    turned(["almost_full", "available"]).await;
    let cia = app.visitor_of("everyday", 3);
    hold(&app, &cia, york, of(2))
        .await
        .problem(409, "best_available_not_found");
    hold(&app, &cia, york, of(1)).await.is(201);
    turned(["full", "available"]).await;
    let passed_ms = app.clock.now_ms() - begun_ms;
    app.clock.advance_ms(304_000 - passed_ms);
    assert_eq!(
        app.seats(york).await["held"],
        20,
        "the grace has not passed yet"
    );
    app.clock.advance_ms(2_000);
    turned(["available", "available"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_programme_changes_nothing_and_a_changed_one_only_what_differs() {
    let app = on().await;
    let again = put_programme(&app, &programme()).await.is(200);
    assert_eq!(
        (
            &again["new_showings"],
            &again["changed_showings"],
            &again["new_plans"]
        ),
        (&json!(0), &json!(0), &json!(0))
    );
    let mut changed = programme();
    changed["showings"][0]["prices"]["cat1"] = json!(1_500);
    changed["films"][1]["title"] = json!("Tramway");
    changed["showings"]
        .as_array_mut()
        .expect("a list")
        .remove(1);
    let put = put_programme(&app, &changed).await.is(200);
    assert_eq!(
        put["changed_showings"], 4,
        "one price, and a title that three showings have"
    );
    assert_eq!(put["left_out"], json!(["potsdam-1-20270111t2330"]));
    let found = search(&app, "?sort=title").await;
    let titles = [
        "mitte-1-20270111t1900",
        "mitte-2-20270111t1700",
        "picture-1-20270111t1800",
    ];
    assert_eq!(shows(&found), titles);
    assert_eq!(
        found["showings"][0]["categories"][0]["price"]["amount"],
        1_500
    );
    assert_eq!(found["showings"][1]["title"], "Tramway");
    let app = app.restarted().await;
    assert_eq!(
        search(&app, "?sort=title").await,
        found,
        "a restarted process reads the same programme"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postponed_showing_keeps_its_time_when_the_programme_is_put_again() {
    let app = on().await;
    let show = "mitte-1-20270111t1900";
    let later = json!({"starts_at": "2027-01-20T19:00:00Z"});
    let postpone = post(&format!("/v1/promoter/shows/{show}/postpone"), &later);
    app.ask(postpone.by(&PROMOTER)).await.is(200);
    let again = put_programme(&app, &programme()).await.is(200);
    assert_eq!(again["changed_showings"], 0);
    let note = &again["notes"][0];
    assert_eq!(text(note, "at"), "showings[0].starts_at");
    let told = text(note, "message");
    assert!(told.contains("2027-01-20T19:00:00Z"), "{told}");
    let shown = app.ask(get(&format!("/v1/shows/{show}"))).await.is(200);
    assert_eq!(shown["starts_at"], later["starts_at"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_process_shows_the_status_of_a_showing_that_it_never_opened() {
    let app = on().await;
    let york = "picture-1-20270111t1800";
    for (n, quantity) in [(1, 10), (2, 9)] {
        let visitor = app.visitor_of("everyday", n);
        let best = json!({"quantity": quantity, "categories": ["cat1"]});
        let held = hold(&app, &visitor, york, best).await.is(201);
        let path = format!("/v1/holds/{}/order", text(&held, "hold"));
        let order = app.ask(post(&path, &buyer()).by(&visitor)).await.is(201);
        app.pay(&order, "approve").await.is(200);
        app.order_in(&order, "ticketed").await;
    }
    let app = app.restarted().await;
    assert_eq!(statuses(&app).await, ["almost_full", "available"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_showing_is_full() {
    let app = on().await;
    let show = "mitte-1-20270111t1900";
    let statuses = async || {
        let found = search(&app, "?film=orchard&cinema=mitte").await;
        let categories = found["showings"][0]["categories"].clone();
        let categories = categories.as_array().expect("a list").clone();
        let status = |category: &Value| text(category, "status");
        categories.iter().map(status).collect::<Vec<_>>()
    };
    assert_eq!(statuses().await, ["available", "available"]);
    let cancel = post(&format!("/v1/promoter/shows/{show}/cancel"), &json!({}));
    app.ask(cancel.by(&PROMOTER)).await.is(200);
    assert_eq!(statuses().await, ["full", "full"]);
}
