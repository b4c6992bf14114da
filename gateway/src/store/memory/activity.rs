//! Remembers in memory when each visitor inside last did something.

use std::collections::{BTreeSet, HashMap};

/// When the visitors inside one room last did something, in unix seconds.
#[derive(Default)]
pub(super) struct LineActivity {
    active_s: HashMap<u64, i64>,
    /// The same, the longest idle first.
    by_time: BTreeSet<(i64, u64)>,
}

impl LineActivity {
    /// Begins to watch the visitor of a number.
    pub(super) fn begin(&mut self, number: u64, at_s: i64) {
        self.end(number);
        self.active_s.insert(number, at_s);
        self.by_time.insert((at_s, number));
    }

    /// Notes that a visitor did something. Visitors who are not watched are ignored.
    pub(super) fn note(&mut self, number: u64, at_s: i64) {
        if self
            .active_s
            .get(&number)
            .is_some_and(|known| *known < at_s)
        {
            self.begin(number, at_s);
        }
    }

    /// Returns when a visitor last did something, if the visitor is watched.
    pub(super) fn active_s(&self, number: u64) -> Option<i64> {
        self.active_s.get(&number).copied()
    }

    /// Stops watching the visitor of a number.
    pub(super) fn end(&mut self, number: u64) {
        if let Some(at_s) = self.active_s.remove(&number) {
            self.by_time.remove(&(at_s, number));
        }
    }

    /// Returns the visitors who have done nothing since `until_s`, and when each last did
    /// something, the longest idle first.
    pub(super) fn idle_since(&self, until_s: i64) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.by_time.range(..=(until_s, u64::MAX)).copied()
    }
}
