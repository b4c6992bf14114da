//! Collects the waiting visitors that this node has just seen. A node sees visitors when they join
//! the waitlist, when they read their state on the waitlist, and while they have a socket at a
//! gateway. Each node reports these visitors to the ledger in batches. Every node can therefore
//! read from the ledger who is present, even after a restart.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

use fairgate_pass::Holder;

/// A cheap handle to the set of visitors who were seen since the last report.
#[derive(Clone, Default)]
pub struct SeenVisitors {
    seen: Arc<Mutex<HashSet<Holder>>>,
}

impl SeenVisitors {
    /// Adds these visitors to the next report.
    pub fn record_seen(&self, visitors: impl IntoIterator<Item = Holder>) {
        let mut seen = self.seen.lock();
        seen.extend(visitors);
    }

    /// Removes and returns all visitors, for a report.
    pub(super) fn take_seen(&self) -> Vec<Holder> {
        let mut seen = self.seen.lock();
        std::mem::take(&mut *seen).into_iter().collect()
    }
}
