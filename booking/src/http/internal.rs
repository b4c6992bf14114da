//! The internal calls over HTTP: extract, call, answer. Reading a quiet show's changes waits for
//! something to tell, so that many shows that nobody buys in cost next to nothing.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::Body as Sent;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use fairgate_pass::Holder;
use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::app::{Booking, Pulse, ShowInShort};
use crate::http::internal_key::InternalKey;
use crate::internal::wire::{self, ChangesAsk, CoverAsk, PulseAsk, Signal, WaitingAsk};
use crate::store::HoldSignal;
use fairgate_base::http::{Body, Params, Path, Problem};
use fairgate_base::process::stopped;
use fairgate_model::grid::picture::Changes;

/// How often a waiting answer looks again.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// No answer waits longer, whatever its caller asks for.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// A stream without words says so often that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// What the internal calls are answered with.
#[derive(Clone)]
pub struct InternalRoutes {
    /// The core.
    pub booking: Booking,
    /// Who may ask.
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

pub(crate) async fn state(State(routes): State<InternalRoutes>) -> Json<wire::State> {
    let mut condition = routes.booking.condition().await;
    if *routes.stopping.borrow() {
        condition.reasons.push("booking is draining".to_owned());
    }
    Json(wire::State {
        ready: condition.reasons.is_empty(),
        reasons: condition.reasons,
        warnings: condition.warnings,
        ledger: routes.booking.ledger_id(),
        coverage: routes.booking.coverage(),
    })
}

pub(crate) async fn shows(
    State(routes): State<InternalRoutes>,
    Body(ask): Body<wire::ShowsAsk>,
) -> Json<Vec<ShowInShort>> {
    Json(routes.booking.shows(&ask.patterns))
}

pub(crate) async fn cover(
    State(routes): State<InternalRoutes>,
    Body(ask): Body<CoverAsk>,
) -> Result<StatusCode, Problem> {
    routes.booking.cover(ask.coverage).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn pulse(
    State(routes): State<InternalRoutes>,
    Body(ask): Body<PulseAsk>,
) -> Result<Json<Pulse>, Problem> {
    let pulse = routes
        .booking
        .pulse(&ask.room, &ask.shows, ask.finished_after)
        .await?;
    Ok(Json(pulse))
}

pub(crate) async fn waiting(
    State(routes): State<InternalRoutes>,
    Body(ask): Body<WaitingAsk>,
) -> Result<Json<Vec<Holder>>, Problem> {
    Ok(Json(routes.booking.waiting(ask.here).await?))
}

pub(crate) async fn snapshot(
    State(routes): State<InternalRoutes>,
    Path(show): Path<String>,
) -> Result<Response, Problem> {
    let picture = routes.booking.snapshot(&show).await?;
    Ok(match picture {
        Some((version, cells, packed)) => {
            let media = [(header::CONTENT_TYPE, "application/octet-stream")];
            (media, wire::snapshot(version, cells, &packed)).into_response()
        }
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

pub(crate) async fn changes(
    State(routes): State<InternalRoutes>,
    Path(show): Path<String>,
    Params(ask): Params<ChangesAsk>,
) -> Json<Changes> {
    let until = Instant::now() + Duration::from_millis(ask.wait_ms).min(WAIT_MAX);
    loop {
        let told = routes.booking.changes(&show, ask.since).await;
        let over = Instant::now() >= until || *routes.stopping.borrow();
        if told != Changes::None || over {
            return Json(told);
        }
        sleep(LOOK_EVERY).await;
    }
}

pub(crate) async fn signals(State(routes): State<InternalRoutes>) -> Response {
    let listening = (routes.booking.hold_signals(), routes);
    let lines = stream::unfold(listening, |(mut signals, mut routes)| async move {
        let line = next_line(&mut signals, &mut routes).await?;
        Some((Ok::<_, Infallible>(line), (signals, routes)))
    });
    let media = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (media, Sent::from_stream(lines)).into_response()
}

/// The next line of a stream; `None` where it ends.
async fn next_line(
    signals: &mut broadcast::Receiver<HoldSignal>,
    routes: &mut InternalRoutes,
) -> Option<Bytes> {
    tokio::select! {
        () = stopped(&mut routes.stopping) => None,
        heard = timeout(ALIVE_EVERY, signals.recv()) => match heard {
            Ok(Ok(signal)) => Some(line(&signal, routes.booking.seats_told(&signal).await)),
            Ok(Err(RecvError::Closed)) => None,
            // Whoever missed some reads its hold by itself.
            Ok(Err(RecvError::Lagged(_))) | Err(_) => Some(Bytes::from_static(b"\n")),
        },
    }
}

fn line(signal: &HoldSignal, seats: Vec<String>) -> Bytes {
    let told = Signal {
        holder: signal.visitor,
        hold: signal.hold.to_string(),
        state: signal.state.to_owned(),
        expires_at_ms: signal.expires_at_ms,
        seats,
    };
    // A struct of strings and numbers is always JSON; an empty line would be skipped.
    let mut text = serde_json::to_string(&told).unwrap_or_default();
    text.push('\n');
    text.into()
}
