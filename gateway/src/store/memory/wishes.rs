//! The wishes of a room in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::store::wishes::{CHANGES_MAX, WishChanges, WishCursor, WishList};

/// The wishes of a line, by number. A restart forgets them.
#[derive(Default)]
pub(super) struct LineWishes {
    by_number: HashMap<u64, (u64, WishList)>,
    /// The number that each change changed last.
    changes: BTreeMap<u64, u64>,
    version: u64,
}

impl LineWishes {
    pub(super) fn set(&mut self, number: u64, wishes: WishList) {
        self.version += 1;
        if let Some((before, _)) = self.by_number.insert(number, (self.version, wishes)) {
            self.changes.remove(&before);
        }
        self.changes.insert(self.version, number);
    }

    pub(super) fn of(&self, number: u64) -> WishList {
        let known = self.by_number.get(&number);
        known.map_or_else(WishList::default, |(_, wishes)| Arc::clone(wishes))
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
            changed.push((*number, self.of(*number)));
        }
        WishChanges {
            cursor,
            is_new_life,
            changed,
        }
    }
}
