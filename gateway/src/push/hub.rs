//! Shared frames of one room: encoded once, cloned by reference to every socket.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::broadcast;

use super::message::{Message, encode};
use crate::room::{Phase, Room, RoomView, Tick};

/// So many frames a slow socket may fall behind before it is brought up to date instead.
const BACKLOG: usize = 64;

/// What goes to every socket of a room.
#[derive(Debug, Clone)]
pub enum Shared {
    /// The `room` frame, and the phase it tells of.
    Room(Utf8Bytes, Phase),
    /// The `draw` frame; with `true` ranks are known now.
    Draw(Utf8Bytes, bool),
    /// The `line` frame, and the tick behind it.
    Line(Utf8Bytes, Arc<Tick>),
}

/// The sending half.
#[derive(Debug)]
pub struct Hub {
    frames: broadcast::Sender<Shared>,
    /// The phase that was told last, whoever told it: a change by hand is not told again by the clock.
    told: Mutex<Option<Phase>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl Hub {
    /// A hub that nobody listens to yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            frames: broadcast::channel(BACKLOG).0,
            told: Mutex::default(),
        }
    }

    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> broadcast::Receiver<Shared> {
        self.frames.subscribe()
    }

    /// How many sockets listen.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.frames.receiver_count()
    }

    /// Tells of phase, message or settings.
    pub fn room(&self, room: &Room, now: i64) {
        self.tell_room(room, now, |_, _| true);
    }

    /// Tells of the phase where it is not the one that was told last.
    pub fn phase(&self, room: &Room, now: i64) {
        self.tell_room(room, now, |told, phase| told != Some(phase));
    }

    fn tell_room(&self, room: &Room, now: i64, wanted: impl Fn(Option<Phase>, Phase) -> bool) {
        // Held while the frame goes out, so that the last frame out is the last phase told.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let phase = room.phase(now);
        if wanted(*told, phase) {
            *told = Some(phase);
            let view = RoomView::of(room, now);
            self.send(Shared::Room(encode(&Message::Room(&view)), phase));
        }
    }

    /// Tells of freeze and draw.
    pub fn draw(&self, room: &Room, now: i64) {
        let draw = room.draw();
        // Between the freeze and its root there is nothing to publish yet.
        if draw.row.sealed.is_some() {
            self.send(Shared::Draw(
                encode(&Message::Draw(&draw.record)),
                draw.ranked.is_some(),
            ));
            self.room(room, now);
        }
    }

    /// Tells how far the line has come.
    pub fn line(&self, room: &Room, now: i64) {
        if self.listeners() > 0 {
            let tick = room.tick();
            let frame = encode(&Message::line(&tick, room.row().document.per_s, now));
            self.send(Shared::Line(frame, tick));
        }
    }

    fn send(&self, frame: Shared) {
        // Without listeners there is nobody to tell.
        let _ = self.frames.send(frame);
    }
}
