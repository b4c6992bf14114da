//! The passes and places that ended early in one room, as this node last read them from the ledger.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairgate_pass::{Holder, LEEWAY_S};

use crate::ledger::{PassStopCause, StoppedPass};

/// What a node knows of the passes and places that ended early.
#[derive(Default)]
pub struct RoomStops {
    known: RwLock<KnownStops>,
    /// How many places the promoter has ended.
    revoked: AtomicU64,
}

#[derive(Default)]
struct KnownStops {
    /// The ledger's stops up to this cursor were read. They were passed on to booking, the store
    /// and the visitors.
    cursor: u64,
    /// Stopped passes by join number.
    passes: HashMap<u64, StoppedPass>,
    /// The holders whose places the promoter ended, with the promoter's note to each.
    revoked: HashMap<Holder, Arc<str>>,
}

impl RoomStops {
    /// Returns the cursor up to which all stops were passed on.
    pub fn cursor(&self) -> u64 {
        self.known.read().cursor
    }

    /// Returns how many places the promoter has ended.
    pub fn revoked_count(&self) -> u64 {
        self.revoked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_revoked_count(&self, count: u64) {
        self.revoked.store(count, Ordering::Relaxed);
    }

    /// Adds the stopped passes that were read from the ledger. Forgets the passes that nobody can
    /// use any more at `now_s`, unless the promoter revoked them.
    pub(crate) fn note(&self, stopped: &[StoppedPass], now_s: i64) {
        let mut known = self.known.write();
        for pass in stopped {
            if pass.cause == PassStopCause::Revoked {
                known
                    .revoked
                    .insert(pass.holder, Arc::from(pass.note.as_str()));
            }
            known.passes.insert(pass.number, pass.clone());
        }
        known
            .passes
            .retain(|_, pass| pass.cause == PassStopCause::Revoked || pass.exp + LEEWAY_S > now_s);
    }

    /// Notes that all stops up to this cursor were passed on.
    pub(crate) fn note_passed_on(&self, cursor: u64) {
        let mut known = self.known.write();
        known.cursor = known.cursor.max(cursor);
    }

    /// Returns why the pass of a number was stopped, if it was.
    pub fn cause(&self, number: u64) -> Option<PassStopCause> {
        self.known.read().passes.get(&number).map(|pass| pass.cause)
    }

    /// Returns the promoter's note to a visitor whose place the promoter ended, or `None` if the
    /// promoter did not end it.
    pub fn revocation(&self, holder: Holder) -> Option<Arc<str>> {
        self.known.read().revoked.get(&holder).cloned()
    }
}
