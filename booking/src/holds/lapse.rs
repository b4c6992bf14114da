//! Frees the seats of overdue holds, and extends a hold on request.

use std::sync::Arc;
use std::time::Duration;

use fairgate_base::clock::Clock;
use fairgate_model::holds::Hold;
use fairgate_model::ids::HoldId;
use fairgate_model::shows::Show;
use fairgate_pass::Holder;

use super::refusal::HoldRefusal;
use super::take::HoldDesk;
use crate::inventory::seats::SeatInventory;
use crate::store::CallId;

/// How often the seats of overdue holds are freed.
const SWEEP_EVERY: Duration = Duration::from_millis(100);

impl HoldDesk {
    /// Moves the deadline of a basket to `hold_s` after `now_ms`, unless it is already later. The
    /// show limits how often a hold is extended. If the last extension had the same `call`, nothing
    /// changes.
    ///
    /// # Errors
    /// Most often [`HoldRefusal::NoExtensionsLeft`], [`HoldRefusal::Ordered`],
    /// [`HoldRefusal::Expired`] or [`HoldRefusal::NotYours`].
    pub async fn extend(
        &self,
        show: &Arc<Show>,
        visitor: Holder,
        id: &HoldId,
        call: CallId,
        now_ms: i64,
    ) -> Result<Hold, HoldRefusal> {
        let expires_at_ms = now_ms + i64::from(show.document.hold_s) * 1_000;
        let lock_until_ms = expires_at_ms + i64::from(show.document.grace_s) * 1_000;
        match self
            .seats
            .store
            .extend(id, visitor, call, expires_at_ms, lock_until_ms)
            .await
        {
            Ok(hold) => Ok(hold),
            Err(refused) => Err(self.explain(show, refused, &[]).await),
        }
    }
}

/// Frees overdue holds for as long as the process runs.
pub async fn sweep_forever(seats: SeatInventory, clock: Clock) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let lapsed = seats.sweep(clock.now_ms()).await;
        metrics::counter!("fairgate_holds_lapsed_total").increment(lapsed as u64);
    }
}
