//! Remembers which called visitors ask to enter and have to wait. Of two of them, the one who was
//! called earlier enters first, and of two who had a pass, the one who came out earlier, however
//! often each of them asks.

use std::collections::{BTreeMap, HashMap};

use super::claim_timing::ClaimTiming;

/// A visitor who waits is told to ask again after at most this long, in milliseconds.
pub const ASKS_AGAIN_MS: u64 = 10_000;
/// A visitor who waits until there is space is told to ask again after this long, in milliseconds.
pub const LOOKS_FOR_SPACE_MS: u64 = 2_000;
/// A visitor who does not ask again for this long after the told time no longer counts, in
/// milliseconds.
pub const ASKS_LATE_MS: u64 = 2_000;

/// The visitors who ask to enter one room.
#[derive(Debug, Default)]
pub struct EntryDoor {
    /// Until when each visitor counts, in milliseconds since the epoch, by timing, order and rank.
    /// The order is what [`entry_order`](super::claim_timing::entry_order) returns.
    counts_until: BTreeMap<(ClaimTiming, u64, u64), i64>,
    /// The timing and the order of each rank in `counts_until`.
    by_rank: HashMap<u64, (ClaimTiming, u64)>,
}

impl EntryDoor {
    /// Counts the visitors who asked before `now` (ms) and enter before one with this order.
    /// Visitors whose release used up the pace for them enter before all late comers, and these
    /// before all who want a second pass.
    #[must_use]
    pub fn before(&self, timing: ClaimTiming, order: u64, now: i64) -> u64 {
        let earlier = self.counts_until.range(..(timing, order, 0));
        earlier.filter(|(_, until)| **until > now).count() as u64
    }

    /// Notes that the visitor with this order and rank has to wait. `entry_in_ms` is the time after
    /// which the visitor can enter, if it is known.
    pub fn note_waiting(
        &mut self,
        timing: ClaimTiming,
        (order, rank): (u64, u64),
        entry_in_ms: Option<u64>,
        now: i64,
    ) {
        self.remove(rank);
        let until = now.saturating_add_unsigned(counts_for_ms(entry_in_ms));
        self.counts_until.insert((timing, order, rank), until);
        self.by_rank.insert(rank, (timing, order));
    }

    /// Notes that the visitor of a rank no longer asks.
    pub fn remove(&mut self, rank: u64) {
        if let Some((timing, order)) = self.by_rank.remove(&rank) {
            self.counts_until.remove(&(timing, order, rank));
        }
    }

    /// Forgets the visitors who have not asked again by `now` (ms).
    pub fn forget_silent(&mut self, now: i64) {
        let by_rank = &mut self.by_rank;
        self.counts_until.retain(|(_, _, rank), until| {
            let counts = *until > now;
            if !counts {
                by_rank.remove(rank);
            }
            counts
        });
    }
}

/// Returns after how many milliseconds a visitor asks again who has to wait for `entry_in_ms`.
#[must_use]
pub fn asks_again_ms(entry_in_ms: Option<u64>) -> u64 {
    entry_in_ms.map_or(LOOKS_FOR_SPACE_MS, |ms| ms.min(ASKS_AGAIN_MS))
}

/// Returns for how many milliseconds a visitor counts who has to wait for `entry_in_ms`.
#[must_use]
pub fn counts_for_ms(entry_in_ms: Option<u64>) -> u64 {
    asks_again_ms(entry_in_ms) + ASKS_LATE_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use ClaimTiming::{Again, InWindow, Late};

    #[test]
    fn whoever_was_called_earlier_enters_first_and_late_comers_enter_last() {
        let mut door = EntryDoor::default();
        for (timing, rank) in [(Again, 0), (Late, 1), (InWindow, 7), (InWindow, 5)] {
            door.note_waiting(timing, (rank, rank), Some(3_000), 1_000);
        }
        let before = |timing, rank| door.before(timing, rank, 2_000);
        assert_eq!([before(InWindow, 5), before(InWindow, 7)], [0, 1]);
        assert_eq!([before(Late, 1), before(Late, 2)], [2, 3]);
        assert_eq!([before(Again, 0), before(Again, 1)], [3, 4]);
    }

    #[test]
    fn whoever_does_not_ask_again_keeps_nobody_out() {
        let mut door = EntryDoor::default();
        door.note_waiting(InWindow, (5, 5), Some(3_000), 1_000);
        door.note_waiting(InWindow, (6, 6), None, 1_000);
        let before = |door: &EntryDoor, now| door.before(Late, 0, now);
        assert_eq!(before(&door, 4_999), 2);
        assert_eq!(before(&door, 5_000), 1, "2 s and 2 s later");
        assert_eq!(before(&door, 6_000), 0, "3 s and 2 s later");
        door.note_waiting(Late, (5, 5), Some(60_000), 5_500);
        assert_eq!(door.before(Late, 9, 5_600), 1, "each visitor counts once");
        door.forget_silent(17_500);
        assert!(door.counts_until.is_empty() && door.by_rank.is_empty());
    }
}
