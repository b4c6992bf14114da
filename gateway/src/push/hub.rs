//! Sends the shared frames of one room. Each frame is encoded once and cloned by reference. News
//! goes to every socket at once. A `line` frame goes to each socket as often as its
//! [cadence](super::cadence) says. Visitors who have just been called get it at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::ws::Utf8Bytes;
use fairgate_rules::phase::RoomPhase;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::cadence::{SLOTS, wakes};
use super::message::{LiveMessage, encode};
use crate::room::{Room, RoomTick, RoomView};

/// How many news frames are stored, once for all sockets. A socket that has missed more gets the
/// current state instead.
const BACKLOG: usize = 16;
/// The value of a slot in which no rank waits to be called.
const NOBODY: u64 = u64::MAX;

/// News that goes to every socket of a room at once.
#[derive(Debug, Clone)]
pub enum RoomNews {
    /// The `room` frame, and the phase in it.
    Room(Utf8Bytes, RoomPhase),
    /// The `draw` frame, and whether ranks are known now.
    Draw(Utf8Bytes, bool),
}

/// The `line` frame, and its tick.
#[derive(Debug, Clone)]
pub struct LineFrame {
    /// The encoded frame.
    pub text: Utf8Bytes,
    /// The tick that the frame was made from.
    pub tick: Arc<RoomTick>,
}

/// The hubs of all rooms on this node; a cheap handle.
#[derive(Debug, Clone, Default)]
pub struct RoomSocketHubs {
    by_room: Arc<Mutex<HashMap<String, Arc<RoomSocketHub>>>>,
}

impl RoomSocketHubs {
    /// Returns the hub of a room, and makes it if it does not exist yet.
    #[must_use]
    pub fn of_room(&self, room: &str) -> Arc<RoomSocketHub> {
        let mut hubs = self.by_room.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hub) = hubs.get(room) {
            return Arc::clone(hub);
        }
        Arc::clone(hubs.entry(room.to_owned()).or_default())
    }

    /// Counts the listening sockets of all rooms.
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
    /// When this hub began. `woken` is the second since then up to which slots have been woken.
    begun: Instant,
    woken: Mutex<u64>,
    /// The phase that was sent last. If a change by hand has sent a phase, the room's loop does not
    /// send it again.
    sent_phase: Mutex<Option<RoomPhase>>,
}

/// The sockets that are woken in the same seconds. The newest frame replaces the last one, so that
/// no socket has a backlog.
#[derive(Debug)]
struct WakeSlot {
    line: watch::Sender<Option<LineFrame>>,
    /// The lowest rank in this slot that was not called when its socket last set its rank.
    nearest: AtomicU64,
}

/// What a listener receives.
#[derive(Debug)]
pub enum HubEvent {
    /// News for every socket.
    News(RoomNews),
    /// The newest `line` frame, because the listener's slot was woken.
    Line(LineFrame),
    /// The listener missed more news than is stored.
    Missed,
    /// The room's hub was dropped.
    Gone,
}

/// One socket's subscription to the hub.
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
    /// Makes a hub without listeners.
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
            sent_phase: Mutex::default(),
        }
    }

    /// Subscribes a new listener from now on.
    #[must_use]
    pub fn listen(&self) -> HubListener {
        HubListener {
            news: self.news.subscribe(),
            line: self.slots[0].line.subscribe(),
            slot: 0,
        }
    }

    /// Counts the listening sockets.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.news.receiver_count()
    }

    /// Puts the listener into `slot` from now on, and wakes it at once when `rank` is called. The
    /// caller must read the room's tick afterwards, because nobody was woken if `rank` was called
    /// just before.
    pub fn set_wake(&self, listener: &mut HubListener, slot: usize, rank: Option<u64>) {
        let at = &self.slots[slot];
        if listener.slot != slot {
            (listener.line, listener.slot) = (at.line.subscribe(), slot);
        }
        if let Some(rank) = rank {
            at.nearest.fetch_min(rank, Ordering::SeqCst);
        }
    }

    /// Sends the `room` frame, with phase, message and settings.
    pub fn announce_room(&self, room: &Room, now: i64) {
        self.announce_room_if(room, now, |_, _| true);
    }

    /// Sends the `room` frame, if the phase is not the one that was sent last.
    pub fn announce_phase(&self, room: &Room, now: i64) {
        self.announce_room_if(room, now, |told, phase| told != Some(phase));
    }

    fn announce_room_if(
        &self,
        room: &Room,
        now: i64,
        wanted: impl Fn(Option<RoomPhase>, RoomPhase) -> bool,
    ) {
        // The lock is held while the frame is sent, so that frames go out in the order of the
        // phases in `sent_phase`.
        let mut told = self
            .sent_phase
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let phase = room.phase(now);
        if wanted(*told, phase) {
            *told = Some(phase);
            let view = RoomView::from_last_tick(room, now);
            self.send_news(RoomNews::Room(encode(&LiveMessage::Room(&view)), phase));
        }
    }

    /// Sends the `draw` frame once the freeze is published, and then the `room` frame.
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

    /// Sends the `line` frame of the room's last tick to the slots that are due in this second, and
    /// to the slots with a visitor who was just called.
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
            // `nearest` is cleared before the frame is sent, because each woken socket then sets
            // its rank again.
            at.nearest.store(NOBODY, Ordering::SeqCst);
            let line = frame.get_or_insert_with(|| LineFrame {
                text: text(),
                tick: Arc::clone(tick),
            });
            at.line.send_replace(Some(line.clone()));
        }
    }

    fn send_news(&self, news: RoomNews) {
        // Sending fails only if there are no listeners.
        let _ = self.news.send(news);
    }
}

impl HubListener {
    /// Waits for the next event. Without `with_news` it leaves news in the shared queue, so that a
    /// socket that cannot send now stores no copy.
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

    /// Skips all news that this listener has not received, and returns whether there was any.
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
    fn a_called_visitor_is_woken_at_once_and_the_others_are_not() {
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
            "the call woke the socket, and it has not set its rank again"
        );
        assert_eq!(beat(2000), (None, Some(2000)));
        assert_eq!(encoded.get(), 2, "a frame that nobody needs is not encoded");
    }

    #[test]
    fn a_slow_listener_gets_only_the_newest_line_frame() {
        let hub = RoomSocketHub::new();
        let mut listener = hub.listen();
        for second in 1..100 {
            hub.wake_slots(second, &tick(second), || Utf8Bytes::from_static("line"));
        }
        assert_eq!(heard(&mut listener), Some(99));
        assert_eq!(heard(&mut listener), None);
    }
}
