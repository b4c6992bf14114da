//! One visitor's socket. Its task sends what only this visitor gets, and news of the room. Many
//! sockets share the frames of the line and of seats. [Loops](super::hub) write these frames
//! without this task. The task never waits for its client. A frame that cannot be sent now is not
//! queued. The client gets the newest state later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::Message as Ws;
use fairgate_base::clock::rfc3339;
use fairgate_model::holds::HoldSignalState;
use fairgate_model::ids::HoldId;
use fairgate_rules::claim_timing::turn_of;
use fairgate_rules::phase::RoomPhase;
use tokio::sync::watch;

use super::LiveSockets;
use super::client_wire::{ClientWire, WireEvent};
use super::ending::SocketEnd;
use super::frame::SharedFrame;
use super::hub::{HubEvent, HubListener, RoomNews, RoomSocketHub};
use super::message::{LiveMessage, LiveRequest, encode};
use super::seats::{SeatWatch, WatchedShows};
use super::standing::LineStanding;
use crate::line::place_view::{PlaceState, describe};
use crate::personal::{PersonalEvent, PersonalReceiver};
use crate::room::{Room, RoomRegistry, RoomView};
use crate::store::{PresentedPlace, PresentedPlaceStatus};
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
    place: Arc<PresentedPlace>,
    watch: Option<SeatWatch>,
    listener: HubListener,
    flood: (Instant, u32),
}

/// An event that the socket's task handles.
enum SocketEvent {
    /// An event on the connection.
    Wire(WireEvent),
    /// An event of the room.
    Room(HubEvent),
    /// An event for this visitor. `None` means that newer sockets have replaced this one.
    Personal(Option<PersonalEvent>),
}

impl VisitorSocket {
    /// Makes the handler of a visitor's socket that has just opened.
    pub fn new(
        wire: ClientWire,
        push: LiveSockets,
        room: Room,
        place: Arc<PresentedPlace>,
    ) -> Self {
        let hub = push.hubs.of_room(room.id());
        Self {
            listener: hub.listen(Arc::clone(wire.outlet()), place.number),
            wire,
            rooms: push.rooms,
            hub,
            room,
            seats: push.seats,
            place,
            watch: None,
            flood: (Instant::now(), 0),
        }
    }

    /// Serves the socket until it ends, and returns why it ended.
    pub async fn run(
        &mut self,
        personal: &mut PersonalReceiver,
        stopping: &mut watch::Receiver<bool>,
    ) -> SocketEnd {
        match self.serve(personal, stopping).await {
            Ok(()) => SocketEnd::Gone,
            Err(end) => end,
        }
    }

    /// Closes the socket as `end` says.
    pub async fn end(&mut self, end: SocketEnd) {
        self.wire.end(end).await;
    }

    async fn serve(
        &mut self,
        personal: &mut PersonalReceiver,
        stopping: &mut watch::Receiver<bool>,
    ) -> Result<(), SocketEnd> {
        // The futures that seldom run are boxed. Otherwise the task of every socket would need room
        // for them.
        Box::pin(self.begin()).await?;
        loop {
            // While the client takes no frames, news stays in the queue that all sockets share, and
            // at most a few personal events wait for this client.
            let open = self.wire.is_open();
            let event = tokio::select! {
                event = self.wire.next() => SocketEvent::Wire(event?),
                event = self.listener.next(open) => SocketEvent::Room(event),
                event = personal.next(), if open => SocketEvent::Personal(event),
                () = fairgate_base::process::stopped(stopping) => return Err(SocketEnd::restart()),
            };
            Box::pin(self.handle(event, open)).await?;
        }
    }

    async fn begin(&mut self) -> Result<(), SocketEnd> {
        self.greet().await?;
        self.reschedule_wake().await
    }

    async fn handle(&mut self, event: SocketEvent, was_open: bool) -> Result<(), SocketEnd> {
        match event {
            SocketEvent::Wire(event) => self.on_wire_event(event, was_open).await,
            SocketEvent::Room(HubEvent::News(news)) => self.forward_news(news).await,
            // The socket has missed news, so it gets the current state instead.
            SocketEvent::Room(HubEvent::Missed) => self.catch_up().await,
            SocketEvent::Room(HubEvent::Gone) => Err(SocketEnd::Gone),
            SocketEvent::Personal(Some(event)) => self.on_personal_event(&event).await,
            SocketEvent::Personal(None) => Err(SocketEnd::replaced()),
        }
    }

    async fn on_personal_event(&mut self, event: &PersonalEvent) -> Result<(), SocketEnd> {
        match event {
            PersonalEvent::Hold(signal) => self.tell_hold(signal),
            PersonalEvent::Left { room, number } if self.is_place(room, *number) => {
                Err(SocketEnd::place_left())
            }
            PersonalEvent::Revoked { room, number, note } if self.is_place(room, *number) => {
                Err(self.tell_revoked(note)?)
            }
            PersonalEvent::Cleared { room, below, note }
                if self.room.id() == &**room && self.place.number < *below =>
            {
                Err(self.tell_revoked(note)?)
            }
            PersonalEvent::Idle {
                room,
                number,
                ends_at,
            } if self.is_place(room, *number) => self.tell_idle(*ends_at),
            PersonalEvent::VisitEnded {
                room,
                number,
                cause,
            } if self.is_place(room, *number) => {
                let cause = cause.as_str();
                self.send_message(&LiveMessage::PassEnded { cause })?;
                self.listener
                    .standing(|standing| standing.is_call_handled = false);
                self.tell_turn().await
            }
            // The event is about a place in another room, or about an earlier place.
            PersonalEvent::Left { .. }
            | PersonalEvent::Revoked { .. }
            | PersonalEvent::Idle { .. }
            | PersonalEvent::VisitEnded { .. }
            | PersonalEvent::Cleared { .. } => Ok(()),
        }
    }

    fn is_place(&self, room: &str, number: u64) -> bool {
        self.room.id() == room && self.place.number == number
    }

    async fn on_wire_event(&mut self, event: WireEvent, was_open: bool) -> Result<(), SocketEnd> {
        match event {
            WireEvent::Received(message) => self.handle_frame(message).await?,
            WireEvent::Woken if self.wire.outlet().is_stalled() => {
                return Err(SocketEnd::try_later(
                    "you read too slowly; come back, your place is kept",
                ));
            }
            WireEvent::Woken | WireEvent::Answered => {}
        }
        if self.wire.is_open() {
            self.resume(was_open).await?;
        }
        Ok(())
    }

    /// Sends what the client has missed, and the `turn` frame if the visitor's turn has come. A
    /// client that has missed news and takes frames again gets the current state once.
    async fn resume(&mut self, was_open: bool) -> Result<(), SocketEnd> {
        if let Some(watch) = &self.watch {
            watch.catch_up();
        }
        if !was_open && self.listener.skip_news() {
            return self.catch_up().await;
        }
        let is_missed = self.listener.standing(|standing| standing.is_line_missed);
        if is_missed || self.has_new_call() {
            self.tell_newest_line().await?;
        }
        Ok(())
    }

    /// Sends the whole current state. A client gets the state after it has connected, and again
    /// after it has missed news.
    async fn greet(&mut self) -> Result<(), SocketEnd> {
        self.tell_room().await?;
        let draw = self.room.draw_state();
        if draw.row.sealed.is_some() {
            self.send_message(&LiveMessage::Draw(&draw.record))?;
        }
        self.tell_place()?;
        self.tell_newest_line().await?;
        Box::pin(self.tell_ended_visit()).await?;
        self.tell_end(self.room.phase(self.rooms.now_ms()))
    }

    /// Tells a visitor whose visit ended early, and who may not have been here at that moment, that
    /// it has ended.
    async fn tell_ended_visit(&mut self) -> Result<(), SocketEnd> {
        if !self.room.stops().has_ended_visit(self.place.number) {
            return Ok(());
        }
        let status = self
            .rooms
            .store()
            .check_presented_place(self.room.id(), *self.place)
            .await;
        // If the store cannot answer now, the visitor's next call with the pass says it.
        let Ok(PresentedPlaceStatus::Here(place)) = status else {
            return Ok(());
        };
        let ended = |exp| self.room.stops().last_visit_end(place.number, exp);
        match place.pass_exp.and_then(ended) {
            Some(cause) => self.send_message(&LiveMessage::PassEnded {
                cause: cause.as_str(),
            }),
            None => Ok(()),
        }
    }

    async fn catch_up(&mut self) -> Result<(), SocketEnd> {
        metrics::counter!("fairgate_sockets_caught_up_total").increment(1);
        self.greet().await?;
        self.reschedule_wake().await
    }

    async fn forward_news(&mut self, news: RoomNews) -> Result<(), SocketEnd> {
        match news {
            RoomNews::Room(text, phase) => {
                self.send_frame(&text)?;
                self.tell_end(phase)?;
            }
            RoomNews::Draw(text, ranked) => {
                self.send_frame(&text)?;
                if ranked {
                    self.tell_place()?;
                }
            }
        }
        // A new rank or a new pace changes how soon the visitor is called.
        self.reschedule_wake().await
    }

    /// Updates how often the hub writes `line` frames to this socket. If the visitor has been
    /// called meanwhile, sends the call at once, or later if the client takes no frames now.
    async fn reschedule_wake(&mut self) -> Result<(), SocketEnd> {
        let (tick, per_s) = (self.room.last_tick(), self.room.pace_per_s());
        self.listener.reschedule(&tick, per_s);
        if !self.has_new_call() {
            return Ok(());
        }
        if self.wire.is_open() {
            self.tell_newest_line().await
        } else {
            let note_missed =
                |standing: &mut LineStanding| standing.note_line(Instant::now(), false);
            self.listener.standing(note_missed);
            Ok(())
        }
    }

    /// Returns whether this visitor is called, and this socket has not handled the call yet.
    fn has_new_call(&self) -> bool {
        let released = self.room.last_tick().released;
        self.listener
            .standing(|standing| standing.has_new_call(released, Instant::now()))
    }

    async fn tell_newest_line(&mut self) -> Result<(), SocketEnd> {
        let (tick, per_s) = (self.room.last_tick(), self.room.pace_per_s());
        let line = self.hub.line_frame(&tick, per_s, self.rooms.now_ms());
        self.send_frame(&line)?;
        self.listener
            .standing(|standing| standing.note_line(Instant::now(), true));
        self.tell_turn().await
    }

    /// Tells a visitor who is called anew where the place stands. Whoever can claim a pass gets the
    /// `turn` frame. Whoever is in the line again, because the last pass has ended, gets the
    /// `place` frame.
    async fn tell_turn(&mut self) -> Result<(), SocketEnd> {
        if !self.has_new_call() {
            return Ok(());
        }
        let now = self.rooms.now_ms();
        // A visitor who already has a pass, or whose order is done, gets no `turn` frame.
        let status = self
            .rooms
            .store()
            .check_presented_place(self.room.id(), *self.place)
            .await;
        let place = match status {
            Ok(PresentedPlaceStatus::Here(place)) => Some(place),
            Ok(PresentedPlaceStatus::Left | PresentedPlaceStatus::Unknown) => None,
            // The store cannot answer now. It is asked again with the next `line` frame.
            Err(_) => return Ok(()),
        };
        let view = place.map(|place| describe(&self.room, &place, now));
        let state = view.as_ref().map(|view| view.state);
        let lives_ms = place
            .and_then(|place| place.pass_exp)
            .filter(|_| state == Some(PlaceState::Admitted))
            .map(|exp| u64::try_from(exp.saturating_mul(1_000) - now).unwrap_or(0));
        self.listener.standing(|standing| {
            standing.is_call_handled = state != Some(PlaceState::Waiting);
            standing.pass_until = lives_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        });
        match (state, place, view) {
            (Some(PlaceState::Called), _, Some(view)) => {
                let claim_before = view.claim_before;
                self.send_message(&LiveMessage::Turn { claim_before })
            }
            (Some(PlaceState::Waiting), Some(place), _) => {
                self.listener
                    .standing(|standing| standing.called_behind = place.called_behind);
                self.tell_place()
            }
            _ => Ok(()),
        }
    }

    async fn tell_room(&mut self) -> Result<(), SocketEnd> {
        let view = RoomView::fresh(&self.rooms, &self.room).await;
        self.send_message(&LiveMessage::Room(&view))
    }

    fn tell_place(&self) -> Result<(), SocketEnd> {
        let rank = self.room.rank(self.place.number);
        let turn = self.listener.standing(|standing| {
            standing.turn = rank.map(|rank| turn_of(rank, standing.called_behind));
            standing.turn
        });
        let ahead = turn.map(|turn| self.room.last_tick().ahead(turn));
        self.send_message(&LiveMessage::Place {
            number: self.place.number,
            rank,
            turn,
            ahead,
        })
    }

    fn tell_end(&self, phase: RoomPhase) -> Result<(), SocketEnd> {
        let text = match phase {
            RoomPhase::SoldOut => LiveMessage::SOLD_OUT,
            RoomPhase::Closed => LiveMessage::CLOSED,
            RoomPhase::Scheduled
            | RoomPhase::Prequeue
            | RoomPhase::Drawing
            | RoomPhase::Selling => return Ok(()),
        };
        self.send_frame(&SharedFrame::text(text))
    }

    /// Tells the visitor that the promoter ended the place. Returns the end of the socket.
    fn tell_revoked(&self, note: &str) -> Result<SocketEnd, SocketEnd> {
        self.send_message(&LiveMessage::Closed {
            reason: "revoked",
            note,
        })?;
        Ok(SocketEnd::place_revoked())
    }

    fn tell_idle(&self, ends_at: Option<i64>) -> Result<(), SocketEnd> {
        let in_s = |at: i64| u64::try_from((at - self.rooms.now_ms()).max(0) / 1_000).unwrap_or(0);
        self.send_message(&LiveMessage::Idle {
            ends_at: ends_at.map(rfc3339),
            ends_in_s: ends_at.map(in_s),
        })
    }

    fn tell_hold(&self, signal: &HoldSignal) -> Result<(), SocketEnd> {
        let expires_at = rfc3339(signal.expires_at_ms);
        if signal.state == HoldSignalState::Offered {
            let show = signal.hold.parse::<HoldId>().map(|hold| hold.show());
            let show = show.as_ref().map_or("", |show| show.as_str());
            return self.send_message(&LiveMessage::Offer {
                show,
                hold: &signal.hold,
                seats: &signal.seats,
                expires_at,
            });
        }
        self.send_message(&LiveMessage::Hold {
            hold: &signal.hold,
            state: signal.state.as_str(),
            expires_at,
        })
    }

    async fn handle_frame(&mut self, message: Ws) -> Result<(), SocketEnd> {
        if self.floods() {
            return Err(SocketEnd::policy(
                "too many messages; slow down and come back",
            ));
        }
        match message {
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

    /// Counts a message. Returns whether the client has sent too many.
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
                let watched = self.seats.watch(&show, self.wire.outlet()).await;
                let watched = watched.map_err(|_| {
                    SocketEnd::try_later("the seats cannot be read now; come back shortly")
                })?;
                let watch = watched.ok_or_else(|| SocketEnd::policy("there is no such show"))?;
                watch.catch_up();
                self.watch = Some(watch);
                // Whoever has a pass and begins to watch seats does something.
                let now_s = self.rooms.now_ms().div_euclid(1_000);
                self.room.activity().note(self.place.number, now_s);
            }
            LiveRequest::Unwatch {} => self.watch = None,
            LiveRequest::Resync {} => {
                if let Some(watch) = &self.watch {
                    watch.resync();
                }
            }
        }
        Ok(())
    }

    fn send_message(&self, message: &LiveMessage<'_>) -> Result<(), SocketEnd> {
        self.send_frame(&encode(message))
    }

    fn send_frame(&self, frame: &SharedFrame) -> Result<(), SocketEnd> {
        self.wire.send_frame(frame)
    }
}
