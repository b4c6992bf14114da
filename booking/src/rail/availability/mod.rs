//! Caches how many seats of each train are free, for searches. A count may be slightly old, but
//! only the store decides whether seats can be held. A count older than a quarter of a second is
//! still used, while a new count is read in the background. So a train that everybody searches for
//! is read only a few times a second. If the count is older than two seconds, the search first
//! waits a moment for a newer one.

mod source;
mod tally;
#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::Timestamp;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

pub use source::SeatPictureSource;
pub use tally::FreeSeatTally;

use super::free::{DepartureFreeSeats, FreeSeatLookup};
use crate::catalogue::Catalogue;
use crate::ledger::LedgerError;
use fairgate_base::clock::Clock;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;

/// The age in milliseconds after which the free seats are read anew in the background.
const REFRESHED_AFTER_MS: i64 = 250;
/// The age in milliseconds after which an answer counts as degraded. A search first waits a moment
/// for a newer one.
const DEGRADED_AFTER_MS: i64 = 2_000;
/// How long a search waits for a newer answer if the last answer is too old, or there is none.
const WAIT_MAX: Duration = Duration::from_millis(200);
/// How long one reading of a train may take. A slower reading is given up, and the next search
/// begins a new one.
const READ_MAX: Duration = Duration::from_secs(5);
/// How many trains are read at the same time, at most. The limit keeps a search over many trains
/// from delaying holds in the store.
const READINGS_MAX: usize = 32;
/// How many trains have a cached answer, at most.
const TRAINS_MAX: usize = 4_096;

/// The free seats of a train at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainAvailability {
    /// The train's free seats.
    pub tally: FreeSeatTally,
    /// Whether the held seats are known, so that they do not count as free. They are unknown if the
    /// store did not answer.
    pub held_seats_known: bool,
}

/// A source that reads the free seats of a train.
#[async_trait]
pub trait AvailabilitySource: Send + Sync + 'static {
    /// Reads the train's free seats now.
    async fn read(&self, show: &Show) -> Result<TrainAvailability, LedgerError>;
}

/// A handle on the free seats of all trains. It is cheap to clone.
#[derive(Clone)]
pub struct Availability {
    catalogue: Catalogue,
    source: Arc<dyn AvailabilitySource>,
    clock: Clock,
    trains: Arc<Mutex<HashMap<ShowId, Arc<TrainCacheEntry>>>>,
    reading_permits: Arc<Semaphore>,
}

/// The last answer for one train.
struct TrainCacheEntry {
    known: watch::Sender<Option<CachedAvailability>>,
    /// Has one permit, so that only one task at a time reads the train.
    reading_permit: Arc<Semaphore>,
}

#[derive(Clone)]
struct CachedAvailability {
    reading: Arc<TrainAvailability>,
    at_ms: i64,
}

impl CachedAvailability {
    /// Returns whether the answer is younger than `ms` milliseconds. If the clock went back, it
    /// returns false.
    fn is_within(&self, ms: i64, now_ms: i64) -> bool {
        (0..ms).contains(&(now_ms - self.at_ms))
    }

    fn free_seats_over(&self, legs: &Range<u16>, now_ms: i64) -> DepartureFreeSeats {
        DepartureFreeSeats {
            by_class: self.reading.tally.free_by_class(legs),
            as_of: timestamp_from_ms(self.at_ms),
            cancelled: false,
            degraded: !self.reading.held_seats_known || !self.is_within(DEGRADED_AFTER_MS, now_ms),
        }
    }
}

impl Availability {
    /// Makes the handle. No answer is known yet.
    #[must_use]
    pub fn new(catalogue: Catalogue, source: Arc<dyn AvailabilitySource>, clock: Clock) -> Self {
        Self {
            catalogue,
            source,
            clock,
            trains: Arc::default(),
            reading_permits: Arc::new(Semaphore::new(READINGS_MAX)),
        }
    }

    async fn free_seats_of(&self, id: &ShowId, legs: &Range<u16>) -> Option<DepartureFreeSeats> {
        let show = self.catalogue.show_with_ledger_row(id)?;
        if show.is_cancelled() {
            return Some(DepartureFreeSeats {
                by_class: BTreeMap::new(),
                as_of: timestamp_from_ms(self.clock.now_ms()),
                cancelled: true,
                degraded: false,
            });
        }
        Some(self.of_show(show, legs).await)
    }

    /// Returns a train's free seats from the cache. If they are older than `REFRESHED_AFTER_MS` or
    /// unknown, starts a reading. If they are older than `DEGRADED_AFTER_MS` or unknown, also waits
    /// up to `WAIT_MAX` for it. The train must have a row in the ledger.
    async fn of_show(&self, show: Arc<Show>, legs: &Range<u16>) -> DepartureFreeSeats {
        let entry = self.train_entry(&show.id);
        let mut known = entry.known.subscribe();
        let found = known.borrow_and_update().clone();
        let now_ms = self.clock.now_ms();
        if let Some(found) = &found
            && found.is_within(REFRESHED_AFTER_MS, now_ms)
        {
            return found.free_seats_over(legs, now_ms);
        }
        self.read_in_background(show, &entry);
        if let Some(found) = &found
            && found.is_within(DEGRADED_AFTER_MS, now_ms)
        {
            return found.free_seats_over(legs, now_ms);
        }
        // If no newer answer comes in time, the old one is used.
        let _ = timeout(WAIT_MAX, known.changed()).await;
        let newest = known.borrow().clone();
        let now_ms = self.clock.now_ms();
        let free = match newest {
            Some(known) => known.free_seats_over(legs, now_ms),
            None => DepartureFreeSeats {
                by_class: BTreeMap::new(),
                as_of: timestamp_from_ms(now_ms),
                cancelled: false,
                degraded: true,
            },
        };
        if free.degraded {
            metrics::counter!("fairgate_availability_degraded_total").increment(1);
        }
        free
    }

    /// Starts a task that reads the train, unless another task is reading it.
    fn read_in_background(&self, show: Arc<Show>, entry: &Arc<TrainCacheEntry>) {
        let Ok(permit) = Arc::clone(&entry.reading_permit).try_acquire_owned() else {
            return;
        };
        let (this, entry) = (self.clone(), Arc::clone(entry));
        tokio::spawn(async move {
            let read = timeout(READ_MAX, this.read(&show)).await;
            let failed = match read {
                Ok(Ok(known)) => {
                    entry.known.send_replace(Some(known));
                    None
                }
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("it took too long".to_owned()),
            };
            if let Some(why) = failed {
                tracing::warn!(show = %show.id, why, "free seats could not be read; the last count, if there is one, is used");
            }
            metrics::counter!("fairgate_availability_readings_total").increment(1);
            drop(permit);
        });
    }

    async fn read(&self, show: &Show) -> Result<CachedAvailability, LedgerError> {
        let permit = self.reading_permits.acquire().await;
        // The clock is read before the train, so the seats were counted at `at_ms` or later.
        let at_ms = self.clock.now_ms();
        let reading = self.source.read(show).await;
        drop(permit);
        Ok(CachedAvailability {
            reading: Arc::new(reading?),
            at_ms,
        })
    }

    fn train_entry(&self, show: &ShowId) -> Arc<TrainCacheEntry> {
        let mut trains = self.trains.lock();
        if let Some(entry) = trains.get(show) {
            return Arc::clone(entry);
        }
        if trains.len() >= TRAINS_MAX {
            // Only trains that were read in the last two seconds stay in the cache.
            let now_ms = self.clock.now_ms();
            trains.retain(|_, entry| {
                let known = entry.known.borrow();
                known
                    .as_ref()
                    .is_some_and(|known| known.is_within(DEGRADED_AFTER_MS, now_ms))
            });
        }
        if trains.len() >= TRAINS_MAX {
            trains.clear();
        }
        let entry = Arc::new(TrainCacheEntry {
            known: watch::Sender::new(None),
            reading_permit: Arc::new(Semaphore::new(1)),
        });
        trains.insert(show.clone(), Arc::clone(&entry));
        entry
    }
}

fn timestamp_from_ms(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[async_trait]
impl FreeSeatLookup for Availability {
    async fn free(&self, stretches: &[(ShowId, Range<u16>)]) -> Vec<Option<DepartureFreeSeats>> {
        join_all(
            stretches
                .iter()
                .map(|(show, legs)| self.free_seats_of(show, legs)),
        )
        .await
    }

    fn touched(&self, show: &ShowId) -> Option<Arc<Show>> {
        self.catalogue.show_with_ledger_row(show)
    }
}
