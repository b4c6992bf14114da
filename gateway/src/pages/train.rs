//! The page of a departure: its stretch, its classes and the number of seats. The checkout asks for
//! the travellers' names.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use axum::response::Response;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use serde_json::Value;

use super::PageRoutes;
use super::clocks::{day_in_zone, local_time};
use super::contexts::TrainPage;
use super::purchase_forms::form_key;
use super::rail::{has_left, trip_view};
use super::render::render;
use crate::room::RoomView;

/// Shows a departure on the stretch that the address names. The train's first or last stop replaces
/// a station that is missing or cannot be used.
pub(super) async fn train(
    pages: &PageRoutes,
    mut show: Value,
    room: Option<RoomView>,
    query: &BTreeMap<String, String>,
) -> Response {
    let field = |name: &str| query.get(name).map_or("", |text| text.trim());
    let stops = show["stops"].as_array().cloned().unwrap_or_default();
    let (asked_from, asked_to) = (field("from"), field("to"));
    let departs = moment(field("departs"));
    let now_ms = pages.waiting_line.rooms.now_ms();
    let stretch = stretch_stops(&stops, asked_from, asked_to, departs, now_ms);
    let stop = |at: usize| stops.get(at).cloned().unwrap_or_default();
    let (from, to) = (stop(stretch.start), stop(stretch.end));
    // If this is not the train's first ride between these stations, the address must name the
    // departure.
    let default_stretch = stretch_stops(&stops, asked_from, asked_to, None, i64::MIN);
    let later_ride = (default_stretch != stretch)
        .then(|| from["departs"].as_str().and_then(moment))
        .flatten();
    let is_loop = stops_again(&stops, &from);
    let seats_max = show["limits"]["seats_per_visitor"].as_u64().unwrap_or(1);
    let party = field("seats")
        .parse()
        .unwrap_or(1)
        .clamp(1, seats_max.max(1));
    // The page warns a visitor whose stretch was replaced. The shown stretch may be the train's
    // whole route.
    let is_asked_stop = |code: &str, stop: &Value| code.is_empty() || stop["station"] == code;
    let elsewhere = !is_asked_stop(asked_from, &from) || !is_asked_stop(asked_to, &to);
    let trip = find_trip(pages, &show, &from, &to, field("date")).await;
    let trip = trip.map_or(Value::Null, |trip| trip_view(trip, &party.to_string()));
    let zone = known_zone(&show, &trip).map(str::to_owned);
    show["stops"] = local_stops(stops, zone.as_deref().unwrap_or("UTC")).into();
    let zones: BTreeSet<Option<&str>> = zones_of(&show["stops"]).collect();
    let several_zones = zones.len() > 1;
    let zone = from["time_zone"].as_str().map(str::to_owned).or(zone);
    let left = has_left(&from, now_ms);
    let context = TrainPage {
        test: pages.test,
        show: &show,
        room,
        trip: &trip,
        class: field("class"),
        quantity: party,
        from: &from["station"],
        to: &to["station"],
        // An old link may name a time at which no ride leaves.
        departs: departs
            .filter(|at| leaves_at(&from, *at))
            .or(later_ride)
            .filter(|at| is_loop && leaves_at(&from, *at))
            .map(|departs| departs.to_string()),
        from_name: &from["name"],
        to_name: &to["name"],
        first: stretch.start,
        last: stretch.end,
        date: &trip["date"],
        zone: zone.as_deref(),
        several_zones,
        elsewhere,
        left,
        key: form_key(),
    };
    render(pages, "train", &context)
}

/// Writes the times of the stops by the clocks of their stations, or else by those of `zone`.
fn local_stops(mut stops: Vec<Value>, zone: &str) -> Vec<Value> {
    for stop in &mut stops {
        let zone = stop["time_zone"].as_str().unwrap_or(zone).to_owned();
        for end in ["arrives", "departs"] {
            stop[end] = local_time(&stop[end], &zone);
        }
    }
    stops
}

fn zones_of(stops: &Value) -> impl Iterator<Item = Option<&str>> {
    let stops = stops.as_array().into_iter().flatten();
    stops.map(|stop| stop["time_zone"].as_str())
}

/// Returns the train's time zone from the show, or else from the trip.
fn known_zone<'a>(show: &'a Value, trip: &'a Value) -> Option<&'a str> {
    let show_zone = show["time_zone"].as_str();
    show_zone.or_else(|| trip["time_zone"].as_str())
}

/// Returns whether a train stops more than once at the station of `stop`. Such a train has several
/// rides from there, so the address must say which ride is meant.
fn stops_again(stops: &[Value], stop: &Value) -> bool {
    let same_station = stops
        .iter()
        .filter(|other| other["station"] == stop["station"]);
    same_station.count() > 1
}

fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Returns whether the train leaves `stop` at `at`. `stop` can also be a train that a search found.
fn leaves_at(stop: &Value, at: Timestamp) -> bool {
    stop["departs"].as_str().and_then(moment) == Some(at)
}

/// Returns the indices of the stretch's two ends.
///
/// The stretch starts at the stop at `from` that the train leaves at `departs`. If there is no such
/// stop, the stretch starts at the first stop at `from` that the train has not left at `now_ms` and
/// that has a stop at `to` after it. If there is no such stop either, the stretch starts at the
/// first stop at `from`. The stretch ends at the next stop at `to`. The train's first or last stop
/// replaces an end that is not found.
fn stretch_stops(
    stops: &[Value],
    from: &str,
    to: &str,
    departs: Option<Timestamp>,
    now_ms: i64,
) -> Range<usize> {
    let last = stops.len().saturating_sub(1);
    let position_after = |code: &str, after: usize| {
        let later_stops = stops.iter().enumerate().skip(after);
        later_stops
            .filter(|(_, stop)| stop["station"].as_str() == Some(code))
            .map(|(at, _)| at)
            .next()
    };
    let at_time = departs.and_then(|departs| {
        let is_this_departure = |stop: &Value| stop["station"] == from && leaves_at(stop, departs);
        stops.iter().position(is_this_departure)
    });
    let departures = stops.iter().enumerate().take(last);
    let still_to_leave = departures
        .filter(|(nth, stop)| stop["station"] == from && position_after(to, nth + 1).is_some())
        .find(|(_, stop)| !has_left(stop, now_ms))
        .map(|(nth, _)| nth);
    let start = at_time
        .or(still_to_leave)
        .or_else(|| position_after(from, 0));
    let start = start.filter(|start| *start < last).unwrap_or(0);
    let end = position_after(to, start + 1).unwrap_or(last);
    start..end
}

/// Finds this train in a search for its stretch. The search returns the prices and free seats of
/// each class. Tries the day in the address, then the day of departure by the station's
/// clocks. Their time zone may not be known, so the days after and before are tried last.
async fn find_trip(
    pages: &PageRoutes,
    show: &Value,
    from: &Value,
    to: &Value,
    date: &str,
) -> Option<Value> {
    let zone = from["time_zone"].as_str().or(show["time_zone"].as_str());
    let departure_day = day_in_zone(&from["departs"], zone.unwrap_or("UTC"));
    let day_near = |days: i64| departure_day.and_then(|day| day.checked_add(days.days()).ok());
    let mut days: Vec<Date> = date.parse().into_iter().collect();
    days.extend(
        [day_near(0), day_near(1), day_near(-1)]
            .into_iter()
            .flatten(),
    );
    for day in days {
        let day = day.to_string();
        let query = [
            ("from", from["station"].as_str()?),
            ("to", to["station"].as_str()?),
            ("date", day.as_str()),
        ];
        let found = pages.fetch_with_query("/v1/rail/trips", &query).await;
        let trips = found
            .ok()
            .and_then(|mut found| found.as_array_mut().map(std::mem::take));
        let trips_of_train = trips.into_iter().flatten();
        let mut trips_of_train: Vec<Value> = trips_of_train
            .filter(|trip| trip["show"] == show["show"])
            .collect();
        let departs = from["departs"].as_str().and_then(moment);
        let this_ride = |trip: &Value| departs.is_some_and(|at| leaves_at(trip, at));
        let ride = trips_of_train.iter().position(this_ride).unwrap_or(0);
        if ride < trips_of_train.len() {
            return Some(trips_of_train.swap_remove(ride));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stretch_goes_forward_and_the_first_or_last_stop_replaces_unknown_ones() {
        let stops = ["A", "B", "C", "B", "D"].map(|code| json!({"station": code}));
        for (from, to, expected) in [
            ("A", "C", 0..2),
            ("C", "B", 2..3),
            ("C", "A", 2..4),
            ("", "", 0..4),
            ("D", "A", 0..4),
            ("x", "B", 0..1),
        ] {
            assert_eq!(
                stretch_stops(&stops, from, to, None, 0),
                expected,
                "{from} to {to}"
            );
        }
    }

    #[test]
    fn a_train_that_calls_twice_at_a_station_has_several_rides_from_there() {
        let stops = ["A", "B", "A"].map(|code| json!({"station": code}));
        assert!(stops_again(&stops, &stops[0]));
        assert!(!stops_again(&stops, &stops[1]));
    }

    #[test]
    fn on_a_loop_the_departure_says_which_call_is_meant() {
        let stops = ["A", "B", "A", "B"].iter().zip(8..);
        let stop = |(code, hour)| json!({"station": code, "departs": format!("2027-01-10T{hour:02}:00:00Z")});
        let stops: Vec<Value> = stops.map(stop).collect();
        for (departs, expected) in [
            ("2027-01-10T08:00:00Z", 0..1),
            ("2027-01-10T11:00:00+01:00", 2..3),
            ("2027-01-10T09:00:00Z", 0..1),
            ("soon", 0..1),
        ] {
            let found = stretch_stops(&stops, "A", "B", moment(departs), 0);
            assert_eq!(found, expected, "{departs}");
        }
        for (now, expected) in [
            ("2027-01-10T07:59:00Z", 0..1),
            ("2027-01-10T09:30:00Z", 2..3),
            ("2027-01-10T23:00:00Z", 0..1),
        ] {
            let now_ms = moment(now).expect("a time").as_millisecond();
            let found = stretch_stops(&stops, "A", "B", None, now_ms);
            assert_eq!(found, expected, "{now}");
        }
    }
}
