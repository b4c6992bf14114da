//! What the last second's tick found of a room.

use std::sync::Arc;

use fairgate_rules::cohort::{RankCall, called_at};
use fairgate_rules::crowd::PresenceBitmap;
use fairgate_rules::odds::SeatDemand;

use crate::store::{NumberSet, RoomCounts};
use crate::upstream::BookingPulse;

/// What the last second's tick found: shared by every socket and every poll.
#[derive(Debug, Clone, Default)]
pub struct RoomTick {
    /// Ranks below this may claim.
    pub released: u64,
    /// People behind the counter.
    pub waiting: u64,
    /// Who was away, as last looked.
    pub away: NumberSet,
    /// Who is here behind the counter, as last looked.
    pub crowd: Arc<PresenceBitmap>,
    /// When that was, ms.
    pub looked_at: i64,
    /// The store's figures.
    pub counts: RoomCounts,
    /// What newcomers wait for beside the line: millionths of visitors who were let in ahead of it.
    pub owed_u: u64,
    /// The calls whose window is open, oldest first.
    pub calls: Arc<Vec<RankCall>>,
    /// Booking's figures.
    pub pulse: BookingPulse,
    /// Whether booking has ever given any.
    pub known: bool,
    /// The line's rates, visitors a second: expected, and fallen short of once in ten times.
    pub rates: (f64, f64),
    /// The most inside, as booking's health and the promoter have it.
    pub inside_max: u64,
    /// The seats against the people before the line; `None` where there is no line or no seats.
    pub demand: Option<SeatDemand>,
    /// When, ms.
    pub at: i64,
}

impl RoomTick {
    /// How many people stand between the counter and `rank`.
    #[must_use]
    pub fn ahead(&self, rank: u64) -> u64 {
        self.crowd.between(self.released, rank)
    }

    /// Whether nothing is left that somebody could still get, or wait for.
    #[must_use]
    pub fn is_sold_out(&self) -> bool {
        let pulse = &self.pulse;
        pulse.free == 0 && pulse.held == 0 && pulse.sold + pulse.gone > 0
    }

    /// When the rank was called (ms), while its window is open.
    #[must_use]
    pub fn called_at(&self, rank: u64) -> Option<i64> {
        called_at(&self.calls, rank)
    }
}
