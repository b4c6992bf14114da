//! The routes of booking in other processes. Every route in booking's OpenAPI document is
//! forwarded.

use axum::extract::Request;
use axum::routing::any;
use utoipa_axum::router::OpenApiRouter;

use super::edition::KnownShowsEdition;
use super::pool::BookingNodePool;
use crate::upstream::http::send_on;

/// The beginning of the addresses of promoters' calls.
const PROMOTERS: &str = "/v1/promoter/";

/// Builds all of booking's routes. Each forwards its calls to the booking processes in the pool.
/// A promoter's change ends the present state of the shows.
pub(super) fn all_sent_on(pool: &BookingNodePool, shows: &KnownShowsEdition) -> OpenApiRouter {
    let document = booking::router::openapi_document();
    let addresses: Vec<String> = document.paths.paths.keys().cloned().collect();
    let mut router = OpenApiRouter::with_openapi(document);
    for address in addresses {
        let (pool, shows) = (pool.clone(), shows.clone());
        let is_promoters = address.starts_with(PROMOTERS);
        let handler = any(async move |request: Request| {
            let may_change_shows = is_promoters && !request.method().is_safe();
            let answer = send_on(pool.clone(), request).await;
            if may_change_shows {
                shows.advance();
            }
            answer
        });
        router = router.route(&address, handler);
    }
    router
}
