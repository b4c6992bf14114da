//! What keeps the seats right beside the requests: shows that the store lost are opened again without waiting for
//! somebody to ask, and the store's cursors are compared with the ledger.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::Seats;
use crate::catalogue::Catalogue;

/// How often the store is asked for what it lost.
const MEND_EVERY: Duration = Duration::from_millis(200);
/// How often cursors are compared.
const COMPARE_EVERY: Duration = Duration::from_secs(2);

/// Opens what the store lost, for as long as the process runs.
pub async fn mend_forever(seats: Seats, catalogue: Catalogue) {
    let mut every = tokio::time::interval(MEND_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let mut mending = JoinSet::new();
        for id in seats.store.lost().await {
            let (seats, Some(show)) = (seats.clone(), catalogue.show(&id)) else {
                continue;
            };
            mending.spawn(async move {
                match seats.ensure_open(&show).await {
                    Ok(()) => {
                        metrics::counter!("fairgate_shows_mended_total").increment(1);
                        tracing::info!(%id, "the seats are read from the ledger again");
                    }
                    Err(error) => {
                        tracing::warn!(%id, %error, "the seats could not be read from the ledger again; trying again")
                    }
                }
            });
        }
        while mending.join_next().await.is_some() {}
    }
}

/// Compares store and ledger, for as long as the process runs.
pub async fn compare_forever(seats: Seats) {
    let mut every = tokio::time::interval(COMPARE_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        if let Err(error) = seats.compare().await {
            tracing::warn!(%error, "seats and ledger could not be compared; trying again");
        }
    }
}
