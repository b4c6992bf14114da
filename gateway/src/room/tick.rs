//! The figures of a room's last tick.

use std::sync::Arc;

use fairgate_rules::crowd::PresenceBitmap;
use fairgate_rules::odds::SeatDemand;
use fairgate_rules::release_cohorts::{RankCall, called_at};

use crate::store::{NumberSet, RoomCounts};
use crate::upstream::BookingPulse;

/// The figures of the last tick. All sockets and polls share them.
#[derive(Debug, Clone, Default)]
pub struct RoomTick {
    /// Ranks below this may claim.
    pub released: u64,
    /// People here whose ranks are not released yet.
    pub waiting: u64,
    /// The numbers of visitors who were away at [`Self::looked_at`].
    pub away: NumberSet,
    /// Which visitors with unreleased ranks were here when they were last counted.
    pub crowd: Arc<PresenceBitmap>,
    /// When a tick last read who is away, ms.
    pub looked_at: i64,
    /// The store's counts.
    pub counts: RoomCounts,
    /// The latecomers who were admitted ahead of new releases, in millionths of a visitor. New
    /// releases wait until the pace has made up for them.
    pub owed_u: u64,
    /// The calls whose window is open, oldest first.
    pub calls: Arc<Vec<RankCall>>,
    /// Booking's figures.
    pub pulse: BookingPulse,
    /// Whether booking has ever given figures.
    pub known: bool,
    /// The line's rates in visitors a second: the expected rate, and the rate that the line reaches
    /// nine times in ten.
    pub rates: (f64, f64),
    /// The most visitors who may be inside, by booking's health and the promoter's limit.
    pub inside_max: u64,
    /// How the remaining seats compare with the people who want them; `None` without a line or
    /// without seats.
    pub demand: Option<SeatDemand>,
    /// When the tick was made, ms.
    pub at: i64,
}

impl RoomTick {
    /// Counts the people here between the release counter and `rank`.
    #[must_use]
    pub fn ahead(&self, rank: u64) -> u64 {
        self.crowd.between(self.released, rank)
    }

    /// Returns whether no seat is free or held, and there were seats.
    #[must_use]
    pub fn is_sold_out(&self) -> bool {
        let pulse = &self.pulse;
        pulse.free == 0 && pulse.held == 0 && pulse.sold + pulse.gone > 0
    }

    /// Returns when the rank was called (ms), if its window is open.
    #[must_use]
    pub fn called_at(&self, rank: u64) -> Option<i64> {
        called_at(&self.calls, rank)
    }
}
