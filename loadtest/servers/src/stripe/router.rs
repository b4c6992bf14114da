//! Lists every route of the server.

use axum::Router;
use axum::routing::{get, post};

use super::FakeStripeServer;
use super::calls::{capture_or_cancel, confirm, create, form, read, refund, refunds};
use super::lists::{disputes, events};

/// Returns the router of one server.
pub(super) fn router(server: FakeStripeServer) -> Router {
    Router::new()
        .route("/v1/payment_intents", post(create))
        .route("/v1/payment_intents/{id}", get(read))
        .route("/v1/payment_intents/{id}/confirm", post(confirm))
        .route("/v1/payment_intents/{id}/{verb}", post(capture_or_cancel))
        .route("/v1/refunds", post(refund).get(refunds))
        .route("/v1/disputes", get(disputes))
        .route("/v1/events", get(events))
        .route("/v3/", get(form))
        .with_state(server)
}
