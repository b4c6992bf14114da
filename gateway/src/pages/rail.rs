//! The page that searches for trains. It has a form that needs no scripts, stations to choose from,
//! trains, and journeys with one change.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use fairgate_base::day::parse_day;
use jiff::{Timestamp, ToSpan};
use serde_json::Value;

use super::asking::DocumentRefusal;
use super::clocks::{day_in_zone, local_time};
use super::contexts::{RailForm, RailPage, StationChoice};
use super::render::render;
use super::stations::{TypedStation, choice, station_label, train_search_address};
use super::trip_list::{ChangesChoice, TripListChoice, classes_of};
use super::{PageRoutes, address};

/// The largest number of travellers in a search. A train may sell fewer seats to one visitor. The
/// train's own page then lowers the number.
const PARTY_MAX: u32 = 10;

/// The search that a form asked for.
struct TrainSearch<'a> {
    from: &'a str,
    to: &'a str,
    date: String,
    party: String,
    list: TripListChoice,
    now_ms: i64,
}

impl<'a> TrainSearch<'a> {
    /// Reads the form. `default_date` is the day that is searched if the form has no date.
    fn from_query(query: &'a BTreeMap<String, String>, default_date: &str, now_ms: i64) -> Self {
        let field = |name: &str| query.get(name).map_or("", |text| text.trim());
        let date = match field("date") {
            "" => default_date.to_owned(),
            date => date.to_owned(),
        };
        let party: u32 = field("seats").parse().unwrap_or(1);
        Self {
            from: field("from"),
            to: field("to"),
            date,
            party: party.clamp(1, PARTY_MAX).to_string(),
            list: TripListChoice::from_query(query),
            now_ms,
        }
    }

    fn search_address(&self, from: &str, to: &str) -> String {
        let search = train_search_address(from, to, &self.date, &self.party);
        self.list.add_to(&search)
    }

    /// Builds the address of the search on another day: `days` days later, or earlier if negative.
    /// Returns `None` if there is no such day, or the form's date is not a date.
    fn other_day_address(&self, days: i64) -> Option<String> {
        let date = parse_day(&self.date)?;
        let date = date.checked_add(days.days()).ok()?.to_string();
        let search = train_search_address(self.from, self.to, &date, &self.party);
        Some(self.list.add_to(&search))
    }
}

pub(crate) async fn rail(
    State(pages): State<PageRoutes>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    // The timetable has the days that can be searched. Without a timetable the page shows booking's
    // refusal before the visitor types anything.
    let days = pages.fetch_document("/v1/rail/timetable").await;
    let day = |name: &str| {
        let days = days.as_ref().ok();
        days.and_then(|days| days[name].as_str())
            .unwrap_or_default()
    };
    let next = Some(day("next")).filter(|next| !next.is_empty());
    let search = TrainSearch::from_query(
        &query,
        next.unwrap_or(day("first")),
        pages.waiting_line.rooms.now_ms(),
    );
    let mut page = RailPage {
        test: pages.test,
        party: search.party.clone(),
        party_max: PARTY_MAX,
        first: day("first").to_owned(),
        last: day("last").to_owned(),
        asked: RailForm {
            from: search.from.to_owned(),
            to: search.to.to_owned(),
            date: search.date.clone(),
        },
        ..RailPage::default()
    };
    let outcome = match days {
        Ok(_) => search_trains(&pages, &search, &mut page).await,
        Err(refused) => Err(refused),
    };
    let status = match outcome {
        Ok(()) if page.missing.is_some() => StatusCode::UNPROCESSABLE_ENTITY,
        Ok(()) => StatusCode::OK,
        Err(DocumentRefusal { status, document }) => {
            page.problem = Some(document);
            status
        }
    };
    let mut response = render(&pages, "rail", &page);
    if status != StatusCode::OK {
        *response.status_mut() = status;
    }
    response
}

async fn search_trains(
    pages: &PageRoutes,
    search: &TrainSearch<'_>,
    page: &mut RailPage,
) -> Result<(), DocumentRefusal> {
    if search.from.is_empty() && search.to.is_empty() {
        return Ok(());
    }
    let (from, to) = tokio::try_join!(pages.station(search.from), pages.station(search.to))?;
    let field_texts = (from.field_text(search.from), to.field_text(search.to));
    page.asked.from.clone_from(&field_texts.0);
    page.asked.to.clone_from(&field_texts.1);
    let choices = [
        choices("from", search.from, &from, |label| {
            search.search_address(label, &field_texts.1)
        }),
        choices("to", search.to, &to, |label| {
            search.search_address(&field_texts.0, label)
        }),
    ];
    page.choices = choices.into_iter().flatten().collect();
    for (field, typed) in [("from", &from), ("to", &to)] {
        if *typed == TypedStation::Nothing {
            page.missing = Some(field);
        }
    }
    let (Some(start), Some(end)) = (from.code(), to.code()) else {
        return Ok(());
    };
    let query = [("from", start), ("to", end), ("date", search.date.as_str())];
    let trips = pages.fetch_with_query("/v1/rail/trips", &query).await?;
    let mut trips = trip_views(trips, &search.party);
    let all = trips.len();
    trips.retain(|trip| !has_left(trip, search.now_ms));
    page.left = all - trips.len();
    page.journeys = search_journeys(pages, search, trips.is_empty(), &query).await?;
    if page.journeys.is_none() {
        let page_address =
            train_search_address(&field_texts.0, &field_texts.1, &search.date, &search.party);
        page.changes = Some(search.list.with_changes().add_to(&page_address));
    }
    if trips.is_empty() {
        page.others = other_searches(search, (&from, &to), (&field_texts.0, &field_texts.1));
    }
    list_found(page, &search.list, trips);
    if let (TypedStation::One(from, _), TypedStation::One(to, _)) = (from, to) {
        (page.from, page.to) = (Some(from), Some(to));
    }
    page.swap = Some(search.search_address(&field_texts.1, &field_texts.0));
    page.before = search.other_day_address(-1);
    page.after = search.other_day_address(1);
    Ok(())
}

/// Searches for journeys with a change if the visitor wants them. Also searches for them if
/// `is_needed`, unless the visitor has ruled them out. Returns `None` if it does not search.
async fn search_journeys(
    pages: &PageRoutes,
    search: &TrainSearch<'_>,
    is_needed: bool,
    query: &[(&str, &str)],
) -> Result<Option<Vec<Value>>, DocumentRefusal> {
    let is_wanted = match search.list.changes {
        ChangesChoice::IfNeeded => is_needed,
        ChangesChoice::Direct => false,
        ChangesChoice::One => true,
    };
    if !is_wanted {
        return Ok(None);
    }
    let journeys = pages.fetch_with_query("/v1/rail/journeys", query).await?;
    let mut journeys = journey_views(journeys, &search.party);
    journeys.retain(|journey| !has_left(journey, search.now_ms));
    Ok(Some(journeys))
}

/// Filters and sorts the trains, and the page's journeys, as the visitor chose.
fn list_found(page: &mut RailPage, choice: &TripListChoice, trips: Vec<Value>) {
    let journeys = page.journeys.take();
    let changing = journeys.iter().flatten();
    (page.direct, page.changing) = (trips.len(), changing.clone().count());
    let changing = changing.flat_map(|journey| journey["trips"].as_array().into_iter().flatten());
    page.list_classes = classes_of(trips.iter().chain(changing));
    page.list = choice.clone();
    page.trips = choice.arrange(trips);
    page.journeys = journeys.map(|journeys| choice.arrange_journeys(journeys));
    let shown = page.journeys.iter().flatten();
    let shown = shown.flat_map(|journey| journey["trips"].as_array().into_iter().flatten());
    page.several_zones = has_several_zones(page.trips.iter().chain(shown));
}

/// Returns the other stations that the words in the two fields may mean, each with the address of
/// the search that uses it. `field_texts` has the texts of both fields.
fn other_searches(
    search: &TrainSearch<'_>,
    (from, to): (&TypedStation, &TypedStation),
    field_texts: (&str, &str),
) -> Vec<Value> {
    let starts = from.others().iter().map(|station| {
        choice(
            station,
            search.search_address(&station_label(station), field_texts.1),
        )
    });
    let ends = to.others().iter().map(|station| {
        choice(
            station,
            search.search_address(field_texts.0, &station_label(station)),
        )
    });
    starts.chain(ends).collect()
}

/// Returns the stations to choose from for a field. Returns `None` if the field is empty, or its
/// words mean one station. The list is empty if no station is similar.
fn choices(
    field: &'static str,
    typed: &str,
    typed_station: &TypedStation,
    href: impl Fn(&str) -> String,
) -> Option<StationChoice> {
    let TypedStation::Several(stations) = typed_station else {
        return None;
    };
    let stations: Vec<Value> = stations
        .iter()
        .map(|station| choice(station, href(&station_label(station))))
        .collect();
    Some(StationChoice {
        field,
        typed: typed.to_owned(),
        stations,
    })
}

fn trip_views(mut trips: Value, party: &str) -> Vec<Value> {
    let mut trips = trips.as_array_mut().map(std::mem::take).unwrap_or_default();
    mark_rides_of_loops(&mut trips);
    trips
        .into_iter()
        .map(|trip| trip_view(trip, party))
        .collect()
}

/// Sets `ride` to the departure for each train that is in the list several times. A train that runs
/// in a loop is listed once for each ride. Its stations alone do not say which ride is meant.
fn mark_rides_of_loops(trips: &mut [Value]) {
    let shows: Vec<Value> = trips.iter().map(|trip| trip["show"].clone()).collect();
    for trip in trips {
        if shows.iter().filter(|show| **show == trip["show"]).count() > 1 {
            trip["ride"] = trip["departs"].clone();
        }
    }
}

fn journey_views(mut journeys: Value, party: &str) -> Vec<Value> {
    let journeys = journeys.as_array_mut().map(std::mem::take);
    let journey_view = |mut journey: Value| {
        let trips = journey["trips"].as_array();
        let ends = trips.and_then(|trips| trips.first().zip(trips.last()));
        if let Some((first, last)) = ends {
            let zones = [zone_at(first, "from"), zone_at(last, "to")];
            let [departs, arrives] = zones.map(ToOwned::to_owned);
            journey["departs"] = local_time(&journey["departs"], &departs);
            journey["arrives"] = local_time(&journey["arrives"], &arrives);
        }
        let mut trips = journey["trips"].take();
        // If a train runs in a loop, the stations do not say which of its rides the journey takes.
        for trip in trips.as_array_mut().into_iter().flatten() {
            trip["ride"] = trip["departs"].clone();
        }
        journey["trips"] = trip_views(trips, party).into();
        journey
    };
    journeys
        .unwrap_or_default()
        .into_iter()
        .map(journey_view)
        .collect()
}

/// Returns whether a train, or the first train of a journey, has left the station where the visitor
/// gets on.
pub(super) fn has_left(trip: &Value, now_ms: i64) -> bool {
    let departs = trip["departs"].as_str();
    let departs = departs.and_then(|at| at.parse::<Timestamp>().ok());
    departs.is_some_and(|at| at.as_millisecond() <= now_ms)
}

/// Returns the zone in which the clocks run at the station where a train is boarded (`from`) or
/// left (`to`).
fn zone_at<'a>(trip: &'a Value, end: &str) -> &'a str {
    let zone = trip[format!("{end}_time_zone")].as_str();
    zone.or_else(|| trip["time_zone"].as_str()).unwrap_or("UTC")
}

/// Returns whether the stations of these trains are in more than one time zone. Each time must then
/// say its zone.
fn has_several_zones<'a>(trips: impl Iterator<Item = &'a Value>) -> bool {
    let mut zones = trips.flat_map(|trip| ["from", "to"].map(|end| zone_at(trip, end)));
    let first = zones.next();
    zones.any(|zone| Some(zone) != first)
}

/// Builds a train for the page. Each time is by the clocks of its station. Each class has its
/// status and the address of the page where its seats are held.
pub(super) fn trip_view(mut trip: Value, party: &str) -> Value {
    let [from_zone, to_zone] = ["from", "to"].map(|end| zone_at(&trip, end).to_owned());
    let text = |name: &str| trip[name].as_str().unwrap_or_default().to_owned();
    let (show, from, to, ride) = (text("show"), text("from"), text("to"), text("ride"));
    let start_day = day_in_zone(&trip["departs"], &from_zone);
    let days = start_day
        .zip(day_in_zone(&trip["arrives"], &to_zone))
        .map_or(0, |(start_day, arrives)| (arrives - start_day).get_days());
    let date = start_day.map(|date| date.to_string()).unwrap_or_default();
    for (moment, zone) in [
        ("departs", &from_zone),
        ("arrives", &to_zone),
        ("as_of", &from_zone),
    ] {
        trip[moment] = local_time(&trip[moment], zone);
    }
    trip["from_time_zone"] = from_zone.into();
    trip["to_time_zone"] = to_zone.into();
    let party_size: u64 = party.parse().unwrap_or(1);
    for class in trip["classes"].as_array_mut().into_iter().flatten() {
        let free = class["free"].as_u64().unwrap_or(0);
        let key = class["class"].as_str().unwrap_or_default().to_owned();
        let query = [
            ("from", from.as_str()),
            ("to", &to),
            ("departs", &ride),
            ("date", &date),
            ("class", &key),
            ("seats", party),
        ];
        class["href"] = address::with_query(&address::path(&["s", &show]), &query).into();
        class["enough"] = (free >= party_size).into();
        class["status"] = match free {
            0 => "full",
            free if free < party_size => "almost_full",
            _ => "available",
        }
        .into();
    }
    trip["date"] = date.into();
    trip["days"] = days.into();
    trip
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn trip_times_use_the_timetables_zone_and_each_class_links_to_its_page() {
        let trip = json!({
            "show": "k3-2027-01-10", "from": "A&B", "to": "CCC", "departs": "2027-01-10T14:00:00Z", "arrives": "2027-01-10T18:00:00Z",
            "as_of": "2027-01-10T01:00:00Z", "time_zone": "Asia/Shanghai",
            "classes": [{"class": "first", "free": 0}, {"class": "second", "free": 1}, {"class": "third", "free": 9}],
        });
        let told = trip_view(trip, "2");
        assert_eq!(told["departs"], "2027-01-10T22:00:00+08:00");
        assert_eq!(
            (&told["days"], &told["date"]),
            (&json!(1), &json!("2027-01-10"))
        );
        let classes = told["classes"].as_array().expect("a list");
        let statuses: Vec<_> = classes.iter().map(|class| &class["status"]).collect();
        assert_eq!(statuses, ["full", "almost_full", "available"]);
        assert_eq!(
            classes[2]["href"],
            "/s/k3-2027-01-10?from=A%26B&to=CCC&date=2027-01-10&class=third&seats=2"
        );
    }

    #[test]
    fn each_time_is_by_the_clocks_of_its_station() {
        let trip = |from: &str, to: &str| {
            json!({"show": "re-101", "from": "A", "to": "B", "departs": "2027-01-10T23:30:00Z",
                "arrives": "2027-01-11T00:40:00Z", "as_of": "2027-01-10T12:00:00Z", "time_zone": "Europe/Paris",
                "from_time_zone": from, "to_time_zone": to, "classes": []})
        };
        let told = trip_view(trip("Europe/London", "Europe/Paris"), "1");
        let times = ["departs", "arrives", "date"].map(|name| told[name].clone());
        assert_eq!(
            times,
            [
                "2027-01-10T23:30:00+00:00",
                "2027-01-11T01:40:00+01:00",
                "2027-01-10"
            ]
        );
        assert_eq!(told["days"], 1);
        let back = trip_view(trip("Asia/Tokyo", "America/New_York"), "1");
        assert_eq!(
            (&back["date"], &back["days"]),
            (&json!("2027-01-11"), &json!(-1))
        );
        let one_zone = [trip("Europe/Paris", "Europe/Paris")];
        assert!(!has_several_zones(one_zone.iter()));
        assert!(has_several_zones(one_zone.iter().chain([&told])));
        let journey = json!([{"departs": "2027-01-10T23:30:00Z", "arrives": "2027-01-11T00:40:00Z",
            "trips": [trip("Europe/London", "Europe/London"), trip("Europe/Paris", "Europe/Paris")]}]);
        let journey = &journey_views(journey, "1")[0];
        assert_eq!(
            (&journey["departs"], &journey["arrives"]),
            (
                &json!("2027-01-10T23:30:00+00:00"),
                &json!("2027-01-11T01:40:00+01:00")
            )
        );
    }

    #[test]
    fn each_ride_of_a_loop_links_to_its_own_departure() {
        let trip = |show: &str, departs: &str| {
            json!({"show": show, "from": "A", "to": "B", "departs": departs, "arrives": departs,
                "time_zone": "UTC", "classes": [{"class": "second", "free": 9}]})
        };
        let trips = json!([
            trip("k3", "2027-01-10T08:00:00Z"),
            trip("g1", "2027-01-10T09:00:00Z"),
            trip("k3", "2027-01-10T10:00:00Z"),
        ]);
        let told = trip_views(trips, "1");
        let href = |at: usize| told[at]["classes"][0]["href"].clone();
        let rest = "date=2027-01-10&class=second&seats=1";
        let departs = "departs=2027-01-10T10%3A00%3A00Z";
        assert_eq!(href(1), format!("/s/g1?from=A&to=B&{rest}"));
        assert_eq!(href(2), format!("/s/k3?from=A&to=B&{departs}&{rest}"));
    }

    #[test]
    fn a_journey_links_to_the_ride_of_a_loop_that_it_takes() {
        let trip = |show: &str, from: &str, to: &str, departs: &str| {
            json!({"show": show, "from": from, "to": to, "departs": departs, "arrives": departs,
                "time_zone": "UTC", "classes": [{"class": "second", "free": 9}]})
        };
        // The looping train is in the journey once. Its stations alone do not say which ride it is.
        let journeys = json!([{"departs": "2027-01-10T08:00:00Z", "arrives": "2027-01-10T11:00:00Z", "trips": [
            trip("g1", "A", "B", "2027-01-10T08:00:00Z"),
            trip("k3", "B", "C", "2027-01-10T10:00:00Z"),
        ]}]);
        let told = journey_views(journeys, "1");
        let href = |at: usize| told[0]["trips"][at]["classes"][0]["href"].clone();
        for (at, show, departs) in [(0, "g1", "08"), (1, "k3", "10")] {
            let href = href(at);
            let href = href.as_str().expect("an address");
            assert!(
                href.starts_with(&format!("/s/{show}?"))
                    && href.contains(&format!("departs=2027-01-10T{departs}%3A00%3A00Z")),
                "{href}"
            );
        }
    }

    #[test]
    fn a_train_has_left_at_its_departure_time_whatever_the_offset_of_that_time() {
        let trip = json!({"departs": "2027-01-10T22:00:00+08:00"});
        let at_ms = 1_799_589_600_000;
        assert!(!has_left(&trip, at_ms - 1) && has_left(&trip, at_ms));
        assert!(!has_left(&json!({"departs": null}), at_ms));
    }

    #[test]
    fn a_form_without_a_date_searches_the_next_day_and_links_to_other_days_keep_the_search() {
        let query = [("from", "a"), ("to", "b"), ("seats", "3")];
        let query: BTreeMap<_, _> = query
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let asked = TrainSearch::from_query(&query, "2027-01-15", 0);
        assert_eq!(asked.date, "2027-01-15");
        assert_eq!(
            asked.other_day_address(-1).as_deref(),
            Some("/rail?from=a&to=b&date=2027-01-14&seats=3")
        );
        let chosen = [
            ("from", "a"),
            ("to", "b"),
            ("changes", "1"),
            ("sort", "fastest"),
        ];
        let chosen: BTreeMap<_, _> = chosen
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let asked = TrainSearch::from_query(&chosen, "2027-01-15", 0);
        assert_eq!(
            asked.other_day_address(1).as_deref(),
            Some("/rail?from=a&to=b&date=2027-01-16&seats=1&sort=fastest&changes=1")
        );
        assert_eq!(
            asked.search_address("b", "a"),
            "/rail?from=b&to=a&date=2027-01-15&seats=1&sort=fastest&changes=1"
        );
        let nonsense = BTreeMap::from([("date".to_owned(), "soon".to_owned())]);
        assert_eq!(
            TrainSearch::from_query(&nonsense, "2027-01-15", 0).other_day_address(1),
            None
        );
    }
}
