//! The routes of booking in other processes. Every route in booking's OpenAPI document is
//! forwarded.

use axum::extract::Request;
use axum::routing::any;
use utoipa_axum::router::OpenApiRouter;

use super::pool::BookingNodePool;
use crate::upstream::http::send_on;

/// Builds all of booking's routes. Each forwards its calls to the booking processes in the pool.
pub(super) fn all_sent_on(pool: &BookingNodePool) -> OpenApiRouter {
    let document = booking::router::openapi_document();
    let addresses: Vec<String> = document.paths.paths.keys().cloned().collect();
    let mut router = OpenApiRouter::with_openapi(document);
    for address in addresses {
        let pool = pool.clone();
        let handler = any(move |request: Request| send_on(pool.clone(), request));
        router = router.route(&address, handler);
    }
    router
}
