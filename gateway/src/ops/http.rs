//! The operators' calls: alive, ready, metrics.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::Problem;
use fairgate_rules::vitals;
use serde::Serialize;

use super::GatewayOpsRoutes;

/// Alive
#[utoipa::path(get, path = "/healthz", tag = "operators", responses((status = 200)))]
pub(crate) async fn healthz() -> &'static str {
    "alive\n"
}

/// Whether visitors can be served. [`fairgate_base::http::Readiness`] writes this document.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Ready)]
struct GatewayReadiness {
    ready: bool,
    /// Why visitors cannot be served. Only with a viewer's key, or on the operators' own port.
    reasons: Option<Vec<String>>,
    /// States in which the process works, but which an operator should end. Only with a viewer's
    /// key, or on the operators' own port.
    warnings: Option<Vec<String>>,
}

/// Whether visitors can be served. With a viewer's key, also reasons and warnings
#[utoipa::path(get, path = "/readyz", tag = "operators",
    responses((status = 200, body = GatewayReadiness), (status = 401, description = "key_invalid"), (status = 503, body = GatewayReadiness)))]
pub(crate) async fn readyz(
    State(ops): State<GatewayOpsRoutes>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    ops.readiness().await.public_answer(&ops.keys, &headers)
}

/// Answers on the operators' own port, which needs no key.
pub(crate) async fn whole_readyz(State(ops): State<GatewayOpsRoutes>) -> Response {
    ops.readiness().await.whole_answer()
}

/// Figures for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "operators", responses((status = 200, content_type = "text/plain")))]
pub(crate) async fn metrics(State(ops): State<GatewayOpsRoutes>) -> impl IntoResponse {
    for room in ops.rooms.all() {
        let (tick, id) = (room.last_tick(), room.id().to_owned());
        let gauge = |name: &'static str, value: u64| {
            metrics::gauge!(name, "room" => id.clone()).set(value as f64)
        };
        gauge("fairgate_room_joined", tick.counts.joined);
        gauge("fairgate_room_waiting", tick.waiting);
        gauge("fairgate_room_released", tick.released);
        gauge("fairgate_room_inside", tick.counts.inside);
        gauge("fairgate_room_inside_max", tick.inside_max);
        gauge(
            "fairgate_room_sockets",
            ops.hubs.of_room(room.id()).listener_count() as u64,
        );
        let waits_ms = room
            .draw_waits_until()
            .map_or(0, |at| at - ops.rooms.now_ms());
        gauge(
            "fairgate_room_draw_waits_s",
            u64::try_from(waits_ms).unwrap_or(0).div_ceil(1000),
        );
    }
    let reading = vitals::combined_reading(&[ops.rooms.health().vitals()]);
    metrics::gauge!("fairgate_booking_p99_ms").set(reading.p99_ms.unwrap_or(0) as f64);
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        ops.metrics.render(),
    )
}
