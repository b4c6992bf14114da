//! Decides whether a closed socket says that its visitor is gone. If a proxy in front of the
//! gateway dies, or the network to it is cut, many sockets of one peer close together. Then nothing
//! is known about their visitors, who may come back through another way.

use std::collections::VecDeque;

/// A closed socket is judged after this long, in milliseconds. By then the other sockets that close
/// for the same reason have closed, too.
pub const JUDGED_AFTER_MS: i64 = 3_000;
/// Every node tells the store within this time which visitors it sees, in milliseconds. So this
/// much later it is known whether a visitor came back to another node in time.
pub const TOLD_WITHIN_MS: i64 = 8_000;
/// Sockets that close within this time before or after another one close near it, in milliseconds.
const NEAR_MS: i64 = 2_000;
/// Of the sockets of one peer, at most one and one in this many may close near each other if their
/// visitors are gone.
const OPEN_PER_CLOSED: u64 = 10;
/// In a busy sale, buyers leave one after the other, and pages close their sockets when they
/// change. Up to this many times as many sockets may close near each other as usual.
const TIMES_USUAL: u64 = 2;
/// What is usual follows from two spans of this length before, in milliseconds: from the one in
/// which fewer sockets closed, so that a burst does not make another burst usual.
const USUAL_SPAN_MS: i64 = 10_000;
/// Closed sockets are known for this long, in milliseconds.
const CLOSED_KNOWN_MS: i64 = 2 * (JUDGED_AFTER_MS + NEAR_MS + USUAL_SPAN_MS);

/// The sockets of one peer: a visitor's device, or a proxy with the sockets of many visitors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerSockets {
    open: u64,
    /// When sockets closed, in milliseconds since the epoch, oldest first. Only the last seconds
    /// are kept.
    closed_at: VecDeque<i64>,
}

impl PeerSockets {
    /// Counts a socket that opens.
    pub fn note_opened(&mut self) {
        self.open += 1;
    }

    /// Counts a socket that closes at `now` (ms).
    pub fn note_closed(&mut self, now: i64) {
        self.open = self.open.saturating_sub(1);
        let oldest = now - CLOSED_KNOWN_MS;
        let old = self.closed_at.partition_point(|at| *at < oldest);
        self.closed_at.drain(..old);
        self.closed_at.push_back(now);
    }

    /// Returns whether nothing of this peer matters any more at `now` (ms).
    #[must_use]
    pub fn is_over(&self, now: i64) -> bool {
        let needed_until = |at: &i64| at + 2 * (JUDGED_AFTER_MS + NEAR_MS);
        self.open == 0
            && self
                .closed_at
                .back()
                .is_none_or(|at| needed_until(at) < now)
    }

    /// Returns whether the visitor of a socket that closed at `closed_at` (ms) is gone. It is asked
    /// [`JUDGED_AFTER_MS`] later. `is_proxy` says that the peer is a proxy. If all sockets of a
    /// proxy closed, the proxy itself may be gone.
    #[must_use]
    pub fn says_gone(&self, closed_at: i64, is_proxy: bool) -> bool {
        let from = closed_at - NEAR_MS;
        let closed_near = self.closed_between(from, closed_at + NEAR_MS + 1);
        if self.open == 0 {
            return closed_near <= 1 && !is_proxy;
        }
        let usual = self.usual_near(from) * TIMES_USUAL;
        closed_near <= usual.max(1 + self.open / OPEN_PER_CLOSED)
    }

    /// Returns how many sockets usually close near each other, before `until` (ms).
    fn usual_near(&self, until: i64) -> u64 {
        let middle = until - USUAL_SPAN_MS;
        let later = self.closed_between(middle, until);
        let earlier = self.closed_between(middle - USUAL_SPAN_MS, middle);
        later.min(earlier) * (2 * NEAR_MS).unsigned_abs() / USUAL_SPAN_MS.unsigned_abs()
    }

    /// Counts the sockets that closed at `from` (ms) or later, and before `until`.
    fn closed_between(&self, from: i64, until: i64) -> u64 {
        let before = |time: i64| self.closed_at.partition_point(|at| *at < time);
        (before(until) - before(from)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(open: u64, closed: &[i64]) -> PeerSockets {
        let mut peer = PeerSockets::default();
        (0..open + closed.len() as u64).for_each(|_| peer.note_opened());
        closed.iter().for_each(|at| peer.note_closed(*at));
        peer
    }

    #[test]
    fn one_of_many_visitors_of_a_proxy_is_gone_and_all_of_them_together_are_not() {
        assert!(peer(50, &[10_000]).says_gone(10_000, true));
        assert!(peer(50, &[9_000, 10_000, 10_500, 11_000]).says_gone(10_000, true));
        let cut: Vec<i64> = (0..50).map(|socket| 10_000 + socket * 20).collect();
        assert!(!peer(0, &cut).says_gone(10_000, true), "the proxy died");
        assert!(
            !peer(50, &cut).says_gone(10_000, true),
            "one of its processes died"
        );
    }

    #[test]
    fn where_sockets_close_all_the_time_the_visitors_are_gone_until_more_close_than_usual() {
        // Twenty a second close behind one proxy, from second 10 on.
        let leaving = (0..800).map(|socket| 10_000 + socket * 50);
        let busy = |cut: std::ops::Range<i64>| {
            let mut closed: Vec<i64> = leaving.clone().chain(cut).collect();
            closed.sort_unstable();
            peer(300, &closed)
        };
        let quiet = busy(0..0);
        assert!(quiet.says_gone(45_000, true));
        let mut young = peer(300, &leaving.clone().take(200).collect::<Vec<_>>());
        assert!(!young.says_gone(15_000, true), "it is not usual yet");
        young.open = 1_000;
        assert!(young.says_gone(15_000, true));
        // A part of the proxy dies with 150 sockets.
        assert!(!busy(45_000..45_150).says_gone(45_050, true));
    }

    #[test]
    fn a_burst_does_not_make_another_burst_usual() {
        let bursts = [30_000..30_100, 40_000..40_100].into_iter().flatten();
        assert!(!peer(300, &bursts.collect::<Vec<_>>()).says_gone(40_050, true));
    }

    #[test]
    fn a_device_that_closes_its_only_socket_is_gone_and_the_only_socket_of_a_proxy_says_nothing() {
        let alone = peer(0, &[10_000]);
        assert!(alone.says_gone(10_000, false));
        assert!(!alone.says_gone(10_000, true));
        assert!(peer(1, &[10_000]).says_gone(10_000, true));
    }

    #[test]
    fn sockets_that_closed_at_another_time_do_not_count_and_are_forgotten() {
        let spread: Vec<i64> = (0..1_000).map(|socket| socket * 2_500).collect();
        let peer = peer(5, &spread);
        assert!(peer.says_gone(2_497_500, true));
        assert!(peer.closed_at.len() <= 13, "{}", peer.closed_at.len());
        let mut last = PeerSockets { open: 1, ..peer };
        assert!(!last.is_over(9_000_000));
        last.note_closed(9_000_000);
        assert!(!last.is_over(9_001_000) && last.is_over(9_011_000));
    }
}
