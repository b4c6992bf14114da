//! The operators' calls to a booking process of its own: whether it is alive, whether it is ready,
//! and its metrics.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;
use tokio::sync::watch;

use crate::internal::gateway_desk::GatewayDesk;

/// After how many seconds a caller should ask again whether this process is ready.
const READY_AGAIN_S: HeaderValue = HeaderValue::from_static("2");

/// What the operators' handlers need.
#[derive(Clone)]
pub struct BookingOpsRoutes {
    /// Reports the condition of booking.
    pub desk: GatewayDesk,
    /// The process's metrics.
    pub metrics: PrometheusHandle,
    /// Warnings about settings that work but should be changed.
    pub warnings: Vec<String>,
    /// Becomes true when the process drains.
    pub stopping: watch::Receiver<bool>,
}

pub(crate) async fn healthz() -> &'static str {
    "alive\n"
}

pub(crate) async fn readyz(State(ops): State<BookingOpsRoutes>) -> Response {
    let mut condition = ops.desk.condition().await;
    if *ops.stopping.borrow() {
        condition
            .reasons
            .push("this process is draining".to_owned());
    }
    condition.warnings.extend(ops.warnings);
    let ready = condition.reasons.is_empty();
    let told = Json(json!({
        "ready": ready,
        "reasons": condition.reasons,
        "warnings": condition.warnings,
    }));
    if ready {
        told.into_response()
    } else {
        let again = [(header::RETRY_AFTER, READY_AGAIN_S)];
        (StatusCode::SERVICE_UNAVAILABLE, again, told).into_response()
    }
}

pub(crate) async fn metrics(State(ops): State<BookingOpsRoutes>) -> impl IntoResponse {
    let media = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (media, ops.metrics.render())
}
