//! The operators' calls to a separate booking process: whether it is alive, whether it is ready,
//! and its metrics.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use fairgate_base::http::keys::RoleKeys;
use fairgate_base::http::{Problem, Readiness};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;

use crate::internal::gateway_desk::GatewayDesk;

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
    /// The keys of those who may read reasons and warnings.
    pub keys: RoleKeys,
    /// Whether operators have a separate port. The public port then has no metrics.
    pub has_own_port: bool,
}

impl BookingOpsRoutes {
    /// Asks ledger and store, and returns whether this process can sell.
    pub async fn readiness(&self) -> Readiness {
        let mut condition = self.desk.condition().await;
        if *self.stopping.borrow() {
            let draining = "this process is draining".to_owned();
            condition.reasons.push(draining);
        }
        condition.warnings.extend(self.warnings.iter().cloned());
        Readiness {
            reasons: condition.reasons,
            warnings: condition.warnings,
        }
    }

    /// Checks the readiness, and returns all reasons and warnings, for the log.
    pub async fn troubles(&self) -> Vec<String> {
        let Readiness { reasons, warnings } = self.readiness().await;
        reasons.into_iter().chain(warnings).collect()
    }
}

pub(crate) async fn healthz() -> &'static str {
    "alive\n"
}

pub(crate) async fn readyz(
    State(ops): State<BookingOpsRoutes>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    ops.readiness().await.public_answer(&ops.keys, &headers)
}

pub(crate) async fn whole_readyz(State(ops): State<BookingOpsRoutes>) -> Response {
    ops.readiness().await.whole_answer()
}

pub(crate) async fn metrics(State(ops): State<BookingOpsRoutes>) -> impl IntoResponse {
    let media = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (media, ops.metrics.render())
}
