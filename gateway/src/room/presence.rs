//! Tracks which visitors are here, as this node sees it: by open sockets, and by calls that show a
//! place. The room's loop reports them to the store, which combines the reports of all nodes.
//! "Ahead of you" thus counts people, and not abandoned tabs.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

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
}

/// Counts a visitor as here until this guard is dropped.
#[derive(Debug)]
pub struct PresenceGuard {
    presence: VisitorPresence,
    number: u64,
}

impl VisitorPresence {
    /// Notes that a visitor with that place opened a socket.
    #[must_use]
    pub fn socket_opened(&self, place: Arc<PresentedPlace>) -> PresenceGuard {
        let number = place.number;
        self.inner.lock().open.entry(number).or_insert((0, place)).0 += 1;
        PresenceGuard {
            presence: self.clone(),
            number,
        }
    }

    /// Notes that the visitor with that number made a call.
    pub fn note_visitor(&self, number: u64) {
        self.inner.lock().seen.insert(number);
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
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        let mut inner = self.presence.inner.lock();
        let is_last = match inner.open.get_mut(&self.number) {
            Some((sockets, _)) => {
                *sockets -= 1;
                *sockets == 0
            }
            None => false,
        };
        if is_last {
            inner.open.remove(&self.number);
            inner.seen.insert(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairgate_pass::Holder;

    fn reported(presence: &VisitorPresence) -> Vec<u64> {
        let mut numbers = presence.report();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    #[test]
    fn a_visitor_is_reported_until_the_last_socket_closes_and_once_after_a_poll() {
        let presence = VisitorPresence::default();
        let shown = PresentedPlace {
            number: 1,
            holder: Holder([1; 32]),
            code: None,
            at: 0,
        };
        let open = || presence.socket_opened(Arc::new(shown));
        let (one, other) = (open(), open());
        assert_eq!(presence.open_places(), [shown]);
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
}
