//! Where one socket's visitor stands in the line, and when the socket got its last `line` frame.
//! Pure.

use std::time::{Duration, Instant};

use fairgate_rules::faults::micros_per_s;

use super::socket_cadence::SocketCadence;
use crate::room::RoomTick;

/// The standing of one socket's visitor.
#[derive(Debug)]
pub struct LineStanding {
    number: u64,
    /// The rank whose release calls the visitor; `None` before the draw. Before the first pass it
    /// is the visitor's rank.
    pub turn: Option<u64>,
    /// The ranks below this are called before the visitor; `None` before the first pass has ended.
    pub called_behind: Option<u64>,
    /// Whether the socket has sent the `turn` frame, or has found that the visitor needs none.
    pub is_call_handled: bool,
    /// When the visitor's pass runs out, if the visitor has one. From then on the visitor is called
    /// anew.
    pub pass_until: Option<Instant>,
    /// Whether a `line` frame was due while the client took no frames.
    pub is_line_missed: bool,
    cadence: SocketCadence,
    line_sent: Option<Instant>,
}

impl LineStanding {
    /// Makes the standing of a visitor with this join number. The visitor has got no frames yet.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self {
            number,
            turn: None,
            called_behind: None,
            is_call_handled: false,
            pass_until: None,
            is_line_missed: false,
            cadence: SocketCadence::for_place(None, false, 0, number, Duration::ZERO),
            line_sent: None,
        }
    }

    /// Sets the cadence by the room's tick and pace, and returns the slot that wakes the socket.
    /// `interval_min` is the shortest time between two `line` frames.
    pub fn reschedule(&mut self, tick: &RoomTick, per_s: f64, interval_min: Duration) -> usize {
        let ahead = self.turn.map(|turn| tick.ahead(turn));
        let is_called = self.is_called(tick.released);
        let per_s_u = micros_per_s(per_s);
        self.cadence =
            SocketCadence::for_place(ahead, is_called, per_s_u, self.number, interval_min);
        self.cadence.slot
    }

    /// Returns the turn, if it has not come yet.
    #[must_use]
    pub fn waiting_turn(&self, released: u64) -> Option<u64> {
        self.turn.filter(|turn| *turn >= released)
    }

    /// Returns whether this visitor is called, and the socket has not handled the call yet. `now`
    /// tells whether a pass has run out since.
    #[must_use]
    pub fn has_new_call(&self, released: u64, now: Instant) -> bool {
        let is_over = self.pass_until.is_some_and(|until| until <= now);
        (is_over || !self.is_call_handled) && self.is_called(released)
    }

    fn is_called(&self, released: u64) -> bool {
        self.turn.is_some_and(|turn| turn < released)
    }

    /// Returns whether the socket should get a `line` frame at a wake at `now`.
    #[must_use]
    pub fn is_line_due(&self, now: Instant) -> bool {
        self.line_sent
            .is_none_or(|at| self.cadence.is_due(now.saturating_duration_since(at)))
    }

    /// Notes that a `line` frame was due at `now`, and whether it was sent.
    pub fn note_line(&mut self, now: Instant, is_sent: bool) {
        self.is_line_missed = !is_sent;
        if is_sent {
            self.line_sent = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_new_until_it_was_handled_and_a_missed_frame_stays_due() {
        let now = Instant::now();
        let mut standing = LineStanding::new(7);
        assert!(!standing.has_new_call(100, now) && standing.is_line_due(now));
        standing.turn = Some(50);
        assert_eq!(standing.waiting_turn(50), Some(50));
        assert!(!standing.has_new_call(50, now) && standing.has_new_call(51, now));
        assert_eq!(standing.waiting_turn(51), None);
        standing.is_call_handled = true;
        assert!(!standing.has_new_call(51, now));
        let second = Duration::from_secs(1);
        standing.pass_until = Some(now + second);
        assert!(!standing.has_new_call(51, now) && standing.has_new_call(51, now + second));
        standing.note_line(now, false);
        assert!(standing.is_line_missed && standing.is_line_due(now));
        standing.note_line(now, true);
        assert!(!standing.is_line_missed && !standing.is_line_due(now));
        assert!(standing.is_line_due(now + Duration::from_secs(5)));
    }
}
