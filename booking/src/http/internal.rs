//! The internal calls of the gateways over HTTP. A call for the changes of a show waits until there
//! are changes, but only for a limited time. Shows without buyers therefore cost only a few calls.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::Body as Sent;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use fairgate_base::http::{JsonBody, PathParams, Problem, QueryParams};
use fairgate_base::process::stopped;
use fairgate_model::grid::picture::CellChanges;
use fairgate_model::onsale::OnsaleRequest;
use fairgate_pass::Holder;
use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::http::internal_key::InternalKey;
use crate::internal::gateway_desk::{BookingPulse, GatewayDesk, ShowSummary};
use crate::internal::wire::{
    self, CoverageRequest, EndRoomsRequest, InternalHoldSignal, LeftBasketsRequest, LivingHold,
    LivingHoldsRequest, OnsaleReply, PulseRequest, ShowChangesRequest, StopPassesRequest,
    WaitingRequest,
};
use crate::store::HoldSignal;

/// How often a waiting call looks for changes.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest that a call waits, even if its caller asks for more.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// How often a stream without signals sends an empty line, to show that it is alive.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// What the handlers of the internal calls need.
#[derive(Clone)]
pub struct InternalRoutes {
    /// Answers the gateways' calls.
    pub desk: GatewayDesk,
    /// The key that callers must show.
    pub key: InternalKey,
    /// Becomes true when the process drains.
    pub stopping: watch::Receiver<bool>,
}

pub(crate) async fn only_gateways(
    State(key): State<InternalKey>,
    request: Request,
    next: Next,
) -> Response {
    match key.admit(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

pub(crate) async fn state(State(routes): State<InternalRoutes>) -> Json<wire::BookingStateReply> {
    let mut condition = routes.desk.condition().await;
    if *routes.stopping.borrow() {
        condition.reasons.push("booking is draining".to_owned());
    }
    Json(wire::BookingStateReply {
        ready: condition.reasons.is_empty(),
        reasons: condition.reasons,
        warnings: condition.warnings,
        ledger: routes.desk.ledger_id.clone(),
        coverage: routes.desk.coverage(),
        shows_edition: routes.desk.shows_edition(),
    })
}

pub(crate) async fn shows(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<wire::ShowsRequest>,
) -> Json<Vec<ShowSummary>> {
    Json(routes.desk.shows_matching(ask.patterns).await)
}

pub(crate) async fn cover(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<CoverageRequest>,
) -> Result<StatusCode, Problem> {
    routes.desk.replace_coverage(ask.coverage).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn apply_onsale(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<OnsaleRequest>,
) -> Result<Json<OnsaleReply>, Problem> {
    Ok(Json(routes.desk.apply_onsale(&ask).await?))
}

pub(crate) async fn stop_passes(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<StopPassesRequest>,
) -> Result<StatusCode, Problem> {
    routes.desk.stop_passes(&ask.room, ask.passes).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn end_rooms(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<EndRoomsRequest>,
) -> Result<StatusCode, Problem> {
    routes.desk.end_rooms(ask.ends).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn pulse(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<PulseRequest>,
) -> Result<Json<BookingPulse>, Problem> {
    Ok(Json(routes.desk.pulse(&ask).await?))
}

pub(crate) async fn waiting(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<WaitingRequest>,
) -> Result<Json<Vec<Holder>>, Problem> {
    Ok(Json(routes.desk.waiting(ask.here).await?))
}

pub(crate) async fn left_baskets(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<LeftBasketsRequest>,
) -> Result<StatusCode, Problem> {
    routes.desk.end_left_baskets(ask.left).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn living_holds(
    State(routes): State<InternalRoutes>,
    JsonBody(ask): JsonBody<LivingHoldsRequest>,
) -> Result<Json<Vec<LivingHold>>, Problem> {
    Ok(Json(routes.desk.living_holds(ask.holds).await?))
}

pub(crate) async fn snapshot(
    State(routes): State<InternalRoutes>,
    PathParams(show): PathParams<String>,
) -> Result<Response, Problem> {
    let picture = routes.desk.show_snapshot(&show).await?;
    Ok(match picture {
        Some((version, cells, packed)) => {
            let media = [(header::CONTENT_TYPE, "application/octet-stream")];
            (media, wire::write_snapshot(version, cells, &packed)).into_response()
        }
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

pub(crate) async fn changes(
    State(routes): State<InternalRoutes>,
    PathParams(show): PathParams<String>,
    QueryParams(ask): QueryParams<ShowChangesRequest>,
) -> Json<CellChanges> {
    let until = Instant::now() + Duration::from_millis(ask.wait_ms).min(WAIT_MAX);
    loop {
        let changes = routes.desk.show_changes(&show, ask.since).await;
        let must_answer = Instant::now() >= until || *routes.stopping.borrow();
        if changes != CellChanges::None || must_answer {
            return Json(changes);
        }
        sleep(LOOK_EVERY).await;
    }
}

pub(crate) async fn signals(State(routes): State<InternalRoutes>) -> Response {
    let listening = (routes.desk.hold_signals(), routes);
    let lines = stream::unfold(listening, |(mut signals, mut routes)| async move {
        let line = next_line(&mut signals, &mut routes).await?;
        Some((Ok::<_, Infallible>(line), (signals, routes)))
    });
    let media = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (media, Sent::from_stream(lines)).into_response()
}

/// Returns the next line of a stream, or `None` if the stream ends.
async fn next_line(
    signals: &mut broadcast::Receiver<HoldSignal>,
    routes: &mut InternalRoutes,
) -> Option<Bytes> {
    tokio::select! {
        () = stopped(&mut routes.stopping) => None,
        heard = timeout(ALIVE_EVERY, signals.recv()) => match heard {
            Ok(Ok(signal)) => Some(signal_line(&signal, routes.desk.offered_labels(&signal).await)),
            Ok(Err(RecvError::Closed)) => None,
            // The empty line shows that the stream is alive. It is sent if there were no signals
            // for a while. It is also sent in place of signals that this stream missed.
            Ok(Err(RecvError::Lagged(_))) | Err(_) => Some(Bytes::from_static(b"\n")),
        },
    }
}

fn signal_line(signal: &HoldSignal, seats: Vec<String>) -> Bytes {
    let line = InternalHoldSignal::new(signal, seats);
    // A struct of strings and numbers can always be written as JSON. If it could not, the line
    // would be empty, and readers skip empty lines.
    let mut text = serde_json::to_string(&line).unwrap_or_default();
    text.push('\n');
    text.into()
}
