//! What the lists that need no key are answered with: prepared answers that all clients share, and
//! threads for the searches.

use fairgate_base::http::Problem;
use fairgate_base::http::shared_answers::{SharedAnswer, SharedAnswers};
use fairgate_base::process::search_threads::SearchThreads;
use serde::Serialize;

/// The most bytes of answers that are kept for each kind of list.
const KEPT_BYTES_MAX: u64 = 8 << 20;

/// How many characters the words of a search may have, at most.
pub const QUERY_CHARS_MAX: usize = 100;

/// Answers a kind of list. Cheap to clone.
#[derive(Clone)]
pub struct ListDesk {
    /// The answers of the last seconds.
    pub answers: SharedAnswers,
    /// The threads for searches.
    pub threads: SearchThreads,
}

impl ListDesk {
    /// Makes a desk without answers, whose searches run on these threads.
    #[must_use]
    pub fn new(threads: SearchThreads) -> Self {
        Self {
            answers: SharedAnswers::up_to(KEPT_BYTES_MAX),
            threads,
        }
    }
}

/// Writes a list as JSON. A client that has the list asks whether it has changed before it uses the
/// list again.
///
/// # Errors
/// 500 if the list cannot be written.
pub fn json_list(list: &impl Serialize) -> Result<SharedAnswer, Problem> {
    SharedAnswer::json(list, "no-cache")
}
