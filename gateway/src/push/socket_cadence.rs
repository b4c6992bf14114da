//! Decides how often a socket is woken: the nearer the visitor is to the front, the more often.
//! Each socket belongs to a group, and each group is spread over several seconds. A room thus never
//! wakes all sockets at once for a frame that most of them do not need. Pure.

use std::time::Duration;

use fairgate_rules::estimate::refresh_s;

/// The seconds between two wakes of each group. A socket that is due every 8 s is in the group of
/// 5, and gets a frame at every other wake. The slowest group still wakes often enough to notice a
/// client that has gone.
const WAKE_PERIODS_S: [u64; 4] = [1, 2, 5, 15];
/// The number of slots: one for every second of every group.
pub const SLOTS: usize = 1 + 2 + 5 + 15;
/// Seconds between two `line` frames of a called visitor, who needs only the figures in them.
const CALLED_S: u64 = 5;

/// When a socket is woken, and when it gets a `line` frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketCadence {
    /// The slot that wakes the socket.
    pub slot: usize,
    /// Seconds between two `line` frames.
    pub every_s: u64,
    /// Seconds between two wakes.
    wake_s: u64,
}

impl SocketCadence {
    /// Returns the cadence of a place that is `called`, or has `ahead` people ahead (`None` before
    /// the draw). `per_s_u` is the pace in millionths of a visitor per second. `key` is any number
    /// that belongs to the place. It spreads the places over the slots. `interval_min` is the
    /// shortest time between two frames.
    #[must_use]
    pub fn for_place(
        ahead: Option<u64>,
        called: bool,
        per_s_u: u64,
        key: u64,
        interval_min: Duration,
    ) -> Self {
        let every_s = if called {
            CALLED_S
        } else {
            refresh_s(ahead, per_s_u)
        };
        let every_s = every_s.max(interval_min.as_secs());
        let mut first_slot = 0;
        let mut cadence = Self {
            slot: 0,
            every_s,
            wake_s: 1,
        };
        for wake_s in WAKE_PERIODS_S {
            if wake_s <= every_s {
                cadence.wake_s = wake_s;
                cadence.slot = first_slot + usize::try_from(key % wake_s).unwrap_or_default();
            }
            first_slot += usize::try_from(wake_s).unwrap_or_default();
        }
        cadence
    }

    /// Returns whether a socket gets a `line` frame at this wake. `since` is the time since its
    /// last one. A socket gets each frame at the wake nearest to the time at which the frame is
    /// due.
    #[must_use]
    pub fn is_due(&self, since: Duration) -> bool {
        since + Duration::from_secs(self.wake_s) / 2 >= Duration::from_secs(self.every_s)
    }
}

/// Returns whether one of a slot's seconds lies in `(after, until]`.
#[must_use]
pub fn wakes(slot: usize, after: u64, until: u64) -> bool {
    let mut first_slot = 0;
    for wake_s in WAKE_PERIODS_S {
        let len = usize::try_from(wake_s).unwrap_or_default();
        if slot < first_slot + len {
            let phase = (slot - first_slot) as u64;
            let since_phase = |second: u64| (second + wake_s - phase) / wake_s;
            return since_phase(until) > since_phase(after);
        }
        first_slot += len;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIFTY_A_SECOND: u64 = 50_000_000;

    fn of_place(ahead: Option<u64>, called: bool, key: u64) -> SocketCadence {
        SocketCadence::for_place(ahead, called, FIFTY_A_SECOND, key, Duration::ZERO)
    }

    #[test]
    fn under_load_nobody_is_told_more_often_than_every_five_seconds() {
        let five = Duration::from_secs(5);
        for (ahead, every_s) in [(0, 5), (2_500, 5), (20_000, 20)] {
            let cadence = SocketCadence::for_place(Some(ahead), false, FIFTY_A_SECOND, 1234, five);
            assert_eq!(cadence.every_s, every_s, "{ahead}");
        }
    }

    #[test]
    fn a_visitor_nearer_to_the_front_is_woken_and_gets_frames_more_often() {
        for (ahead, called, every_s, wake_s) in [
            (None, false, 5, 5),
            (Some(0), false, 1, 1),
            (Some(2_500), false, 2, 2),
            (Some(7_000), false, 7, 5),
            (Some(20_000), false, 20, 15),
            (Some(10_000_000), false, 60, 15),
            (Some(0), true, 5, 5),
        ] {
            let cadence = of_place(ahead, called, 1234);
            assert_eq!(
                (cadence.every_s, cadence.wake_s),
                (every_s, wake_s),
                "{ahead:?}"
            );
        }
    }

    #[test]
    fn every_slot_wakes_once_in_its_groups_time_even_if_seconds_were_skipped() {
        let mut woken = [0; SLOTS];
        for second in 0..30 {
            for (slot, times) in woken.iter_mut().enumerate() {
                *times += u32::from(wakes(slot, second, second + 1));
            }
        }
        let expected: Vec<u32> = WAKE_PERIODS_S
            .iter()
            .flat_map(|wake_s| vec![30 / *wake_s as u32; *wake_s as usize])
            .collect();
        assert_eq!(woken.as_slice(), expected);
        assert!((0..SLOTS).all(|slot| wakes(slot, 100, 115)));
        assert!((0..SLOTS).all(|slot| !wakes(slot, 7, 7)));
    }

    #[test]
    fn in_any_second_one_in_fifteen_of_the_visitors_far_back_is_woken() {
        let slots: Vec<_> = (0..15_000)
            .map(|key| of_place(Some(1_000_000), false, key).slot)
            .collect();
        for second in 0..60 {
            let woken = slots
                .iter()
                .filter(|slot| wakes(**slot, second, second + 1));
            assert_eq!(woken.count(), 1_000);
        }
    }

    #[test]
    fn a_socket_gets_a_frame_at_the_wake_nearest_to_its_time() {
        for (ahead, expected_s) in [
            (Some(0), 1),
            (Some(7_000), 5),
            (Some(8_000), 10),
            (Some(10_000_000), 60),
        ] {
            let cadence = of_place(ahead, false, 0);
            let told = (1..).find(|wake| {
                // A wake may come a little early.
                cadence.is_due(Duration::from_millis(cadence.wake_s * wake * 1000 - 100))
            });
            assert_eq!(
                told.map(|wake| wake * cadence.wake_s),
                Some(expected_s),
                "{ahead:?}"
            );
        }
    }
}
