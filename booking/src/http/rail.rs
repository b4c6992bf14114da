//! Stations, trains between two stations, and journeys with a change, over HTTP. Reads need no
//! pass.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use fairgate_base::clock::Clock;
use fairgate_base::day::parse_day;
use fairgate_base::http::{Problem, QueryParams};
use fairgate_base::process::search_threads::SearchThreads;
use fairgate_model::ids::ShowId;
use fairgate_model::timetables::{Timetable, TrainRide, TransferJourney};
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;

use crate::http::answers::JsonAnswer;
use crate::http::lists::QUERY_CHARS_MAX;
use crate::http::rail_views::{
    JourneyView, ShownRide, StationView, TimetableView, TripView, journey_view,
};
use crate::rail::free::FreeSeatLookup;
use crate::rail::timetables::{CurrentTimetable, Timetables};

/// The default radius of a search for stations near a point, in kilometres.
const NEAR_KM: f64 = 50.0;
/// The largest radius that a caller may ask for, in kilometres.
const NEAR_KM_MAX: f64 = 1_000.0;

/// The most characters of an unknown name that are repeated in an answer.
const SHOWN_MAX: usize = 40;

/// What the handlers of trains need.
#[derive(Clone)]
pub struct RailRoutes {
    /// The timetable.
    pub timetables: Timetables,
    /// Looks up how many seats are free.
    pub free: Arc<dyn FreeSeatLookup>,
    /// The threads for searches.
    pub threads: SearchThreads,
    /// The clock.
    pub clock: Clock,
}

/// `GET /v1/rail/stations?…`: either `q`, or `lat` and `lon`.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct StationQuery {
    /// A code, a short form, or a name in any language of the timetable, or the beginning of one of
    /// them. Case and accents do not matter. If no station fits, the answer has the stations whose
    /// names differ by one or two letters.
    q: Option<String>,
    /// Degrees north.
    lat: Option<f64>,
    /// Degrees east.
    lon: Option<f64>,
    /// Kilometres around the point. 50 by default, 1000 at most.
    radius_km: Option<f64>,
}

/// `GET /v1/rail/trips?…` and `GET /v1/rail/journeys?…`: all three fields are needed.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TripQuery {
    /// A station's code, or its name if no other station has this name.
    from: Option<String>,
    /// A station's code, or its name if no other station has this name.
    to: Option<String>,
    /// The day on which the train leaves `from`, by the clocks there: `2027-06-01`.
    date: Option<String>,
}

/// Finds stations.
#[utoipa::path(get, path = "/v1/rail/stations", tag = "rail", params(StationQuery),
    responses((status = 200, body = Vec<StationView>), (status = 422)))]
pub async fn stations(
    State(routes): State<RailRoutes>,
    QueryParams(query): QueryParams<StationQuery>,
) -> Result<JsonAnswer, Problem> {
    let current = routes.current()?;
    let threads = routes.threads.clone();
    let found = threads.run(move || found_stations(&current.timetable, &query));
    JsonAnswer::json(200, &found.await?)
}

fn found_stations(
    timetable: &Timetable,
    query: &StationQuery,
) -> Result<Vec<StationView>, Problem> {
    let view = |station: u32, distance_m: Option<u32>| {
        let details = &timetable.stations[station as usize];
        StationView {
            station: details.code.clone(),
            name: details.name.clone(),
            time_zone: timetable.zone_name(station).to_owned(),
            pinyin: details.pinyin.clone(),
            lon: details.lon,
            lat: details.lat,
            distance_m,
        }
    };
    Ok(match (&query.q, query.lat, query.lon) {
        (None, Some(lat), Some(lon)) => {
            let radius_km = query.radius_km.unwrap_or(NEAR_KM);
            for (field, value, least, most) in [
                ("lat", lat, -90.0, 90.0),
                ("lon", lon, -180.0, 180.0),
                ("radius_km", radius_km, 0.0, NEAR_KM_MAX),
            ] {
                if !(least..=most).contains(&value) {
                    let message = format!("{field}: {value} is not between {least} and {most}.");
                    return Err(Problem::invalid_field(field, message));
                }
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and a million metres"
            )]
            let within_m = (radius_km * 1_000.0) as u32;
            let near = timetable.stations_near((lon, lat), within_m);
            let near = near.into_iter();
            near.map(|details| view(details.station, Some(details.distance_m)))
                .collect()
        }
        (Some(q), None, None) if query.radius_km.is_none() => {
            if q.chars().count() > QUERY_CHARS_MAX {
                let detail = format!("q: a search has at most {QUERY_CHARS_MAX} characters.");
                return Err(Problem::invalid_field("q", detail));
            }
            let found = timetable.find_stations(q).into_iter();
            found.map(|station| view(station, None)).collect()
        }
        _ => {
            let message = "q: give q, or else lat and lon (and radius_km, if you like).";
            return Err(Problem::invalid_field("q", message));
        }
    })
}

/// Returns which days are on sale.
#[utoipa::path(get, path = "/v1/rail/timetable", tag = "rail",
    responses((status = 200, body = TimetableView), (status = 422)))]
pub async fn timetable(State(routes): State<RailRoutes>) -> Result<JsonAnswer, Problem> {
    let current = routes.current()?;
    let (timetable, now_ms) = (&current.timetable, routes.clock.now_ms());
    let (first, last) = timetable.window(now_ms);
    JsonAnswer::json(
        200,
        &TimetableView {
            time_zone: timetable.timezone.clone(),
            first,
            last,
            next: timetable.next_day(now_ms),
        },
    )
}

/// Returns all trains from one station to another on a date, earliest first.
#[utoipa::path(get, path = "/v1/rail/trips", tag = "rail", params(TripQuery),
    responses((status = 200, body = Vec<TripView>), (status = 404), (status = 422)))]
pub async fn trips(
    State(routes): State<RailRoutes>,
    QueryParams(query): QueryParams<TripQuery>,
) -> Result<JsonAnswer, Problem> {
    let current = routes.current()?;
    let (searching, searched) = (routes.clone(), Arc::clone(&current));
    let search = move || {
        let timetable = &searched.timetable;
        let resolved = searching.resolve_query(timetable, &query)?;
        Ok::<_, Problem>(timetable.rides(resolved.from, resolved.to, resolved.date))
    };
    let mut rides = routes.threads.run(search).await?;
    // On the last date on sale, a station whose clocks are behind has trains of the next day.
    let (_, last) = current.timetable.window(routes.clock.now_ms());
    rides.retain(|ride| ride.date <= last);
    let views = routes.views(&current.timetable, &rides).await;
    let mut views: Vec<TripView> = views.into_iter().flatten().collect();
    // A train that somebody bought may leave at another time than the timetable says.
    views.sort_by_key(|trip| (trip.departs, trip.arrives));
    JsonAnswer::json(200, &views)
}

/// Returns at most twenty journeys with one change, fastest first.
#[utoipa::path(get, path = "/v1/rail/journeys", tag = "rail", params(TripQuery),
    responses((status = 200, body = Vec<JourneyView>), (status = 404), (status = 422)))]
pub async fn journeys(
    State(routes): State<RailRoutes>,
    QueryParams(query): QueryParams<TripQuery>,
) -> Result<JsonAnswer, Problem> {
    let current = routes.current()?;
    let (searching, searched) = (routes.clone(), Arc::clone(&current));
    let search = move || {
        let timetable = &searched.timetable;
        let resolved = searching.resolve_query(timetable, &query)?;
        Ok::<_, Problem>(timetable.journeys(resolved.from, resolved.to, resolved.date))
    };
    let mut journeys = routes.threads.run(search).await?;
    let (timetable, now_ms) = (&current.timetable, routes.clock.now_ms());
    let (_, last) = timetable.window(now_ms);
    // A journey is left out if one of its trains leaves on a day that is not on sale yet.
    journeys.retain(|journey| journey.first.date.max(journey.second.date) <= last);
    let pair = |journey: &TransferJourney| [journey.first.clone(), journey.second.clone()];
    let rides: Vec<TrainRide> = journeys.iter().flat_map(pair).collect();
    let mut views = routes.views(timetable, &rides).await.into_iter();
    let found = journeys.iter().filter_map(|journey| {
        let (first, second) = (views.next()?, views.next()?);
        journey_view(timetable, journey, [first?, second?], now_ms)
    });
    let found: Vec<JourneyView> = found.collect();
    JsonAnswer::json(200, &found)
}

/// A trip query whose stations and date were resolved.
struct ResolvedTripQuery {
    from: u32,
    to: u32,
    date: Date,
}

impl RailRoutes {
    fn current(&self) -> Result<Arc<CurrentTimetable>, Problem> {
        self.timetables.current().ok_or_else(|| {
            let message = "rail: no timetable was imported into this installation. Nothing was changed. Import one with `booking import gtfs DIR` or `booking import timetable DIR`.";
            Problem::not_available("rail", message)
        })
    }

    fn resolve_query(
        &self,
        timetable: &Timetable,
        query: &TripQuery,
    ) -> Result<ResolvedTripQuery, Problem> {
        let required = |field: &'static str, text: &Option<String>| {
            let text = text
                .as_deref()
                .map(str::trim)
                .filter(|text| !text.is_empty());
            let missing =
                || Problem::invalid_field(field, format!("{field}: from, to and date are needed."));
            text.map(ToOwned::to_owned).ok_or_else(missing)
        };
        let (from, to) = (required("from", &query.from)?, required("to", &query.to)?);
        let date = required("date", &query.date)?;
        let date = parse_day(&date).ok_or_else(|| {
            let shown: String = date.chars().take(SHOWN_MAX).collect();
            let message = format!("date: \"{shown}\" is not a day. Write it like 2027-06-01.");
            Problem::invalid_field("date", message)
        })?;
        let resolved = ResolvedTripQuery {
            from: resolve_station(timetable, "from", &from)?,
            to: resolve_station(timetable, "to", &to)?,
            date,
        };
        if resolved.from == resolved.to {
            return Err(Problem::invalid_field(
                "to",
                "to: it is the same station as from.",
            ));
        }
        let (first, last) = timetable.window_at(resolved.from, self.clock.now_ms());
        if !(first..=last).contains(&date) {
            let message = format!(
                "date: trains are on sale from {first} to {last}, and {date} is not one of these days."
            );
            let problem = Problem::invalid_field("date", message);
            return Err(problem
                .with_member("first", first)
                .with_member("last", last));
        }
        Ok(resolved)
    }

    /// Builds the views of rides, in their order, with their prices and free seats. Rides that are
    /// not sold have no view.
    async fn views(&self, timetable: &Timetable, rides: &[TrainRide]) -> Vec<Option<TripView>> {
        let touched = |show: &ShowId| self.free.touched(show);
        let shown = rides
            .iter()
            .map(|ride| ShownRide::find(timetable, ride, touched));
        let shown: Vec<Option<ShownRide<'_>>> = shown.collect();
        let stretches = shown.iter().flatten();
        let stretches = stretches.map(|ride| (ride.show.clone(), ride.legs.clone()));
        let stretches: Vec<(ShowId, Range<u16>)> = stretches.collect();
        let mut free = self.free.free(&stretches).await.into_iter();
        let now = self.clock.now_ms();
        let now = Timestamp::from_millisecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
        let views = shown.into_iter().map(|ride| {
            let ride = ride?;
            Some(ride.view(timetable, free.next().flatten(), now))
        });
        views.collect()
    }
}

/// Returns the station with this code or name. If there is none, the error lists stations with
/// similar names.
fn resolve_station(timetable: &Timetable, field: &'static str, text: &str) -> Result<u32, Problem> {
    timetable.station(text).ok_or_else(|| {
        let similar = timetable.names_like(text);
        let near: Vec<_> = similar
            .iter()
            .map(|station| {
                let details = &timetable.stations[*station as usize];
                BTreeMap::from([
                    ("station", details.code.as_str()),
                    ("name", details.name.as_str()),
                ])
            })
            .collect();
        let mut problem = Problem::not_found("station", text);
        let names: Vec<_> = near
            .iter()
            .map(|details| format!("{} ({})", details["name"], details["station"]))
            .collect();
        if !names.is_empty() {
            problem.detail = format!(
                "{} Is one of these meant: {}?",
                problem.detail,
                names.join(", ")
            );
        }
        problem
            .with_member("field", field)
            .with_member("near", near)
    })
}
