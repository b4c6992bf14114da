//! The way to a live socket: who may open one, and how it ends.

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use fairgate_base::http::Problem;
use rand::RngExt;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::limit::{Limit, Permit};
use super::seats::Seats;
use super::socket::Conn;
use super::wire::Gone;
use crate::line::{recognise, required};
use crate::personal::Personal;
use crate::room::{Room, Rooms};
use crate::store::{Place, Shown};
use crate::web::Web;

/// A client has nothing longer to say.
const MESSAGE_BYTES_MAX: usize = 4096;

/// What sockets need.
#[derive(Clone)]
pub struct Push {
    /// Every room.
    pub rooms: Rooms,
    /// Origins.
    pub web: Web,
    /// Watched shows.
    pub seats: Seats,
    /// Own holds.
    pub personal: Personal,
    /// How many there may be.
    pub limit: Limit,
}

/// The route of this file.
pub fn router(push: Push) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(live)).with_state(push)
}

/// The live socket
#[utoipa::path(get, path = "/v1/rooms/{room}/live", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 101), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "origin_refused"),
        (status = 503, description = "too_many_sockets")))]
async fn live(
    State(push): State<Push>,
    Path(id): Path<String>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    push.web.check_origin(&headers)?;
    let room = push.rooms.get(&id)?;
    let now = push.rooms.now();
    let place = match subprotocol_place(&headers) {
        Some(jwt) => recognise(&push.rooms, &room, jwt, now).await?,
        None => required(&push.rooms, &room, &headers, now).await?,
    };
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(
            400,
            "not_a_websocket",
            "This address is a WebSocket",
            format!("{rejection}. Your place is kept. Open it as a WebSocket, or poll the place instead."),
        )
    })?;
    let permit = push.limit.enter()?;
    let upgrade = upgrade
        .protocols(["fairgate.v1"])
        .read_buffer_size(512)
        .write_buffer_size(0)
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| serve(socket, push, room, place, permit)))
}

/// The place in `Sec-WebSocket-Protocol: fairgate.v1, place.<jwt>`.
fn subprotocol_place(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix("place."))
}

/// Why a socket ends.
#[derive(Debug)]
pub enum End {
    /// The client went, or is to be dropped without a word.
    Gone,
    /// Said with a code and a reason.
    Close(u16, Utf8Bytes),
}

impl From<Gone> for End {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

async fn serve(socket: WebSocket, push: Push, room: Room, place: Place, permit: Permit) {
    metrics::gauge!("fairgate_sockets").increment(1);
    let ear = push.personal.listen(place.holder);
    let _here = room.presence().here(Shown::from(&place));
    let stopping = push.rooms.stopping();
    let mut conn = Box::new(Conn::new(socket, push, room, place));
    if let End::Close(code, reason) = conn.run(ear, stopping).await {
        conn.close(CloseFrame { code, reason }).await;
    }
    metrics::gauge!("fairgate_sockets").decrement(1);
    drop(permit);
}

impl End {
    /// 1008: the client does what it should not.
    pub(super) fn policy(reason: &'static str) -> Self {
        Self::Close(close_code::POLICY, reason.into())
    }

    /// 1013: not now.
    pub(super) fn later(reason: &'static str) -> Self {
        Self::Close(close_code::AGAIN, reason.into())
    }

    /// Not a fault of anybody's: a place that was given up has nothing more to hear.
    pub(super) fn left() -> Self {
        Self::Close(
            close_code::NORMAL,
            "this place was left; join again for a new one".into(),
        )
    }

    /// Everybody comes back, but not in the same instant.
    pub(super) fn restart() -> Self {
        let retry_ms: u32 = rand::rng().random_range(500..5000);
        Self::Close(
            close_code::RESTART,
            format!("{{\"retry_ms\":{retry_ms}}}").into(),
        )
    }
}
