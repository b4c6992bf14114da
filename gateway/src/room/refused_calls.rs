//! Notices that called visitors are refused although hardly anybody is inside. Operators see it at
//! `/readyz` and in the log.
//!
//! Called visitors may have to wait for their share of the pace, or until somebody inside has
//! bought. But if nobody enters for longer than the pace explains, and fewer than half of
//! `max_inside` are inside, something is wrong.

use parking_lot::Mutex;

use fairgate_rules::pace::VISITOR_U;

/// How long (ms) called visitors may be refused while nobody enters, apart from the pace.
const ENTERS_WITHIN_MS: i64 = 10_000;
/// In addition, they may be refused for the time of this many visitors at the pace in force.
const VISITORS_AT_PACE: u64 = 2;
/// If nobody was refused for this long (ms), nobody asks any more.
const ASKED_WITHIN_MS: i64 = 10_000;

/// The refused calls that this node has answered since somebody entered.
#[derive(Debug, Default)]
pub struct RefusedCalls {
    inner: Mutex<RefusedCallsState>,
}

#[derive(Debug, Default)]
struct RefusedCallsState {
    /// The times (ms) of the first and of the last refusal.
    refused: Option<(i64, i64)>,
    /// How many visitors had entered by the last tick.
    entered: u64,
    /// How the room was at the last tick.
    room: RefusingRoom,
}

/// The figures of the room at a tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusingRoom {
    /// How many visitors are inside, on all nodes.
    pub inside: u64,
    /// How many may be inside by the promoter's settings.
    pub max_inside: u64,
    /// How many may be inside now. In auto mode this is less while booking is slow.
    pub inside_max: u64,
    /// The pace in force, in millionths of a visitor a second. `None` in a room without a line.
    pub pace_u: Option<u64>,
    /// Whether visitors may enter: the room is not paused, and booking is not unhealthy.
    pub lets_in: bool,
}

impl RefusingRoom {
    fn is_nearly_empty(&self) -> bool {
        self.lets_in && self.inside.saturating_mul(2) < self.max_inside
    }

    fn enters_within_ms(&self) -> i64 {
        let share_ms = |pace_u: u64| VISITORS_AT_PACE * VISITOR_U * 1_000 / pace_u.max(1);
        let share_ms = self.pace_u.map_or(0, share_ms);
        ENTERS_WITHIN_MS.saturating_add_unsigned(share_ms)
    }
}

impl RefusedCalls {
    /// Notes that a called visitor was refused at `now` (ms).
    pub fn note_refused(&self, now: i64) {
        let mut state = self.inner.lock();
        let earlier = state
            .refused
            .filter(|(_, last)| now - last <= ASKED_WITHIN_MS);
        let first = earlier.map_or(now, |(first, _)| first);
        state.refused = Some((first, now));
    }

    /// Notes how the room is, and how many visitors have entered so far, on all nodes.
    pub fn note_tick(&self, room: RefusingRoom, entered: u64) {
        let mut state = self.inner.lock();
        if entered != state.entered || !room.is_nearly_empty() {
            state.refused = None;
        }
        state.entered = entered;
        state.room = room;
    }

    /// Returns what an operator of `room` should know at `now` (ms), in one sentence. Returns
    /// `None` if visitors enter, if nobody asks, or if half of `max_inside` are inside.
    pub(super) fn warning(&self, room: &str, now: i64) -> Option<String> {
        let state = self.inner.lock();
        let (first, last) = state.refused?;
        let refused_ms = last - first;
        let is_stalled = now - last <= ASKED_WITHIN_MS
            && refused_ms > state.room.enters_within_ms()
            && state.room.is_nearly_empty();
        let RefusingRoom {
            inside,
            max_inside,
            inside_max,
            ..
        } = state.room;
        if is_stalled && inside >= inside_max {
            return Some(format!(
                "the room \"{room}\" has refused called visitors for {} s and let nobody in: {inside} visitors are inside, and only {inside_max} may be at the moment, of {max_inside} (max_inside), because calls to booking were slow or failed. The limit grows by itself once they are well again; mode=fixed lets visitors in at once",
                refused_ms / 1_000
            ));
        }
        is_stalled.then(|| {
            format!(
                "the room \"{room}\" has refused called visitors for {} s and let nobody in, although {inside} visitors are inside and {max_inside} may be (max_inside). If they come back for a second pass, they wait for those who were called and have not come: lower claim_s, or raise max_inside. If that does not help, the counts of the room are wrong: keep the logs and this answer, and report them",
                refused_ms / 1_000
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: RefusingRoom = RefusingRoom {
        inside: 4,
        max_inside: 10,
        inside_max: 10,
        pace_u: Some(VISITOR_U / 2),
        lets_in: true,
    };

    /// Refuses a visitor every two seconds, and returns the first second with a warning.
    fn first_warned_s(room: RefusingRoom) -> Option<i64> {
        let calls = RefusedCalls::default();
        calls.note_tick(room, 7);
        (0..60).find(|second| {
            let now = second * 1_000;
            if second % 2 == 0 {
                calls.note_refused(now);
            }
            calls.note_tick(room, 7);
            calls.warning("sale", now).is_some()
        })
    }

    #[test]
    fn a_nearly_empty_room_that_refuses_for_longer_than_its_pace_explains_is_warned_of() {
        assert_eq!(first_warned_s(ROOM), Some(16), "10 s, and 4 s of the pace");
        let open = RefusingRoom {
            pace_u: None,
            ..ROOM
        };
        assert_eq!(first_warned_s(open), Some(12));
        for right in [
            RefusingRoom { inside: 5, ..ROOM },
            RefusingRoom {
                lets_in: false,
                ..ROOM
            },
            RefusingRoom {
                pace_u: Some(VISITOR_U / 100),
                ..ROOM
            },
        ] {
            assert_eq!(first_warned_s(right), None, "{right:?}");
        }
    }

    #[test]
    fn the_warning_tells_the_figures_and_goes_away_when_somebody_enters_or_nobody_asks() {
        let stalled = || {
            let calls = RefusedCalls::default();
            calls.note_tick(ROOM, 7);
            (0..10).for_each(|at| calls.note_refused(at * 2_000));
            calls
        };
        let told = stalled().warning("sale", 18_000).expect("a warning");
        for word in ["\"sale\"", "18 s", "4 visitors are inside", "10 may be"] {
            assert!(told.contains(word), "{word} is not in {told}");
        }
        let slowed = RefusingRoom {
            inside_max: 3,
            ..ROOM
        };
        let calls = stalled();
        calls.note_tick(slowed, 7);
        let told = calls.warning("sale", 18_000).expect("a warning");
        for word in ["only 3 may be at the moment", "of 10", "mode=fixed"] {
            assert!(told.contains(word), "{word} is not in {told}");
        }
        let calls = stalled();
        calls.note_tick(ROOM, 8);
        assert_eq!(calls.warning("sale", 18_000), None);
        let calls = stalled();
        assert!(calls.warning("sale", 28_000).is_some());
        assert_eq!(calls.warning("sale", 28_001), None);
        calls.note_refused(29_000);
        assert_eq!(calls.warning("sale", 29_000), None, "asking begins anew");
    }
}
