//! Keeps the seats correct while no request asks for them. Two workers reopen the shows that the
//! store lost and the trains that got other stops, and compare the store's cursors with the ledger.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::SeatInventory;
use crate::catalogue::Catalogue;
use fairgate_base::log_failed_try;

/// How often the store is asked which shows it lost.
const ASK_LOST_EVERY: Duration = Duration::from_millis(200);
/// How many trains with other stops are opened at the same time.
const REOPENED_AT_ONCE: usize = 16;
/// How often cursors are compared. This is often enough that `/readyz` reports within two seconds
/// that the ledger went back to an older state.
const COMPARE_EVERY: Duration = Duration::from_secs(1);

/// Opens the shows that the store lost, for as long as the process runs.
pub async fn reopen_lost_forever(seats: SeatInventory, catalogue: Catalogue) {
    let mut ticks = tokio::time::interval(ASK_LOST_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        reopen_recut(&seats, &catalogue).await;
        let mut mending = JoinSet::new();
        for id in seats.store.lost().await {
            let (seats, Some(show)) = (seats.clone(), catalogue.show(&id)) else {
                continue;
            };
            mending.spawn(async move {
                let mended = seats.ensure_open(&show).await;
                if let Err(error) = &mended {
                    log_failed_try!(error, %id, "the seats could not be read from the ledger again; trying again");
                }
                mended.is_ok()
            });
        }
        let mut mended = 0;
        while let Some(done) = mending.join_next().await {
            mended += u64::from(matches!(done, Ok(true)));
        }
        if mended > 0 {
            metrics::counter!("fairgate_shows_mended_total").increment(mended);
            tracing::warn!(
                shows = mended,
                "the store lost the seats of shows; they are read from the ledger again"
            );
        }
    }
}

/// Opens trains again that have got other stops. Nobody need ask for a seat first: until they are
/// open again, searches count their free seats by the earlier stops.
async fn reopen_recut(seats: &SeatInventory, catalogue: &Catalogue) {
    let mut opening = JoinSet::new();
    for show in catalogue.take_recut(REOPENED_AT_ONCE) {
        let seats = seats.clone();
        opening.spawn(async move { (seats.ensure_open(&show).await, show) });
    }
    while let Some(done) = opening.join_next().await {
        if let Ok((Err(error), show)) = done {
            let id = &show.id;
            log_failed_try!(error, %id, "a train with other stops could not be opened again; trying again");
            catalogue.put_back_recut(&show);
        }
    }
}

/// Compares the store with the ledger, for as long as the process runs.
pub async fn compare_forever(seats: SeatInventory) {
    let mut ticks = tokio::time::interval(COMPARE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = seats.compare().await {
            log_failed_try!(
                error,
                "seats and ledger could not be compared; trying again"
            );
        }
    }
}
