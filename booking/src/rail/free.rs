//! The seam to whoever sells: how many seats of a departure are free. The timetable knows only how
//! many there are.

use std::collections::BTreeMap;
use std::ops::Range;

use async_trait::async_trait;
use fairgate_model::ids::ShowId;
use jiff::Timestamp;

/// Free seats of a departure over some of its legs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepartureFreeSeats {
    /// By class: seats that nobody has on any of the legs.
    pub by_class: BTreeMap<String, u32>,
    /// When that was so.
    pub as_of: Timestamp,
    /// The train does not run: nothing is free.
    pub cancelled: bool,
    /// It may be older than it should be, since what knows better does not answer.
    pub degraded: bool,
}

/// Tells how many seats are free.
#[async_trait]
pub trait FreeSeatLookup: Send + Sync {
    /// What is known of each departure asked for, in the same order; none where nobody has taken a
    /// seat of it yet, so that the whole train is free. Asking makes nothing: no keys, no rows.
    async fn free(&self, asked: &[(ShowId, Range<u16>)]) -> Vec<Option<DepartureFreeSeats>>;
}
