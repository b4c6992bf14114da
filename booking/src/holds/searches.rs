//! The threads that search for seats, and the calls that wait for them.

use fairgate_base::process::search_threads::{SearchQueue, SearchThreads, SearchTurn};

use super::refusal::HoldRefusal;

/// How many calls wait until seats are chosen for them, at most.
const CHOICES_MAX: usize = 64;
/// How many refused calls wait until other seats are found for them, at most. Choices come first,
/// so these are fewer.
const SUGGESTIONS_MAX: usize = 8;

/// The threads that search for seats, and who waits for them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SeatSearches {
    choices: SearchQueue,
    pub(super) suggestions: SearchQueue,
}

impl Default for SeatSearches {
    fn default() -> Self {
        let threads = SearchThreads::default();
        Self {
            choices: SearchQueue::new(threads.clone(), CHOICES_MAX),
            suggestions: SearchQueue::new(threads, SUGGESTIONS_MAX),
        }
    }
}

impl SeatSearches {
    /// Waits until seats may be chosen for one call.
    ///
    /// # Errors
    /// [`HoldRefusal::SearchesFull`] if too many calls wait.
    pub async fn turn(&self) -> Result<SearchTurn, HoldRefusal> {
        Ok(self.choices.turn().await?)
    }
}
