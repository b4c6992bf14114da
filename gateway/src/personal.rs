//! Finds the sockets of one holder, so that an event for one visitor wakes that visitor and nobody
//! else.

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use fairgate_pass::{Holder, VisitEndCause};
use futures_util::task::AtomicWaker;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::upstream::HoldSignal;

/// How many events one socket may leave unread. Further events are dropped, and the page reads the
/// state of its hold itself.
const UNREAD_MAX: usize = 8;

/// How many sockets one place may have, such as the tabs of a visitor. A newer one replaces the
/// oldest.
const SOCKETS_PER_PLACE_MAX: usize = 8;

/// An event that only one visitor gets.
#[derive(Debug, Clone)]
pub enum PersonalEvent {
    /// A signal about the visitor's own hold.
    Hold(Arc<HoldSignal>),
    /// The visitor left the place of this number.
    Left {
        /// The slug of the room.
        room: Arc<str>,
        /// The join number.
        number: u64,
    },
    /// The promoter ended the place of this number.
    Revoked {
        /// The slug of the room.
        room: Arc<str>,
        /// The join number.
        number: u64,
        /// What the promoter tells the visitor.
        note: Arc<str>,
    },
    /// Nobody does anything with the pass of this number, so it ends soon.
    Idle {
        /// The slug of the room.
        room: Arc<str>,
        /// The join number.
        number: u64,
        /// When the pass ends, in milliseconds since the epoch. `None` if somebody did something.
        ends_at: Option<i64>,
    },
    /// The visit of this number ended before its pass ran out. The place is in the line again.
    VisitEnded {
        /// The slug of the room.
        room: Arc<str>,
        /// The join number.
        number: u64,
        /// Why the visit ended.
        cause: VisitEndCause,
    },
    /// The promoter ended all places of a room with numbers below a limit.
    Cleared {
        /// The slug of the room.
        room: Arc<str>,
        /// The limit.
        below: u64,
        /// What the promoter tells the visitors.
        note: Arc<str>,
    },
}

/// The events that one socket has not read. Every socket has such a queue, so this type takes less
/// memory than a channel of the runtime.
#[derive(Default)]
struct PersonalQueue {
    unread: Mutex<UnreadEvents>,
    reader: AtomicWaker,
}

#[derive(Default)]
struct UnreadEvents {
    events: VecDeque<PersonalEvent>,
    /// Whether newer sockets have replaced this one.
    is_replaced: bool,
}

#[derive(Default)]
struct PersonalListeners {
    last_id: u64,
    /// A tree, because it takes less memory than a hash table that has just grown.
    by_holder: BTreeMap<Holder, Vec<PersonalListener>>,
}

/// One listening socket.
struct PersonalListener {
    id: u64,
    room: Arc<str>,
    number: u64,
    queue: Arc<PersonalQueue>,
}

/// The listening sockets by holder; a cheap handle.
#[derive(Clone, Default)]
pub struct PersonalEventHub {
    listeners: Arc<Mutex<PersonalListeners>>,
}

/// One socket's subscription. Dropping it ends the subscription.
pub struct PersonalReceiver {
    personal: PersonalEventHub,
    holder: Holder,
    id: u64,
    queue: Arc<PersonalQueue>,
}

impl PersonalEventHub {
    /// Subscribes a socket of a place to the events of its holder. If the place has as many sockets
    /// as are allowed, the subscription of the oldest one ends.
    #[must_use]
    pub fn listen(&self, holder: Holder, room: &str, number: u64) -> PersonalReceiver {
        let queue = Arc::<PersonalQueue>::default();
        let mut listeners = self.listeners.lock();
        listeners.last_id += 1;
        let id = listeners.last_id;
        // Nearly every visitor has one socket.
        let room_for_one = || Vec::with_capacity(1);
        let of_visitor = listeners
            .by_holder
            .entry(holder)
            .or_insert_with(room_for_one);
        let is_same =
            |listener: &&PersonalListener| *listener.room == *room && listener.number == number;
        let same_place = of_visitor
            .iter()
            .filter(is_same)
            .map(|listener| listener.id);
        let same_place: Vec<u64> = same_place.collect();
        if same_place.len() >= SOCKETS_PER_PLACE_MAX {
            let replaced = of_visitor.extract_if(.., |listener| listener.id == same_place[0]);
            replaced.for_each(|listener| listener.queue.replace());
        }
        of_visitor.push(PersonalListener {
            id,
            room: room.into(),
            number,
            queue: Arc::clone(&queue),
        });
        drop(listeners);
        PersonalReceiver {
            personal: self.clone(),
            holder,
            id,
            queue,
        }
    }

    /// Forwards booking's signals until booking closes the channel.
    pub async fn forward_signals(self, mut signals: broadcast::Receiver<HoldSignal>) {
        loop {
            match signals.recv().await {
                Ok(signal) => {
                    self.notify_holder(signal.holder, &PersonalEvent::Hold(Arc::new(signal)))
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(
                        missed,
                        "signals about holds were missed; the pages of these holds will read the state themselves"
                    );
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Sends an event to every socket of a holder.
    pub fn notify_holder(&self, holder: Holder, event: &PersonalEvent) {
        let listeners = self.listeners.lock();
        if let Some(of_visitor) = listeners.by_holder.get(&holder) {
            for listener in of_visitor {
                listener.queue.push(event);
            }
        }
    }

    /// Sends an event to every socket.
    pub fn notify_all(&self, event: &PersonalEvent) {
        let listeners = self.listeners.lock();
        for listener in listeners.by_holder.values().flatten() {
            listener.queue.push(event);
        }
    }

    /// Returns the holders among `holders` who have a socket on this node.
    #[must_use]
    pub fn connected_holders(&self, holders: &[Holder]) -> Vec<Holder> {
        let listeners = self.listeners.lock();
        let is_connected = |holder: &&Holder| listeners.by_holder.contains_key(*holder);
        holders.iter().filter(is_connected).copied().collect()
    }
}

impl PersonalQueue {
    /// Adds an event, or drops it if the queue is full. A full queue means that the socket is slow.
    /// Its page reads the state of its place and hold itself when it next connects.
    fn push(&self, event: &PersonalEvent) {
        let mut unread = self.unread.lock();
        if unread.events.len() < UNREAD_MAX {
            unread.events.push_back(event.clone());
        }
        drop(unread);
        self.reader.wake();
    }

    fn replace(&self) {
        self.unread.lock().is_replaced = true;
        self.reader.wake();
    }
}

impl PersonalReceiver {
    /// Waits for the next event. Returns `None` once newer sockets have replaced this one.
    pub async fn next(&mut self) -> Option<PersonalEvent> {
        poll_fn(|cx| {
            self.queue.reader.register(cx.waker());
            let mut unread = self.queue.unread.lock();
            match unread.events.pop_front() {
                Some(event) => Poll::Ready(Some(event)),
                None if unread.is_replaced => Poll::Ready(None),
                None => Poll::Pending,
            }
        })
        .await
    }
}

impl Drop for PersonalReceiver {
    fn drop(&mut self) {
        let mut listeners = self.personal.listeners.lock();
        if let Some(of_visitor) = listeners.by_holder.get_mut(&self.holder) {
            of_visitor.retain(|listener| listener.id != self.id);
            if of_visitor.is_empty() {
                listeners.by_holder.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_of_too_many_sockets_of_a_place_ends_and_no_other() {
        let hub = PersonalEventHub::default();
        let holder = Holder::of_secret(&[7; 32]);
        let mut other = hub.listen(holder, "elsewhere", 1);
        let mut oldest = hub.listen(holder, "demo", 1);
        let mut newer: Vec<_> = (0..SOCKETS_PER_PLACE_MAX)
            .map(|_| hub.listen(holder, "demo", 1))
            .collect();
        assert!(oldest.next().await.is_none());
        let left = PersonalEvent::Left {
            room: "demo".into(),
            number: 1,
        };
        hub.notify_holder(holder, &left);
        for listener in newer.iter_mut().chain([&mut other]) {
            assert!(listener.next().await.is_some());
        }
        drop(oldest);
        assert_eq!(hub.connected_holders(&[holder]), [holder]);
    }
}
