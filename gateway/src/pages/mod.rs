//! The pages. Each page uses the same code as the API calls, and passes the result to its template.

mod address;
mod asking;
pub(crate) mod assets;
pub(crate) mod cinema;
mod clocks;
mod contexts;
pub(crate) mod forms;
mod free_seats;
mod home;
pub mod policy;
pub(crate) mod purchase_forms;
pub(crate) mod rail;
mod render;
mod stations;
mod train;
mod trip_list;
mod waits;

use std::collections::BTreeMap;

use asking::OfferedSearches;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::Problem;
use fairgate_base::prepared::Prepared;
use fairgate_base::process::search_threads::SearchThreads;
use serde_json::Value;

pub use address::with_query;
use contexts::{CheckoutPage, ListedShow, LobbyPage, OrderPage, SeatsPage, TicketPage};
pub(crate) use home::home;
use policy::ForeignPart;
use purchase_forms::{PLAIN, form_key};
pub use render::{ProblemOfPage, problem_page};
use render::{WayOn, render, render_problem, render_refused, render_refused_with};

use crate::cookies::{self, CookieKind};
use crate::line::claim::last_pass;
use crate::line::http::passes::pass_cookie_header;
use crate::line::http::place_credential;
use crate::line::place_view::describe;
use crate::line::{WaitingLine, recognise};
use crate::room::search::OnSales;
use crate::room::{Room, RoomView};
use crate::store::Place;
use crate::upstream::CategorySeatsLeft;
use crate::web::is_path;
use fairgate_model::ids::HoldId;
use fairgate_rules::room_document::ChallengeProvider;

/// The name of the field with the way back, in addresses and forms. The way back is the path that a
/// visitor first asked for in a guarded shop.
pub const WAY_BACK: &str = "to";

/// The most seats that an address may ask for, if the show itself has no limit.
const SEATS_MAX: u32 = 100;

/// The parts that the pages need.
#[derive(Clone)]
pub struct PageRoutes {
    /// The line. The lobby's page and forms use it.
    pub waiting_line: WaitingLine,
    /// The prepared lists of on-sales.
    pub on_sales: OnSales,
    /// The searches that the start page offers.
    pub offered: Prepared<OfferedSearches>,
    /// Booking's own routes, called in process.
    pub booking: Router,
    /// Booking's routes behind the door, which lets in visitors with a pass.
    pub door: Router,
    /// The threads that write pages of seats. A crowd at these pages delays nobody's other calls.
    pub writing: SearchThreads,
    /// Whether payments go to the sandbox. The pages then show TEST.
    pub test: bool,
}

pub(crate) async fn lobby(
    State(pages): State<PageRoutes>,
    Path(id): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let to = query.get(WAY_BACK).map_or("", String::as_str);
    match pages.waiting_line.rooms.get(&id) {
        Ok(room) => lobby_page(&pages, &room, &headers, to, None).await,
        Err(unknown) => render_problem(&pages, &unknown.into()),
    }
}

/// Returns the path of a lobby. `to` is the path that the visitor first asked for in the shop that
/// the room guards.
fn lobby_path(room: &str, to: &str) -> String {
    let to = if is_path(to) { to } else { "" };
    with_query(&format!("/r/{room}"), &[(WAY_BACK, to)])
}

/// Redirects to a page after a form.
fn see_other(path: &str, cookie: Option<HeaderValue>) -> Response {
    let location = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    let mut answer = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    if let Some(cookie) = cookie {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}

/// Shows the lobby in its current state, with the problem above it if there is one.
async fn lobby_page(
    pages: &PageRoutes,
    room: &Room,
    headers: &HeaderMap,
    to: &str,
    problem: Option<&Problem>,
) -> Response {
    let (rooms, now) = (&pages.waiting_line.rooms, pages.waiting_line.rooms.now_ms());
    let place = match place_credential(room.id(), headers) {
        Some(credential) => recognise(rooms, room, credential, now).await.ok(),
        None => None,
    };
    let shop = pages.waiting_line.web.shop_of(room.id());
    let to = if shop.is_some() && is_path(to) {
        to
    } else {
        ""
    };
    let shows = pages.on_sales.shows_of(room).await;
    let context = LobbyPage {
        test: pages.test,
        now: fairgate_base::clock::rfc3339(now),
        zone: shows.zone.clone(),
        shop: shop.map(|shop| shop.address(Some(to))),
        to: to.to_owned(),
        here: lobby_path(room.id(), to),
        room: RoomView::fresh(rooms, room).await,
        place: place.as_ref().map(|place| describe(room, place, now)),
        shows: shows.listed.iter().map(ListedShow::from).collect(),
        problem: problem.map(Problem::json_document),
    };
    let mut response = render(pages, "lobby", &context);
    if let Some(cookie) = pass_cookie_if_missing(pages, room, place.as_ref(), headers).await {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    mark_check(&mut response, provider_of(Some(&context.room)));
    if let Some(problem) = problem {
        *response.status_mut() = problem.status;
        let document = ProblemOfPage(problem.json_document());
        response.extensions_mut().insert(document);
    }
    response
}

/// Returns the `Set-Cookie` header of the place's pass, if the place has one that this browser does
/// not have: another device of the visitor claimed it. If the ledger does not answer, the browser
/// gets the cookie the next time.
async fn pass_cookie_if_missing(
    pages: &PageRoutes,
    room: &Room,
    place: Option<&Place>,
    headers: &HeaderMap,
) -> Option<HeaderValue> {
    let (waiting_line, place) = (&pages.waiting_line, place?);
    let (rooms, pass_exp) = (&waiting_line.rooms, place.pass_exp?);
    let now_s = rooms.now_ms().div_euclid(1000);
    let shown = cookies::value(headers, CookieKind::Pass, room.id());
    let shown = shown.and_then(|value| {
        let verified = rooms.keyring().verify_pass_cookie(value, room.id(), now_s);
        verified.ok()
    });
    let has_it = shown.is_some_and(|pass| {
        let claims = pass.claims();
        claims.sub == place.holder && claims.exp >= pass_exp
    });
    if has_it {
        return None;
    }
    let pass = last_pass(rooms, room, place).await.ok()??;
    pass_cookie_header(waiting_line, &pass).ok()
}

fn provider_of(room: Option<&RoomView>) -> Option<ChallengeProvider> {
    room.and_then(|room| room.trust.challenge.provider())
}

/// Marks a page that may show the check of the room's challenge provider.
fn mark_check(page: &mut Response, provider: Option<ChallengeProvider>) {
    if let Some(provider) = provider {
        page.extensions_mut().insert(ForeignPart::Check(provider));
    }
}

pub(crate) async fn seats(
    State(pages): State<PageRoutes>,
    Path(show): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let mut document = match pages.read_show(&show, &headers).await {
        Ok(document) => document,
        Err(refused) => return render_refused(&pages, &refused),
    };
    let rooms = &pages.waiting_line.rooms;
    // A show that is announced and not sold may have no room.
    let room = document["room"].as_str().map(|room| rooms.get(room));
    let (view, sold_out) = match room {
        Some(Ok(room)) => (
            Some(RoomView::fresh(rooms, &room).await),
            is_sold_out(&room, &show),
        ),
        Some(Err(_)) | None => (None, false),
    };
    let provider = provider_of(view.as_ref());
    if document["kind"] == "rail" {
        let mut page = train::train(&pages, document, view, &query).await;
        mark_check(&mut page, provider);
        return page;
    }
    // Everybody expects the sale to end when the show begins. The page shows only another end.
    if document["sells_until"] == document["starts_at"] && document["sales_ended"] == false {
        document["sells_until"] = Value::Null;
    }
    let quantity = asked_quantity(&document, &query);
    let free = match query.get("free") {
        Some(section) => match free_seats::read(&pages, &show, section, query.get("page")).await {
            Ok(free) => Some(free),
            Err(refused) => {
                let way_on = WayOn::to_seats(&show, &[]);
                return render_refused_with(&pages, &refused, &way_on);
            }
        },
        None => None,
    };
    let (free, section) = free.map_or((None, None), |free| (Some(free.list), free.section));
    let context = SeatsPage {
        test: pages.test,
        now: fairgate_base::clock::rfc3339(rooms.now_ms()),
        sold_out,
        show: document,
        room: view,
        quantity,
        key: form_key(),
        free,
        section,
    };
    let writing = pages.writing.clone();
    let mut page = writing.run(move || render(&pages, "seats", &context)).await;
    mark_check(&mut page, provider);
    page
}

/// Returns the number of seats that the address asks for, if one visitor may have so many.
fn asked_quantity(document: &Value, query: &BTreeMap<String, String>) -> Option<u32> {
    let seats_max = document["limits"]["seats_per_visitor"].as_u64();
    let seats_max = seats_max.map_or(SEATS_MAX, |seats_max| {
        u32::try_from(seats_max).unwrap_or(SEATS_MAX)
    });
    let quantity = query.get("seats")?.parse().ok()?;
    (1..=seats_max).contains(&quantity).then_some(quantity)
}

/// Returns whether all seats of a show are sold, as the room last heard from booking. If the room
/// has not heard of the show, returns false.
fn is_sold_out(room: &Room, show: &str) -> bool {
    let tick = room.last_tick();
    let left = tick.pulse.shows.iter().find(|left| left.show == show);
    left.is_some_and(|left| {
        let is_gone = |category: &CategorySeatsLeft| category.free == 0 && category.held == 0;
        !left.categories.is_empty() && left.categories.iter().all(is_gone)
    })
}

pub(crate) async fn checkout(
    State(pages): State<PageRoutes>,
    Path(hold): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let id: Option<HoldId> = hold.parse().ok();
    // The page shows what is bought, where and when, before its script has run.
    let show = match &id {
        Some(id) => {
            let path = address::path(&["v1", "shows", id.show().as_str()]);
            pages.fetch_document(&path).await.ok()
        }
        None => None,
    };
    let basket = match &id {
        Some(id) if query.contains_key(PLAIN) => {
            match purchase_forms::basket(&pages, id, &headers).await {
                Ok(basket) => Some(basket),
                Err(refused) => {
                    let way_on = WayOn::to_seats(id.show().as_str(), &[]);
                    return render_refused_with(&pages, &refused, &way_on);
                }
            }
        }
        _ => None,
    };
    let context = CheckoutPage {
        test: pages.test,
        hold,
        show,
        basket,
        key: form_key(),
    };
    render(&pages, "checkout", &context)
}

pub(crate) async fn order(
    State(pages): State<PageRoutes>,
    Path(order): Path<String>,
    headers: HeaderMap,
) -> Response {
    let plain = match purchase_forms::order_with_tickets(&pages, &order, &headers).await {
        Ok(plain) => plain,
        Err(refused) => {
            let way_on = WayOn::to_order(&order);
            return render_refused_with(&pages, &refused, &way_on);
        }
    };
    let key = plain
        .is_some()
        .then(|| cookies::value(&headers, CookieKind::Order, &order))
        .flatten();
    let context = OrderPage {
        test: pages.test,
        key: key.map(str::to_owned),
        order,
        plain,
    };
    let mut page = render(&pages, "order", &context);
    page.extensions_mut().insert(ForeignPart::Payment);
    page
}

pub(crate) async fn ticket(
    State(pages): State<PageRoutes>,
    Path(ticket): Path<String>,
) -> Response {
    let test = pages.test;
    render(&pages, "ticket", &TicketPage { test, ticket })
}
