//! Addresses of the contract whose machinery this version does not have: they say so by name, so that a client
//! tells them from a wrong address.

use axum::Router;
use axum::http::Uri;
use axum::routing::any;

use crate::http::Problem;

/// Railway and cinema.
pub const ADDRESSES: [&str; 2] = ["/v1/rail/{*rest}", "/v1/cinema/{*rest}"];

/// The routes of this file.
pub fn router() -> Router {
    let mut router = Router::new();
    for address in ADDRESSES {
        router = router.route(address, any(refuse));
    }
    router
}

async fn refuse(uri: Uri) -> Problem {
    let what = match uri.path() {
        path if path.starts_with("/v1/rail/") => "rail",
        _ => "cinema",
    };
    Problem::not_available(
        what,
        format!("{what}: this version does not have it yet. Nothing was changed."),
    )
}
