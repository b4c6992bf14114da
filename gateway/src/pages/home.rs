//! The start page. Lists the on-sales page by page, and searches them by words, city and day. The
//! page is the same for everybody, so all visitors of one second share it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use fairgate_base::http::Problem;
use fairgate_base::http::shared_answers::SharedAnswer;
use fairgate_rules::phase::RoomPhase;

use super::contexts::{HomePage, HomeRoom, HomeShow};
use super::render::{page_text, render_problem};
use super::{PageRoutes, address};
use crate::room::RoomView;
use crate::room::search::{
    FoundOnSales, IndexedRoom, IndexedShow, ListPage, OnSaleIndex, OnSaleSearch,
};
use crate::upstream::BookingFailure;

/// How many cities the form suggests at most.
const CITIES_MAX: usize = 200;

/// The names of the form's fields in the address.
const FIELDS: [&str; 4] = ["q", "city", "from", "to"];

pub(crate) async fn home(
    State(pages): State<PageRoutes>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let field = |name: &str| query.get(name).map_or("", |text| text.trim());
    let page = field("page").parse().unwrap_or(1).max(1);
    match home_answer(&pages, FIELDS.map(field), page).await {
        Ok(answer) => answer.respond(&headers),
        Err(problem) => render_problem(&pages, &problem),
    }
}

/// Returns the page for these fields, in the order of [`FIELDS`].
async fn home_answer(
    pages: &PageRoutes,
    fields: [&str; 4],
    page: usize,
) -> Result<Arc<SharedAnswer>, Problem> {
    let [q, city, from, to] = fields;
    let search = OnSaleSearch::parse(q, city, from, to)?;
    let index = pages.on_sales.index().await;
    if index.edition().shows.is_none() {
        return Err(BookingFailure::Unreachable.into());
    }
    let asked = format!("home {page} {fields:?}");
    let key = pages.on_sales.answer_key(&index, &asked);
    let make = make_answer(pages, index, search, fields, page);
    pages.on_sales.answers.find_or_make(key, make).await
}

async fn make_answer(
    pages: &PageRoutes,
    index: Arc<OnSaleIndex>,
    search: OnSaleSearch,
    fields: [&str; 4],
    page: usize,
) -> Result<SharedAnswer, Problem> {
    let threads = &pages.on_sales.threads;
    let searched = Arc::clone(&index);
    let found = threads.run(move || searched.find(&search)).await;
    let context = home_page(pages, &index, &found, fields, page).await;
    let text = threads.run(move || page_text("home", &context)).await?;
    Ok(SharedAnswer::page(text))
}

async fn home_page(
    pages: &PageRoutes,
    index: &OnSaleIndex,
    found: &FoundOnSales,
    fields: [&str; 4],
    page: usize,
) -> HomePage {
    let [q, city, from, to] = fields;
    let offered = pages.offered_searches().await;
    let (rooms, pages_of_rooms) = open_rooms(pages, index, found, page).await;
    let page_of_shows = ListPage::of(found.shows.iter().copied(), page);
    let shows = page_of_shows.items.iter();
    let pages_all = pages_of_rooms.max(page_of_shows.pages);
    let page_address = |page: usize| {
        let page = page.to_string();
        let mut query: Vec<_> = FIELDS.into_iter().zip(fields).collect();
        query.push(("page", &page));
        address::with_query("/", &query)
    };
    // The city is left out, because the cinemas' cities have other names.
    let cinema_query = [("keyword", q), ("from", from), ("to", to)];
    let cinema = offered.cinema;
    HomePage {
        test: pages.test,
        rail: offered.rail,
        cinema: cinema.then(|| address::with_query("/cinema", &cinema_query)),
        cities: index.cities().take(CITIES_MAX).cloned().collect(),
        rooms,
        shows: shows.map(|at| home_show(index.show(*at))).collect(),
        page,
        pages: pages_all,
        previous: (page > 1).then(|| page_address((page - 1).min(pages_all))),
        next: (page < pages_all).then(|| page_address(page + 1)),
        q: q.to_owned(),
        city: city.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

/// Returns one page of the found rooms that are not closed, and how many pages there are.
async fn open_rooms(
    pages: &PageRoutes,
    index: &OnSaleIndex,
    found: &FoundOnSales,
    page: usize,
) -> (Vec<HomeRoom>, usize) {
    let on_sales = &pages.on_sales;
    let now = on_sales.rooms.now_ms();
    let rooms = found.rooms.iter().map(|at| index.room(*at));
    let is_open = |indexed: &&IndexedRoom| {
        let room = &indexed.room;
        !room.is_everyday() && room.phase(now) != RoomPhase::Closed
    };
    let open: Vec<&IndexedRoom> = rooms.filter(is_open).collect();
    let page_of_rooms = ListPage::of(open, page);
    let mut home_rooms = Vec::with_capacity(page_of_rooms.items.len());
    for indexed in page_of_rooms.items {
        home_rooms.push(home_room(on_sales.view(&indexed.room).await, indexed));
    }
    (home_rooms, page_of_rooms.pages)
}

fn home_room(view: RoomView, indexed: &IndexedRoom) -> HomeRoom {
    HomeRoom {
        zone: indexed.zone.clone(),
        room: view.room,
        title: view.title,
        phase: view.phase,
        opens_at: view.opens_at,
        draw_at: view.draw_at,
        seats: indexed.seats,
        shows: indexed.shows,
    }
}

fn home_show(indexed: &IndexedShow) -> HomeShow {
    HomeShow {
        show: (&indexed.summary).into(),
        room: indexed.room.clone(),
    }
}
