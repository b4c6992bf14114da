//! Lists every route of the server.

use axum::Router;
use axum::routing::{get, post};

use super::{FakeChallengeServer, pass, script, siteverify};

/// Returns the router of one server.
pub(super) fn router(server: FakeChallengeServer) -> Router {
    Router::new()
        .route("/turnstile/v0/siteverify", post(siteverify))
        .route("/turnstile/v0/api.js", get(script))
        .route("/siteverify", post(siteverify))
        .route("/1/api.js", get(script))
        .route("/pass", get(pass))
        .with_state(server)
}
