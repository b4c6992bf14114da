//! What a client has read of what was sent to it. Pings travel in line with the frames, so an
//! answered ping proves that everything before it was taken in by the client itself, and not by
//! some buffer on the way. Pure.

use std::time::{Duration, Instant};

/// A client that has not shown that it read so many bytes gets no more of them.
const UNREAD_MAX: usize = 64 << 10;
/// After so many bytes the client is asked whether it read them.
const ASK_AFTER: usize = 16 << 10;
/// And it is asked after this long, whatever was sent.
const ASK_EVERY: Duration = Duration::from_secs(25);
/// A client that reads nothing for so long is gone.
const UNREAD_FOR_MAX: Duration = Duration::from_secs(60);

/// One client's account.
#[derive(Debug)]
pub struct ClientReadTracker {
    /// Sent before the ping that is not answered yet.
    before: usize,
    /// Sent after the last ping.
    after: usize,
    /// The ping that is not answered yet, and when it was asked.
    open: Option<(u32, Instant)>,
    asked: Instant,
    number: u32,
}

impl ClientReadTracker {
    /// Nothing sent, at `now`.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            before: 0,
            after: 0,
            open: None,
            asked: now,
            number: 0,
        }
    }

    /// Counts what goes out.
    pub fn count_sent(&mut self, bytes: usize) {
        self.after += bytes;
    }

    /// Whether more may go out.
    #[must_use]
    pub fn may_send(&self) -> bool {
        self.before + self.after < UNREAD_MAX
    }

    /// The number of the ping that is due at `now`; it counts as sent.
    pub fn next_ping(&mut self, now: Instant) -> Option<u32> {
        let late = now.saturating_duration_since(self.asked) >= ASK_EVERY;
        if self.open.is_some() || !(late || self.after >= ASK_AFTER) {
            return None;
        }
        self.number = self.number.wrapping_add(1);
        (self.before, self.after) = (self.before + self.after, 0);
        (self.open, self.asked) = (Some((self.number, now)), now);
        Some(self.number)
    }

    /// Takes an answer; `false` for one that was not asked for, or was given before, which says
    /// nothing.
    pub fn take_pong(&mut self, number: u32) -> bool {
        let asked = self.open.is_some_and(|(open, _)| open == number);
        if asked {
            (self.before, self.open) = (0, None);
        }
        asked
    }

    /// Whether the client has read nothing for too long.
    #[must_use]
    pub fn is_stalled(&self, now: Instant) -> bool {
        self.open
            .is_some_and(|(_, asked)| now.saturating_duration_since(asked) > UNREAD_FOR_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn who_reads_is_sent_everything_and_asked_every_sixteen_kilobytes() {
        let now = Instant::now();
        let mut drain = ClientReadTracker::new(now);
        let mut asked = 0;
        for _ in 0..1000 {
            assert!(drain.may_send());
            drain.count_sent(2_000);
            if let Some(number) = drain.next_ping(now) {
                asked += 1;
                drain.take_pong(number);
            }
        }
        assert_eq!(asked, 2_000_000 / 18_000);
        assert!(!drain.is_stalled(now + SECOND * 3600));
    }

    #[test]
    fn who_reads_nothing_costs_so_many_bytes_and_is_gone_after_a_minute() {
        let now = Instant::now();
        let mut drain = ClientReadTracker::new(now);
        let mut sent = 0;
        while drain.may_send() {
            drain.count_sent(1_000);
            sent += 1_000;
            drain.next_ping(now);
        }
        assert_eq!(sent, 66_000);
        assert!(!drain.take_pong(7), "what it says by itself proves nothing");
        assert!(!drain.may_send() && !drain.is_stalled(now + SECOND * 60));
        assert!(drain.is_stalled(now + SECOND * 61));
        assert!(drain.take_pong(1) && !drain.take_pong(1));
        assert!(drain.may_send(), "it has begun to read");
        assert!(!drain.is_stalled(now + SECOND * 61));
    }

    #[test]
    fn a_quiet_client_is_asked_every_25_seconds() {
        let now = Instant::now();
        let mut drain = ClientReadTracker::new(now);
        assert_eq!(drain.next_ping(now + SECOND * 24), None);
        assert_eq!(drain.next_ping(now + SECOND * 25), Some(1));
        assert_eq!(
            drain.next_ping(now + SECOND * 70),
            None,
            "one question at a time"
        );
        drain.take_pong(1);
        assert_eq!(drain.next_ping(now + SECOND * 70), Some(2));
    }
}
