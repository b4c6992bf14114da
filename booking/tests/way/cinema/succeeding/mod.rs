//! Tests what becomes of showings that somebody holds, bought or waits for when another programme
//! is put. A showing that the new programme surely has keeps its show and its seats. A person
//! decides about any other.

mod cases;
mod chains;

use fairgate_model::shows::coverage::EVERYDAY;

use super::*;

/// A showing of a programme, in a hall of one row of four seats.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    /// Its own id; empty if it has none.
    id: String,
    film: &'static str,
    hall: &'static str,
    /// The minute at which it begins, counted from the midnight before the first day (UTC).
    minute: u32,
}

/// Returns a showing without an id at this time of the day.
fn listed(film: &'static str, time: &str) -> Listed {
    let (hours, minutes) = time.split_once(':').expect("hours and minutes");
    let count = |text: &str| text.parse::<u32>().expect("a number");
    Listed {
        id: String::new(),
        film,
        hall: "one",
        minute: count(hours) * 60 + count(minutes),
    }
}

fn orchard(time: &str) -> Listed {
    listed("orchard", time)
}

/// Returns the moment of a minute. The day is the one after the app's clock begins.
fn moment(minute: u32) -> String {
    format!("2027-01-11T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

fn listed_programme(showings: &[Listed]) -> Value {
    let hall = |id: &str| json!({"id": id, "name": "Saal", "plan": "grid:1x4"});
    let film = |(id, title): (&str, &str)| json!({"id": id, "title": title, "duration_s": 3_600});
    let films = [
        ("orchard", "The orchard"),
        ("tram", "The tram"),
        ("renamed", "The orchard"),
    ];
    let films = films.map(film);
    let showings = showings.iter().map(|showing| {
        let mut written = json!({"film": showing.film, "hall": showing.hall,
            "starts_at": moment(showing.minute), "prices": {"cat1": 1_000, "cat2": 1_000}});
        if !showing.id.is_empty() {
            written["id"] = json!(showing.id);
        }
        written
    });
    json!({
        "cities": [{"id": "berlin", "name": "Berlin", "cinemas": [{"id": "mitte", "name": "Mitte",
            "address": "Lange Straße 1", "postal_code": "10115", "lat": 52.53, "lon": 13.38,
            "halls": [hall("one"), hall("two")]}]}],
        "films": films,
        "showings": showings.collect::<Vec<_>>(),
    })
}

/// Opens an app that sells these showings.
async fn cinema(showings: &[Listed]) -> App {
    let app = App::new().await;
    replace(&app, showings, "").await.is(200);
    app
}

/// Puts a programme of these showings in the place of the one in force. The decisions are the query
/// of the call.
async fn replace(app: &App, showings: &[Listed], decisions: &str) -> TestAnswer {
    let path = format!("/v1/promoter/cinema{decisions}");
    let call = put(&path, &listed_programme(showings));
    app.ask(call.by(&PROMOTER)).await
}

/// Returns the showings that a search finds, each with its show and its beginning.
async fn found(app: &App) -> Vec<(String, String)> {
    app.clock.advance_ms(1_000);
    let found = search(app, "?per_page=30").await;
    let showings = found["showings"].as_array().expect("a list");
    let of = |showing: &Value| (text(showing, "show"), text(showing, "start"));
    showings.iter().map(of).collect()
}

async fn held(app: &App, visitor: u16, show: &str, seats: &[&str]) -> TestAnswer {
    let who = app.visitor_of(EVERYDAY, visitor);
    let call = post(
        &format!("/v1/shows/{show}/holds"),
        &json!({ "seats": seats }),
    );
    app.ask(call.by(&who)).await
}

/// Orders and pays what a visitor holds. Returns the order.
async fn ordered(app: &App, visitor: u16, hold: &Value) -> Value {
    let who = app.visitor_of(EVERYDAY, visitor);
    let path = format!("/v1/holds/{}/order", text(hold, "hold"));
    let order = app.ask(post(&path, &buyer()).by(&who)).await.is(201);
    app.pay(&order, "approve").await.is(200);
    app.order_in(&order, "ticketed").await;
    order
}

/// Buys seats of a showing. Returns the order.
async fn sold(app: &App, visitor: u16, show: &str, seats: &[&str]) -> Value {
    let hold = held(app, visitor, show, seats).await.is(201);
    ordered(app, visitor, &hold).await
}

/// Waits for a seat of a show that is full.
async fn waits(app: &App, visitor: u16, show: &str) {
    let who = app.visitor_of(EVERYDAY, visitor);
    let path = format!("/v1/shows/{show}/waitlist");
    let call = post(&path, &json!({"quantity": 1}));
    app.ask(call.by(&who)).await.is(201);
}

async fn postponed(app: &App, show: &str, minute: u32) {
    let path = format!("/v1/promoter/shows/{show}/postpone");
    let call = post(&path, &json!({ "starts_at": moment(minute) }));
    app.ask(call.by(&PROMOTER)).await.is(200);
}

/// Returns the shows that a refusal names, each with the reason.
fn undecided(refused: &TestAnswer) -> Vec<(String, String)> {
    let refused = refused.problem(409, "showings_undecided");
    let named = refused["showings"].as_array().expect("a list");
    let of = |showing: &Value| (text(showing, "show"), text(showing, "why"));
    named.iter().map(of).collect()
}
