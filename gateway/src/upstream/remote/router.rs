//! Every route of a booking behind addresses: the routes that booking lists on its own page, each
//! sent on as it came.

use axum::extract::Request;
use axum::routing::any;
use utoipa_axum::router::OpenApiRouter;

use super::pool::BookingNodePool;
use crate::upstream::http::send_on;

/// Builds all of booking's routes, answered by any booking that is well.
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
