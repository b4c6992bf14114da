//! Tests what becomes of trains that somebody bought when another timetable is imported. A train
//! that the new timetable surely has keeps its id and its seats. A person decides about any other.

mod behind;
mod cases;
mod chains;
mod explaining;
mod recuts;
mod telling;

mod unfinished;

use booking::choices::ShowChoices;
use booking::commands::import_timetable::TimetableImportError;
use booking::ledger::{SwitchedTimetable, UndecidedShow};
use booking::rail::import::read_gtfs;
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_model::timetables::TimetableParts;
use fairgate_model::timetables::settings::RailFile;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::*;
use crate::trains::bought;

const SETTINGS: &str = "[terms]
refunds = [{ until_h = 1, fee_pct = 20 }]
exchange = { cheaper = \"refund\" }
";

/// The first train of most tests, and a seat of it.
const SOLD: &str = "re-101-2027-01-11";
const SEAT: &str = "3-1A";

/// A train of the feed. It takes half an hour from station to station.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Train {
    /// The id of its trip.
    trip: String,
    /// Its number; empty if it has none.
    number: String,
    /// The minute of the day at which it leaves the first of its stations.
    leaves: u32,
    stations: Vec<&'static str>,
}

fn train(trip: &str, number: &str, leaves: &str) -> Train {
    let (hours, minutes) = leaves.split_once(':').expect("hours and minutes");
    let count = |text: &str| text.parse::<u32>().expect("a number");
    Train {
        trip: trip.to_owned(),
        number: number.to_owned(),
        leaves: count(hours) * 60 + count(minutes),
        stations: vec!["aa", "bb", "cc"],
    }
}

/// The first and the last day of the feed.
const YEAR: &str = "20270101,20271231";

/// What a ride in second class costs in the feed, in minor units.
const PRICE: i64 = 1_000;

/// Makes a timetable in which these trains run every day on the line RE 1.
fn timetable(trains: &[Train]) -> TimetableParts {
    timetable_at(trains, PRICE)
}

/// Makes a timetable as [`timetable`] does, with this price for each ride in second class.
fn timetable_at(trains: &[Train], price: i64) -> TimetableParts {
    timetable_between(trains, price, YEAR)
}

/// Makes a timetable as [`timetable_at`] does, for the days from one to another.
fn timetable_between(trains: &[Train], price: i64, days: &str) -> TimetableParts {
    let folder = feed_between(trains, price, days);
    let settings = RailFile::parse(SETTINGS).expect("settings");
    let feed = read_gtfs(folder.path(), &settings);
    feed.expect("a feed without faults").parts
}

/// Writes the feed of a timetable into a folder.
fn feed_between(trains: &[Train], price: i64, days: &str) -> TempDir {
    let mut trips = "route_id,service_id,trip_id,trip_short_name\n".to_owned();
    let mut calls = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
    for train in trains {
        let Train { trip, number, .. } = train;
        trips += &format!("r,s,{trip},{number}\n");
        for (station, at) in train.stations.iter().zip(0..) {
            let minute = train.leaves + 30 * at;
            let time = format!("{:02}:{:02}:00", minute / 60, minute % 60);
            calls += &format!("{trip},{time},{time},{station},{at}\n");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        (
            "agency.txt",
            "agency_id,agency_name,agency_url,agency_timezone\na,Rail,https://rail.example,UTC\n",
        ),
        (
            "stops.txt",
            "stop_id,stop_name,stop_lat,stop_lon\naa,Ahausen,50.0,8.0\nbb,Bedorf,50.0,8.5\n\
             cc,Ceburg,50.0,9.0\ndd,Destadt,50.0,9.5\n",
        ),
        (
            "routes.txt",
            "route_id,agency_id,route_short_name,route_type\nr,a,RE 1,2\n",
        ),
        (
            "calendar.txt",
            &format!(
                "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
                 s,1,1,1,1,1,1,1,{days}\n"
            ),
        ),
        (
            "fare_attributes.txt",
            &format!(
                "fare_id,price,currency_type,payment_method,transfers\nf,{}.{:02},EUR,1,0\n",
                price / 100,
                price % 100
            ),
        ),
        ("trips.txt", &trips),
        ("stop_times.txt", &calls),
    ] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

/// Opens an app that sells these trains.
async fn railway(trains: &[Train]) -> App {
    let app = App::new().await;
    app.import_timetable(&timetable(trains)).await;
    app.restarted().await
}

/// Imports these trains instead of those on sale, with decisions about single departures.
async fn replace(
    app: &App,
    trains: &[Train],
    choices: ShowChoices,
) -> Result<SwitchedTimetable, Vec<UndecidedShow>> {
    replace_by(app, &timetable(trains), choices).await
}

/// Imports a timetable instead of the one on sale, with decisions about single departures.
async fn replace_by(
    app: &App,
    parts: &TimetableParts,
    choices: ShowChoices,
) -> Result<SwitchedTimetable, Vec<UndecidedShow>> {
    match app.replace_timetable(parts, choices).await {
        Ok(switched) => Ok(switched),
        Err(TimetableImportError::Undecided(refused)) => Err(refused.undecided),
        Err(other) => panic!("{other}"),
    }
}

/// Imports these trains, with decisions about single departures.
async fn succeed(app: &App, trains: &[Train], choices: ShowChoices) {
    replace(app, trains, choices).await.expect("decided");
}

/// A departure that is found: its show, the time at which it leaves Ahausen, and its free seats in
/// second class.
type Found = (String, String, u64);

/// Returns the departures from Ahausen to Bedorf on the day.
async fn found(app: &App) -> Vec<Found> {
    // A second later, the cached free seats are old enough to be read anew.
    app.clock.advance_ms(1_000);
    let path = "/v1/rail/trips?from=aa&to=bb&date=2027-01-11";
    let trips = app.ask(get(path)).await.is(200);
    let trips = trips.as_array().expect("a list").clone();
    let of = |trip: &Value| {
        let leaves = text(trip, "departs")[11..16].to_owned();
        let free = trip["classes"][2]["free"].as_u64().expect("a number");
        (text(trip, "show"), leaves, free)
    };
    trips.iter().map(of).collect()
}

/// Waits until a search finds these departures.
async fn finds(app: &App, expected: &[Found]) {
    finds_as(app, |found| found == expected).await;
}

/// Waits until the departures that a search finds are as they should be, and returns them.
async fn finds_as(app: &App, is_expected: impl Fn(&[Found]) -> bool) -> Vec<Found> {
    until("the departures of the new timetable", async || {
        let found = found(app).await;
        is_expected(&found).then_some(found)
    })
    .await
}

fn ride(seat: &str) -> Value {
    json!({ "seats": [seat], "from": "aa", "to": "bb" })
}

async fn held(app: &App, visitor: u16, show: &str, seat: &str) -> TestAnswer {
    let who = app.visitor_of(EVERYDAY, visitor);
    let call = post(&format!("/v1/shows/{show}/holds"), &ride(seat));
    app.ask(call.by(&who)).await
}

/// Buys a seat from Ahausen to Bedorf. Returns the order.
async fn sold(app: &App, visitor: u16, show: &str, seat: &str) -> Value {
    let hold = held(app, visitor, show, seat).await.is(201);
    let who = app.visitor_of(EVERYDAY, visitor);
    bought(app, &who, &hold, &["Ana Perez"]).await
}

fn none() -> ShowChoices {
    ShowChoices::default()
}

fn only(show: &str, at: &str, free: u64) -> Found {
    (show.to_owned(), at.to_owned(), free)
}
