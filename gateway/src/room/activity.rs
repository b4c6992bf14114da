//! Collects when visitors inside did something at this node. The room's loop reports it to the
//! store, which combines the reports of all nodes.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What the visitors of one room did at this node since the last report.
#[derive(Debug, Default)]
pub struct VisitorActivity {
    /// Unix seconds by number. A time in the future means that the visitor counts as active until
    /// then.
    active_s: Mutex<BTreeMap<u64, i64>>,
}

impl VisitorActivity {
    /// Notes that the visitor of a number did something at `at_s`.
    pub fn note(&self, number: u64, at_s: i64) {
        let mut active_s = self.active_s.lock();
        let known = active_s.entry(number).or_insert(at_s);
        *known = at_s.max(*known);
    }

    /// Takes what was noted since the last call.
    pub fn take(&self) -> Vec<(u64, i64)> {
        let active_s = std::mem::take(&mut *self.active_s.lock());
        active_s.into_iter().collect()
    }
}
