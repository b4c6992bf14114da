//! Tells booking which visitors on the waitlist have an open socket here, because only present
//! visitors get offers. Booking first names the visitors who wait, and this node answers only about
//! them. Booking therefore learns nothing about the sockets of other visitors.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::personal::PersonalEventHub;
use crate::upstream::BookingCore;

/// How often this node tells booking which visitors are here. Booking treats a visitor as present
/// for 15 s after each report.
const TELL_EVERY: Duration = Duration::from_secs(4);

/// Tells booking which waiting visitors are here, for as long as the process runs.
pub async fn report_present_visitors(core: Arc<dyn BookingCore>, personal: PersonalEventHub) {
    let mut timer = tokio::time::interval(TELL_EVERY);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waiting = Vec::new();
    loop {
        timer.tick().await;
        match core
            .sync_waiting(personal.connected_holders(&waiting))
            .await
        {
            Ok(still_waiting) => waiting = still_waiting,
            Err(error) => {
                tracing::debug!(
                    %error,
                    "booking did not confirm which waiting visitors are here; the next beat tells it again"
                );
            }
        }
    }
}
