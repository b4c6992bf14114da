//! The call that opens a live socket: checks who may open one, and serves the socket until it ends.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_base::process::connection::ConnectionHandle;
use tokio::sync::watch;

use super::LiveSockets;
use super::client_wire::{ClientWire, with_limits};
use super::limit::{SocketPermit, TooManySockets};
use super::socket::VisitorSocket;
use crate::line::http::required;
use crate::line::{PlaceCredential, recognise};
use crate::personal::PersonalReceiver;
use crate::room::RoomRegistry;
use crate::room::presence::PresenceGuard;
use crate::room::socket_peers::SocketPeer;
use crate::store::PresentedPlace;
use crate::web::peer_of;

/// The longest message (bytes) that a client may send.
const MESSAGE_BYTES_MAX: usize = 4096;

/// The live socket
#[utoipa::path(get, path = "/v1/rooms/{room}/live", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 101), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "origin_refused"),
        (status = 503, description = "too_many_sockets, restarting")))]
pub(crate) async fn live(
    State(push): State<LiveSockets>,
    Path(id): Path<String>,
    headers: HeaderMap,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    connection: Option<Extension<ConnectionHandle>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    push.web.check_origin(&headers)?;
    let room = push.rooms.get(&id)?;
    let now = push.rooms.now_ms();
    let place = match subprotocol_place(&headers) {
        Some(jwt) => {
            let credential = PlaceCredential::Bearer(jwt);
            recognise(&push.rooms, &room, credential, now).await?
        }
        None => required(&push.rooms, &room, &headers, now).await?,
    };
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(
            ProblemCode::NotAWebsocket,
            format!("{rejection}. Your place is kept. Open it as a WebSocket, or poll the place instead."),
        )
    })?;
    let Extension(connection) = connection.ok_or_else(|| {
        Problem::new(
            ProblemCode::NotAWebsocket,
            "This connection cannot carry a WebSocket. Your place is kept. Poll the place instead.",
        )
    })?;
    if *push.leaving.borrow() {
        return Err(restarting());
    }
    let permit = push.limit.acquire()?;
    let upgrade = with_limits(upgrade.protocols(["fairgate.v1"]), MESSAGE_BYTES_MAX);
    let presented = Arc::new(PresentedPlace::from(&place));
    let peer = SocketPeer {
        address: peer_of(peer.as_deref()).ip(),
        is_proxy: push.web.came_through_proxy(&headers),
    };
    push.rooms.socket_peers().note_opened(peer);
    let opened = OpenedSocket {
        personal: push.personal.listen(place.holder, room.id(), place.number),
        presence: room.presence().socket_opened(Arc::clone(&presented)),
        peer: Some(OpenPeer {
            rooms: push.rooms.clone(),
            peer,
        }),
        stopping: push.rooms.stopping(),
        _permit: permit,
    };
    Ok(upgrade.on_upgrade(async move |socket| {
        let wire = ClientWire::new(socket, MESSAGE_BYTES_MAX, connection);
        let visitor = VisitorSocket::new(wire, push, room, presented);
        // The socket gets its own task. The task of the upgrade is larger, and would live as long
        // as the socket.
        tokio::spawn(serve_socket(visitor, opened));
    }))
}

impl From<TooManySockets> for Problem {
    fn from(TooManySockets { wait_s }: TooManySockets) -> Self {
        Self::new(
            ProblemCode::TooManySockets,
            format!("Your place is kept, and nothing depends on the live connection: ask for your place (GET …/place) as often as its refresh_s says, and try the connection again in {wait_s} s."),
        )
        .retry_after(wait_s)
    }
}

/// Refuses a socket that the end of this process would soon cut. A proxy asks another gateway.
fn restarting() -> Problem {
    Problem::new(
        ProblemCode::Restarting,
        "This server is about to end, so it opens no live connection. Your place is kept: try the connection again in a second, or poll the place.",
    )
    .retry_after(1)
}

/// Returns the place in `Sec-WebSocket-Protocol: fairgate.v1, place.<jwt>`.
fn subprotocol_place(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix("place."))
}

/// What an open socket keeps until it ends.
struct OpenedSocket {
    personal: PersonalReceiver,
    presence: PresenceGuard,
    /// `None` once the socket has closed.
    peer: Option<OpenPeer>,
    stopping: watch::Receiver<bool>,
    _permit: SocketPermit,
}

/// Counts a socket of a peer until it is dropped.
struct OpenPeer {
    rooms: RoomRegistry,
    peer: SocketPeer,
}

impl Drop for OpenPeer {
    fn drop(&mut self) {
        let now = self.rooms.now_ms();
        self.rooms.socket_peers().note_closed(self.peer, now);
    }
}

/// Serves a socket until it ends.
#[expect(
    clippy::manual_async_fn,
    reason = "the task of an `async fn` would have room for the arguments twice"
)]
fn serve_socket(
    mut visitor: VisitorSocket,
    mut opened: OpenedSocket,
) -> impl Future<Output = ()> + Send {
    async move {
        metrics::gauge!("fairgate_sockets").increment(1);
        let end = visitor
            .run(&mut opened.personal, &mut opened.stopping)
            .await;
        // The socket counts as closed from now on, and not only after the goodbye.
        if let Some(OpenPeer { rooms, peer }) = opened.peer.take().as_ref()
            && end.is_by_other_end()
        {
            opened.presence.note_closed_by(*peer, rooms.now_ms());
        }
        // The future of `end` is boxed. Otherwise the task of every socket would need room for it.
        Box::pin(visitor.end(end)).await;
        metrics::gauge!("fairgate_sockets").decrement(1);
        drop(opened);
    }
}
