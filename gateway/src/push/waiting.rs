//! Keeps the offers coming to whoever waits for seats with a socket: booking names who waits, and
//! is told who of them is here. Nobody else's socket is named to anybody.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::personal::PersonalEventHub;
use crate::upstream::BookingCore;

/// How often booking is told. It believes for 15 s that who was here still is.
const TELL_EVERY: Duration = Duration::from_secs(4);

/// Tells booking who is here of those who wait, for as long as the process runs.
pub async fn tell_forever(core: Arc<dyn BookingCore>, personal: PersonalEventHub) {
    let mut every = tokio::time::interval(TELL_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waiting = Vec::new();
    loop {
        every.tick().await;
        match core
            .sync_waiting(personal.connected_holders(&waiting))
            .await
        {
            Ok(now) => waiting = now,
            Err(error) => {
                tracing::debug!(
                    %error,
                    "booking was not told who waits here; the next beat tells it"
                );
            }
        }
    }
}
