//! Numbers the states of booking's shows as far as this gateway knows them. Each booking process
//! numbers its own states. This gateway counts on whenever one of these numbers changes, and
//! whenever it has sent booking something that may change the shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the present state; a cheap handle.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownShowsEdition(Arc<AtomicU64>);

impl KnownShowsEdition {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Ends the present state.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// The last number that one booking process has sent.
#[derive(Debug, Default)]
pub struct SentShowsEdition(AtomicU64);

impl SentShowsEdition {
    /// Takes the number of an answer. Returns whether the process may know other shows than at its
    /// last answer. A process of an older version always sends 0, so its shows may always have
    /// changed.
    pub fn is_new(&self, sent: u64) -> bool {
        self.0.swap(sent, Ordering::AcqRel) != sent || sent == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once_and_the_number_of_an_older_version_always() {
        let process = SentShowsEdition::default();
        for (sent, is_new) in [(7, true), (7, false), (8, true), (0, true), (0, true)] {
            assert_eq!(process.is_new(sent), is_new, "{sent}");
        }
    }
}
