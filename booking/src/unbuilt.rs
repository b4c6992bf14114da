//! Addresses of the contract whose machinery this version does not have: they say so by name, so that a client
//! tells them from a wrong address.

use axum::Router;
use axum::http::Uri;
use axum::routing::any;

use crate::http::Problem;

/// Waitlist, railway and cinema.
pub const ADDRESSES: [&str; 3] = [
    "/v1/shows/{show}/waitlist",
    "/v1/rail/{*rest}",
    "/v1/cinema/{*rest}",
];

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
        path if path.starts_with("/v1/cinema/") => "cinema",
        _ => "waitlist",
    };
    Problem::not_available(
        what,
        format!("{what}: this version does not have it yet. Nothing was changed."),
    )
}
