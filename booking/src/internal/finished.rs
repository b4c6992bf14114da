//! Reads whose orders were ticketed, for the rooms that ask about once a second each. As long as no
//! order is ticketed anywhere, one short reading serves all rooms.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_model::ids::ShowId;
use fairgate_pass::Holder;
use parking_lot::Mutex;

use crate::ledger::{Ledger, LedgerError};

/// How long all rooms share the number of the newest finished order. Short, so that a visitor who
/// bought counts as done within the next second.
const SHARED_FOR: Duration = Duration::from_millis(200);

/// Knows which rooms have nothing new to read. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct FinishedOrders {
    newest: Arc<tokio::sync::Mutex<Option<(Instant, u64)>>>,
    /// For each room that found nothing, what it had asked for then.
    without_news: Arc<Mutex<HashMap<String, EmptyReading>>>,
}

/// A reading that found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EmptyReading {
    /// The newest finished order of all shows before the reading began.
    newest: u64,
    after: u64,
    shows: u64,
}

impl FinishedOrders {
    /// Returns visitors whose orders of these shows were ticketed, each with a number above
    /// `after`. The shows are those of `room`.
    ///
    /// # Errors
    /// Returns an error if the ledger cannot be read.
    pub async fn read(
        &self,
        ledger: &Ledger,
        room: &str,
        after: u64,
        shows: BTreeSet<ShowId>,
    ) -> Result<Vec<(u64, Holder)>, LedgerError> {
        let mut hasher = DefaultHasher::new();
        shows.hash(&mut hasher);
        let reading = EmptyReading {
            newest: self.newest(ledger).await?,
            after,
            shows: hasher.finish(),
        };
        if self.without_news.lock().get(room) == Some(&reading) {
            return Ok(Vec::new());
        }
        let finished = ledger.finished(after, shows.into_iter().collect()).await?;
        let mut without_news = self.without_news.lock();
        if finished.is_empty() {
            without_news.insert(room.to_owned(), reading);
        } else {
            without_news.remove(room);
        }
        Ok(finished)
    }

    /// Returns the number of the newest finished order of all shows.
    async fn newest(&self, ledger: &Ledger) -> Result<u64, LedgerError> {
        let mut newest = self.newest.lock().await;
        if let Some((read_at, number)) = *newest
            && read_at.elapsed() < SHARED_FOR
        {
            return Ok(number);
        }
        let read_at = Instant::now();
        let number = ledger.newest_finished().await?;
        *newest = Some((read_at, number));
        Ok(number)
    }
}
