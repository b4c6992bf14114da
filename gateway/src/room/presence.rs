//! Tracks which visitors are here, as this node sees it: by open sockets, and by calls that show a
//! place or a pass. The room's loop reports them to the store, which combines the reports of all
//! nodes. "Ahead of you" thus counts people, and not abandoned tabs. This file also keeps which
//! visitors closed their last socket here, because their baskets may lapse early.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use fairgate_pass::Holder;

use super::socket_peers::SocketPeer;
use crate::store::PresentedPlace;

/// One room's visitors at this node; a cheap handle.
#[derive(Debug, Clone, Default)]
pub struct VisitorPresence {
    inner: Arc<Mutex<VisitorPresenceState>>,
}

#[derive(Debug, Default)]
struct VisitorPresenceState {
    /// For each number, the count of its open sockets and its place. A visitor may have several
    /// sockets.
    open: BTreeMap<u64, (u32, Arc<PresentedPlace>)>,
    /// Visitors seen since the last report: those who made a call, and those whose last socket
    /// closed.
    seen: HashSet<u64>,
    /// The visitors who closed their last socket, and have not come back to this node.
    closed: BTreeMap<u64, ClosedVisitor>,
}

/// A visitor whose last socket at this node was closed from the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedVisitor {
    /// The join number.
    pub number: u64,
    /// The holder of the place.
    pub holder: Holder,
    /// When the socket closed, in milliseconds since the epoch.
    pub at: i64,
    /// Where the socket came from.
    pub peer: SocketPeer,
}

/// Counts a visitor as here until this guard is dropped.
#[derive(Debug)]
pub struct PresenceGuard {
    presence: VisitorPresence,
    place: Arc<PresentedPlace>,
    closed: Option<(SocketPeer, i64)>,
}

impl PresenceGuard {
    /// Notes that the other end closed the socket at `at` (ms). Without this, it is not known
    /// whether the visitor is gone.
    pub fn note_closed_by(&mut self, peer: SocketPeer, at: i64) {
        self.closed = Some((peer, at));
    }
}

impl VisitorPresence {
    /// Notes that a visitor with that place opened a socket.
    #[must_use]
    pub fn socket_opened(&self, place: Arc<PresentedPlace>) -> PresenceGuard {
        let number = place.number;
        let mut inner = self.inner.lock();
        inner.closed.remove(&number);
        let open = inner.open.entry(number);
        open.or_insert_with(|| (0, Arc::clone(&place))).0 += 1;
        drop(inner);
        PresenceGuard {
            presence: self.clone(),
            place,
            closed: None,
        }
    }

    /// Notes that the visitor with that number made a call.
    pub fn note_visitor(&self, number: u64) {
        let mut inner = self.inner.lock();
        inner.seen.insert(number);
        inner.closed.remove(&number);
    }

    /// Returns the numbers of all visitors who are here or were here since the last report, and
    /// forgets those who are gone. A number may appear twice.
    #[must_use]
    pub fn report(&self) -> Vec<u64> {
        let mut inner = self.inner.lock();
        let seen = std::mem::take(&mut inner.seen);
        inner.open.keys().copied().chain(seen).collect()
    }

    /// Returns the places of the open sockets.
    #[must_use]
    pub fn open_places(&self) -> Vec<PresentedPlace> {
        let inner = self.inner.lock();
        inner.open.values().map(|(_, place)| **place).collect()
    }

    /// Returns the visitors who closed their last socket at or before `until` (ms), and have not
    /// come back to this node.
    #[must_use]
    pub fn closed_by(&self, until: i64) -> Vec<ClosedVisitor> {
        let inner = self.inner.lock();
        let closed = inner.closed.values().filter(|closed| closed.at <= until);
        closed.copied().collect()
    }

    /// Forgets a visitor who closed its last socket, unless it closed another one meanwhile.
    pub fn forget_closed(&self, visitor: &ClosedVisitor) {
        let mut inner = self.inner.lock();
        if inner.closed.get(&visitor.number) == Some(visitor) {
            inner.closed.remove(&visitor.number);
        }
    }
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        let number = self.place.number;
        let mut inner = self.presence.inner.lock();
        let is_last = match inner.open.get_mut(&number) {
            Some((sockets, _)) => {
                *sockets -= 1;
                *sockets == 0
            }
            None => false,
        };
        if !is_last {
            return;
        }
        inner.open.remove(&number);
        inner.seen.insert(number);
        if let Some((peer, at)) = self.closed {
            let closed = ClosedVisitor {
                number,
                holder: self.place.holder,
                at,
                peer,
            };
            inner.closed.insert(number, closed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: SocketPeer = SocketPeer {
        address: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        is_proxy: false,
    };

    fn shown(number: u64) -> PresentedPlace {
        PresentedPlace {
            number,
            holder: Holder([1; 32]),
            code: None,
            at: 0,
        }
    }

    fn reported(presence: &VisitorPresence) -> Vec<u64> {
        let mut numbers = presence.report();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    #[test]
    fn a_visitor_is_reported_until_the_last_socket_closes_and_once_after_a_poll() {
        let presence = VisitorPresence::default();
        let open = || presence.socket_opened(Arc::new(shown(1)));
        let (one, other) = (open(), open());
        assert_eq!(presence.open_places(), [shown(1)]);
        presence.note_visitor(2);
        assert_eq!(reported(&presence), [1, 2]);
        drop(one);
        assert_eq!(reported(&presence), [1]);
        drop(other);
        assert_eq!(
            reported(&presence),
            [1],
            "the last socket closed since the last report"
        );
        assert!(reported(&presence).is_empty());
    }

    #[test]
    fn a_visitor_who_closed_the_last_socket_is_known_until_it_comes_back() {
        let presence = VisitorPresence::default();
        let open = |number| presence.socket_opened(Arc::new(shown(number)));
        let close = |mut guard: PresenceGuard, at| guard.note_closed_by(PEER, at);
        let numbers = |until| {
            let closed = presence.closed_by(until);
            closed
                .iter()
                .map(|closed| closed.number)
                .collect::<Vec<_>>()
        };
        let tabs = (open(1), open(1));
        close(tabs.0, 10);
        assert!(numbers(1_000).is_empty(), "the other tab is open");
        close(tabs.1, 20);
        close(open(2), 30);
        drop(open(3));
        assert_eq!(
            numbers(20),
            [1],
            "a socket that this end closed says nothing"
        );
        assert_eq!(numbers(1_000), [1, 2]);
        presence.note_visitor(2);
        let back = open(1);
        assert!(numbers(1_000).is_empty());
        close(back, 40);
        let first = presence.closed_by(1_000)[0];
        close(open(1), 50);
        presence.forget_closed(&first);
        assert_eq!(numbers(1_000), [1], "the visitor came back and left again");
        presence.forget_closed(&presence.closed_by(1_000)[0]);
        assert!(numbers(1_000).is_empty());
    }
}
