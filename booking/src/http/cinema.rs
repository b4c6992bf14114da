//! Cities, films and showings over HTTP.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use fairgate_base::clock::Clock;
use fairgate_base::http::keys::{KeyedRoutes, RoleKeys};
use fairgate_base::http::shared_answers::SharedAnswer;
use fairgate_base::http::{PathParams, Problem, QueryParams};
use fairgate_model::ids::{ShowId, VenueId};
use fairgate_model::money::Money;
use fairgate_model::shows::Show;
use fairgate_model::shows::fate::ShowFate;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::cinema::CinemaCatalogue;
use crate::cinema::query::{self, BadParam};
use crate::cinema::search::{ProgrammeIndex, ShowingDetails, ShowingHit, ShowingQuery};
use crate::http::lists::{ListDesk, json_list};
use crate::inventory::seats::{SeatInventory, SeatsLeft};

/// A category is almost full if only one seat is free, or if at most one seat in this many is free.
const ALMOST_FULL_OF: u32 = 10;

/// Within so many milliseconds, all clients who search for the same share one answer.
const SHOWINGS_SHARED_MS: i64 = 250;

/// What the handlers of the cinemas need.
#[derive(Clone)]
pub struct CinemaRoutes {
    /// The programme.
    pub cinemas: CinemaCatalogue,
    /// The shows of the programme.
    pub catalogue: Catalogue,
    /// The seats of the shows.
    pub seats: SeatInventory,
    /// The keys of the callers who may store a programme.
    pub keys: RoleKeys,
    /// The lists of cities, films and showings.
    pub lists: ListDesk,
    /// The clock.
    pub clock: Clock,
}

/// All cities.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CityList {
    cities: Vec<CityView>,
}

/// A city.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CityView {
    city: String,
    name: String,
    country: Option<String>,
    /// The IANA name of the time zone in which its days are counted.
    time_zone: String,
    cinemas: usize,
    /// Showings that have not begun.
    showings: usize,
}

/// The films of a city.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FilmList {
    city: String,
    films: Vec<CityFilm>,
}

/// A film in a city.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CityFilm {
    #[serde(flatten)]
    film: FilmView,
    /// Showings in this city that have not begun.
    showings: usize,
    /// When the first of them begins.
    #[schema(value_type = String)]
    next: Timestamp,
}

/// A film, as visitors see it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FilmView {
    film: String,
    title: String,
    description: String,
    duration_s: u32,
    genre: Option<String>,
    language: Option<String>,
    /// For example dubbed, subtitled or in 3D, as the programme writes it.
    version: Option<String>,
    /// Who may see it, as the programme writes it.
    rating: Option<String>,
    #[schema(value_type = Option<String>)]
    release_date: Option<Date>,
    country: Option<String>,
}

/// A page of showings.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ShowingList {
    showings: Vec<ShowingView>,
    total: usize,
    page: usize,
    per_page: usize,
    /// Whether all showings that were found have titles that are only similar to the keyword.
    near_only: bool,
}

/// A showing.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ShowingView {
    /// The show to hold seats of.
    #[schema(value_type = String)]
    show: ShowId,
    #[serde(flatten)]
    film: FilmView,
    cinema: CinemaView,
    hall: HallView,
    #[schema(value_type = String)]
    start: Timestamp,
    #[schema(value_type = String)]
    end: Timestamp,
    /// The time until which seats may be held.
    #[schema(value_type = String)]
    sells_until: Timestamp,
    /// Whether that time has passed.
    sales_ended: bool,
    /// Kilometres from `lat` and `lon`, if they were given.
    distance_km: Option<f64>,
    categories: Vec<CategoryStatus>,
    /// `cancelled` or `postponed`. Null if the showing takes place as planned.
    fate: Option<&'static str>,
}

/// A cinema.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CinemaView {
    cinema: String,
    name: String,
    address: String,
    postal_code: String,
    city: String,
    city_name: String,
    time_zone: String,
    lat: f64,
    lon: f64,
}

/// A hall.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct HallView {
    /// The venue's slug.
    #[schema(value_type = String)]
    hall: VenueId,
    name: String,
}

/// A category of a showing.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CategoryStatus {
    key: String,
    label: String,
    #[schema(value_type = Object)]
    price: Money,
    /// `available`, `almost_full` or `full`. `almost_full` means that only one seat of the category
    /// is free, or at most a tenth of its seats. `full` means that none is free, that the showing
    /// is cancelled, or that its sale has ended.
    status: &'static str,
}

/// Returns the cities of the programme.
#[utoipa::path(get, path = "/v1/cinema/cities", tag = "booking", responses((status = 200, body = CityList), (status = 304)))]
pub async fn cities(
    State(routes): State<CinemaRoutes>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (programme, index) = routes.cinemas.numbered_index();
    let now = routes.now();
    let key = format!("cities {programme} {}", now.as_second());
    let find = routes.lists.threads.run(move || city_list(&index, now));
    let answer = routes.lists.answers.find_or_make(key, find).await?;
    Ok(answer.respond(&headers))
}

fn city_list(index: &ProgrammeIndex, now: Timestamp) -> Result<SharedAnswer, Problem> {
    let cities = index.coming_by_city(now);
    let cities = cities
        .into_iter()
        .map(|(city, cinemas, showings)| CityView {
            city: city.id.clone(),
            name: city.name.clone(),
            country: city.country.clone(),
            time_zone: city.time_zone.clone(),
            cinemas,
            showings,
        })
        .collect();
    json_list(&CityList { cities })
}

/// Returns the films that are shown in a city from now on.
#[utoipa::path(get, path = "/v1/cinema/cities/{city}/films", tag = "booking", params(("city" = String, Path)),
    responses((status = 200, body = FilmList), (status = 304), (status = 404)))]
pub async fn films(
    State(routes): State<CinemaRoutes>,
    PathParams(city): PathParams<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (programme, index) = routes.cinemas.numbered_index();
    if index.find_city(&city).is_none() {
        return Err(Problem::not_found("city", &city));
    }
    let now = routes.now();
    let key = format!("films {programme} {} {city}", now.as_second());
    let find = routes
        .lists
        .threads
        .run(move || film_list(&index, city, now));
    let answer = routes.lists.answers.find_or_make(key, find).await?;
    Ok(answer.respond(&headers))
}

fn film_list(
    index: &ProgrammeIndex,
    city: String,
    now: Timestamp,
) -> Result<SharedAnswer, Problem> {
    let films = index.films_in(&city, now);
    let films = films
        .into_iter()
        .map(|(film, showings, next)| CityFilm {
            film: FilmView::new(film),
            showings,
            next,
        })
        .collect();
    json_list(&FilmList { city, films })
}

/// Finds showings. How many seats are left is at most a second old.
#[utoipa::path(get, path = "/v1/cinema/showings", tag = "booking", params(query::ShowingParams),
    responses((status = 200, body = ShowingList), (status = 304), (status = 422)))]
pub async fn showings(
    State(routes): State<CinemaRoutes>,
    QueryParams(params): QueryParams<query::ShowingParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = query::read(&params, routes.now()).map_err(refused_param)?;
    let (programme, index) = routes.cinemas.numbered_index();
    let edition = routes.catalogue.edition();
    let moment = routes.clock.now_ms().div_euclid(SHOWINGS_SHARED_MS);
    let key = format!("showings {programme} {edition} {moment} {params:?}");
    let find = routes.find_showings(index, query);
    let answer = routes.lists.answers.find_or_make(key, find).await?;
    Ok(answer.respond(&headers))
}

impl KeyedRoutes for CinemaRoutes {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

impl CinemaRoutes {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.clock.now_ms()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    async fn find_showings(
        &self,
        index: Arc<ProgrammeIndex>,
        query: ShowingQuery,
    ) -> Result<SharedAnswer, Problem> {
        let (searched, catalogue) = (Arc::clone(&index), self.catalogue.clone());
        let (page, per_page) = (query.page, query.per_page);
        let search = move || {
            let found = searched.search(&query);
            // The programme and the catalogue are read one after the other, so the catalogue may
            // lack a show of the programme. Such a show is left out here, and not counted, and
            // appears a moment later.
            let hits = found.hits.iter().filter_map(|hit| {
                let show = &searched.showing(hit).showing.show;
                Some((*hit, catalogue.show(show)?))
            });
            let hits: Vec<(ShowingHit, Arc<Show>)> = hits.collect();
            let total = found.total - (found.hits.len() - hits.len());
            (hits, total, found.near_only)
        };
        let (hits, total, near_only) = self.lists.threads.run(search).await;
        let shows: Vec<_> = hits.iter().map(|(_, show)| Arc::clone(show)).collect();
        let seats_left = self.seats.seats_left(&shows).await?;
        let now_ms = self.clock.now_ms();
        let write = move || {
            let found = hits.iter().zip(&seats_left);
            let view = |((hit, show), left): (&(ShowingHit, Arc<Show>), &Arc<[SeatsLeft]>)| {
                ShowingView::new(hit, &index.showing(hit), show, left, now_ms)
            };
            json_list(&ShowingList {
                showings: found.map(view).collect(),
                total,
                page,
                per_page,
                near_only,
            })
        };
        self.lists.threads.run(write).await
    }
}

impl FilmView {
    fn new(film: &crate::cinema::Film) -> Self {
        Self {
            film: film.id.clone(),
            title: film.title.clone(),
            description: film.description.clone(),
            duration_s: film.duration_s,
            genre: film.genre.clone(),
            language: film.language.clone(),
            version: film.version.clone(),
            rating: film.rating.clone(),
            release_date: film.release_date,
            country: film.country.clone(),
        }
    }
}

/// Returns the showing's own value or, if there is none, the film's value.
fn own_or_films(own: Option<&String>, films: Option<&String>) -> Option<String> {
    own.or(films).cloned()
}

impl ShowingView {
    fn new(
        hit: &ShowingHit,
        details: &ShowingDetails<'_>,
        show: &Show,
        seats_left: &[SeatsLeft],
        now_ms: i64,
    ) -> Self {
        // A postponed showing keeps its old time in the programme.
        let start = show.document.starts_at;
        Self {
            show: show.id.clone(),
            film: FilmView {
                language: own_or_films(
                    details.showing.language.as_ref(),
                    details.film.language.as_ref(),
                ),
                version: own_or_films(
                    details.showing.version.as_ref(),
                    details.film.version.as_ref(),
                ),
                rating: own_or_films(
                    details.showing.rating.as_ref(),
                    details.film.rating.as_ref(),
                ),
                ..FilmView::new(details.film)
            },
            cinema: CinemaView {
                cinema: details.cinema.id.clone(),
                name: details.cinema.name.clone(),
                address: details.cinema.address.clone(),
                postal_code: details.cinema.postal_code.clone(),
                city: details.city.id.clone(),
                city_name: details.city.name.clone(),
                time_zone: details.city.time_zone.clone(),
                lat: details.cinema.lat,
                lon: details.cinema.lon,
            },
            hall: HallView {
                hall: details.hall.id.clone(),
                name: details.hall.name.clone(),
            },
            start,
            end: start
                .checked_add(i64::from(details.film.duration_s).seconds())
                .unwrap_or(start),
            sells_until: show.sells_until(&show.legs()),
            sales_ended: show.sale_has_ended(&show.legs(), now_ms),
            // The distance is rounded to ten metres, which is exact enough.
            distance_km: hit.distance_km.map(|km| (km * 100.0).round() / 100.0),
            categories: statuses(show, seats_left),
            fate: show.fate.map(ShowFate::as_str),
        }
    }
}

/// Returns the status of each category that is for sale.
fn statuses(show: &Show, seats_left: &[SeatsLeft]) -> Vec<CategoryStatus> {
    let categories = show.plan.map.categories.iter();
    let categories = categories.zip(&show.prices).zip(seats_left);
    categories
        .filter_map(|((category, price), seats_left)| {
            Some(CategoryStatus {
                key: category.key.clone(),
                label: category.label.clone(),
                price: show.document.currency.with_amount((*price)?),
                status: status(*seats_left),
            })
        })
        .collect()
}

fn status(seats_left: SeatsLeft) -> &'static str {
    match seats_left.free {
        0 => "full",
        free if free <= (seats_left.of / ALMOST_FULL_OF).max(1) => "almost_full",
        _ => "available",
    }
}

fn refused_param(bad: BadParam) -> Problem {
    Problem::invalid_field(bad.field, bad.detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_is_almost_full_at_a_tenth_and_full_at_nothing() {
        for (free, of, word) in [
            (0, 100, "full"),
            (1, 100, "almost_full"),
            (10, 100, "almost_full"),
            (11, 100, "available"),
            (1, 9, "almost_full"),
            (2, 9, "available"),
            (0, 0, "full"),
        ] {
            let seats_left = SeatsLeft {
                free,
                of,
                ..SeatsLeft::default()
            };
            assert_eq!(status(seats_left), word, "{free} of {of}");
        }
    }
}
