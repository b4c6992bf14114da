//! Who is here: whoever polled its place in the waitlist, and whose socket a gateway knows of. What
//! a node has seen it tells the ledger in batches, so that every node knows it and a restart
//! forgets nobody.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use fairgate_pass::Holder;

/// Visitors seen since they were told last; a cheap handle.
#[derive(Clone, Default)]
pub struct SeenVisitors {
    seen: Arc<Mutex<HashSet<Holder>>>,
}

impl SeenVisitors {
    /// These were seen now.
    pub fn record_seen(&self, visitors: impl IntoIterator<Item = Holder>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(visitors);
    }

    /// Takes them, to tell of them.
    pub(super) fn take_seen(&self) -> Vec<Holder> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *seen).into_iter().collect()
    }
}
