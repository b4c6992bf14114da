//! The start page. Lists the on-sales page by page, and searches them by words, city and day.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Query, State};
use axum::response::Response;
use fairgate_model::shows::coverage::EVERYDAY;
use fairgate_rules::phase::RoomPhase;

use super::contexts::{HomePage, HomeRoom, HomeShow};
use super::render::{render, render_problem};
use super::{PageRoutes, address, first_zone};
use crate::room::RoomView;
use crate::room::search::{FoundRoom, ListPage, OnSaleSearch};
use crate::upstream::ShowSummary;

/// How many cities the form suggests at most.
const CITIES_MAX: usize = 200;

/// The names of the form's fields in the address.
const FIELDS: [&str; 4] = ["q", "city", "from", "to"];

pub(crate) async fn home(
    State(pages): State<PageRoutes>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let field = |name: &str| query.get(name).map_or("", |text| text.trim());
    let [q, city, from, to] = FIELDS.map(field);
    let search = match OnSaleSearch::parse(q, city, from, to) {
        Ok(search) => search,
        Err(refusal) => return render_problem(&pages, &refusal.into()),
    };
    let page = field("page").parse().unwrap_or(1).max(1);
    let everything = ["*".to_owned()];
    let (shows, programme, timetable) = tokio::join!(
        pages.waiting_line.rooms.core().shows(&everything),
        pages.has_programme(),
        pages.has_timetable()
    );
    let shows = match shows {
        Ok(shows) => shows,
        Err(failure) => return render_problem(&pages, &failure.into()),
    };
    let (found_rooms, pages_of_rooms) = open_rooms(&pages, &search, &shows, page).await;
    let (found_shows, pages_of_shows) = matching_shows(&pages, &search, &shows, page);
    let pages_all = pages_of_rooms.max(pages_of_shows);
    let page_address = |page: usize| {
        let page = page.to_string();
        let mut query: Vec<_> = FIELDS.map(|name| (name, field(name))).into();
        query.push(("page", &page));
        address::with_query("/", &query)
    };
    // The city is left out, because the cinemas' cities have other names.
    let cinema_query = [("keyword", q), ("from", from), ("to", to)];
    let context = HomePage {
        test: pages.test,
        rail: timetable,
        cinema: programme.then(|| address::with_query("/cinema", &cinema_query)),
        cities: cities(&shows),
        rooms: found_rooms,
        shows: found_shows,
        page,
        pages: pages_all,
        previous: (page > 1).then(|| page_address((page - 1).min(pages_all))),
        next: (page < pages_all).then(|| page_address(page + 1)),
        q: q.to_owned(),
        city: city.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    render(&pages, "home", &context)
}

/// Returns one page of the matching rooms that are not closed, and how many pages there are.
async fn open_rooms(
    pages: &PageRoutes,
    search: &OnSaleSearch,
    shows: &[ShowSummary],
    page: usize,
) -> (Vec<HomeRoom>, usize) {
    let rooms = &pages.waiting_line.rooms;
    let now = rooms.now_ms();
    let open = rooms.all().into_iter();
    let open = open.filter(|room| !room.is_everyday() && room.phase(now) != RoomPhase::Closed);
    let page_of_rooms = ListPage::of(search.find_rooms(open.collect(), shows), page);
    let mut home_rooms = Vec::with_capacity(page_of_rooms.items.len());
    for item in &page_of_rooms.items {
        home_rooms.push(home_room(RoomView::fresh(rooms, &item.room).await, item));
    }
    (home_rooms, page_of_rooms.pages)
}

/// Returns one page of the matching shows, sorted by start, and how many pages there are. Leaves
/// out showings, because they have their own search.
fn matching_shows(
    pages: &PageRoutes,
    search: &OnSaleSearch,
    shows: &[ShowSummary],
    page: usize,
) -> (Vec<HomeShow>, usize) {
    let matching = shows
        .iter()
        .filter(|show| !show.showing && search.finds_show(show));
    let mut matching: Vec<&ShowSummary> = matching.collect();
    matching.sort_by_key(|show| (show.starts_at, &show.id));
    let page_of_shows = ListPage::of(matching, page);
    let coverage = pages.waiting_line.rooms.coverage();
    let home_shows = page_of_shows
        .items
        .iter()
        .map(|show| home_show(show, &coverage));
    (home_shows.collect(), page_of_shows.pages)
}

/// Returns the cities of the shows, sorted by name.
fn cities(shows: &[ShowSummary]) -> Vec<String> {
    let cities = shows.iter().filter_map(|show| show.location.city.clone());
    let cities: BTreeSet<_> = cities.collect();
    cities.into_iter().take(CITIES_MAX).collect()
}

fn home_room(view: RoomView, found_room: &FoundRoom<'_>) -> HomeRoom {
    let shows = &found_room.shows;
    HomeRoom {
        zone: first_zone(shows.iter().copied()),
        room: view.room,
        title: view.title,
        phase: view.phase,
        opens_at: view.opens_at,
        draw_at: view.draw_at,
        seats: shows.iter().map(|show| u64::from(show.seats)).sum(),
        shows: shows.iter().map(|show| show.title.clone()).collect(),
    }
}

fn home_show(show: &ShowSummary, coverage: &[(String, Vec<String>)]) -> HomeShow {
    let covers = |patterns: &[String]| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| fairgate_rules::naming::overlap(pattern, show.id.as_str()))
    };
    let room = coverage.iter().find(|(_, patterns)| covers(patterns));
    HomeShow {
        show: show.into(),
        room: room.map_or_else(|| EVERYDAY.to_owned(), |(room, _)| room.clone()),
    }
}
