//! The visitors who are present: those who polled their place in the waitlist, and those with a
//! socket at a gateway. Each node reports the visitors it has seen to the ledger in batches, so
//! that every node knows them and a restart forgets nobody.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use fairgate_pass::Holder;

/// The visitors seen since the last report. A cheap handle.
#[derive(Clone, Default)]
pub struct SeenVisitors {
    seen: Arc<Mutex<HashSet<Holder>>>,
}

impl SeenVisitors {
    /// Notes that these visitors were seen now.
    pub fn record_seen(&self, visitors: impl IntoIterator<Item = Holder>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(visitors);
    }

    /// Takes the visitors out, to report them.
    pub(super) fn take_seen(&self) -> Vec<Holder> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *seen).into_iter().collect()
    }
}
