//! Counts how many visitors have joined, entered and bought so far. A run shows these counts as its
//! progress, and worker processes report them.

use serde::{Deserialize, Serialize};

use super::{SwarmTally, quantile_of};

/// The time over which the shown p99 is taken, in milliseconds.
const RECENT_MS: f64 = 5_000.0;

/// The progress of a crowd.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CrowdProgress {
    /// How many visitors have joined.
    pub joined: usize,
    /// How many visitors wait in the line.
    pub waiting: usize,
    /// How many visitors have a pass and are not done.
    pub inside: usize,
    /// How many visitors have tickets.
    pub ticketed: usize,
    /// How many visitors are done.
    pub ended: usize,
    /// How many calls did not succeed.
    pub errors: u64,
    /// Booking's p99 of the last seconds, in milliseconds.
    pub booking_p99_ms: f64,
}

impl CrowdProgress {
    /// Adds the counts of another process, and keeps the larger of the two p99 values.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            joined: self.joined + other.joined,
            waiting: self.waiting + other.waiting,
            inside: self.inside + other.inside,
            ticketed: self.ticketed + other.ticketed,
            ended: self.ended + other.ended,
            errors: self.errors + other.errors,
            booking_p99_ms: self.booking_p99_ms.max(other.booking_p99_ms),
        }
    }
}

impl SwarmTally {
    /// Returns the progress of this process's visitors. `now_ms` is the present time, in
    /// milliseconds since the epoch.
    pub fn progress(&self, now_ms: f64) -> CrowdProgress {
        let seen = self.seen();
        let mut far = CrowdProgress {
            errors: seen.calls.error_count(),
            ..CrowdProgress::default()
        };
        for person in &seen.people {
            far.joined += usize::from(person.joined_ms.is_some());
            far.ticketed += usize::from(person.ticketed_ms.is_some());
            if person.outcome.is_some() {
                far.ended += 1;
            } else if person.entered_ms.is_some() {
                far.inside += 1;
            } else if person.joined_ms.is_some() {
                far.waiting += 1;
            }
        }
        let recent = seen.calls.booking.iter().rev();
        let mut recent: Vec<f64> = recent
            .take_while(|(at_ms, _)| *at_ms > now_ms - RECENT_MS)
            .map(|(_, took_ms)| *took_ms)
            .collect();
        far.booking_p99_ms = quantile_of(&mut recent, 0.99).unwrap_or_default();
        far
    }
}
