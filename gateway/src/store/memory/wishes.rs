//! The wishes of a room in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::store::wishes::{CHANGES_MAX, WishChanges, WishCursor, WishList};

/// The wishes of a line, by number. A restart forgets them.
#[derive(Default)]
pub(super) struct LineWishes {
    by_number: HashMap<u64, WishList>,
    /// The version of the last change of each number.
    last_change: HashMap<u64, u64>,
    /// For each version, the number whose wishes changed. Only a number's last version is kept.
    changes: BTreeMap<u64, u64>,
    version: u64,
}

impl LineWishes {
    pub(super) fn set(&mut self, number: u64, wishes: WishList) {
        self.by_number.insert(number, wishes);
        self.note_change(number);
    }

    pub(super) fn forget(&mut self, number: u64) {
        if self.by_number.remove(&number).is_some() {
            self.note_change(number);
        }
    }

    fn note_change(&mut self, number: u64) {
        self.version += 1;
        if let Some(earlier_version) = self.last_change.insert(number, self.version) {
            self.changes.remove(&earlier_version);
        }
        self.changes.insert(self.version, number);
    }

    pub(super) fn of(&self, number: u64) -> Option<WishList> {
        self.by_number.get(&number).map(Arc::clone)
    }

    pub(super) fn changed(&self, since: WishCursor, incarnation: u64) -> WishChanges {
        let is_new_life = since.incarnation != incarnation;
        let from = if is_new_life { 0 } else { since.version };
        let after = self.changes.range(from + 1..).take(CHANGES_MAX);
        let mut cursor = WishCursor {
            incarnation,
            version: from,
        };
        let mut changed = Vec::new();
        for (version, number) in after {
            cursor.version = *version;
            changed.push((*number, self.of(*number).unwrap_or_default()));
        }
        WishChanges {
            cursor,
            is_new_life,
            changed,
        }
    }
}
