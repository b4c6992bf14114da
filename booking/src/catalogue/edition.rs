//! Numbers the states of the catalogue in memory, so that whatever was made from a state is known
//! to be out of date once the catalogue has changed.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::RngExt;

/// The number of the present state. It begins at a random number, so that the numbers of two
/// processes, or of a process before and after a restart, are not the same.
#[derive(Debug)]
pub(super) struct CatalogueEdition(AtomicU64);

impl Default for CatalogueEdition {
    fn default() -> Self {
        let begin = u64::from(rand::rng().random::<u32>()) << 20;
        Self(AtomicU64::new(begin))
    }
}

impl CatalogueEdition {
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Ends the present state. A change must be complete before this is called.
    pub(super) fn advance(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}
