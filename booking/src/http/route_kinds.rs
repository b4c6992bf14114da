//! Sorts routes by purpose. A proxy in front of booking measures booking's health by the purchases,
//! and limits searches by a quota.

use axum::http::Method;

/// The purpose of a route, for a proxy that forwards calls to booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// The route takes or changes a hold, or changes an order or a payment. Its response time shows
    /// how healthy booking is.
    Purchase,
    /// The route looks through many shows, trains or films.
    Search,
    /// Any other route. Most reads are answered from memory, so their response times do not show
    /// whether booking is slow. The times of webhooks, plans and documents depend on their senders.
    Other,
}

/// Returns the kind of the route with this method and path.
#[must_use]
pub fn route_kind(method: &Method, path: &str) -> RouteKind {
    if is_search(method, path) {
        RouteKind::Search
    } else if !method.is_safe() && (takes_seats(method, path) || changes_purchase(path)) {
        RouteKind::Purchase
    } else {
        RouteKind::Other
    }
}

/// Returns whether a call takes seats of a show.
#[must_use]
pub fn takes_seats(method: &Method, path: &str) -> bool {
    *method == Method::POST && path.starts_with("/v1/shows/") && path.ends_with("/holds")
}

fn changes_purchase(path: &str) -> bool {
    let of_purchases = ["/v1/holds/", "/v1/orders/", "/v1/sandbox/payments/"];
    of_purchases.iter().any(|of| path.starts_with(of))
}

fn is_search(method: &Method, path: &str) -> bool {
    let below = |of: &str| {
        let rest = path.strip_prefix(of);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    matches!(*method, Method::GET | Method::HEAD)
        && (path == "/v1/shows" || below("/v1/rail") || below("/v1/cinema"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_listed_routes_are_purchases_or_searches() {
        let document = serde_json::to_value(crate::router::openapi_document()).expect("JSON");
        let mut kinds = [Vec::new(), Vec::new()];
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for method in methods.as_object().expect("methods").keys() {
                let word = method.to_uppercase();
                let method = Method::from_bytes(word.as_bytes()).expect("a method");
                match route_kind(&method, path) {
                    RouteKind::Purchase => kinds[0].push(format!("{word} {path}")),
                    RouteKind::Search => kinds[1].push(format!("{word} {path}")),
                    RouteKind::Other => {}
                }
            }
        }
        let [mut purchases, mut searches] = kinds;
        purchases.sort();
        searches.sort();
        assert_eq!(
            purchases,
            [
                "DELETE /v1/holds/{hold}",
                "PATCH /v1/holds/{hold}",
                "POST /v1/holds/{hold}/accept",
                "POST /v1/holds/{hold}/extend",
                "POST /v1/holds/{hold}/order",
                "POST /v1/orders/lookup",
                "POST /v1/orders/{order}/cancel",
                "POST /v1/orders/{order}/consent",
                "POST /v1/orders/{order}/exchange",
                "POST /v1/orders/{order}/refund",
                "POST /v1/orders/{order}/try-again",
                "POST /v1/sandbox/payments/{payment}",
                "POST /v1/shows/{show}/holds"
            ]
        );
        assert_eq!(
            searches,
            [
                "GET /v1/cinema/cities",
                "GET /v1/cinema/cities/{city}/films",
                "GET /v1/cinema/showings",
                "GET /v1/rail/journeys",
                "GET /v1/rail/stations",
                "GET /v1/rail/timetable",
                "GET /v1/rail/trips",
                "GET /v1/shows"
            ]
        );
    }
}
