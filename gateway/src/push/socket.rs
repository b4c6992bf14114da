//! The live socket of one visitor: forwards shared frames, works out its own turn, and keeps no timer of its own.

use std::time::{Duration, Instant};

use axum::extract::ws::{
    CloseFrame, Message as Ws, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code,
};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use booking::clock::rfc3339;
use booking::http::Problem;
use rand::RngExt;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::hub::Shared;
use super::message::{Message, Request, encode};
use super::personal::{Ear, Personal, Word};
use super::seats::{Seats, Watch};
use crate::admission::estimate::refresh_s;
use crate::admission::state::{PlaceState, claim_before, describe};
use crate::lobby::{recognise, required};
use crate::room::{Phase, Room, RoomView, Rooms, Tick, micros_per_s};
use crate::store::{Place, Standing};
use crate::upstream::HoldSignal;
use crate::web::Web;

/// A client has nothing longer to say.
const MESSAGE_BYTES_MAX: usize = 4096;
/// More messages than this in [`FLOOD_WINDOW`] are a flood.
const FLOOD_MAX: u32 = 30;
const FLOOD_WINDOW: Duration = Duration::from_secs(10);
/// A frame that a client does not take in this time ends the socket; its place lives on.
const SEND_MAX: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(25);
const SILENT_MAX: Duration = Duration::from_secs(80);

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
}

/// The route of this file.
pub fn router(push: Push) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(live)).with_state(push)
}

/// The live socket
#[utoipa::path(get, path = "/v1/rooms/{room}/live", tag = "lobby", params(("room" = String, Path,)),
    responses((status = 101), (status = 401, description = "place_required, place_invalid"), (status = 403, description = "origin_refused")))]
async fn live(
    State(push): State<Push>,
    Path(id): Path<String>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
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
    let upgrade = upgrade
        .protocols(["fairgate.v1"])
        .read_buffer_size(512)
        .write_buffer_size(0)
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| serve(socket, push, room, place)))
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
enum End {
    /// The client went, or is to be dropped without a word.
    Gone,
    /// Said with a code and a reason.
    Close(u16, Utf8Bytes),
}

/// One visitor's socket.
struct Conn {
    socket: WebSocket,
    rooms: Rooms,
    room: Room,
    seats: Seats,
    place: Place,
    rank: Option<u64>,
    turned: bool,
    watch: Option<Watch>,
    line_sent: Option<Instant>,
    pinged: Instant,
    heard: Instant,
    flood: (Instant, u32),
}

async fn serve(socket: WebSocket, push: Push, room: Room, place: Place) {
    metrics::gauge!("fairgate_sockets").increment(1);
    let shared = room.hub().listen();
    let ear = push.personal.listen(place.holder);
    let _here = room.presence().here(place.number);
    let stopping = push.rooms.stopping();
    let now = Instant::now();
    let mut conn = Box::new(Conn {
        rank: room.rank(place.number),
        socket,
        rooms: push.rooms,
        room,
        seats: push.seats,
        place,
        turned: false,
        watch: None,
        line_sent: None,
        pinged: now,
        heard: now,
        flood: (now, 0),
    });
    if let Err(End::Close(code, reason)) = conn.run(shared, ear, stopping).await {
        let close = Ws::Close(Some(CloseFrame { code, reason }));
        // The client may have gone already; there is nobody left to tell.
        let _ = tokio::time::timeout(SEND_MAX, conn.socket.send(close)).await;
    }
    metrics::gauge!("fairgate_sockets").decrement(1);
}

impl Conn {
    async fn run(
        &mut self,
        mut shared: broadcast::Receiver<Shared>,
        mut ear: Ear,
        mut stopping: watch::Receiver<bool>,
    ) -> Result<(), End> {
        self.greet().await?;
        loop {
            tokio::select! {
                heard = self.socket.recv() => self.hear(heard).await?,
                frame = shared.recv() => match frame {
                    Ok(frame) => self.pass_on(frame).await?,
                    // Too far behind: what was missed is replaced by how things stand now.
                    Err(RecvError::Lagged(_)) => self.catch_up().await?,
                    Err(RecvError::Closed) => return Err(End::Gone),
                },
                frame = next_seats(&mut self.watch) => match frame {
                    Some(frame) => self.send(Ws::Binary(frame)).await?,
                    None => self.watch = None,
                },
                word = ear.next() => match word {
                    Some(Word::Hold(signal)) => self.tell_hold(&signal).await?,
                    Some(Word::Left { room, number }) if self.is_place(&room, number) => return Err(left()),
                    // The same visitor's place in another room, or one of before.
                    Some(Word::Left { .. }) => {}
                    None => return Err(End::Gone),
                },
                () = crate::web::stopped(&mut stopping) => return Err(restart()),
            }
        }
    }

    fn is_place(&self, room: &str, number: u64) -> bool {
        self.room.id() == room && self.place.number == number
    }

    /// How everything stands, on connect.
    async fn greet(&mut self) -> Result<(), End> {
        self.tell_room().await?;
        let draw = self.room.draw();
        if draw.row.sealed.is_some() {
            self.say(&Message::Draw(&draw.record)).await?;
        }
        self.tell_place().await?;
        let (tick, per_s) = (self.room.tick(), self.room.row().document.per_s);
        let line = encode(&Message::line(&tick, per_s, self.rooms.now()));
        self.tell_line(line, &tick).await?;
        self.tell_end(self.room.phase(self.rooms.now())).await
    }

    async fn catch_up(&mut self) -> Result<(), End> {
        self.greet().await?;
        match self.watch.as_mut().map(Watch::resync) {
            Some(snapshot) => self.send(Ws::Binary(snapshot)).await,
            None => Ok(()),
        }
    }

    async fn pass_on(&mut self, frame: Shared) -> Result<(), End> {
        match frame {
            Shared::Room(text, phase) => {
                self.send(Ws::Text(text)).await?;
                self.tell_end(phase).await
            }
            Shared::Draw(text, ranked) => {
                self.send(Ws::Text(text)).await?;
                if ranked {
                    self.tell_place().await
                } else {
                    Ok(())
                }
            }
            Shared::Line(text, tick) => {
                self.keep_alive().await?;
                if self.is_due(&tick) {
                    self.tell_line(text, &tick).await
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Cadence follows nearness; whoever is called hears at once.
    fn is_due(&self, tick: &Tick) -> bool {
        let just_called = !self.turned && self.rank.is_some_and(|rank| rank < tick.released);
        let ahead = self.rank.map(|rank| tick.ahead(rank));
        let every = refresh_s(ahead, micros_per_s(self.room.row().document.per_s));
        // A tick may come a little early; half a second of grace keeps "every second" from becoming every two.
        let elapsed = self
            .line_sent
            .map(|at| at.elapsed() + Duration::from_millis(500));
        just_called || elapsed.is_none_or(|elapsed| elapsed >= Duration::from_secs(every))
    }

    async fn tell_line(&mut self, line: Utf8Bytes, tick: &Tick) -> Result<(), End> {
        self.line_sent = Some(Instant::now());
        self.send(Ws::Text(line)).await?;
        let called = self
            .rank
            .filter(|rank| !self.turned && *rank < tick.released);
        let Some(rank) = called else {
            return Ok(());
        };
        let now = self.rooms.now();
        // A visitor who was let in before this socket opened needs no call.
        let standing = self
            .rooms
            .store()
            .standing(self.room.id(), self.place.number, self.place.holder)
            .await;
        let Standing::Here(place) = standing else {
            return Ok(());
        };
        self.turned = true;
        if describe(&self.room, &place, now).state != PlaceState::Called {
            return Ok(());
        }
        let claim_before = claim_before(&self.room, rank, now);
        self.say(&Message::Turn { claim_before }).await
    }

    async fn tell_room(&mut self) -> Result<(), End> {
        let view = RoomView::fresh(&self.rooms, &self.room).await;
        self.say(&Message::Room(&view)).await
    }

    async fn tell_place(&mut self) -> Result<(), End> {
        self.rank = self.room.rank(self.place.number);
        let ahead = self.rank.map(|rank| self.room.tick().ahead(rank));
        self.say(&Message::Place {
            number: self.place.number,
            rank: self.rank,
            ahead,
        })
        .await
    }

    async fn tell_end(&mut self, phase: Phase) -> Result<(), End> {
        let reason = match phase {
            Phase::SoldOut => "sold_out",
            Phase::Closed => "closed",
            Phase::Scheduled | Phase::Prequeue | Phase::Drawing | Phase::Selling => return Ok(()),
        };
        self.say(&Message::Closed { reason }).await
    }

    async fn tell_hold(&mut self, signal: &HoldSignal) -> Result<(), End> {
        let expires_at = rfc3339(signal.expires_at_ms);
        self.say(&Message::Hold {
            hold: &signal.hold,
            state: signal.state,
            expires_at,
        })
        .await
    }

    async fn hear(&mut self, heard: Option<Result<Ws, axum::Error>>) -> Result<(), End> {
        self.heard = Instant::now();
        if self.floods() {
            return Err(policy("too many messages; slow down and come back"));
        }
        match heard {
            None | Some(Ok(Ws::Close(_))) => Err(End::Gone),
            // Also a message over the limit ends here: saying why does no harm where the client has gone.
            Some(Err(_)) => Err(policy("a message was too long, or not a WebSocket message")),
            Some(Ok(Ws::Ping(_) | Ws::Pong(_))) => Ok(()),
            Some(Ok(Ws::Binary(_))) => Err(policy("clients send text only")),
            Some(Ok(Ws::Text(text))) => match serde_json::from_str(&text) {
                Ok(request) => self.answer(request).await,
                Err(_) => Err(policy(
                    "not a message of this socket: watch, unwatch or resync",
                )),
            },
        }
    }

    fn floods(&mut self) -> bool {
        let (since, count) = &mut self.flood;
        if since.elapsed() > FLOOD_WINDOW {
            (*since, *count) = (Instant::now(), 0);
        }
        *count += 1;
        *count > FLOOD_MAX
    }

    async fn answer(&mut self, request: Request) -> Result<(), End> {
        match request {
            Request::Watch { show } => {
                self.watch = None;
                let watched = self.seats.watch(&show).await.map_err(|_| {
                    End::Close(
                        close_code::AGAIN,
                        "the seats cannot be read now; come back shortly".into(),
                    )
                })?;
                let (watch, snapshot) = watched.ok_or_else(|| policy("there is no such show"))?;
                self.watch = Some(watch);
                self.send(Ws::Binary(snapshot)).await
            }
            Request::Unwatch {} => {
                self.watch = None;
                Ok(())
            }
            Request::Resync {} => match self.watch.as_mut().map(Watch::resync) {
                Some(snapshot) => self.send(Ws::Binary(snapshot)).await,
                None => Ok(()),
            },
        }
    }

    /// The line's tick is the heartbeat: no socket has a timer of its own.
    async fn keep_alive(&mut self) -> Result<(), End> {
        if self.heard.elapsed() > SILENT_MAX {
            return Err(End::Gone);
        }
        if self.pinged.elapsed() > PING_EVERY {
            self.pinged = Instant::now();
            self.send(Ws::Ping(bytes::Bytes::new())).await?;
        }
        Ok(())
    }

    async fn say(&mut self, message: &Message<'_>) -> Result<(), End> {
        self.send(Ws::Text(encode(message))).await
    }

    async fn send(&mut self, frame: Ws) -> Result<(), End> {
        match tokio::time::timeout(SEND_MAX, self.socket.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }
}

/// Waits for ever where nothing is watched.
async fn next_seats(watch: &mut Option<Watch>) -> Option<bytes::Bytes> {
    match watch {
        Some(watch) => watch.next().await,
        None => std::future::pending().await,
    }
}

fn policy(reason: &'static str) -> End {
    End::Close(close_code::POLICY, reason.into())
}

/// Not a fault of anybody's: a place that was given up has nothing more to hear.
fn left() -> End {
    End::Close(
        close_code::NORMAL,
        "this place was left; join again for a new one".into(),
    )
}

/// Everybody comes back, but not in the same instant.
fn restart() -> End {
    let retry_ms: u32 = rand::rng().random_range(500..5000);
    End::Close(
        close_code::RESTART,
        format!("{{\"retry_ms\":{retry_ms}}}").into(),
    )
}
