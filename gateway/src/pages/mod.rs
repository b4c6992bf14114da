//! The pages: each asks the same code as the calls do, and hands what it got to the templates.

mod address;
mod asking;
pub(crate) mod assets;
pub(crate) mod cinema;
mod clocks;
pub(crate) mod forms;
pub mod policy;
pub(crate) mod rail;
mod render;
mod stations;
mod train;

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use fairgate_base::http::Problem;
use serde_json::{Value, json};

pub use render::problem_page;
use render::{render, render_problem, render_refused};

use crate::line::place_view::describe;
use crate::line::{Lobby, recognise, shown};
use crate::room::{EVERYDAY, Phase, Room, RoomView};
use crate::upstream::ShowCard;

/// Shows that a page lists: nobody reads more, and who looks for one searches.
const LISTED_MAX: usize = 100;

/// Seats that a visitor may ask for in an address, at most.
const SEATS_MAX: u32 = 100;

/// The pages' handle.
#[derive(Clone)]
pub struct Pages {
    /// The lobby, whose forms work without scripts.
    pub lobby: Lobby,
    /// Booking's own routes, asked in process.
    pub booking: Router,
    /// Whether payments are the sandbox's: pages then carry TEST.
    pub test: bool,
    /// The content policy of the page that takes the money.
    pub paying: HeaderValue,
}

pub(crate) async fn home(
    State(pages): State<Pages>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let field = |name: &str| {
        query
            .get(name)
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    let (q, from, to) = (field("q"), field("from"), field("to"));
    let rooms = &pages.lobby.rooms;
    let everything = ["*".to_owned()];
    let (cards, programme, timetable) = tokio::join!(
        rooms.core().shows(&everything),
        pages.has_programme(),
        pages.has_timetable()
    );
    let cards = match cards {
        Ok(cards) => cards,
        Err(problem) => return render_problem(&pages, &problem),
    };
    let wanted = |card: &ShowCard| matches(card, &q, &from, &to);
    let now = rooms.now();
    let mut listed = Vec::new();
    for room in rooms
        .all()
        .iter()
        .filter(|room| !room.is_everyday() && room.phase(now) != Phase::Closed)
    {
        let shows = rooms.shows_of(room).await.unwrap_or_default();
        let mut view = json!(RoomView::fresh(rooms, room).await);
        let named = q.is_empty() || contains(&room.row().document.title, &q);
        if shows.iter().any(wanted) || (named && from.is_empty() && to.is_empty()) {
            view["seats"] = shows
                .iter()
                .map(|card| u64::from(card.seats))
                .sum::<u64>()
                .into();
            view["shows"] = shows.iter().map(|card| json!(card.title)).collect();
            listed.push(view);
        }
    }
    let coverage = rooms.coverage();
    let wanted: Vec<&ShowCard> = cards
        .iter()
        .filter(|card| !card.showing && wanted(card))
        .collect();
    let more = wanted.len().saturating_sub(LISTED_MAX);
    let shows: Vec<Value> = wanted
        .into_iter()
        .take(LISTED_MAX)
        .map(|card| {
            let mut shown = json!(card);
            let room = coverage
                .iter()
                .find(|(_, patterns)| covers(patterns, &card.show));
            shown["room"] = room.map_or(EVERYDAY, |(room, _)| room.as_str()).into();
            shown
        })
        .collect();
    let context = json!({
        "test": pages.test, "rail": timetable, "q": q, "from": from, "to": to, "rooms": listed, "shows": shows, "more": more,
        "cinema": programme.then(|| address::of("/cinema", &[("keyword", &q), ("from", &from), ("to", &to)])),
    });
    render(&pages, "home", &context)
}

fn matches(card: &ShowCard, q: &str, from: &str, to: &str) -> bool {
    let day = card.starts_at.get(..10).unwrap_or_default();
    (q.is_empty() || contains(&card.title, q) || contains(&card.venue, q))
        && (from.is_empty() || day >= from)
        && (to.is_empty() || day <= to)
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

fn covers(patterns: &[String], show: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| crate::room::overlap(pattern, show))
}

pub(crate) async fn lobby(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    match pages.lobby.rooms.get(&id) {
        Ok(room) => lobby_page(&pages, &room, &headers, None).await,
        Err(problem) => render_problem(&pages, &problem),
    }
}

/// The lobby as it stands, and above it what went wrong, if something did.
async fn lobby_page(
    pages: &Pages,
    room: &Room,
    headers: &HeaderMap,
    problem: Option<&Problem>,
) -> Response {
    let (rooms, now) = (&pages.lobby.rooms, pages.lobby.rooms.now());
    let place = match shown(room.id(), headers) {
        Some(shown) => recognise(rooms, room, shown.jwt(), now).await.ok(),
        None => None,
    };
    let context = json!({
        "test": pages.test,
        "room": RoomView::fresh(rooms, room).await,
        "place": place.map(|place| describe(room, &place, now)),
        "shows": listed(rooms.shows_of(room).await.unwrap_or_default()),
        "problem": problem.map(Problem::document),
    });
    let mut response = render(pages, "lobby", &context);
    if let Some(problem) = problem {
        *response.status_mut() = problem.status;
    }
    response
}

/// What a lobby leads to: showings are searched on their own page.
fn listed(mut shows: Vec<ShowCard>) -> Vec<ShowCard> {
    shows.retain(|card| !card.showing);
    shows.truncate(LISTED_MAX);
    shows
}

pub(crate) async fn seats(
    State(pages): State<Pages>,
    Path(show): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let mut document = match pages.ask(&address::path(&["v1", "shows", &show])).await {
        Ok(document) => document,
        Err(refused) => return render_refused(&pages, &refused),
    };
    let room = document["room"].as_str().unwrap_or(EVERYDAY).to_owned();
    let rooms = &pages.lobby.rooms;
    let view = match rooms.get(&room) {
        Ok(room) => Some(RoomView::fresh(rooms, &room).await),
        Err(_) => None,
    };
    if document["kind"] == "rail" {
        return train::train(&pages, document, view, &query).await;
    }
    // That the sale ends when the show begins is what everybody expects.
    if document["sells_until"] == document["starts_at"] && document["sales_ended"] == false {
        document["sells_until"] = Value::Null;
    }
    if let Some(zone) = document["time_zone"].as_str().map(str::to_owned) {
        for moment in ["starts_at", "sells_until"] {
            document[moment] = clocks::there(&document[moment], &zone);
        }
    }
    let most = document["limits"]["seats_per_visitor"].as_u64();
    let most = most.map_or(SEATS_MAX, |most| u32::try_from(most).unwrap_or(SEATS_MAX));
    let quantity = query.get("seats").and_then(|seats| seats.parse().ok());
    let quantity = quantity.filter(|seats| (1..=most).contains(seats));
    render(
        &pages,
        "seats",
        &json!({"test": pages.test, "show": document, "room": view, "quantity": quantity}),
    )
}

pub(crate) async fn checkout(State(pages): State<Pages>, Path(hold): Path<String>) -> Response {
    render(
        &pages,
        "checkout",
        &json!({"test": pages.test, "hold": hold}),
    )
}

pub(crate) async fn order(State(pages): State<Pages>, Path(order): Path<String>) -> Response {
    let mut page = render(
        &pages,
        "order",
        &json!({"test": pages.test, "order": order}),
    );
    page.headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, pages.paying);
    page
}

pub(crate) async fn ticket(State(pages): State<Pages>, Path(ticket): Path<String>) -> Response {
    render(
        &pages,
        "ticket",
        &json!({"test": pages.test, "ticket": ticket}),
    )
}
