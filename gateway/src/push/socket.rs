//! One visitor's socket. It forwards shared frames, works out when its visitor is called, and has
//! no timer of its own. It never waits for its client. A frame that cannot be sent now is not
//! queued. The client gets the newest state later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{Message as Ws, Utf8Bytes};
use fairgate_base::clock::rfc3339;
use fairgate_model::holds::HoldSignalState;
use fairgate_model::ids::HoldId;
use fairgate_rules::faults::micros_per_s;
use fairgate_rules::phase::RoomPhase;
use tokio::sync::watch;

use super::LiveSockets;
use super::cadence::SocketCadence;
use super::client_wire::{ClientWire, WireEvent};
use super::ending::SocketEnd;
use super::hub::{HubEvent, HubListener, LineFrame, RoomNews, RoomSocketHub};
use super::message::{LiveMessage, LiveRequest, encode};
use super::seats::{SeatWatch, WatchedShows};
use crate::line::place_view::{PlaceState, claim_before, describe};
use crate::personal::{PersonalEvent, PersonalReceiver};
use crate::room::{Room, RoomRegistry, RoomTick, RoomView};
use crate::store::{Place, PresentedPlace, PresentedPlaceStatus};
use crate::upstream::HoldSignal;

/// How many messages a client may send in [`FLOOD_WINDOW`]. One more closes the socket.
const FLOOD_MAX: u32 = 30;
const FLOOD_WINDOW: Duration = Duration::from_secs(10);

/// One visitor's socket.
pub struct VisitorSocket {
    wire: ClientWire,
    rooms: RoomRegistry,
    hub: Arc<RoomSocketHub>,
    room: Room,
    seats: WatchedShows,
    place: Place,
    rank: Option<u64>,
    call_handled: bool,
    watch: Option<SeatWatch>,
    listener: HubListener,
    cadence: SocketCadence,
    line_sent: Option<Instant>,
    /// Whether a `line` frame was due while the client took no frames.
    line_missed: bool,
    flood: (Instant, u32),
}

impl VisitorSocket {
    /// Makes the handler of a visitor's socket that has just opened.
    pub fn new(wire: ClientWire, push: LiveSockets, room: Room, place: Place) -> Self {
        let hub = push.hubs.of_room(room.id());
        Self {
            wire,
            rank: room.rank(place.number),
            rooms: push.rooms,
            listener: hub.listen(),
            hub,
            room,
            seats: push.seats,
            cadence: SocketCadence::for_place(None, false, 0, place.number),
            place,
            call_handled: false,
            watch: None,
            line_sent: None,
            line_missed: false,
            flood: (Instant::now(), 0),
        }
    }

    /// Serves the socket to its end.
    pub async fn run(
        &mut self,
        mut ear: PersonalReceiver,
        mut stopping: watch::Receiver<bool>,
    ) -> SocketEnd {
        match self.serve(&mut ear, &mut stopping).await {
            Ok(()) => SocketEnd::Gone,
            Err(end) => end,
        }
    }

    /// Ends the socket.
    pub async fn end(self, end: SocketEnd) {
        self.wire.end(end).await;
    }

    async fn serve(
        &mut self,
        ear: &mut PersonalReceiver,
        stopping: &mut watch::Receiver<bool>,
    ) -> Result<(), SocketEnd> {
        self.greet().await?;
        self.reschedule_wake().await?;
        loop {
            // While this is false, news stays in the queue that all sockets share, and at most a
            // few personal events wait for this client.
            let open = self.wire.is_open();
            tokio::select! {
                moved = self.wire.next() => self.on_wire_event(moved?, open).await?,
                heard = self.listener.next(open) => match heard {
                    HubEvent::Line(line) => self.on_wake(line).await?,
                    HubEvent::News(news) => self.pass_on(news).await?,
                    // The socket has missed news, so it gets the current state instead.
                    HubEvent::Missed => self.catch_up().await?,
                    HubEvent::Gone => return Err(SocketEnd::Gone),
                },
                frame = next_seats(&mut self.watch), if open => match frame {
                    Some(frame) => self.send_frame(Ws::Binary(frame)).await?,
                    None => self.watch = None,
                },
                word = ear.next(), if open => match word {
                    Some(PersonalEvent::Hold(signal)) => self.tell_hold(&signal).await?,
                    Some(PersonalEvent::Left { room, number }) if self.is_place(&room, number) => return Err(SocketEnd::place_left()),
                    Some(PersonalEvent::Revoked { room, number, note }) if self.is_place(&room, number) => return Err(self.tell_revoked(&note).await?),
                    Some(PersonalEvent::Cleared { room, below, note }) if self.room.id() == &*room && self.place.number < below => return Err(self.tell_revoked(&note).await?),
                    // The event is about a place in another room, or an earlier place.
                    Some(PersonalEvent::Left { .. } | PersonalEvent::Revoked { .. } | PersonalEvent::Cleared { .. }) => {}
                    None => return Err(SocketEnd::replaced()),
                },
                () = fairgate_base::process::stopped(stopping) => return Err(SocketEnd::restart()),
            }
        }
    }

    fn is_place(&self, room: &str, number: u64) -> bool {
        self.room.id() == room && self.place.number == number
    }

    async fn on_wire_event(&mut self, moved: WireEvent, was_open: bool) -> Result<(), SocketEnd> {
        if let WireEvent::Heard(heard) = moved {
            self.handle_frame(heard).await?;
        }
        if self.wire.is_open() && !was_open {
            self.resume_after_backpressure().await?;
        }
        Ok(())
    }

    /// Sends the newest state once to a client that takes frames again. Seats need nothing here,
    /// because the watch knows which version the client has.
    async fn resume_after_backpressure(&mut self) -> Result<(), SocketEnd> {
        if self.listener.skip_news() {
            self.catch_up().await
        } else if self.line_missed {
            self.tell_newest_line().await
        } else {
            Ok(())
        }
    }

    /// Sends the whole current state. A client gets it when it connects, and after it has missed
    /// news.
    async fn greet(&mut self) -> Result<(), SocketEnd> {
        self.tell_room().await?;
        let draw = self.room.draw_state();
        if draw.row.sealed.is_some() {
            self.send_message(&LiveMessage::Draw(&draw.record)).await?;
        }
        self.tell_place().await?;
        self.tell_newest_line().await?;
        self.tell_end(self.room.phase(self.rooms.now_ms())).await
    }

    async fn catch_up(&mut self) -> Result<(), SocketEnd> {
        metrics::counter!("fairgate_sockets_caught_up_total").increment(1);
        self.greet().await?;
        self.reschedule_wake().await
    }

    async fn pass_on(&mut self, news: RoomNews) -> Result<(), SocketEnd> {
        match news {
            RoomNews::Room(text, phase) => {
                self.send_frame(Ws::Text(text)).await?;
                self.tell_end(phase).await?;
            }
            RoomNews::Draw(text, ranked) => {
                self.send_frame(Ws::Text(text)).await?;
                if ranked {
                    self.tell_place().await?;
                }
            }
        }
        // A new rank or a new pace changes how near the visitor is.
        self.reschedule_wake().await
    }

    /// Sends the `line` frame if it is due. The hub wakes the socket in the seconds of its slot,
    /// and when a rank of the slot is called.
    async fn on_wake(&mut self, line: LineFrame) -> Result<(), SocketEnd> {
        if self.wire.is_stalled() {
            return Err(SocketEnd::later(
                "you read too slowly; come back, your place is kept",
            ));
        }
        self.wire.ping_if_due().await?;
        let due = self.has_new_call(&line.tick)
            || self
                .line_sent
                .is_none_or(|at| self.cadence.is_due(at.elapsed()));
        if due && self.wire.is_open() {
            self.tell_line(line.text, &line.tick).await?;
        } else if due {
            self.line_missed = true;
        }
        self.reschedule_wake().await
    }

    /// Updates the cadence and slot of this socket. If its visitor has been called meanwhile, sends
    /// the `line` frame at once.
    async fn reschedule_wake(&mut self) -> Result<(), SocketEnd> {
        let tick = self.room.last_tick();
        let called = self.rank.is_some_and(|rank| rank < tick.released);
        let ahead = self.rank.map(|rank| tick.ahead(rank));
        let per_s_u = micros_per_s(self.room.pace_per_s());
        self.cadence = SocketCadence::for_place(ahead, called, per_s_u, self.place.number);
        let waits_at = self.rank.filter(|_| !called);
        self.hub
            .set_wake(&mut self.listener, self.cadence.slot, waits_at);
        let tick = self.room.last_tick();
        if !self.has_new_call(&tick) {
            return Ok(());
        }
        if self.wire.is_open() {
            self.tell_newest_line().await
        } else {
            self.line_missed = true;
            Ok(())
        }
    }

    /// Returns whether this visitor is called, and this socket has not handled the call yet.
    fn has_new_call(&self, tick: &RoomTick) -> bool {
        !self.call_handled && self.rank.is_some_and(|rank| rank < tick.released)
    }

    async fn tell_newest_line(&mut self) -> Result<(), SocketEnd> {
        let (tick, per_s) = (self.room.last_tick(), self.room.pace_per_s());
        let line = encode(&LiveMessage::line_of_tick(
            &tick,
            per_s,
            self.rooms.now_ms(),
        ));
        self.tell_line(line, &tick).await
    }

    async fn tell_line(&mut self, line: Utf8Bytes, tick: &RoomTick) -> Result<(), SocketEnd> {
        (self.line_sent, self.line_missed) = (Some(Instant::now()), false);
        self.send_frame(Ws::Text(line)).await?;
        let Some(rank) = self.rank.filter(|_| self.has_new_call(tick)) else {
            return Ok(());
        };
        let now = self.rooms.now_ms();
        // A visitor who already has a pass, or whose order is done, gets no `turn` frame.
        let standing = self
            .rooms
            .store()
            .check_presented_place(self.room.id(), PresentedPlace::from(&self.place))
            .await;
        let place = match standing {
            Ok(PresentedPlaceStatus::Here(place)) => place,
            Ok(PresentedPlaceStatus::Left | PresentedPlaceStatus::Unknown) => {
                self.call_handled = true;
                return Ok(());
            }
            // The store cannot answer now. The next `line` frame asks again.
            Err(_) => return Ok(()),
        };
        self.call_handled = true;
        if describe(&self.room, &place, now).state != PlaceState::Called {
            return Ok(());
        }
        let claim_before = claim_before(&self.room, rank, now);
        self.send_message(&LiveMessage::Turn { claim_before }).await
    }

    async fn tell_room(&mut self) -> Result<(), SocketEnd> {
        let view = RoomView::fresh(&self.rooms, &self.room).await;
        self.send_message(&LiveMessage::Room(&view)).await
    }

    async fn tell_place(&mut self) -> Result<(), SocketEnd> {
        self.rank = self.room.rank(self.place.number);
        let ahead = self.rank.map(|rank| self.room.last_tick().ahead(rank));
        self.send_message(&LiveMessage::Place {
            number: self.place.number,
            rank: self.rank,
            ahead,
        })
        .await
    }

    async fn tell_end(&mut self, phase: RoomPhase) -> Result<(), SocketEnd> {
        let text = match phase {
            RoomPhase::SoldOut => LiveMessage::SOLD_OUT,
            RoomPhase::Closed => LiveMessage::CLOSED,
            RoomPhase::Scheduled
            | RoomPhase::Prequeue
            | RoomPhase::Drawing
            | RoomPhase::Selling => return Ok(()),
        };
        self.send_frame(Ws::Text(Utf8Bytes::from_static(text)))
            .await
    }

    /// Tells the visitor that the promoter ended the place. Returns the end of the socket.
    async fn tell_revoked(&mut self, note: &str) -> Result<SocketEnd, SocketEnd> {
        self.send_message(&LiveMessage::Closed {
            reason: "revoked",
            note,
        })
        .await?;
        Ok(SocketEnd::place_revoked())
    }

    async fn tell_hold(&mut self, signal: &HoldSignal) -> Result<(), SocketEnd> {
        let expires_at = rfc3339(signal.expires_at_ms);
        if signal.state == HoldSignalState::Offered {
            let show = signal.hold.parse::<HoldId>().map(|hold| hold.show());
            let show = show.as_ref().map_or("", |show| show.as_str());
            return self
                .send_message(&LiveMessage::Offer {
                    show,
                    hold: &signal.hold,
                    seats: &signal.seats,
                    expires_at,
                })
                .await;
        }
        self.send_message(&LiveMessage::Hold {
            hold: &signal.hold,
            state: signal.state.as_str(),
            expires_at,
        })
        .await
    }

    async fn handle_frame(&mut self, heard: Ws) -> Result<(), SocketEnd> {
        if self.floods() {
            return Err(SocketEnd::policy(
                "too many messages; slow down and come back",
            ));
        }
        match heard {
            Ws::Close(_) => Err(SocketEnd::ByClient),
            Ws::Ping(_) | Ws::Pong(_) => Ok(()),
            Ws::Binary(_) => Err(SocketEnd::policy("clients send text only")),
            Ws::Text(text) => match serde_json::from_str(&text) {
                Ok(request) => self.handle_request(request).await,
                Err(_) => Err(SocketEnd::policy(
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

    async fn handle_request(&mut self, request: LiveRequest) -> Result<(), SocketEnd> {
        match request {
            LiveRequest::Watch { show } => {
                self.watch = None;
                let watched = self.seats.watch(&show).await;
                let watched = watched.map_err(|_| {
                    SocketEnd::later("the seats cannot be read now; come back shortly")
                })?;
                self.watch =
                    Some(watched.ok_or_else(|| SocketEnd::policy("there is no such show"))?);
            }
            LiveRequest::Unwatch {} => self.watch = None,
            LiveRequest::Resync {} => {
                if let Some(watch) = &mut self.watch {
                    watch.resync();
                }
            }
        }
        Ok(())
    }

    async fn send_message(&mut self, message: &LiveMessage<'_>) -> Result<(), SocketEnd> {
        self.send_frame(Ws::Text(encode(message))).await
    }

    async fn send_frame(&mut self, frame: Ws) -> Result<(), SocketEnd> {
        self.wire.send_frame(frame).await
    }
}

/// Waits for the next frame of seats. Waits for ever if nothing is watched.
async fn next_seats(watch: &mut Option<SeatWatch>) -> Option<bytes::Bytes> {
    match watch {
        Some(watch) => watch.next().await,
        None => std::future::pending().await,
    }
}
