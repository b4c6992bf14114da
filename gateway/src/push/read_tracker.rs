//! Tracks how many of the sent bytes a client has read. Pings are sent in order with the frames. An
//! answered ping therefore proves that the client itself, and not some buffer on the way, has read
//! everything sent before the ping. Pure.

use std::time::{Duration, Instant};

/// At this many unread bytes, a client gets nothing more until it answers a ping.
const UNREAD_BYTES_MAX: usize = 64 << 10;
/// After this many bytes the client is pinged.
const PING_AFTER_BYTES: usize = 16 << 10;
/// After this time the client is pinged, even if nothing was sent. Proxies and home routers close
/// connections on which neither side sends anything for a minute.
const PING_EVERY: Duration = Duration::from_secs(40);
/// How long a ping may be unanswered before the client is treated as gone.
const UNANSWERED_MAX: Duration = Duration::from_secs(60);

/// Counts the bytes that were sent to one client without a proof that the client has read them.
#[derive(Debug, Clone, Copy)]
pub struct ClientReadTracker {
    /// Unread bytes sent before the last ping.
    unread_before_ping: usize,
    /// Bytes sent after the last ping.
    sent_after_ping: usize,
    /// The number of the ping that is not answered yet, and when it was sent.
    open_ping: Option<(u32, Instant)>,
    pinged_at: Instant,
    last_number: u32,
}

impl ClientReadTracker {
    /// Makes a tracker at `now`, with nothing sent.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            unread_before_ping: 0,
            sent_after_ping: 0,
            open_ping: None,
            pinged_at: now,
            last_number: 0,
        }
    }

    /// Counts bytes that are sent.
    pub fn count_sent(&mut self, bytes: usize) {
        self.sent_after_ping += bytes;
    }

    /// Returns whether more may be sent.
    #[must_use]
    pub fn may_send(&self) -> bool {
        self.unread_before_ping + self.sent_after_ping < UNREAD_BYTES_MAX
    }

    /// Returns the number of the ping that is due at `now`, and counts it as sent.
    pub fn next_ping(&mut self, now: Instant) -> Option<u32> {
        let is_ping_due = now.saturating_duration_since(self.pinged_at) >= PING_EVERY;
        if self.open_ping.is_some() || !(is_ping_due || self.sent_after_ping >= PING_AFTER_BYTES) {
            return None;
        }
        self.last_number = self.last_number.wrapping_add(1);
        (self.unread_before_ping, self.sent_after_ping) =
            (self.unread_before_ping + self.sent_after_ping, 0);
        (self.open_ping, self.pinged_at) = (Some((self.last_number, now)), now);
        Some(self.last_number)
    }

    /// Takes the answer to a ping. Returns `false` if no such ping is open. Such an answer proves
    /// nothing.
    pub fn take_pong(&mut self, number: u32) -> bool {
        let is_answer = self.open_ping.is_some_and(|(open, _)| open == number);
        if is_answer {
            (self.unread_before_ping, self.open_ping) = (0, None);
        }
        is_answer
    }

    /// Returns whether a ping has been unanswered for too long.
    #[must_use]
    pub fn is_stalled(&self, now: Instant) -> bool {
        self.open_ping
            .is_some_and(|(_, pinged_at)| now.saturating_duration_since(pinged_at) > UNANSWERED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_client_that_reads_gets_everything_and_a_ping_every_sixteen_kilobytes() {
        let now = Instant::now();
        let mut tracker = ClientReadTracker::new(now);
        let mut asked = 0;
        for _ in 0..1000 {
            assert!(tracker.may_send());
            tracker.count_sent(2_000);
            if let Some(number) = tracker.next_ping(now) {
                asked += 1;
                tracker.take_pong(number);
            }
        }
        assert_eq!(asked, 2_000_000 / 18_000);
        assert!(!tracker.is_stalled(now + SECOND * 3600));
    }

    #[test]
    fn a_client_that_reads_nothing_gets_no_more_and_is_stalled_after_a_minute() {
        let now = Instant::now();
        let mut tracker = ClientReadTracker::new(now);
        let mut sent = 0;
        while tracker.may_send() {
            tracker.count_sent(1_000);
            sent += 1_000;
            tracker.next_ping(now);
        }
        assert_eq!(sent, 66_000);
        assert!(
            !tracker.take_pong(7),
            "a pong without its ping proves nothing"
        );
        assert!(!tracker.may_send() && !tracker.is_stalled(now + SECOND * 60));
        assert!(tracker.is_stalled(now + SECOND * 61));
        assert!(tracker.take_pong(1) && !tracker.take_pong(1));
        assert!(tracker.may_send(), "the client has answered its ping");
        assert!(!tracker.is_stalled(now + SECOND * 61));
    }

    #[test]
    fn a_quiet_client_is_pinged_every_40_seconds() {
        let now = Instant::now();
        let mut tracker = ClientReadTracker::new(now);
        assert_eq!(tracker.next_ping(now + SECOND * 39), None);
        assert_eq!(tracker.next_ping(now + SECOND * 40), Some(1));
        assert_eq!(
            tracker.next_ping(now + SECOND * 90),
            None,
            "only one ping is open at a time"
        );
        tracker.take_pong(1);
        assert_eq!(tracker.next_ping(now + SECOND * 90), Some(2));
    }
}
