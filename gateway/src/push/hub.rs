//! Shared frames of one room: encoded once, cloned by reference. What everybody must hear goes to
//! everybody at once; how far the line has come goes to each socket as often as its nearness asks,
//! and at once to whoever was called by it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::ws::Utf8Bytes;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::cadence::{SLOTS, wakes};
use super::message::{LiveMessage, encode};
use crate::room::{Room, RoomPhase, RoomTick, RoomView};

/// So much news a socket may miss before it is brought up to date instead; the news is kept once
/// for all.
const BACKLOG: usize = 16;
/// Nobody waits in a slot.
const NOBODY: u64 = u64::MAX;

/// What goes to every socket of a room at once.
#[derive(Debug, Clone)]
pub enum RoomNews {
    /// The `room` frame, and the phase it tells of.
    Room(Utf8Bytes, RoomPhase),
    /// The `draw` frame; with `true` ranks are known now.
    Draw(Utf8Bytes, bool),
}

/// The `line` frame, and the tick behind it.
#[derive(Debug, Clone)]
pub struct LineFrame {
    /// The frame.
    pub text: Utf8Bytes,
    /// What it tells of.
    pub tick: Arc<RoomTick>,
}

/// The hubs of all rooms of this node; a cheap handle.
#[derive(Debug, Clone, Default)]
pub struct RoomSocketHubs {
    by_room: Arc<Mutex<HashMap<String, Arc<RoomSocketHub>>>>,
}

impl RoomSocketHubs {
    /// The hub of a room; made where nobody asked for it before.
    #[must_use]
    pub fn of_room(&self, room: &str) -> Arc<RoomSocketHub> {
        let mut hubs = self.by_room.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hub) = hubs.get(room) {
            return Arc::clone(hub);
        }
        Arc::clone(hubs.entry(room.to_owned()).or_default())
    }

    /// How many sockets listen, in all rooms.
    #[must_use]
    pub fn listeners(&self) -> usize {
        let hubs = self.by_room.lock().unwrap_or_else(PoisonError::into_inner);
        hubs.values().map(|hub| hub.listeners()).sum()
    }
}

/// The sending half of one room.
#[derive(Debug)]
pub struct RoomSocketHub {
    news: broadcast::Sender<RoomNews>,
    slots: Vec<WakeSlot>,
    /// When this hub began, and how many seconds of it the slots have been woken for.
    begun: Instant,
    woken: Mutex<u64>,
    /// The phase that was told last, whoever told it: a change by hand is not told again by the
    /// clock.
    told: Mutex<Option<RoomPhase>>,
}

/// Sockets that are woken in the same seconds. The newest frame replaces the one before: nobody has
/// a backlog of it.
#[derive(Debug)]
struct WakeSlot {
    line: watch::Sender<Option<LineFrame>>,
    /// The lowest rank in here that was not called when its socket was last awake.
    nearest: AtomicU64,
}

/// What a listener hears.
#[derive(Debug)]
pub enum HubEvent {
    /// For everybody.
    News(RoomNews),
    /// The newest line: this slot was woken.
    Line(LineFrame),
    /// More news was missed than is kept.
    Missed,
    /// The room has gone.
    Gone,
}

/// One socket's ear on the hub.
#[derive(Debug)]
pub struct HubListener {
    news: broadcast::Receiver<RoomNews>,
    line: watch::Receiver<Option<LineFrame>>,
    slot: usize,
}

impl Default for RoomSocketHub {
    fn default() -> Self {
        Self::new()
    }
}

impl RoomSocketHub {
    /// A hub that nobody listens to yet.
    #[must_use]
    pub fn new() -> Self {
        let slot = |_| WakeSlot {
            line: watch::channel(None).0,
            nearest: AtomicU64::new(NOBODY),
        };
        Self {
            news: broadcast::channel(BACKLOG).0,
            slots: (0..SLOTS).map(slot).collect(),
            begun: Instant::now(),
            woken: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> HubListener {
        HubListener {
            news: self.news.subscribe(),
            line: self.slots[0].line.subscribe(),
            slot: 0,
        }
    }

    /// How many sockets listen.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.news.receiver_count()
    }

    /// Wakes the listener with `slot` from now on, and earlier when the line comes to `rank`.
    /// Whoever calls this reads the room's tick afterwards: a line that came to `rank` in between
    /// woke nobody.
    pub fn set_wake(&self, listener: &mut HubListener, slot: usize, rank: Option<u64>) {
        let at = &self.slots[slot];
        if listener.slot != slot {
            (listener.line, listener.slot) = (at.line.subscribe(), slot);
        }
        if let Some(rank) = rank {
            at.nearest.fetch_min(rank, Ordering::SeqCst);
        }
    }

    /// Tells of phase, message or settings.
    pub fn announce_room(&self, room: &Room, now: i64) {
        self.announce_room_if(room, now, |_, _| true);
    }

    /// Tells of the phase where it is not the one that was told last.
    pub fn announce_phase(&self, room: &Room, now: i64) {
        self.announce_room_if(room, now, |told, phase| told != Some(phase));
    }

    fn announce_room_if(
        &self,
        room: &Room,
        now: i64,
        wanted: impl Fn(Option<RoomPhase>, RoomPhase) -> bool,
    ) {
        // Held while the frame goes out, so that the last frame out is the last phase told.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let phase = room.phase(now);
        if wanted(*told, phase) {
            *told = Some(phase);
            let view = RoomView::from_last_tick(room, now);
            self.send_news(RoomNews::Room(encode(&LiveMessage::Room(&view)), phase));
        }
    }

    /// Tells of freeze and draw.
    pub fn announce_draw(&self, room: &Room, now: i64) {
        let draw = room.draw_state();
        // Between the freeze and its root there is nothing to publish yet.
        if draw.row.sealed.is_some() {
            self.send_news(RoomNews::Draw(
                encode(&LiveMessage::Draw(&draw.record)),
                draw.ranked.is_some(),
            ));
            self.announce_room(room, now);
        }
    }

    /// Tells how far the line has come, as the room's tick has it: to those whose second it is, and
    /// to those it called.
    pub fn announce_line(&self, room: &Room, now: i64) {
        let tick = room.last_tick();
        let text = || encode(&LiveMessage::line_of_tick(&tick, room.pace_per_s(), now));
        self.wake_slots(self.begun.elapsed().as_secs(), &tick, text);
    }

    fn wake_slots(&self, second: u64, tick: &Arc<RoomTick>, text: impl Fn() -> Utf8Bytes) {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let after = std::mem::replace(&mut *woken, second);
        let mut frame: Option<LineFrame> = None;
        for (slot, at) in self.slots.iter().enumerate() {
            let called = at.nearest.load(Ordering::SeqCst) < tick.released;
            if !(called || wakes(slot, after, second)) || at.line.receiver_count() == 0 {
                continue;
            }
            // Before it is sent: whoever is woken by it says anew what it waits for.
            at.nearest.store(NOBODY, Ordering::SeqCst);
            let line = frame.get_or_insert_with(|| LineFrame {
                text: text(),
                tick: Arc::clone(tick),
            });
            at.line.send_replace(Some(line.clone()));
        }
    }

    fn send_news(&self, news: RoomNews) {
        // Without listeners there is nobody to tell.
        let _ = self.news.send(news);
    }
}

impl HubListener {
    /// The next thing to hear. News only where `with_news`: a socket that cannot pass it on leaves
    /// it where it is, once for all.
    pub async fn next(&mut self, with_news: bool) -> HubEvent {
        loop {
            tokio::select! {
                news = self.news.recv(), if with_news => return match news {
                    Ok(news) => HubEvent::News(news),
                    Err(RecvError::Lagged(_)) => HubEvent::Missed,
                    Err(RecvError::Closed) => HubEvent::Gone,
                },
                changed = self.line.changed() => {
                    if changed.is_err() {
                        return HubEvent::Gone;
                    }
                    if let Some(line) = self.line.borrow_and_update().clone() {
                        return HubEvent::Line(line);
                    }
                }
            }
        }
    }

    /// Forgets the news that was not heard yet; whether there was any.
    pub fn skip_news(&mut self) -> bool {
        let missed = !self.news.is_empty();
        if missed {
            self.news = self.news.resubscribe();
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn tick(released: u64) -> Arc<RoomTick> {
        Arc::new(RoomTick {
            released,
            ..RoomTick::default()
        })
    }

    fn heard(listener: &mut HubListener) -> Option<u64> {
        match listener.next(true).now_or_never() {
            Some(HubEvent::Line(line)) => Some(line.tick.released),
            Some(other) => panic!("{other:?}"),
            None => None,
        }
    }

    #[test]
    fn whoever_is_called_is_woken_at_once_and_those_who_are_not_sleep_on() {
        let hub = RoomSocketHub::new();
        let slots = [SLOTS - 1, SLOTS - 2];
        let mut listeners = [hub.listen(), hub.listen()];
        for (listener, (slot, rank)) in listeners.iter_mut().zip(slots.into_iter().zip([500, 900]))
        {
            hub.set_wake(listener, slot, Some(rank));
        }
        let encoded = std::cell::Cell::new(0);
        let mut beat = |released| {
            hub.wake_slots(0, &tick(released), || {
                encoded.set(encoded.get() + 1);
                Utf8Bytes::from_static("line")
            });
            let [near, far] = &mut listeners;
            (heard(near), heard(far))
        };
        assert_eq!(beat(500), (None, None));
        assert_eq!(beat(501), (Some(501), None));
        assert_eq!(
            beat(502),
            (None, None),
            "it was told, and did not ask again"
        );
        assert_eq!(beat(2000), (None, Some(2000)));
        assert_eq!(encoded.get(), 2, "a frame that nobody needs is not written");
    }

    #[test]
    fn a_listener_that_slept_hears_the_newest_line_and_no_backlog() {
        let hub = RoomSocketHub::new();
        let mut listener = hub.listen();
        for second in 1..100 {
            hub.wake_slots(second, &tick(second), || Utf8Bytes::from_static("line"));
        }
        assert_eq!(heard(&mut listener), Some(99));
        assert_eq!(heard(&mut listener), None);
    }
}
