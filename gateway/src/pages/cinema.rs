//! The page that searches for showings. It has a form that needs no scripts, and the results.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use fairgate_base::http::shared_answers::SharedAnswer;
use serde_json::Value;

use super::asking::DocumentRefusal;
use super::clocks::local_time;
use super::contexts::{CinemaPage, FoundFilm, FoundFilmDay, FoundShowings};
use super::render::{page_response, page_text, render_problem};
use super::{PageRoutes, address};

/// The form's fields that are passed to the search, under the same names.
const SEARCH_FIELDS: [&str; 7] = ["keyword", "city", "film", "cinema", "from", "to", "sort"];

/// The number of showings on one page. A larger page splits fewer films across two pages, but each
/// showing takes its time to be written.
const PER_PAGE: &str = "20";
/// Within so many milliseconds, all visitors who search for the same share one page.
const SHARED_MS: i64 = 250;
/// The largest party in a search. No showing sells more seats to one visitor.
const PARTY_MAX: u32 = 10;
/// The size of the party if the visitor names none.
const PARTY_DEFAULT: u32 = 2;

/// The search that the address asks for.
struct ShowingSearch<'a> {
    query: &'a BTreeMap<String, String>,
    page: u32,
    party: u32,
}

impl<'a> ShowingSearch<'a> {
    fn from_query(query: &'a BTreeMap<String, String>) -> Self {
        let number = |name: &str| query.get(name).and_then(|text| text.trim().parse().ok());
        Self {
            query,
            page: number("page").unwrap_or(1).max(1),
            party: number("seats").unwrap_or(PARTY_DEFAULT).clamp(1, PARTY_MAX),
        }
    }

    fn field(&self, name: &str) -> &'a str {
        self.query.get(name).map_or("", |text| text.trim())
    }

    /// Returns the fields that are passed to booking's search.
    fn search_query(&self) -> Vec<(&'static str, &'a str)> {
        SEARCH_FIELDS
            .iter()
            .map(|name| (*name, self.field(name)))
            .collect()
    }

    /// Builds this page's address for another page of the same results.
    fn page_address(&self, page: u32) -> String {
        let (page, party) = (page.to_string(), self.party.to_string());
        let mut query = self.search_query();
        query.extend([("seats", party.as_str()), ("page", page.as_str())]);
        address::with_query("/cinema", &query)
    }
}

pub(crate) async fn cinema(
    State(pages): State<PageRoutes>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    let search = ShowingSearch::from_query(&query);
    let rooms = &pages.on_sales.rooms;
    let (edition, moment) = (
        rooms.core().shows_edition(),
        rooms.now_ms().div_euclid(SHARED_MS),
    );
    let asked = (search.page, search.party, search.search_query());
    let key = format!("cinema {edition} {moment} {asked:?}");
    let make = make_answer(&pages, &query);
    match pages.on_sales.answers.find_or_make(key, make).await {
        Ok(answer) => answer.respond(&headers),
        Err(refusal) => refusal,
    }
}

/// Searches, and makes the page. A page with a refusal is an error, because it is not shared.
async fn make_answer(
    pages: &PageRoutes,
    query: &BTreeMap<String, String>,
) -> Result<SharedAnswer, Response> {
    let search = ShowingSearch::from_query(query);
    let page = search.page.to_string();
    let mut api_query = search.search_query();
    api_query.extend([("page", page.as_str()), ("per_page", PER_PAGE)]);
    let (found, cities, films) = tokio::join!(
        pages.fetch_with_query("/v1/cinema/showings", &api_query),
        pages.fetch_document("/v1/cinema/cities"),
        films(pages, search.field("city")),
    );
    let cities = cities.map_or(Value::Null, |mut answer| answer["cities"].take());
    let (test, query) = (pages.test, query.clone());
    let write = move |found: Option<Value>, problem: Option<Value>| {
        let search = ShowingSearch::from_query(&query);
        let context = CinemaPage {
            test,
            asked: search.search_query().into_iter().collect(),
            party: search.party,
            party_max: PARTY_MAX,
            searched: SEARCH_FIELDS
                .iter()
                .any(|name| !search.field(name).is_empty()),
            cities,
            films,
            found: found.map(|found| showings(found, &search)),
            problem,
        };
        page_text("cinema", &context)
    };
    match found {
        Ok(found) => {
            let render = move || write(Some(found), None);
            let text = pages.on_sales.threads.run(render).await;
            let text = text.map_err(|problem| render_problem(pages, &problem))?;
            Ok(SharedAnswer::page(text))
        }
        Err(DocumentRefusal { status, document }) => Err(match write(None, Some(document)) {
            Ok(text) => (status, page_response(text)).into_response(),
            Err(problem) => render_problem(pages, &problem),
        }),
    }
}

/// Reads the films of the chosen city. Returns null if no city was chosen or booking refuses.
async fn films(pages: &PageRoutes, city: &str) -> Value {
    if city.is_empty() {
        return Value::Null;
    }
    let path = address::path(&["v1", "cinema", "cities", city, "films"]);
    pages
        .fetch_document(&path)
        .await
        .map_or(Value::Null, |mut answer| answer["films"].take())
}

/// Builds one page of results, with the addresses of the previous and the next page.
fn showings(mut answer: Value, search: &ShowingSearch<'_>) -> FoundShowings {
    let number = |name: &str| u32::try_from(answer[name].as_u64().unwrap_or(0)).unwrap_or(u32::MAX);
    let (total, per_page) = (number("total"), number("per_page").max(1));
    let pages = total.div_ceil(per_page).max(1);
    let showings = answer["showings"].as_array_mut().map(std::mem::take);
    let showings = showings.unwrap_or_default().into_iter();
    let showings: Vec<_> = showings
        .map(|showing| showing_view(showing, search.party))
        .collect();
    let (by_film, showings) = match search.field("sort") {
        "start" | "price" => (Vec::new(), showings),
        _ => (group_by_film(showings), Vec::new()),
    };
    FoundShowings {
        total,
        page: search.page,
        pages,
        near_only: answer["near_only"].take(),
        previous: (search.page > 1).then(|| search.page_address((search.page - 1).min(pages))),
        next: (search.page < pages).then(|| search.page_address(search.page + 1)),
        by_film,
        showings,
    }
}

/// Groups showings by film, and within a film by cinema and day. The groups keep the order of the
/// showings. The showings of one day are sorted by start.
fn group_by_film(showings: Vec<Value>) -> Vec<FoundFilm> {
    let mut films: Vec<FoundFilm> = Vec::new();
    for showing in showings {
        let at = films
            .iter()
            .position(|film| film.first["film"] == showing["film"]);
        let at = at.unwrap_or_else(|| {
            films.push(FoundFilm {
                first: showing.clone(),
                days: Vec::new(),
            });
            films.len() - 1
        });
        let days = &mut films[at].days;
        let is_same = |day: &&mut FoundFilmDay| {
            day.cinema["cinema"] == showing["cinema"]["cinema"]
                && date_of(&day.start) == date_of(&showing["start"])
        };
        match days.iter_mut().find(is_same) {
            Some(day) => day.showings.push(showing),
            None => days.push(FoundFilmDay {
                cinema: showing["cinema"].clone(),
                start: showing["start"].clone(),
                showings: vec![showing],
            }),
        }
    }
    let days = films.iter_mut().flat_map(|film| &mut film.days);
    for day in days {
        day.showings
            .sort_by(|one, other| one["start"].as_str().cmp(&other["start"].as_str()));
    }
    films
}

/// Returns the date of a local time, as text.
fn date_of(time: &Value) -> Option<&str> {
    time.as_str()?.get(..10)
}

/// Builds a showing for the page. Converts its times to the time zone of its cinema. Adds the
/// address of the page with its seats, its lowest price and how full it is.
fn showing_view(mut showing: Value, party: u32) -> Value {
    let zone = showing["cinema"]["time_zone"].as_str().unwrap_or("UTC");
    let (start, end) = (
        local_time(&showing["start"], zone),
        local_time(&showing["end"], zone),
    );
    let show = showing["show"].as_str().unwrap_or_default();
    let path = address::path(&["s", show]);
    let href = address::with_query(&path, &[("seats", &party.to_string())]);
    showing["start"] = start;
    showing["end"] = end;
    showing["href"] = href.into();
    showing["best"] = best_status(&showing).into();
    showing["from"] = lowest_price(&showing);
    showing
}

/// Returns the best status among the categories.
fn best_status(showing: &Value) -> &'static str {
    let has = |status: &str| {
        let all = showing["categories"].as_array().into_iter().flatten();
        all.into_iter().any(|one| one["status"] == status)
    };
    ["available", "almost_full"]
        .into_iter()
        .find(|status| has(status))
        .unwrap_or("full")
}

/// Returns the lowest price of the categories that are not full. If all are full, returns the
/// lowest price of all.
fn lowest_price(showing: &Value) -> Value {
    let all = || showing["categories"].as_array().into_iter().flatten();
    let amount = |one: &&Value| one["price"]["amount"].as_i64();
    let cheapest_open = all()
        .filter(|one| one["status"] != "full")
        .min_by_key(amount);
    let lowest = cheapest_open.or_else(|| all().min_by_key(amount));
    lowest.map_or(Value::Null, |one| one["price"].clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn showings_are_put_together_by_film_and_within_a_film_by_cinema_and_day() {
        let showing = |film: &str, cinema: &str, start: &str| json!({"film": film, "cinema": {"cinema": cinema}, "start": start});
        let films = group_by_film(vec![
            showing("tram", "mitte", "2027-01-12T20:00:00+01:00"),
            showing("orchard", "mitte", "2027-01-12T21:00:00+01:00"),
            showing("tram", "mitte", "2027-01-12T17:30:00+01:00"),
            showing("tram", "york", "2027-01-12T18:00:00+01:00"),
            showing("tram", "mitte", "2027-01-13T17:30:00+01:00"),
        ]);
        let of = |film: &FoundFilm| (film.first["film"].clone(), film.days.len());
        let told: Vec<_> = films.iter().map(of).collect();
        assert_eq!(told, [(json!("tram"), 3), (json!("orchard"), 1)]);
        let times = films[0].days[0].showings.iter().map(|one| &one["start"]);
        let times: Vec<_> = times.collect();
        assert_eq!(
            times,
            ["2027-01-12T17:30:00+01:00", "2027-01-12T20:00:00+01:00"]
        );
    }

    #[test]
    fn a_time_says_the_lowest_price_of_what_is_left() {
        let category =
            |status: &str, amount: i64| json!({"status": status, "price": {"amount": amount}});
        let some = json!({"categories": [category("full", 500), category("almost_full", 900), category("available", 1_200)]});
        assert_eq!(best_status(&some), "available");
        assert_eq!(lowest_price(&some)["amount"], 900);
        let none = json!({"categories": [category("full", 900), category("full", 500)]});
        assert_eq!(best_status(&none), "full");
        assert_eq!(lowest_price(&none)["amount"], 500);
    }

    #[test]
    fn showing_times_use_the_cinemas_zone_and_each_showing_links_to_its_seats() {
        let showing = json!({
            "show": "mitte-1-20270111t1900", "start": "2027-01-11T23:30:00Z", "end": "2027-01-12T01:10:00Z",
            "cinema": {"time_zone": "Europe/Berlin"}, "categories": [{"status": "full"}, {"status": "available"}],
        });
        let told = showing_view(showing, 3);
        assert_eq!(told["start"], "2027-01-12T00:30:00+01:00");
        assert_eq!(told["href"], "/s/mitte-1-20270111t1900?seats=3");
        assert_eq!(told["best"], "available");
    }

    #[test]
    fn the_address_of_another_page_keeps_the_search() {
        let query = [
            ("keyword", "a&b"),
            ("seats", "4"),
            ("page", "2"),
            ("x", "y"),
        ];
        let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = BTreeMap::from(query);
        let asked = ShowingSearch::from_query(&query);
        assert_eq!(
            asked.page_address(3),
            "/cinema?keyword=a%26b&seats=4&page=3"
        );
        let nonsense = BTreeMap::from([("seats".to_owned(), "99".to_owned())]);
        assert_eq!(ShowingSearch::from_query(&nonsense).party, 10);
        assert_eq!(
            (asked.page, ShowingSearch::from_query(&nonsense).page),
            (2, 1)
        );
    }
}
