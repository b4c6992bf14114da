//! The interface through which searches ask how many seats of a departure are free. The timetable
//! only knows how many seats there are.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use fairgate_model::ids::ShowId;
use fairgate_model::shows::Show;
use jiff::Timestamp;

/// The free seats of a departure on a range of its legs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepartureFreeSeats {
    /// By class, the number of seats that are free on all of the legs.
    pub by_class: BTreeMap<String, u32>,
    /// The time at which the seats were counted.
    pub as_of: Timestamp,
    /// Whether the train is cancelled, so that nothing is free.
    pub cancelled: bool,
    /// Whether the count may be wrong: it is old or missing, or it lacks the held seats.
    pub degraded: bool,
}

/// A lookup of free seats.
#[async_trait]
pub trait FreeSeatLookup: Send + Sync {
    /// Returns the free seats of each departure in `stretches`, in the same order. `None` means
    /// that nobody has taken a seat of the departure yet, so the whole train is free. The lookup
    /// writes nothing to the store or the ledger.
    async fn free(&self, stretches: &[(ShowId, Range<u16>)]) -> Vec<Option<DepartureFreeSeats>>;
    /// Returns a departure that has a row in the ledger. Its stops, times and fares are those of
    /// the row, which baskets and tickets use, too.
    fn touched(&self, show: &ShowId) -> Option<Arc<Show>>;
}
