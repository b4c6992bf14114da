//! Sends the shared frames of one room. Each frame is encoded once. News goes to the task of every
//! socket at once. One loop writes `line` frames to each socket as often as the socket's
//! [cadence](super::socket_cadence) says. The loop also wakes the tasks of visitors who have just
//! been called.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use fairgate_rules::phase::RoomPhase;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::announced_tiers::AnnouncedTiers;
use super::frame::SharedFrame;
use super::frame_writer::FrameWriter;
use super::message::{LiveMessage, encode};
use super::outlet::SocketOutlet;
use super::push_cadence::PushCadence;
use super::socket_cadence::{SLOTS, wakes};
use super::standing::LineStanding;
use crate::room::{Room, RoomTick, RoomView};

/// How many news frames are stored. All sockets share them. A socket that is further behind gets
/// the current state instead.
const BACKLOG: usize = 16;
/// The value of `nearest` in a slot in which no rank waits to be called.
const NOBODY: u64 = u64::MAX;

/// News that goes to every socket of a room at once.
#[derive(Debug, Clone)]
pub enum RoomNews {
    /// The `room` frame, and the phase in it.
    Room(SharedFrame, RoomPhase),
    /// The `draw` frame, and whether ranks are known now.
    Draw(SharedFrame, bool),
}

/// The hubs of all rooms on this node; a cheap handle.
#[derive(Clone, Default)]
pub struct RoomSocketHubs {
    by_room: Arc<Mutex<HashMap<String, Arc<RoomSocketHub>>>>,
    cadence: PushCadence,
    frame_writer: FrameWriter,
}

impl RoomSocketHubs {
    /// Makes the hubs, and starts the thread that writes shared frames. `cadence` says how often
    /// sockets get frames.
    #[must_use]
    pub fn new(cadence: PushCadence) -> Self {
        Self {
            by_room: Arc::default(),
            cadence,
            frame_writer: FrameWriter::start(),
        }
    }

    /// Returns the thread that writes shared frames.
    #[must_use]
    pub fn frame_writer(&self) -> &FrameWriter {
        &self.frame_writer
    }

    /// Returns how often this node's sockets get frames.
    #[must_use]
    pub fn cadence(&self) -> &PushCadence {
        &self.cadence
    }

    /// Returns the hub of a room, and makes it if it does not exist yet.
    #[must_use]
    pub fn of_room(&self, room: &str) -> Arc<RoomSocketHub> {
        let mut hubs = self.by_room.lock();
        if let Some(hub) = hubs.get(room) {
            return Arc::clone(hub);
        }
        let (cadence, frame_writer) = (self.cadence.clone(), self.frame_writer.clone());
        let hub = Arc::new(RoomSocketHub::new(cadence, frame_writer));
        Arc::clone(hubs.entry(room.to_owned()).or_insert(hub))
    }

    /// Counts the listening sockets of all rooms.
    #[must_use]
    pub fn listener_count(&self) -> usize {
        let hubs = self.by_room.lock();
        hubs.values().map(|hub| hub.listener_count()).sum()
    }
}

/// Sends frames to the sockets of one room.
pub struct RoomSocketHub {
    news: broadcast::Sender<RoomNews>,
    slots: Vec<WakeSlot>,
    cadence: PushCadence,
    frame_writer: FrameWriter,
    /// Whether the `line` frame of an earlier beat is still being written.
    is_writing: AtomicBool,
    next_id: AtomicU64,
    /// When this hub began.
    begun: Instant,
    /// Slots have been woken up to this second since `begun`.
    woken_until: Mutex<u64>,
    /// What was last sent to the sockets. After a change by hand has sent a phase, the room's loop
    /// does not send this phase again.
    sent: Mutex<SentRoom>,
}

/// What was last sent to the sockets of a room.
#[derive(Default)]
struct SentRoom {
    phase: Option<RoomPhase>,
    is_closed_for_check: bool,
    tiers: AnnouncedTiers,
}

/// The sockets that are woken in the same seconds.
struct WakeSlot {
    sockets: Mutex<BTreeMap<u64, Arc<LineSocket>>>,
    /// The lowest rank in this slot that had not been called when its socket was last scheduled.
    nearest: AtomicU64,
}

/// One socket in the line.
struct LineSocket {
    id: u64,
    outlet: Arc<SocketOutlet>,
    inner: Mutex<LineSocketState>,
}

struct LineSocketState {
    standing: LineStanding,
    /// The slot that has this socket. `None` before the first [`HubListener::reschedule`], and
    /// after the listener was dropped.
    slot: Option<usize>,
}

/// The `line` frame for the sockets that are due, and the figures that it was made from.
struct LineBeat {
    frame: SharedFrame,
    tick: Arc<RoomTick>,
    per_s: f64,
}

/// What a listener receives.
#[derive(Debug)]
pub enum HubEvent {
    /// News for every socket.
    News(RoomNews),
    /// The listener missed more news than is stored.
    Missed,
    /// The room's hub was dropped.
    Gone,
}

/// One socket's subscription to the hub. Dropping it ends the subscription.
pub struct HubListener {
    hub: Arc<RoomSocketHub>,
    news: broadcast::Receiver<RoomNews>,
    socket: Arc<LineSocket>,
}

impl RoomSocketHub {
    /// Makes a hub without listeners.
    #[must_use]
    pub fn new(cadence: PushCadence, frame_writer: FrameWriter) -> Self {
        let slot = |_| WakeSlot {
            sockets: Mutex::default(),
            nearest: AtomicU64::new(NOBODY),
        };
        Self {
            news: broadcast::channel(BACKLOG).0,
            slots: (0..SLOTS).map(slot).collect(),
            cadence,
            frame_writer,
            is_writing: AtomicBool::new(false),
            next_id: AtomicU64::new(0),
            begun: Instant::now(),
            woken_until: Mutex::default(),
            sent: Mutex::default(),
        }
    }

    /// Subscribes the socket of the visitor with this join number to news from now on. The socket
    /// gets `line` frames from its first [`HubListener::reschedule`] on.
    #[must_use]
    pub fn listen(self: &Arc<Self>, outlet: Arc<SocketOutlet>, number: u64) -> HubListener {
        HubListener {
            news: self.news.subscribe(),
            socket: Arc::new(LineSocket {
                id: self.next_id.fetch_add(1, Ordering::Relaxed),
                outlet,
                inner: Mutex::new(LineSocketState {
                    standing: LineStanding::new(number),
                    slot: None,
                }),
            }),
            hub: Arc::clone(self),
        }
    }

    /// Counts the listening sockets.
    #[must_use]
    pub fn listener_count(&self) -> usize {
        self.news.receiver_count()
    }

    /// Sends the `room` frame, with phase, message and settings.
    pub fn announce_room(&self, room: &Room, now: i64) {
        self.announce_room_if(room, now, true);
    }

    /// Sends the `room` frame if the phase or the prices differ from those that were sent last, if
    /// a category has sold out, or if a closing for a check begins or ends.
    pub fn announce_changes(&self, room: &Room, now: i64) {
        self.announce_room_if(room, now, false);
    }

    fn announce_room_if(&self, room: &Room, now: i64, always: bool) {
        // The lock is held while the frame is sent, so that frames go out in the order of the
        // phases in `sent`.
        let mut sent = self.sent.lock();
        let phase = room.phase(now);
        let has_new_phase = sent.phase.replace(phase) != Some(phase);
        let tick = room.last_tick();
        let is_closed = tick.pulse.closed;
        let was_closed = std::mem::replace(&mut sent.is_closed_for_check, is_closed);
        let has_new_tiers = sent.tiers.update(&tick.pulse.prices, now);
        if always || has_new_phase || has_new_tiers || was_closed != is_closed {
            let view = RoomView::from_last_tick(room, now);
            self.send_news(RoomNews::Room(encode(&LiveMessage::Room(&view)), phase));
        }
    }

    /// Sends the `draw` frame and then the `room` frame, if the freeze is published.
    pub fn announce_draw(&self, room: &Room, now: i64) {
        let draw = room.draw_state();
        // Until the freeze has a root, there is nothing to publish.
        if draw.row.sealed.is_some() {
            self.send_news(RoomNews::Draw(
                encode(&LiveMessage::Draw(&draw.record)),
                draw.ranked.is_some(),
            ));
            self.announce_room(room, now);
        }
    }

    /// Encodes the `line` frame of a tick.
    #[must_use]
    pub fn line_frame(&self, tick: &RoomTick, per_s: f64, now: i64) -> SharedFrame {
        let seats_every_ms = self.cadence.seats_every_ms();
        encode(&LiveMessage::line_of_tick(tick, per_s, seats_every_ms, now))
    }

    /// Sends the `line` frame of the room's last tick to the slots that are due in this second, and
    /// to the slots with a visitor who was just called. If an earlier frame is still being written,
    /// does nothing. The next call then also sends to the slots that were due meanwhile.
    pub fn announce_line(self: &Arc<Self>, room: &Room, now: i64) {
        if self.is_writing.load(Ordering::SeqCst) {
            return;
        }
        let (tick, per_s) = (room.last_tick(), room.pace_per_s());
        let due = self.take_due(self.begun.elapsed().as_secs(), tick.released);
        if due.is_empty() {
            return;
        }
        let frame = self.line_frame(&tick, per_s, now);
        let beat = LineBeat { frame, tick, per_s };
        self.is_writing.store(true, Ordering::SeqCst);
        tokio::spawn(tell_line(Arc::clone(self), due, beat));
    }

    fn take_due(&self, second: u64, released: u64) -> Vec<Arc<LineSocket>> {
        let mut woken_until = self.woken_until.lock();
        let after = std::mem::replace(&mut *woken_until, second);
        let mut due = Vec::new();
        for (index, slot) in self.slots.iter().enumerate() {
            let is_called = slot.nearest.load(Ordering::SeqCst) < released;
            if is_called || wakes(index, after, second) {
                // Each of these sockets sets `nearest` again when it is scheduled.
                slot.nearest.store(NOBODY, Ordering::SeqCst);
                due.extend(slot.sockets.lock().values().cloned());
            }
        }
        due
    }

    /// Writes the `line` frame to a socket that is due for it, and pings any other socket if a ping
    /// is due. Wakes the socket's task instead if the task has something to do.
    fn tell_socket(&self, socket: &LineSocket, beat: &LineBeat) {
        let (outlet, now) = (&socket.outlet, Instant::now());
        let mut state = socket.inner.lock();
        if state.standing.has_new_call(beat.tick.released, now) || outlet.is_stalled() {
            outlet.wake();
        } else if state.standing.is_line_due(now) {
            let is_sent = outlet.offer(&beat.frame);
            state.standing.note_line(now, is_sent);
        } else {
            outlet.ping_if_due();
        }
        self.reschedule(socket, &mut state, &beat.tick, beat.per_s);
    }

    /// Puts a socket into the slot of its cadence. The slot stores its lowest waiting rank, so that
    /// its sockets are woken at once when that rank is called.
    fn reschedule(
        &self,
        socket: &LineSocket,
        state: &mut LineSocketState,
        tick: &RoomTick,
        per_s: f64,
    ) {
        let Some(old_slot) = state.slot else {
            return;
        };
        let interval_min = self.cadence.line_at_least();
        let slot = state.standing.reschedule(tick, per_s, interval_min);
        if slot != old_slot {
            state.slot = Some(slot);
            let moved_socket = self.slots[old_slot].sockets.lock().remove(&socket.id);
            self.slots[slot]
                .sockets
                .lock()
                .extend(moved_socket.map(|moved_socket| (socket.id, moved_socket)));
        }
        if let Some(turn) = state.standing.waiting_turn(tick.released) {
            self.slots[slot].nearest.fetch_min(turn, Ordering::SeqCst);
        }
    }

    fn send_news(&self, news: RoomNews) {
        // Sending fails only if there are no listeners.
        let _ = self.news.send(news);
    }
}

async fn tell_line(hub: Arc<RoomSocketHub>, due: Vec<Arc<LineSocket>>, beat: LineBeat) {
    let (frame_writer, hub_of_task) = (hub.frame_writer.clone(), Arc::clone(&hub));
    let tell_sockets = move || {
        due.iter()
            .for_each(|socket| hub_of_task.tell_socket(socket, &beat))
    };
    frame_writer.run(tell_sockets).await;
    hub.is_writing.store(false, Ordering::SeqCst);
}

impl HubListener {
    /// Waits for the next news. If `with_news` is false, waits for ever. The news then stays in the
    /// shared queue, so that a socket that cannot send now stores no copy.
    pub async fn next(&mut self, with_news: bool) -> HubEvent {
        if !with_news {
            return std::future::pending().await;
        }
        match self.news.recv().await {
            Ok(news) => HubEvent::News(news),
            Err(RecvError::Lagged(_)) => HubEvent::Missed,
            Err(RecvError::Closed) => HubEvent::Gone,
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

    /// Reads or changes where the visitor of this socket stands.
    pub fn standing<T>(&self, read: impl FnOnce(&mut LineStanding) -> T) -> T {
        read(&mut self.socket.inner.lock().standing)
    }

    /// Lets the hub write `line` frames to this socket as often as its standing asks for.
    /// Afterwards the caller must read the room's tick again, because the hub does not wake the
    /// task for a rank that was called just before.
    pub fn reschedule(&self, tick: &RoomTick, per_s: f64) {
        let mut state = self.socket.inner.lock();
        if state.slot.is_none() {
            state.slot = Some(0);
            let socket = Arc::clone(&self.socket);
            self.hub.slots[0].sockets.lock().insert(socket.id, socket);
        }
        self.hub.reschedule(&self.socket, &mut state, tick, per_s);
    }
}

impl Drop for HubListener {
    fn drop(&mut self) {
        let mut state = self.socket.inner.lock();
        if let Some(slot) = state.slot.take() {
            self.hub.slots[slot].sockets.lock().remove(&self.socket.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::extract::ws::Utf8Bytes;

    use super::super::outlet::tests::outlet;
    use super::*;

    fn tick(released: u64) -> Arc<RoomTick> {
        Arc::new(RoomTick {
            released,
            ..RoomTick::default()
        })
    }

    /// Sends a `line` frame to the sockets that are due, and returns how many were due.
    async fn beat(hub: &Arc<RoomSocketHub>, second: u64, released: u64) -> usize {
        let due = hub.take_due(second, released);
        let told = due.len();
        let beat = LineBeat {
            frame: SharedFrame::text(Utf8Bytes::from_static("line")),
            tick: tick(released),
            per_s: 1.0,
        };
        tell_line(Arc::clone(hub), due, beat).await;
        told
    }

    #[tokio::test]
    async fn a_called_visitors_task_is_woken_at_once_and_no_other() {
        let hub = Arc::new(RoomSocketHub::new(
            PushCadence::default(),
            FrameWriter::default(),
        ));
        let mut listeners = Vec::new();
        for rank in [500, 900] {
            let (outlet, client) = outlet().await;
            let listener = hub.listen(Arc::clone(&outlet), rank);
            listener.standing(|standing| {
                standing.turn = Some(rank);
                standing.note_line(Instant::now(), true);
            });
            listener.reschedule(&tick(0), 1.0);
            listeners.push((listener, outlet, client));
        }
        let woken = || {
            let woken = listeners.iter().map(|(_, outlet, _)| outlet.is_woken());
            woken.collect::<Vec<_>>()
        };
        beat(&hub, 0, 500).await;
        assert_eq!(woken(), [false, false]);
        beat(&hub, 0, 501).await;
        assert_eq!(woken(), [true, false]);
        let (called, ..) = &listeners[0];
        called.standing(|standing| standing.is_call_handled = true);
        beat(&hub, 0, 502).await;
        assert_eq!(woken(), [false, false], "the call was handled");
        beat(&hub, 0, 2_000).await;
        assert_eq!(woken(), [false, true]);
        drop(listeners);
        assert_eq!(beat(&hub, 100, 3_000).await, 0, "nobody listens");
    }

    #[tokio::test]
    async fn a_waiting_visitor_is_told_by_the_hub_and_its_task_sleeps() {
        let hub = Arc::new(RoomSocketHub::new(
            PushCadence::default(),
            FrameWriter::default(),
        ));
        let (outlet, client) = outlet().await;
        let listener = hub.listen(Arc::clone(&outlet), 3);
        listener.reschedule(&tick(0), 1.0);
        for second in 1..=5 {
            beat(&hub, second, 0).await;
        }
        let mut frame = [0; 16];
        client.readable().await.expect("it is told");
        let read = client.try_read(&mut frame).expect("it is told");
        assert_eq!(&frame[..read], b"\x81\x04line");
        assert!(!outlet.is_woken());
        assert!(!listener.standing(|standing| standing.is_line_due(Instant::now())));
        let later = Instant::now() + Duration::from_secs(5);
        assert!(listener.standing(|standing| standing.is_line_due(later)));
    }
}
