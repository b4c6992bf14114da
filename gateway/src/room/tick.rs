//! The figures that the last second's tick found of a room.

use std::sync::Arc;

use fairgate_rules::crowd::PresenceBitmap;
use fairgate_rules::odds::SeatDemand;
use fairgate_rules::release_cohorts::{RankCall, called_at};

use crate::store::{NumberSet, RoomCounts};
use crate::upstream::BookingPulse;

/// What the last second's tick found. All sockets and polls share it.
#[derive(Debug, Clone, Default)]
pub struct RoomTick {
    /// Ranks below this may claim.
    pub released: u64,
    /// People behind the release counter.
    pub waiting: u64,
    /// Who was away when the line was last read.
    pub away: NumberSet,
    /// Who was here behind the counter when the line was last read.
    pub crowd: Arc<PresenceBitmap>,
    /// When the line was last read, ms.
    pub looked_at: i64,
    /// The store's counts.
    pub counts: RoomCounts,
    /// What newcomers wait for beside the line: the visitors let in ahead of the counter, in
    /// millionths.
    pub owed_u: u64,
    /// The calls whose window is open, oldest first.
    pub calls: Arc<Vec<RankCall>>,
    /// Booking's figures.
    pub pulse: BookingPulse,
    /// Whether booking has ever given figures.
    pub known: bool,
    /// The line's rates in visitors a second: the expected rate, and the rate that it falls short
    /// of once in ten times.
    pub rates: (f64, f64),
    /// The most visitors who may be inside, by booking's health and the promoter's limit.
    pub inside_max: u64,
    /// How the seats compare with the people before them in the line; `None` without a line or
    /// without seats.
    pub demand: Option<SeatDemand>,
    /// When the tick was made, ms.
    pub at: i64,
}

impl RoomTick {
    /// Counts the people who stand between the counter and `rank`.
    #[must_use]
    pub fn ahead(&self, rank: u64) -> u64 {
        self.crowd.between(self.released, rank)
    }

    /// Returns whether no seat is left to get or to wait for.
    #[must_use]
    pub fn is_sold_out(&self) -> bool {
        let pulse = &self.pulse;
        pulse.free == 0 && pulse.held == 0 && pulse.sold + pulse.gone > 0
    }

    /// Returns when the rank was called (ms), while its window is open.
    #[must_use]
    pub fn called_at(&self, rank: u64) -> Option<i64> {
        called_at(&self.calls, rank)
    }
}
