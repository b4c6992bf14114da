//! The values for the pages' templates, one type for each page. A field of type `Value` has JSON
//! from booking. The page may have changed it.

use std::collections::BTreeMap;

use fairgate_rules::phase::RoomPhase;
use serde::Serialize;
use serde_json::Value;

use super::trip_list::TripListChoice;
use crate::line::place_view::PlaceView;
use crate::room::RoomView;
use crate::upstream::ShowSummary;

/// `home`: the start page.
#[derive(Debug, Serialize)]
pub(super) struct HomePage {
    pub test: bool,
    /// Whether there is a timetable to search.
    pub rail: bool,
    pub q: String,
    pub city: String,
    pub from: String,
    pub to: String,
    /// The cities that the form suggests.
    pub cities: Vec<String>,
    /// The rooms of this page.
    pub rooms: Vec<HomeRoom>,
    /// The shows of this page.
    pub shows: Vec<HomeShow>,
    /// The page, counted from 1.
    pub page: usize,
    pub pages: usize,
    /// The address of the page before this one.
    pub previous: Option<String>,
    /// The address of the page after this one.
    pub next: Option<String>,
    /// The address of the same search on the cinema page, if there is a programme.
    pub cinema: Option<String>,
}

/// A room on the start page.
#[derive(Debug, Serialize)]
pub(super) struct HomeRoom {
    pub room: String,
    pub title: String,
    /// The IANA name of the time zone of its shows, if it is known.
    pub zone: Option<String>,
    pub phase: RoomPhase,
    pub opens_at: String,
    pub draw_at: String,
    /// The seats of all its shows together.
    pub seats: u64,
    /// How many shows it has.
    pub shows: usize,
}

/// A show on the start page.
#[derive(Debug, Serialize)]
pub(super) struct HomeShow {
    #[serde(flatten)]
    pub show: ListedShow,
    /// The room that sells the show. `None` for a show that is announced and not sold.
    pub room: Option<String>,
}

/// A show in a list.
#[derive(Debug, Serialize)]
pub(super) struct ListedShow {
    pub show: String,
    pub title: String,
    pub starts_at: String,
    pub venue: String,
    /// The venue's name, address and city, if they are known.
    #[serde(rename = "where")]
    pub where_line: Option<String>,
    /// The IANA name of the venue's time zone, if it is known.
    pub zone: Option<String>,
    pub currency: String,
    pub seats: u32,
    pub showing: bool,
}

impl From<&ShowSummary> for ListedShow {
    fn from(show: &ShowSummary) -> Self {
        Self {
            show: show.id.to_string(),
            title: show.title.clone(),
            starts_at: show.starts_at.to_string(),
            venue: show.venue.clone(),
            where_line: show.location.line(),
            zone: show.location.time_zone.clone(),
            currency: show.currency.clone(),
            seats: show.seats,
            showing: show.showing,
        }
    }
}

/// `lobby`: a room and the visitor's place in it.
#[derive(Debug, Serialize)]
pub(super) struct LobbyPage {
    pub test: bool,
    /// The server's time, RFC 3339.
    pub now: String,
    pub room: RoomView,
    pub place: Option<PlaceView>,
    /// The IANA name of the time zone in which the page shows times, if it is known.
    pub zone: Option<String>,
    pub shows: Vec<ListedShow>,
    /// The address of the shop that the room guards, if it is not Fairgate's.
    pub shop: Option<String>,
    /// The path in that shop that the visitor first asked for, or an empty text.
    pub to: String,
    /// The path of this page, which includes `to`.
    pub here: String,
    /// The problem of a form that was refused.
    pub problem: Option<Value>,
}

/// `seats`: a show's seats.
#[derive(Debug, Serialize)]
pub(super) struct SeatsPage {
    pub test: bool,
    /// The server's time, RFC 3339.
    pub now: String,
    /// Whether all seats of the show are sold.
    pub sold_out: bool,
    pub show: Value,
    pub room: Option<RoomView>,
    /// The number of seats that the address asks for.
    pub quantity: Option<u32>,
    /// The key of the form that works without scripts.
    pub key: String,
    /// The free seats, if the address asks for their list.
    pub free: Option<Value>,
    /// The number of the section whose seats are listed.
    pub section: Option<u64>,
}

/// `checkout`: a hold that the visitor can order.
#[derive(Debug, Serialize)]
pub(super) struct CheckoutPage {
    pub test: bool,
    pub hold: String,
    /// The show of the hold, or null if it is not known.
    pub show: Option<Value>,
    /// The basket, if a form without scripts led to this page.
    pub basket: Option<Value>,
    /// The key of the form that works without scripts.
    pub key: String,
}

/// `order`: an order.
#[derive(Debug, Serialize)]
pub(super) struct OrderPage {
    pub test: bool,
    pub order: String,
    /// The order, if the browser has the order's key in a cookie. A browser that ordered without
    /// scripts has this cookie.
    pub plain: Option<Value>,
    /// The order's key from that cookie. Scripts need it, because they cannot read the cookie.
    pub key: Option<String>,
}

/// `ticket`: a ticket.
#[derive(Debug, Serialize)]
pub(super) struct TicketPage {
    pub test: bool,
    pub ticket: String,
}

/// `cinema`: the search for showings.
#[derive(Debug, Serialize)]
pub(super) struct CinemaPage<'a> {
    pub test: bool,
    /// The form's fields and what was entered.
    pub asked: BTreeMap<&'static str, &'a str>,
    pub party: u32,
    pub party_max: u32,
    /// Whether the address asks for a search.
    pub searched: bool,
    pub cities: Value,
    /// The films of the chosen city.
    pub films: Value,
    #[serde(flatten)]
    pub found: Option<FoundShowings>,
    /// The problem, if the search was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Value>,
}

/// One page of the showings that were found.
#[derive(Debug, Serialize)]
pub(super) struct FoundShowings {
    pub total: u32,
    pub page: u32,
    pub pages: u32,
    /// Whether the showings are only similar to what was asked for.
    pub near_only: Value,
    pub previous: Option<String>,
    pub next: Option<String>,
    /// The showings by film, cinema and day. Empty if they are sorted by time or price.
    pub by_film: Vec<FoundFilm>,
    /// The showings one by one, if they are sorted by time or price.
    pub showings: Vec<Value>,
}

/// A film, with its showings that were found.
#[derive(Debug, Serialize)]
pub(super) struct FoundFilm {
    /// The first of its showings. The page shows the film's details from it.
    pub first: Value,
    pub days: Vec<FoundFilmDay>,
}

/// The showings of a film on one day in one cinema.
#[derive(Debug, Serialize)]
pub(super) struct FoundFilmDay {
    pub cinema: Value,
    /// The start of the first showing.
    pub start: Value,
    pub showings: Vec<Value>,
}

/// `rail`: the search for trains.
#[derive(Debug, Default, Serialize)]
pub(super) struct RailPage {
    pub test: bool,
    pub party: String,
    pub party_max: u32,
    /// The first day of the timetable.
    pub first: String,
    /// The last day of the timetable.
    pub last: String,
    pub asked: RailForm,
    /// The stations to choose from, for each field whose words do not name exactly one station.
    pub choices: Vec<StationChoice>,
    /// The name of the field that was left empty.
    pub missing: Option<&'static str>,
    /// How many of the found trains have left already.
    pub left: usize,
    /// How the list is ordered and filtered.
    pub list: TripListChoice,
    /// The classes to choose from.
    pub list_classes: Vec<Value>,
    pub trips: Vec<Value>,
    /// Whether the stations are in more than one time zone, so that each time says its zone.
    pub several_zones: bool,
    /// How many direct trains were found, before the list was filtered.
    pub direct: usize,
    /// How many journeys with a change were found, before the list was filtered.
    pub changing: usize,
    /// Journeys with a change. Missing if they were not searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journeys: Option<Vec<Value>>,
    /// The address of the same search, extended to journeys with a change.
    pub changes: Option<String>,
    /// Other stations that the typed words may mean, if no train was found.
    pub others: Vec<Value>,
    pub from: Option<Value>,
    pub to: Option<Value>,
    /// The address of the search for the way back.
    pub swap: Option<String>,
    /// The address of the same search on the day before.
    pub before: Option<String>,
    /// The address of the same search on the day after.
    pub after: Option<String>,
    /// The problem, if the search was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Value>,
}

/// What the fields of the train search show.
#[derive(Debug, Default, Serialize)]
pub(super) struct RailForm {
    pub from: String,
    pub to: String,
    pub date: String,
}

/// The stations to choose from for one field.
#[derive(Debug, Serialize)]
pub(super) struct StationChoice {
    pub field: &'static str,
    pub typed: String,
    pub stations: Vec<Value>,
}

/// `train`: a departure on a stretch between two stops.
#[derive(Debug, Serialize)]
pub(super) struct TrainPage<'a> {
    pub test: bool,
    pub show: &'a Value,
    pub room: Option<RoomView>,
    /// This train as the search for its stretch returns it, or null if the search does not find it.
    pub trip: &'a Value,
    /// The class that the address asks for.
    pub class: &'a str,
    pub quantity: u64,
    /// The code of the station where the stretch begins.
    pub from: &'a Value,
    pub to: &'a Value,
    /// The time when the train leaves the first station of the stretch. Only given if the train
    /// stops there more than once. Missing for the train's first ride between the two stations,
    /// unless the address named that departure.
    pub departs: Option<String>,
    pub from_name: &'a Value,
    pub to_name: &'a Value,
    /// The index of the stretch's first stop, counted from 0.
    pub first: usize,
    pub last: usize,
    pub date: &'a Value,
    /// The time zone where the stretch begins, if it is known.
    pub zone: Option<&'a str>,
    /// Whether the stops are in more than one time zone, so that each time says its zone.
    pub several_zones: bool,
    /// Whether the stretch differs from the one that was asked for.
    pub elsewhere: bool,
    /// Whether the train has left.
    pub left: bool,
    /// The key of the form that works without scripts.
    pub key: String,
}

/// `problem`: what went wrong, and where the visitor can continue.
#[derive(Debug, Serialize)]
pub(super) struct ProblemPage<'a> {
    pub test: bool,
    pub status: u16,
    pub code: &'a Value,
    pub title: &'a Value,
    pub detail: &'a Value,
    /// The labels of the seats that the problem is about.
    pub seats: Vec<&'a str>,
    pub action_href: &'a str,
    /// The key of the link's text, below `problem.actions` in the text files.
    pub action: &'static str,
}
