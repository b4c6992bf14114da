//! The operators' calls: alive, ready, metrics.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairgate_rules::room_document::ChallengePolicy;
use fairgate_rules::vitals;
use serde::Serialize;

use super::GatewayOpsRoutes;

/// How long the ledger may take to answer `/readyz`, so that a failure shows within two seconds.
const LEDGER_MAX: Duration = Duration::from_millis(1_500);

/// The `Retry-After` (seconds) of a `/readyz` answer that says not ready.
const READY_AGAIN_S: HeaderValue = HeaderValue::from_static("2");

/// Alive
#[utoipa::path(get, path = "/healthz", tag = "operators", responses((status = 200)))]
pub(crate) async fn healthz() -> &'static str {
    "alive\n"
}

/// Whether requests should come here.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Ready)]
struct GatewayReadiness {
    ready: bool,
    /// Why not.
    reasons: Vec<String>,
    /// What works, and should not be left so.
    warnings: Vec<String>,
}

/// Ready, with reasons and warnings
#[utoipa::path(get, path = "/readyz", tag = "operators", responses((status = 200, body = GatewayReadiness), (status = 503, body = GatewayReadiness)))]
pub(crate) async fn readyz(State(ops): State<GatewayOpsRoutes>) -> Response {
    let mut reasons = Vec::new();
    if *ops.rooms.stopping().borrow() {
        reasons.push("this process is draining".to_owned());
    }
    match tokio::time::timeout(LEDGER_MAX, ops.rooms.ledger().check()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => reasons.push(error.to_string()),
        Err(_) => reasons.push(format!(
            "the ledger did not answer within {} ms",
            LEDGER_MAX.as_millis()
        )),
    }
    let core = ops.rooms.core().condition().await;
    let mut warnings = ops.warnings;
    // Without booking the lobby and the places still work. So booking's reasons are only warnings
    // here, and load balancers still send requests to this gateway.
    warnings.extend(core.reasons.into_iter().chain(core.warnings));
    warnings.extend(ops.rooms.warnings());
    warnings.extend(ops.web.warnings());
    let rooms = ops.rooms.all();
    let asked = rooms.iter().map(|room| room.row().document.challenge);
    let asked = asked.filter_map(ChallengePolicy::provider);
    warnings.extend(ops.providers.warnings(asked));
    if let Some(silent) = ops.follower.unheard_for() {
        reasons.push(format!(
            "what other gateways did to rooms could not be read for {} s",
            silent.as_secs()
        ));
    }
    let ready = reasons.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let told = Json(GatewayReadiness {
        ready,
        reasons,
        warnings,
    });
    if ready {
        (status, told).into_response()
    } else {
        (status, [(header::RETRY_AFTER, READY_AGAIN_S)], told).into_response()
    }
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
            ops.hubs.of_room(room.id()).listeners() as u64,
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
