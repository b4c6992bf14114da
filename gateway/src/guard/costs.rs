//! What a list, a search or a page with a search costs, in units of processor time. A network that
//! asks for what is prepared may ask much more often than one whose every search is another.

use std::num::NonZeroU32;

use axum::http::Method;

use crate::upstream::{RouteKind, route_kind};

/// How many units an ordinary search costs. The settings count searches of this cost. A unit is
/// about a tenth of a millisecond of one processor core.
pub const SEARCH_UNITS: u32 = 20;
/// An answer that is prepared and shared.
const PREPARED_UNITS: u32 = 2;
/// Stations by name, or trains between two stations.
const STATIONS_UNITS: u32 = 10;
/// Journeys with a change, and pages that make several searches.
const LARGE_SEARCH_UNITS: u32 = 40;

/// Returns how many units a call costs, or `None` if it neither lists nor searches.
#[must_use]
pub fn call_units(method: &Method, path: &str, query: Option<&str>) -> Option<NonZeroU32> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let asked = query.unwrap_or_default();
    let prepared_or = |units: u32| match is_first_page(asked) {
        true => PREPARED_UNITS,
        false => units,
    };
    let units = match path {
        "/v1/rooms" | "/v1/shows" | "/v1/cinema/showings" => prepared_or(SEARCH_UNITS),
        "/" | "/cinema" | "/rail" => prepared_or(LARGE_SEARCH_UNITS),
        "/v1/rail/timetable" => PREPARED_UNITS,
        "/v1/rail/stations" | "/v1/rail/trips" => STATIONS_UNITS,
        "/v1/rail/journeys" => LARGE_SEARCH_UNITS,
        _ if path.starts_with("/v1/cinema/cities") => PREPARED_UNITS,
        _ if is_search(method, path) => LARGE_SEARCH_UNITS,
        _ => return None,
    };
    NonZeroU32::new(units)
}

/// Returns whether a query asks for the first page of everything.
fn is_first_page(query: &str) -> bool {
    query.split('&').all(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        value.is_empty() || (name == "page" && value == "1")
    })
}

/// Returns whether a call is any other search: one that booking lists as such, or a path below a
/// page with a search.
fn is_search(method: &Method, path: &str) -> bool {
    let pages = ["/rail/", "/cinema/"];
    route_kind(method, path) == RouteKind::Search || pages.iter().any(|page| path.starts_with(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_prepared_costs_least_and_other_calls_do_not_count() {
        let units = |asked: &str| {
            let (path, query) = asked
                .split_once('?')
                .map_or((asked, None), |(path, query)| (path, Some(query)));
            call_units(&Method::GET, path, query).map(NonZeroU32::get)
        };
        for path in [
            "/",
            "/cinema",
            "/v1/rooms",
            "/v1/shows",
            "/v1/cinema/showings",
        ] {
            let prepared = units(path);
            assert_eq!(prepared, Some(PREPARED_UNITS), "{path}");
            for first in ["?", "?page=1", "?q=&page=", "?q=&from="] {
                assert_eq!(units(&format!("{path}{first}")), prepared, "{path}{first}");
            }
            for other in ["?q=night", "?page=2", "?page=1&city=Lyon", "?x=1"] {
                let searched = units(&format!("{path}{other}"));
                assert!(searched >= Some(SEARCH_UNITS), "{path}{other}");
            }
        }
        for path in [
            "/v1/rail/trips?from=a&to=b",
            "/v1/rail/x",
            "/rail?from=a",
            "/cinema/x",
        ] {
            assert!(units(path).is_some(), "{path}");
        }
        for path in [
            "/v1/shows/night-1",
            "/v1/rooms/sale",
            "/r/sale",
            "/railway",
            "/healthz",
        ] {
            assert_eq!(units(path), None, "{path}");
        }
        assert_eq!(call_units(&Method::POST, "/v1/shows", None), None);
    }
}
