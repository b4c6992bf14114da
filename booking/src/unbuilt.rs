//! Addresses of the contract whose machinery this version does not have: they say so by name, so that a client
//! tells them from a wrong address.

use axum::Router;
use axum::routing::any;

use crate::http::Problem;

/// Cinema.
pub const ADDRESSES: [&str; 1] = ["/v1/cinema/{*rest}"];

/// The routes of this file.
pub fn router() -> Router {
    let mut router = Router::new();
    for address in ADDRESSES {
        router = router.route(address, any(refuse));
    }
    router
}

async fn refuse() -> Problem {
    Problem::not_available(
        "cinema",
        "cinema: this version does not have it yet. Nothing was changed.",
    )
}
