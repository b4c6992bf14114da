//! The figures of a room's last tick.

use std::sync::Arc;

use fairgate_rules::odds::SeatDemand;
use fairgate_rules::presence_bitmap::PresenceBitmap;
use fairgate_rules::release_cohorts::{RankCall, called_at};
use fairgate_rules::waits::LineWaits;

use crate::store::{AwayNumbers, RoomCounts};
use crate::upstream::BookingPulse;

/// The figures of the last tick. All sockets and polls share them.
#[derive(Debug, Clone, Default)]
pub struct RoomTick {
    /// Ranks below this may claim a pass.
    pub released: u64,
    /// The number of present visitors whose ranks are not released yet.
    pub waiting: u64,
    /// The place numbers of the visitors who were away at [`Self::looked_at`].
    pub away: AwayNumbers,
    /// Which unreleased ranks had a present visitor at the last count. One bit for each rank.
    pub crowd: Arc<PresenceBitmap>,
    /// Whether [`Self::crowd`] was counted when everybody had a rank.
    pub is_ordered: bool,
    /// When a tick last read who is away, ms.
    pub looked_at: i64,
    /// The store's counts.
    pub counts: RoomCounts,
    /// The releases of the last `claim_s` seconds, oldest first. The visitors of a release are
    /// expected to claim within this time.
    pub calls: Arc<Vec<RankCall>>,
    /// Booking's figures.
    pub pulse: BookingPulse,
    /// Whether booking has ever given figures.
    pub known: bool,
    /// The line's measured rate in visitors a second.
    pub per_s: f64,
    /// The forecast of the line's waits.
    pub waits: Arc<LineWaits>,
    /// The most visitors that may be inside, by booking's health and the promoter's limit.
    pub inside_max: u64,
    /// The remaining seats and the people who want them. `None` if the room has no line, or if its
    /// shows have no seats that could run out.
    pub demand: Option<SeatDemand>,
    /// When the tick was made, ms.
    pub at: i64,
}

impl RoomTick {
    /// Counts the present visitors from rank `released` up to, but not including, `rank`.
    #[must_use]
    pub fn ahead(&self, rank: u64) -> u64 {
        self.crowd.between(self.released, rank)
    }

    /// Returns true if at least one seat was sold or is gone, and no seat is free or held.
    #[must_use]
    pub fn is_sold_out(&self) -> bool {
        let pulse = &self.pulse;
        pulse.free == 0 && pulse.held == 0 && pulse.sold + pulse.gone > 0
    }

    /// Returns when the rank was called (ms), if its time to claim is not over.
    #[must_use]
    pub fn called_at(&self, rank: u64) -> Option<i64> {
        called_at(&self.calls, rank)
    }
}
