//! Remembers which visitors inside were told at this node that there are no seats for them. They
//! count as people who take no seats, until they hold some.

use parking_lot::Mutex;
use std::collections::BTreeMap;

use fairgate_rules::entry_history::AGES_S;

/// The visitors of one room who were told that there are no seats for them.
#[derive(Debug, Default)]
pub struct VisitorsToldNone {
    by_number: Mutex<BTreeMap<u64, PassTimes>>,
}

/// The times of a visitor's pass, in unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassTimes {
    /// When the visitor entered.
    pub entered_s: i64,
    /// When the pass runs out.
    pub ends_s: i64,
}

impl VisitorsToldNone {
    /// Notes that the visitor of a number was told that there are no seats for it. Returns whether
    /// this was not known of the visit.
    pub fn note_told(&self, number: u64, pass: PassTimes) -> bool {
        self.by_number.lock().insert(number, pass) != Some(pass)
    }

    /// Notes that the visitor of a number holds seats.
    pub fn note_held(&self, number: u64) {
        self.by_number.lock().remove(&number);
    }

    /// Counts these visitors by the time since they entered: one group for each limit in
    /// [`AGES_S`], and one group for longer times. Forgets those whose pass has run out by `now_s`.
    pub fn by_age(&self, now_s: i64) -> [u64; 4] {
        let mut by_number = self.by_number.lock();
        by_number.retain(|_, pass| pass.ends_s > now_s);
        let mut groups = [0; 4];
        for pass in by_number.values() {
            let age_s = u64::try_from(now_s - pass.entered_s).unwrap_or(0);
            let group = AGES_S.partition_point(|limit_s| *limit_s <= age_s);
            groups[group] += 1;
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitors_count_by_age_until_they_hold_seats_or_their_pass_runs_out() {
        let told = VisitorsToldNone::default();
        for (number, entered_s) in [(1, 100), (2, 71), (3, 70), (4, 40), (5, -100)] {
            let ends_s = entered_s + 600;
            told.note_told(number, PassTimes { entered_s, ends_s });
        }
        assert_eq!(told.by_age(100), [2, 1, 1, 1]);
        told.note_held(3);
        told.note_held(77);
        assert_eq!(told.by_age(100), [2, 0, 1, 1]);
        assert_eq!(told.by_age(500), [0, 0, 0, 3], "one pass has run out");
    }
}
